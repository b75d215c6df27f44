//! An article on how conflicts are resolved: from creations at the same time to server-side apply. Its subject is a Namespace
//! and the labels on it.

use baton_e2e::{
    plays,
    scenario::{Document, Promise, Scene, Section, builtin},
};

const DOCUMENT: Document = Document { title: "Conflict Resolution" };

pub fn sections() -> Vec<Section> {
    vec![STORAGE, CREATES, UPDATES, VERSIONS, APPLY]
}

const STORAGE: Section = Section {
    document: DOCUMENT,
    title: "Granular resource ownership in the Kubernetes API",
    promises: &[
        Promise::new(
            "The API server validates a request and asks RBAC about it before anything is stored.",
            plays![what_is_invalid_or_not_allowed_is_not_stored],
        ),
        Promise::new(
            "Users say in the API what they want, and control loops report there what is.",
            plays![a_control_loop_reports_beside_what_is_wanted],
        ),
        Promise::new(
            "Writes to different objects at the same time don't disturb each other.",
            plays![writes_to_different_objects_never_meet],
        ),
    ],
};

const CREATES: Section = Section {
    document: DOCUMENT,
    title: "Conflicting Creates",
    promises: &[
        Promise::new(
            "Of several creations of one object at the same time exactly one succeeds; which one is open.",
            plays![one_of_many_creations_wins],
        ),
        Promise::new(
            "A second object of the same name can't be created: the server says that it exists already.",
            plays![one_of_many_creations_wins, a_name_is_taken_once],
        ),
        Promise::new("What is read back is what the winner sent.", plays![one_of_many_creations_wins]),
    ],
};

const UPDATES: Section = Section {
    document: DOCUMENT,
    title: "Concurrent Updates",
    promises: &[
        Promise::new(
            "Client-side applies of different files at the same time all succeed, and the last one wins.",
            plays![the_last_of_many_client_side_applies_wins],
        ),
        Promise::new(
            "The next client-side apply overwrites what the one before it said, without a word.",
            plays![a_client_side_apply_overwrites_the_one_before],
        ),
        Promise::new(
            "Who updates one field at the same time as others can't know what it will be.",
            plays![the_last_of_many_client_side_applies_wins, two_differences_from_one_object_mix],
        ),
        Promise::new(
            "Clients that overwrite each other can go on like that for ever, each write an update of the object.",
            plays![two_clients_can_fight_for_ever],
        ),
    ],
};

const VERSIONS: Section = Section {
    document: DOCUMENT,
    title: "Enter resourceVersion",
    promises: &[
        Promise::new(
            "Every object has a resourceVersion, which changes with every update of the object.",
            plays![every_update_changes_the_resource_version],
        ),
        Promise::new(
            "A request that names a resourceVersion other than the stored one is rejected.",
            plays![a_stale_resource_version_is_refused],
        ),
        Promise::new(
            "Of updates at the same time that name the resourceVersion exactly one succeeds, and the others are told that the \
             object has changed.",
            plays![one_of_many_updates_with_a_resource_version_wins],
        ),
        Promise::new(
            "Of client-side applies of files that name the resourceVersion one succeeds, and the others are told the same.",
            plays![
                late_applies_with_a_resource_version_are_refused,
                kubectl_leaves_out_a_resource_version_that_it_has_just_read,
            ],
        )
        .but(
            "This holds for who comes later. kubectl leaves a resourceVersion out of its patch that is the one that it has just \
             read, so those that read at the same time all succeed.",
        ),
        Promise::new(
            "An update has to hold the whole object, even where one field is meant: what it leaves out is gone.",
            plays![an_update_says_everything],
        ),
        Promise::new(
            "The usual way is to read, edit and write the object, and after a conflict to begin again.",
            plays![after_a_conflict_it_is_read_again],
        ),
        Promise::new(
            "A JSON patch or a strategic merge patch holds only the changes that are wanted.",
            plays![a_patch_says_only_what_changes],
        ),
        Promise::new(
            "Patches compete as updates do: the last one overwrites the others.",
            plays![json_patches_overwrite_each_other, strategic_patches_overwrite_each_other],
        ),
        Promise::new(
            "Patches need the optimistic lock, too, to notice each other: with the resourceVersion one of them succeeds.",
            plays![one_of_many_locked_patches_wins],
        ),
    ],
};

