//! The same apply for every kind: nothing here depends on the kind.

use baton_e2e::{
    scenario::{BuiltIn, Subject},
    scenario_list,
};
use serde_json::json;

use crate::kinds::everything;

scenario_list! {
    every_kind_of_the_server_is_applied_alike,
}

/// Kinds that are only applied as a dry run, since controllers write to a new object at once.
const TRIED: [&str; 8] = [
    "/events",
    "/nodes",
    "/resourcequotas",
    "apiextensions.k8s.io/customresourcedefinitions",
    "apiregistration.k8s.io/apiservices",
    "events.k8s.io/events",
    "flowcontrol.apiserver.k8s.io/flowschemas",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
];

/// Kinds that are left out: one needs a signed request, one has to be the address of something, one is Baton's.
const ELSEWHERE: [&str; 3] =
    ["baton.rs/workloads", "certificates.k8s.io/certificatesigningrequests", "networking.k8s.io/ipaddresses"];

async fn every_kind_of_the_server_is_applied_alike(s: &mut Subject) {
    let mut applied = 0;
    for mut stored in everything(s).await.into_iter().filter(|stored| stored.preferred) {
        let [group, version, name, plural] = [
            &stored.resource.group,
            &stored.resource.version,
            &stored.resource.kind,
            &stored.resource.plural,
        ]
        .map(|text| &*text.clone().leak());
        let kind = BuiltIn::new(group, version, name, plural);
        let kind = if stored.namespaced { kind } else { kind.of_the_cluster() };
        if ELSEWHERE.contains(&&*kind.resource()) {
            continue;
        }
        s.of(kind).await;
        s.named(stored.name()).await;
        stored.object.metadata.labels = Some([("team".to_owned(), "blue".to_owned())].into());
        let body = json!(stored.object).to_string();
        if TRIED.contains(&&*kind.resource()) {
            let tried = s.apply_as("pipeline", &body).dry_run().creates().await;
            assert_eq!(tried.managers(), ["pipeline (Apply)"]);
            continue;
        }
        applied += 1;
        s.apply_as("pipeline", &body).creates().await;
        s.expect_managers(&["pipeline (Apply)"]);
        s.expect_owner(".metadata.labels.team", "pipeline (Apply)");
        s.apply_as("other", "metadata: {labels: {team: red}}")
            .conflicts_with("pipeline", ".metadata.labels.team")
            .await;
        s.delete().await;
    }
    assert!(applied > 40, "only {applied} kinds were applied");
}
