//! A pass, request by request: what it reads past the caches before it writes, and what it does then.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::common::{
    autoscaler, change, child,
    cluster::{
        Asked, apply, corrected, done, earlier, enforced, failure, next, object, response, schemas, show,
        write,
    },
    deployment_owned_by, live, seen, spec_of_all, workload,
};
use baton_apply::{ApiError, LiveObject, contention::Correction};
use baton_controller::decide::{
    child::ChildKind,
    course::{Course, Next, Priority, Read},
    pass::{ChildResult, Pass},
    plan::{Step, plan},
    replicas::Autoscaler,
    snapshot::{Snapshot, shard_of},
};
use baton_crd::{HandoverPhase, Workload, WorkloadStatus, labels};
use kube::{Resource as _, ResourceExt as _, core::Status};
use serde_json::{Value, json};

/// A pass that begins with this, and holds nothing back.
fn course(seen: Snapshot) -> Course {
    Course::new(seen, BTreeSet::new(), false)
}

/// A pass for a Workload with an autoscaler, while these managers own the replica count in the cache.
fn autoscaled(managers: &str) -> Course {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    course(seen(&workload, [deployment_owned_by(managers, 4)]))
}

fn deployment(managers: &str) -> LiveObject {
    live(deployment_owned_by(managers, 4).1)
}

fn no_response() -> ApiError {
    ApiError::Timeout(Duration::from_secs(1))
}

fn refusal(code: u16) -> ApiError {
    let details = serde_json::from_value(json!({"name": "web"})).unwrap();
    ApiError::Response(Status::failure("no", "Because").with_code(code).with_details(details).boxed())
}

/// The reads of a pass until it sends something or is done, while the server has these objects, and the Workload if `exists`; without
/// it, the Workload can't be read. The first step that is sent follows.
fn reads(
    course: &mut Course,
    exists: Option<bool>,
    server: impl Fn(ChildKind) -> Option<LiveObject>,
) -> (Vec<Read>, Option<Step>) {
    let (mut reads, workload) = (Vec::new(), course.seen().workload.clone());
    loop {
        let read = match next(course) {
            Some(Asked::Read(read)) => read,
            Some(Asked::Write(step, _)) => return (reads, Some(*step)),
            None => return (reads, None),
        };
        reads.push(read);
        match (read, exists) {
            (Read::Workload, Some(exists)) => course.read_workload(exists.then_some(&workload.metadata)),
            (Read::Workload, None) => course.unreadable(read, &no_response()),
            (Read::Child(child) | Read::Newer(child), _) => course.read_child(child, server(child)),
            (Read::Autoscalers, _) => course.read_autoscalers(Vec::new()),
        }
    }
}

/// The first step that is sent when the server has this Deployment and no other child; none if nothing is sent.
fn first_step(course: &mut Course, deployment: Option<&LiveObject>) -> Option<Step> {
    reads(course, Some(true), |kind| deployment.filter(|_| kind == ChildKind::Deployment).cloned()).1
}

#[test]
fn an_autoscaler_is_not_created_from_a_cache_that_does_not_show_baton_as_the_owner_yet() {
    let step = first_step(&mut autoscaled("s"), Some(&deployment("b")));
    assert!(matches!(step, Some(Step::HandOver(_))), "{step:?}");
}

#[test]
fn the_replica_count_stays_and_no_autoscaler_is_created_while_the_deployment_cannot_be_read() {
    for managers in ["s", "b"] {
        let mut course = autoscaled(managers);
        while let Some(asked) = next(&mut course) {
            let Asked::Read(read) = asked else { panic!("owned by {managers}: {asked:?}") };
            let server = course.seen().clone();
            match read {
                Read::Child(ChildKind::Deployment) => course.unreadable(read, &no_response()),
                read => show(&mut course, read, &server),
            }
        }
    }
}