const APPLY: Section = Section {
    document: DOCUMENT,
    title: "Server-Side Apply",
    promises: &[
        Promise::new(
            "Server-side apply is stable since Kubernetes 1.22: kubectl and the server do it without being allowed to first.",
            plays![server_side_apply_needs_no_leave],
        ),
        Promise::new(
            "Several clients apply their own fields to one object without conflicts.",
            plays![everybody_applies_their_own_label],
        ),
        Promise::new(
            "Who applies needs no loop of reading, editing and applying again, even at the same time as others.",
            plays![applies_of_different_fields_at_the_same_time_all_win, the_first_applies_at_the_same_time_all_win],
        ),
        Promise::new(
            "Who applies says only the fields that it wants to change, not the whole object.",
            plays![everybody_applies_their_own_label],
        ),
        Promise::new(
            "The server tracks the manager of each field, by the client that updates it.",
            plays![everybody_applies_their_own_label, who_updates_a_field_manages_it],
        ),
        Promise::new(
            "kubectl hides the managed fields unless it is told to show them.",
            plays![kubectl_hides_managed_fields],
        ),
        Promise::new(
            "A client that updates a field becomes a manager of it.",
            plays![who_updates_a_field_manages_it],
        ),
        Promise::new(
            "A label that kubectl applied on its own side can be updated by applying it on the server's.",
            plays![the_story_of_the_labels],
        )
        .but(
            "kubectl also moves what it owned as kubectl-client-side-apply over to its manager for server-side apply. In the \
             article it stays where it was.",
        ),
        Promise::new(
            "A new label can be applied on the server's side.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "Who applies has to send every field that it manages. A field that it no longer sends is removed.",
            plays![the_story_of_the_labels, a_label_that_is_no_longer_sent_goes],
        ),
        Promise::new(
            "A field that is no longer sent stays if it has another manager.",
            plays![a_label_of_two_managers_stays_with_the_other],
        ),
        Promise::new(
            "With both labels in the intent both stay.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "A manager that applies another value to somebody else's field is rejected, in words that name the other manager \
             and the field.",
            plays![the_story_of_the_labels],
        )
        .but(
            "The words name kubectl, to which kubectl has moved the label. In the article they name kubectl-client-side-apply.",
        ),
        Promise::new(
            "--field-manager names the manager, and --force-conflicts overwrites.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "A forced apply changes the value that is in conflict, and leaves the other labels alone.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "After a forced apply the field belongs to who forced it, as the managed fields show.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "A controller, which has nobody to ask about a conflict, has to force.",
            plays![a_controller_gets_its_way_by_force_alone],
        ),
        Promise::new(
            "Controllers must not compete for a field: two that force undo each other's value without end.",
            plays![two_controllers_that_force_undo_each_other],
        )
        .and_tests(&["scenarios/contention.rs::a_fight_is_told_and_bounded_and_ends_by_itself"]),
    ],
};

/// How many write at the same time.
const CROWD: usize = 4;

/// Turns to a Namespace that no other scene has.
async fn of_a_namespace(s: &mut Scene) {
    let name = format!("{}-labeled", s.namespace());
    s.named(&name).await;
    s.of(builtin::NAMESPACE).await;
}

// ---- Granular resource ownership in the Kubernetes API

async fn what_is_invalid_or_not_allowed_is_not_stored(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label1: not/valid}}").is_refused(422, "Invalid value").await;
    s.create_as("intern", "metadata: {labels: {label1: '1'}}")
        .by_user("intern")
        .is_refused(403, "intern")
        .await;
    s.expect_absent("");
    s.create_as("admin", "metadata: {labels: {label1: '1'}}").creates().await;
    s.expect(".metadata.labels.label1", "'1'");
}

async fn a_control_loop_reports_beside_what_is_wanted(s: &mut Scene) {
    s.of(builtin::AUTOSCALER).await;
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: absent}";
    s.apply_as("user", &format!("spec: {{maxReplicas: 3, {target}}}")).creates().await;
    // The autoscaler has looked for what it is to scale.
    s.eventually(r#".status.conditions[type="AbleToScale"].status"#, "'False'").await;
    s.expect_owner(".spec.maxReplicas", "user (Apply)");
    s.expect_owner(
        r#".status.conditions[type="AbleToScale"].status"#,
        "kube-controller-manager (Update status)",
    );
}

async fn writes_to_different_objects_never_meet(s: &mut Scene) {
    let mut rivals = Vec::new();
    for name in ["one", "two", "three", "four"] {
        s.named(name).await;
        rivals.push(s.create_as("admin", &format!("data: {{name: {name}}}")).as_rival());
    }
    s.at_once(rivals).await.all_win();
    for name in ["one", "two", "three", "four"] {
        s.named(name).await;
        s.expect(".data.name", name);
    }
}

// ---- Conflicting Creates

/// A label of each one's own, as text.
fn own_label(i: usize) -> String {
    format!("metadata: {{labels: {{label{i}: '{i}'}}}}")
}

/// One label for all, with a value of each one's own.
fn same_label(i: usize) -> String {
    format!("metadata: {{labels: {{label: '{i}'}}}}")
}

async fn one_of_many_creations_wins(s: &mut Scene) {
    of_a_namespace(s).await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.kubectl("create -f -").reading(&own_label(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("(AlreadyExists)");
    for i in 0..CROWD {
        let label = format!(".metadata.labels.label{i}");
        if i == winner { s.expect(&label, &format!("'{i}'")) } else { s.expect_absent(&label) }
    }
    s.expect_managers(&["kubectl-create (Update)"]);
}

async fn a_name_is_taken_once(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("first", "metadata: {labels: {label1: '1'}}").creates().await;
    s.create_as("second", "metadata: {labels: {label2: '2'}}").is_refused(409, "already exists").await;
    s.expect_owner(".metadata.labels.label1", "first (Update)");
    s.expect_absent(".metadata.labels.label2");
}

// ---- Concurrent Updates

async fn the_last_of_many_client_side_applies_wins(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label: none}}").await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.kubectl("apply -f -").reading(&same_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    let last = s.text(".metadata.labels.label").to_owned();
    assert!((0..CROWD).any(|i| last == i.to_string()), "{last} is of none of them");
}

async fn a_client_side_apply_overwrites_the_one_before(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1'}}").says("created").await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label2: '2'}}").says("configured").await;
    s.expect(".metadata.labels.label2", "'2'");
    s.expect_absent(".metadata.labels.label1");
}

/// What two kubectls send that both have seen label0: each takes it away, and adds its own.
async fn two_differences_from_one_object_mix(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("kubectl-client-side-apply", "metadata: {labels: {label0: '0'}}").await;
    let patches = [
        "metadata: {labels: {label0: null, label1: '1'}}",
        "metadata: {labels: {label0: null, label2: '2'}}",
    ];
    let rivals = patches.map(|patch| s.strategic_patch_as("kubectl-client-side-apply", patch).as_rival());
    s.at_once(rivals).await.all_win();
    s.expect_absent(".metadata.labels.label0");
    // Nobody has asked for both.
    s.expect(".metadata.labels.label1", "'1'");
    s.expect(".metadata.labels.label2", "'2'");
}

async fn two_clients_can_fight_for_ever(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    for _round in 0..3 {
        for client in ["alice", "bob"] {
            let before = s.text(".metadata.resourceVersion").to_owned();
            s.merge_patch_as(client, &format!("metadata: {{labels: {{label: {client}}}}}")).await;
            s.expect(".metadata.labels.label", client);
            s.expect_owner(".metadata.labels.label", &format!("{client} (Update)"));
            assert_ne!(s.text(".metadata.resourceVersion"), before);
        }
    }
}

// ---- Enter resourceVersion