#[test]
fn a_replica_count_that_baton_does_not_own_is_set_only_after_a_read() {
    let mut course = course(seen(&workload(&json!({"replicas": 3})), [deployment_owned_by("o", 4)]));
    assert!(matches!(next(&mut course), Some(Asked::Read(Read::Workload))));
}

#[test]
fn a_new_workloads_deployment_is_sent_at_low_priority_after_its_other_children() {
    let spec = json!({"replicas": 3, "service": {"type": "ClusterIP", "ports": [{"port": 80}]}});
    let status =
        |generation| WorkloadStatus { observed_generation: Some(generation), ..WorkloadStatus::default() };
    // The CRD's defaults, and Baton's status.
    let [new, reported] =
        [-1, 1].map(|generation| Workload { status: Some(status(generation)), ..workload(&spec) });
    let priorities = |workload: &Workload| {
        let (mut course, mut priorities) = (course(seen(workload, [])), Vec::new());
        loop {
            match course.next(schemas(), earlier()) {
                Next::Plan => course.planned(plan(course.seen(), course.held_back()).unwrap()),
                Next::Read(_) => course.read_workload(Some(&workload.metadata)),
                Next::Send { priority, .. } => {
                    priorities.push((course.step_under_way().unwrap().child(), priority));
                    course.responded(schemas(), Err(no_response()));
                }
                Next::Done => return priorities,
            }
        }
    };
    let [service, deployment] = [ChildKind::Service, ChildKind::Deployment];
    assert_eq!(priorities(&new), [(service, Priority::Urgent), (deployment, Priority::Low)]);
    assert_eq!(priorities(&reported), [(service, Priority::Urgent), (deployment, Priority::Urgent)]);
}

/// A Workload with a Service, after a pass.
fn settled() -> Snapshot {
    let spec = json!({"replicas": 3, "service": {"type": "ClusterIP", "ports": [{"port": 80}]}});
    enforced(seen(&workload(&spec), [])).0.seen
}

/// The same after another manager applied another type to the Service.
fn contested() -> Snapshot {
    let mut seen = settled();
    let rogue = object(ChildKind::Service, &json!({"type": "NodePort"}));
    let edited = response(&apply(&rogue, "rogue", true), seen.child(ChildKind::Service));
    seen.put(ChildKind::Service, Some(edited));
    seen
}

#[test]
fn a_write_that_changes_nothing_is_skipped_and_counts_as_applied() {
    let (finished, writes) = enforced(settled());
    assert_eq!(writes, Vec::<String>::new());
    assert_eq!(finished.skipped, [ChildKind::Deployment, ChildKind::Service]);
    assert_eq!(finished.results[&ChildKind::Service], ChildResult::Applied);
    assert!(finished.settled);
}