async fn every_update_changes_the_resource_version(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let mut seen = vec![s.text(".metadata.resourceVersion").to_owned()];
    s.update_as("admin", "metadata: {labels: {label: update}}").await;
    seen.push(s.text(".metadata.resourceVersion").to_owned());
    s.merge_patch_as("admin", "metadata: {labels: {label: patch}}").await;
    seen.push(s.text(".metadata.resourceVersion").to_owned());
    s.apply_as("admin", "metadata: {labels: {label: apply}}").by_force().await;
    seen.push(s.text(".metadata.resourceVersion").to_owned());
    let before = seen.clone();
    seen.dedup();
    assert_eq!(seen, before, "each is another than the one before");
    assert!(!seen[0].is_empty());
}

async fn a_stale_resource_version_is_refused(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let stale = s.text(".metadata.resourceVersion").to_owned();
    s.merge_patch_as("other", "metadata: {labels: {label: newer}}").await;
    let late = format!("metadata: {{resourceVersion: '{stale}', labels: {{label: late}}}}");
    let refusal = "the object has been modified";
    s.replace_as("admin", &late).is_refused(409, refusal).await;
    s.merge_patch_as("admin", &late).is_refused(409, refusal).await;
    s.apply_as("admin", &late).by_force().is_refused(409, refusal).await;
    s.expect(".metadata.labels.label", "newer");
}

async fn late_applies_with_a_resource_version_are_refused(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label0: '0'}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let file = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label{i}: '{i}'}}}}");
    s.kubectl("apply -f -").reading(&file(1)).await;
    s.expect(".metadata.labels.label1", "'1'");
    s.kubectl("apply -f -").reading(&file(2)).fails("Error from server (Conflict)").await;
    s.kubectl("apply -f -").reading(&file(3)).fails("the object has been modified").await;
    s.expect_absent(".metadata.labels.label2");
    s.expect_absent(".metadata.labels.label3");
}

async fn kubectl_leaves_out_a_resource_version_that_it_has_just_read(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label0: '0'}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let file = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label{i}: '{i}'}}}}");
    s.kubectl("apply -f -").reading(&file(1)).asks(&["get", "patch"]).await;
    // It isn't part of the difference that kubectl sends, and so the server has nothing to compare.
    let sent = s.recorded().last().unwrap().sent.clone().unwrap();
    assert!(sent.at(&["metadata", "labels", "label1"]).is_some(), "{sent}");
    assert!(sent.at(&["metadata", "resourceVersion"]).is_none(), "{sent}");
}

async fn one_of_many_updates_with_a_resource_version_wins(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label0: '0'}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let file = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label: '{i}'}}}}");
    let rivals: Vec<_> = (0..CROWD).map(|i| s.kubectl("replace -f -").reading(&file(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("(Conflict)");
    s.expect(".metadata.labels.label", &format!("'{winner}'"));
    assert_ne!(s.text(".metadata.resourceVersion"), version);
}

async fn an_update_says_everything(s: &mut Scene) {
    s.create_as("admin", "data: {one: '1', two: '2'}").await;
    s.replace_as("other", "data: {two: new}").await;
    s.expect(".data", "{two: new}");
    s.expect_owner(".data.two", "other (Update)");
}

async fn after_a_conflict_it_is_read_again(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let read = s.text(".metadata.resourceVersion").to_owned();
    s.merge_patch_as("other", "metadata: {annotations: {by: other}}").await;
    let edited = format!("metadata: {{resourceVersion: '{read}', labels: {{label: edited}}}}");
    s.update_as("admin", &edited).is_refused(409, "please apply your changes to the latest version").await;
    s.look().await;
    s.update_as("admin", "metadata: {labels: {label: edited}}").await;
    s.expect(".metadata.labels.label", "edited");
    s.expect(".metadata.annotations.by", "other");
}

async fn a_patch_says_only_what_changes(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label1: '1', label2: '2', label3: '3'}}").await;
    s.strategic_patch_as("alice", "metadata: {labels: {label2: two}}").await;
    s.json_patch_as("bob", "[{op: replace, path: /metadata/labels/label3, value: three}]").await;
    s.expect_owner(".metadata.labels.label1", "admin (Update)");
    s.expect(".metadata.labels.label1", "'1'");
    s.expect(".metadata.labels.label2", "two");
    s.expect(".metadata.labels.label3", "three");
}

async fn json_patches_overwrite_each_other(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let patch = |i| format!("[{{op: replace, path: /metadata/labels/label, value: '{i}'}}]");
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.json_patch_as(&*format!("client{i}"), &patch(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    let last = s.text(".metadata.labels.label").to_owned();
    s.expect_owner(".metadata.labels.label", &format!("client{last} (Update)"));
    s.json_patch_as("late", &patch(CROWD)).await;
    s.expect(".metadata.labels.label", &format!("'{CROWD}'"));
}

async fn strategic_patches_overwrite_each_other(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.strategic_patch_as(&*format!("client{i}"), &same_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    let last = s.text(".metadata.labels.label").to_owned();
    s.expect_owner(".metadata.labels.label", &format!("client{last} (Update)"));
    s.strategic_patch_as("late", &same_label(CROWD)).await;
    s.expect(".metadata.labels.label", &format!("'{CROWD}'"));
}

async fn one_of_many_locked_patches_wins(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let strategic = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label: '{i}'}}}}");
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.strategic_patch_as(&*format!("client{i}"), &strategic(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("the object has been modified");
    s.expect_owner(".metadata.labels.label", &format!("client{winner} (Update)"));

    let version = s.text(".metadata.resourceVersion").to_owned();
    let json = |i| {
        format!(
            "[{{op: replace, path: /metadata/resourceVersion, value: '{version}'}}, \
             {{op: replace, path: /metadata/labels/label, value: json{i}}}]"
        )
    };
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.json_patch_as(&*format!("client{i}"), &json(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("the object has been modified");
    s.expect(".metadata.labels.label", &format!("json{winner}"));
}

// ---- Server-Side Apply

async fn server_side_apply_needs_no_leave(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply --server-side -f -")
        .reading("metadata: {labels: {label1: '1'}}")
        .says("serverside-applied")
        .await;
    s.expect_owner(".metadata.labels.label1", "kubectl (Apply)");
}

async fn everybody_applies_their_own_label(s: &mut Scene) {
    of_a_namespace(s).await;
    for client in ["alice", "bob", "carol"] {
        s.apply_as(client, &format!("metadata: {{labels: {{{client}: here}}}}")).await;
    }
    for client in ["alice", "bob", "carol"] {
        s.expect(&format!(".metadata.labels.{client}"), "here");
        s.expect_fields(&format!("{client} (Apply)"), &[&format!(".metadata.labels.{client}")]);
    }
}

async fn applies_of_different_fields_at_the_same_time_all_win(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.apply_as(&*format!("client{i}"), &own_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    for i in 0..CROWD {
        s.expect(&format!(".metadata.labels.label{i}"), &format!("'{i}'"));
        s.expect_owner(&format!(".metadata.labels.label{i}"), &format!("client{i} (Apply)"));
    }
}

async fn the_first_applies_at_the_same_time_all_win(s: &mut Scene) {
    of_a_namespace(s).await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.apply_as(&*format!("client{i}"), &own_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    for i in 0..CROWD {
        s.expect_owner(&format!(".metadata.labels.label{i}"), &format!("client{i} (Apply)"));
    }
}

async fn who_updates_a_field_manages_it(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1', label2: '2'}}").await;
    s.expect_owner(".metadata.labels.label1", "kubectl-client-side-apply (Update)");
    s.update_as("controller", "metadata: {labels: {label1: new}}").await;
    s.expect_owner(".metadata.labels.label1", "controller (Update)");
    s.expect_owner(".metadata.labels.label2", "kubectl-client-side-apply (Update)");
}

async fn kubectl_hides_managed_fields(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1'}}").await;
    let get = format!("get namespace {} -o yaml", s.name());
    let hidden = s.kubectl(&get).says("label1: \"1\"").await;
    assert!(!hidden.stdout.contains("managedFields"), "{hidden}");
    s.kubectl(&format!("{get} --show-managed-fields"))
        .says("managedFields:")
        .says("manager: kubectl-client-side-apply")
        .says("f:label1: {}")
        .await;
}

async fn the_story_of_the_labels(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1'}}").await;
    s.expect_owner(".metadata.labels.label1", "kubectl-client-side-apply (Update)");

    s.kubectl("apply --server-side -f -").reading("metadata: {labels: {label1: updated}}").await;
    s.expect(".metadata.labels.label1", "updated");
    s.expect_owner(".metadata.labels.label1", "kubectl (Apply)");

    s.kubectl("apply --server-side -f -").reading("metadata: {labels: {newlabel: new}}").await;
    s.expect(".metadata.labels.newlabel", "new");
    s.expect_absent(".metadata.labels.label1");

    let whole = "metadata: {labels: {label1: updated, newlabel: new}}";
    s.kubectl("apply --server-side -f -").reading(whole).await;
    s.expect(".metadata.labels.newlabel", "new");
    s.expect(".metadata.labels.label1", "updated");

    let other = "metadata: {labels: {label1: by-another}}";
    s.kubectl("apply --server-side --field-manager=new-field-manager -f -")
        .reading(other)
        .fails("conflict with \"kubectl\": .metadata.labels.label1")
        .await;
    s.expect(".metadata.labels.label1", "updated");

    s.kubectl("apply --server-side --field-manager=new-field-manager --force-conflicts -f -")
        .reading(other)
        .await;
    s.expect(".metadata.labels.label1", "by-another");
    s.expect(".metadata.labels.newlabel", "new");
    s.expect_owner(".metadata.labels.label1", "new-field-manager (Apply)");
    s.expect_owner(".metadata.labels.newlabel", "kubectl (Apply)");
    let get = format!("get namespace {} -o yaml --show-managed-fields", s.name());
    s.kubectl(&get).says("manager: new-field-manager").await;
}

async fn a_label_that_is_no_longer_sent_goes(s: &mut Scene) {
    of_a_namespace(s).await;
    s.apply_as("alice", "metadata: {labels: {label1: '1', label2: '2'}}").await;
    s.apply_as("alice", "metadata: {labels: {label2: '2'}}").await;
    s.expect_absent(".metadata.labels.label1");
    s.expect_fields("alice (Apply)", &[".metadata.labels.label2"]);
}

async fn a_label_of_two_managers_stays_with_the_other(s: &mut Scene) {
    of_a_namespace(s).await;
    s.apply_as("alice", "metadata: {labels: {label1: '1', label2: '2'}}").await;
    s.apply_as("bob", "metadata: {labels: {label1: '1'}}").await;
    s.expect_owners(".metadata.labels.label1", &["bob (Apply)", "alice (Apply)"]);
    s.apply_as("alice", "metadata: {labels: {label2: '2'}}").await;
    s.expect(".metadata.labels.label1", "'1'");
    s.expect_owner(".metadata.labels.label1", "bob (Apply)");
}

async fn a_controller_gets_its_way_by_force_alone(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("user", "metadata: {labels: {mode: manual}}").await;
    let intent = "metadata: {labels: {mode: automatic}}";
    // It may try again as often as it wants.
    for _try in 0..3 {
        s.apply_as("controller", intent).conflicts_with("user", ".metadata.labels.mode").await;
    }
    s.apply_as("controller", intent).by_force().await;
    s.expect(".metadata.labels.mode", "automatic");
    s.expect_owner(".metadata.labels.mode", "controller (Apply)");
    s.apply_as("controller", intent).by_force().changes_nothing().await;
}

async fn two_controllers_that_force_undo_each_other(s: &mut Scene) {
    of_a_namespace(s).await;
    s.apply_as("one", "metadata: {labels: {mode: one}}").await;
    for _round in 0..3 {
        for controller in ["two", "one"] {
            let before = s.text(".metadata.resourceVersion").to_owned();
            s.apply_as(controller, &format!("metadata: {{labels: {{mode: {controller}}}}}")).by_force().await;
            s.expect(".metadata.labels.mode", controller);
            s.expect_managers(&[&*format!("{controller} (Apply)")]);
            assert_ne!(s.text(".metadata.resourceVersion"), before);
        }
    }
}