/// A settled Workload with this spec and phase, whose Deployment a user has scaled since.
fn scaled(spec: &Value, phase: HandoverPhase) -> Snapshot {
    let mut workload = workload(spec);
    let mut seen = enforced(seen(&workload, [])).0.seen;
    let ownership = json!({"owner": "baton", "phase": phase, "value": 0, "since": "2026-01-02T03:04:05Z"});
    workload.status = Some(serde_json::from_value(json!({"replicaOwnership": ownership})).unwrap());
    seen.workload = Arc::new(workload);
    change(&mut seen, ChildKind::Deployment, |object| {
        object["spec"]["replicas"] = json!(5);
        let entries = object["metadata"]["managedFields"].as_array_mut().unwrap();
        entries[0]["fieldsV1"]["f:spec"].as_object_mut().unwrap().remove("f:replicas");
        entries.push(json!({
            "manager": "kubectl", "operation": "Update", "subresource": "scale", "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }));
    });
    seen
}

#[test]
fn whoever_scales_a_fixed_or_a_suspended_workload_is_named_and_nobody_else() {
    for (spec, phase, set) in [
        (json!({"replicas": 3}), HandoverPhase::Fixed, "3"),
        (json!({"replicas": 3, "suspend": true}), HandoverPhase::Suspended, "0"),
    ] {
        let (finished, writes, corrections) = corrected(scaled(&spec, phase));
        let [(ChildKind::Deployment, takeover)] = &finished.outbox.takeovers[..] else {
            panic!("{:?}", finished.outbox.takeovers)
        };
        assert_eq!((takeover.path.as_str(), takeover.manager.as_str()), (".spec.replicas", "kubectl"));
        assert_eq!((takeover.old.as_deref(), takeover.new.as_deref()), (Some("5"), Some(set)));
        assert_eq!(corrections, [Correction::from(takeover.clone())], "{writes:?}");
        let annotations = finished.seen.child(ChildKind::Deployment).unwrap().annotations().clone();
        let to_resume = annotations.get(labels::REPLICAS_BEFORE_SUSPEND).map(String::as_str);
        assert_eq!(to_resume, (phase == HandoverPhase::Suspended).then_some("5"));
    }
}

#[test]
fn a_correction_is_a_field_and_the_manager_that_lost_it_or_a_whole_object() {
    let mut without_annotation =
        enforced(seen(&workload(&json!({"replicas": 3, "suspend": true})), [])).0.seen;
    change(&mut without_annotation, ChildKind::Deployment, |object| {
        object["metadata"]["annotations"].as_object_mut().unwrap().remove(labels::REPLICAS_BEFORE_SUSPEND);
    });
    for (seen, path, manager) in [
        (contested(), ".spec.type", Some("rogue")),
        (without_annotation, ".metadata.annotations.baton.rs/replicas-before-suspend", None),
        (seen(&workload(&json!({"replicas": 3})), []), "the object itself", None),
    ] {
        let (_, writes, corrections) = corrected(seen);
        let corrections: Vec<_> =
            corrections.iter().map(|one| (one.path.as_str(), one.from.as_deref())).collect();
        assert_eq!(corrections, [(path, manager)], "{writes:?}");
    }
}

/// A pass on a server that refuses each write of the Service like this, and its reads; none for a write.
fn refused_each_time(error: &dyn Fn() -> ApiError) -> (Pass, Vec<Option<Read>>) {
    let (mut course, mut log) = (course(contested()), Vec::new());
    while let Some(asked) = next(&mut course) {
        let server = course.seen().clone();
        match asked {
            Asked::Write(..) => {
                log.push(None);
                course.responded(schemas(), Err(error())).unwrap();
            }
            Asked::Read(read) => {
                log.push(Some(read));
                show(&mut course, read, &server);
            }
        }
    }
    (course.finish(), log)
}

#[test]
fn a_child_that_changes_before_each_write_is_awaited_once_then_read_and_left_alone_after_eight_writes() {
    let (pass, log) = refused_each_time(&|| refusal(409));
    let [newer, read] = [Read::Newer, Read::Child].map(|read| Some(read(ChildKind::Service)));
    let expected: Vec<_> = [None, newer, None].into_iter().chain([read, None].repeat(6)).collect();
    assert_eq!(log, expected);
    assert_eq!(pass.results[&ChildKind::Service], ChildResult::Overtaken("no".to_owned()));
    assert_eq!(pass.results[&ChildKind::Deployment], ChildResult::Applied);
    assert!(pass.settled, "nothing is left to do now");
}

#[test]
fn a_write_that_is_rejected_or_gets_no_response_is_sent_once_in_a_pass() {
    const DENIED: &str = "admission webhook \"x.y\" denied the request: no";
    let rejected = |message: &str| ChildResult::Rejected(message.to_owned());
    let failed = ChildResult::Failed("the API server did not respond within 1s".to_owned());
    let errors: [(&dyn Fn() -> ApiError, ChildResult); 6] = [
        (&|| refusal(422), rejected("no")),
        (&|| failure(400, "", DENIED), rejected(DENIED)),
        (&|| failure(403, "", DENIED), rejected(DENIED)),
        (&|| failure(409, "", DENIED), rejected(DENIED)),
        (&|| failure(422, "", DENIED), rejected(DENIED)),
        (&no_response, failed),
    ];
    for (error, expected) in errors {
        let (pass, log) = refused_each_time(error);
        assert_eq!((&pass.results[&ChildKind::Service], log), (&expected, vec![None]));
    }
}

#[test]
fn what_was_created_is_reported_though_a_later_write_of_the_pass_fails() {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let mut course = course(seen(&workload, []));
    let creation = first_step(&mut course, None).unwrap().request(&workload).unwrap();
    let created = done(&creation, None);
    course.responded(schemas(), Ok(created.clone()));
    let next = first_step(&mut course, created.as_ref());
    assert!(matches!(next, Some(Step::HandOver(_))), "{next:?}");
    course.responded(schemas(), Err(no_response()));
    let pass = course.finish();
    assert!(matches!(pass.results[&ChildKind::Deployment], ChildResult::Failed(_)));
    assert_eq!(pass.outbox.milestones, [(ChildKind::Deployment, ChildResult::Created)]);
}

/// A Workload whose status names this child.
fn naming(child: ChildKind, spec: &Value) -> Workload {
    let named =
        json!({"kind": child.name(), "name": "web", "apiVersion": child.api_version(), "state": "Applied"});
    let status = serde_json::from_value(json!({"children": [named]})).unwrap();
    Workload { status: Some(status), ..workload(spec) }
}

#[test]
fn an_autoscaler_without_its_deployment_is_read_even_if_it_has_lost_batons_label() {
    let (autoscaler, named) = child(ChildKind::Autoscaler);
    let workload = naming(autoscaler, &json!({"autoscaling": {"maxReplicas": 5}}));
    let mut theirs = deployment_owned_by("o", 4);
    theirs.1["metadata"]["ownerReferences"] = json!([]);
    let mut course = course(seen(&workload, [theirs]));
    let read = Read::Child(autoscaler);
    assert!(matches!(course.next(schemas(), earlier()), Next::Read(next) if next == read));
    course.read_child(autoscaler, Some(live(named)));
    assert_eq!(first_step(&mut course, None), None, "it waits");
    assert!(course.finish().seen.own(autoscaler).is_some());
}

#[test]
fn a_child_that_the_spec_no_longer_has_is_deleted_even_if_it_has_lost_batons_label() {
    let budget = ChildKind::DisruptionBudget;
    let workload = naming(budget, &json!({"replicas": 4}));
    let seen = seen(&workload, [deployment_owned_by("b", 4)]);
    let mut held_back = Course::new(seen.clone(), [budget].into(), false);
    let mut course = course(seen);
    for course in [&mut held_back, &mut course] {
        assert!(matches!(course.next(schemas(), earlier()), Next::Read(Read::Child(read)) if read == budget));
    }
    course.read_child(budget, Some(live(child(budget).1)));
    let step = first_step(&mut course, None);
    assert!(matches!(step, Some(Step::Delete { child, .. }) if child == budget), "{step:?}");
}

const KINDS: [ChildKind; 2] = [ChildKind::Deployment, ChildKind::Service];

/// A Workload with a Service, in this shard.
fn of_shard(shard: &str) -> Workload {
    let mut workload = workload(&json!({"replicas": 3, "service": {"ports": [{"port": 80}]}}));
    workload.metadata.labels = Some([(labels::SHARD.to_owned(), shard.to_owned())].into());
    workload
}

/// The shards of the Deployment and of the Service.
fn shards(server: &Snapshot) -> [Option<&str>; 2] {
    KINDS.map(|kind| server.child(kind).and_then(|live| shard_of(live.meta())))
}

/// The API server, with the children that a shard has created for a Workload.
fn created_by(shard: &str) -> Snapshot {
    enforced(seen(&of_shard(shard), [])).0.seen
}

/// Runs a pass on this server. `shard` returns the Workload's shard at each read; none if it can't be read. `meanwhile` happens
/// before the first write to an existing object. Returns the reads and writes.
fn run(
    course: &mut Course,
    server: &mut Snapshot,
    mut shard: impl FnMut() -> Option<&'static str>,
    meanwhile: impl FnOnce(&mut Snapshot),
) -> Vec<String> {
    let (mut log, mut meanwhile) = (Vec::new(), Some(meanwhile));
    while let Some(asked) = next(course) {
        let (step, request) = match asked {
            Asked::Read(Read::Workload) => {
                let shard = shard();
                log.push(format!("the Workload is in {}", shard.unwrap_or("an unknown shard")));
                match shard {
                    Some(shard) => course.read_workload(Some(&of_shard(shard).metadata)),
                    None => course.unreadable(Read::Workload, &no_response()),
                }
                continue;
            }
            Asked::Read(read) => {
                if let Read::Child(child) | Read::Newer(child) = read {
                    log.push(format!("read {child}"));
                }
                show(course, read, server);
                continue;
            }
            Asked::Write(step, request) => (step, request),
        };
        let child = step.child();
        if !step.creates()
            && let Some(meanwhile) = meanwhile.take()
        {
            meanwhile(server);
        }
        let response = write(server, course, child, &request);
        log.push(format!("{} {child}{}", step.describe(), if response.is_err() { ": refused" } else { "" }));
        course.responded(schemas(), response);
    }
    log
}

/// A pass for this Workload while the caches have none of its children.
fn blind(workload: &Workload) -> Course {
    course(seen(workload, []))
}

#[test]
fn after_another_shards_write_the_workloads_shard_is_read_again() {
    // The Workload moves to b, which reads that, and back to a, which writes.
    let mut server = created_by("a");
    let mut reads = 0;
    let shard = || {
        reads += 1;
        Some(if reads == 1 { "b" } else { "a" })
    };
    let a_writes = |server: &mut Snapshot| {
        let edited = apply(&object(ChildKind::Deployment, &json!({"minReadySeconds": 5})), "a", true);
        let written = response(&edited, server.child(ChildKind::Deployment));
        server.put(ChildKind::Deployment, Some(written));
    };
    let log = run(&mut blind(&of_shard("b")), &mut server, shard, a_writes);
    let deployment: Vec<_> =
        log.iter().filter(|line| line.contains(" Deployment") || line.contains(" in ")).collect();
    let expected = [
        "read Deployment",
        "the Workload is in b",
        "apply Deployment: refused",
        "read Deployment",
        "the Workload is in a",
    ];
    assert_eq!(deployment, expected);
    assert_eq!(shards(&server)[0], Some("a"));
}

#[test]
fn another_shards_children_are_not_written_while_the_workload_cannot_be_read() {
    let mut server = created_by("a");
    let mut course = blind(&of_shard("b"));
    run(&mut course, &mut server, || None, |_| {});
    assert_eq!(shards(&server), [Some("a"); 2]);
    assert_eq!(
        course.finish().results[&ChildKind::Deployment],
        ChildResult::Failed(no_response().to_string())
    );
}

#[test]
fn another_shards_child_that_the_spec_no_longer_has_is_deleted_only_by_the_workloads_shard() {
    for (shard, left) in [("b", [Some("b"), None]), ("a", [Some("a"); 2])] {
        let mut server = created_by("a");
        let mut workload = of_shard("b");
        workload.spec.service = None;
        run(&mut blind(&workload), &mut server, || Some(shard), |_| {});
        assert_eq!(shards(&server), left, "the Workload is in {shard}");
    }
}

/// A Workload with all children, whose status names these.
fn with_all(reported: &[ChildKind]) -> Workload {
    let mut workload = workload(&spec_of_all());
    let child = |kind: &ChildKind| json!({"kind": kind.name(), "name": "web", "apiVersion": kind.api_version(), "state": "Applied"});
    let children: Vec<Value> = reported.iter().map(child).collect();
    let status =
        json!({"observedGeneration": if reported.is_empty() { -1 } else { 1 }, "children": children});
    workload.status = Some(serde_json::from_value(status).unwrap());
    workload
}

/// The children of a Workload after its first passes, but for this one.
fn all_but(missing: ChildKind) -> Snapshot {
    let mut all = Snapshot::new(Arc::new(with_all(&ChildKind::ALL)), [].into(), Vec::new());
    for kind in ChildKind::ALL.into_iter().filter(|kind| *kind != missing) {
        let live = match kind {
            ChildKind::Deployment => deployment("s"),
            kind => live(child(kind).1),
        };
        all.put(kind, Some(live));
    }
    all
}

#[test]
fn a_child_of_a_workload_that_had_children_is_created_only_after_the_workload_was_read() {
    for missing in ChildKind::ALL {
        for exists in [Some(false), None, Some(true)] {
            let all = all_but(missing);
            let mut course = course(all.clone());
            let creates = loop {
                let (_, step) = reads(&mut course, exists, |kind| all.child(kind).cloned());
                let Some(step) = step else { break false };
                if step.creates() && step.child() == missing {
                    break true;
                }
                course.responded(schemas(), Err(no_response()));
            };
            assert_eq!(creates, exists == Some(true), "{missing}: {exists:?}");
        }
    }
}

#[test]
fn a_new_workloads_children_are_created_without_a_read_in_its_first_pass_only() {
    let new = Snapshot::new(Arc::new(with_all(&[])), [].into(), Vec::new());
    let mut first = course(new.clone());
    let (read, step) = reads(&mut first, Some(false), |_| None);
    assert!(read.is_empty() && step.is_some_and(|step| step.creates()), "{read:?}");
    let left = [ChildKind::Service].into();
    let mut second = course(new).after_pass(left);
    let expected = (vec![Read::Child(ChildKind::Service), Read::Workload], None);
    assert_eq!(reads(&mut second, Some(false), |_| None), expected);
}

/// A user has changed the label of a child that was just created, and has removed it from the spec; the status doesn't name it yet.
#[test]
fn a_child_that_the_last_pass_has_left_is_deleted_though_no_cache_shows_it() {
    let new = Snapshot::new(Arc::new(workload(&json!({"replicas": 1}))), [].into(), Vec::new());
    let kind = ChildKind::DisruptionBudget;
    let mut course = course(new).after_pass([kind].into());
    let unlabelled = live(child(kind).1);
    let (read, _) = reads(&mut course, Some(true), |asked| (asked == kind).then(|| unlabelled.clone()));
    assert_eq!(read.first(), Some(&Read::Child(kind)));
    let mut steps = Vec::new();
    while let Some(step) = course.step_under_way().cloned() {
        steps.push((step.child(), step.describe()));
        course.responded(schemas(), Err(no_response()));
        reads(&mut course, Some(true), |_| None);
    }
    assert!(steps.iter().any(|(child, what)| *child == kind && what.contains("delete")), "{steps:?}");
}

#[test]
fn batons_autoscaler_without_its_label_is_found_by_what_it_scales_beside_another_one() {
    let own = || live(child(ChildKind::Autoscaler).1);
    let mut seen = all_but(ChildKind::Autoscaler);
    seen.workload = Arc::new(with_all(&[]));
    let controller = Some(("Workload".to_owned(), seen.uid()));
    seen.autoscalers = vec![autoscaler("other"), Autoscaler { controller, ..autoscaler("web") }];
    let mut course = course(seen);
    let (read, _) = reads(&mut course, Some(true), |kind| (kind == ChildKind::Autoscaler).then(own));
    assert_eq!(read.first(), Some(&Read::Child(ChildKind::Autoscaler)));
    assert!(course.seen().own(ChildKind::Autoscaler).is_some());
}
