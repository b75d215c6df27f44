//! Values that the server generates.

use baton_e2e::{
    scenario::{StepResponse, Subject},
    scenario_list,
};
use baton_testbed::Json;
use jiff::{SignedDuration, Timestamp};

scenario_list! {
    names_and_uids_are_generated, times_are_recorded, the_resource_version_follows_the_stored_object,
    a_dry_run_generates_its_own_uid, a_dry_run_generates_its_own_name,
    a_dry_run_sets_the_time_of_creation, a_dry_run_sets_the_time_of_deletion,
    a_new_object_has_no_resource_version, a_change_keeps_the_resource_version,
}

const GENERATE: &str = "{metadata: {generateName: web-}, data: {key: a}}";
const HELD: &str = "{metadata: {finalizers: [example.com/hold]}, data: {key: a}}";

fn text(response: &StepResponse, path: &str) -> String {
    response.at(path).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[track_caller]
fn expect_now(response: &StepResponse, path: &str) {
    let time: Timestamp = text(response, path).parse().unwrap();
    let age = Timestamp::now().duration_since(time).abs();
    assert!(age < SignedDuration::from_secs(30), "{path} is {time}");
}

async fn names_and_uids_are_generated(s: &mut Subject) {
    let one = s.create_as("me", GENERATE).await;
    let other = s.create_as("me", GENERATE).await;
    for path in [".metadata.name", ".metadata.uid"] {
        assert_ne!(text(&one, path), text(&other, path), "{path}");
    }
    assert!(text(&one, ".metadata.name").starts_with("web-"));
    assert_eq!(text(&one, ".metadata.uid").len(), 36);
}

async fn times_are_recorded(s: &mut Subject) {
    expect_now(&s.create_as("me", HELD).await, ".metadata.creationTimestamp");
    s.expect_absent(".metadata.deletionTimestamp");
    expect_now(&s.delete().await, ".metadata.deletionTimestamp");
}

async fn the_resource_version_follows_the_stored_object(s: &mut Subject) {
    let created = s.create_as("me", "data: {key: a}").await;
    let changed = s.merge_patch_as("me", "data: {key: b}").await;
    assert_ne!(text(&created, ".metadata.resourceVersion"), text(&changed, ".metadata.resourceVersion"));
    let unchanged = s.merge_patch_as("me", "data: {key: b}").changes_nothing().await;
    assert_eq!(text(&unchanged, ".metadata.resourceVersion"), text(&changed, ".metadata.resourceVersion"));
}

async fn a_dry_run_generates_its_own_uid(s: &mut Subject) {
    let responses = s.rehearse(|s| s.create_as("me", "data: {key: a}")).await;
    let [tried, real] = [responses.dry_run, responses.real].map(|response| text(&response, ".metadata.uid"));
    assert_eq!(tried.len(), 36);
    assert_ne!(tried, real);
}

async fn a_dry_run_generates_its_own_name(s: &mut Subject) {
    let responses = s.rehearse(|s| s.create_as("me", GENERATE)).await;
    let [tried, real] = [responses.dry_run, responses.real].map(|response| text(&response, ".metadata.name"));
    assert!(tried.starts_with("web-") && tried.len() > 4);
    assert_ne!(tried, real);
    s.named(&tried).await;
    s.expect_absent("");
}

async fn a_dry_run_sets_the_time_of_creation(s: &mut Subject) {
    let responses = s.rehearse(|s| s.create_as("me", "data: {key: a}")).await;
    expect_now(&responses.dry_run, ".metadata.creationTimestamp");
    let changed = s.merge_patch_as("me", "data: {key: b}").dry_run().await;
    assert_eq!(
        text(&changed, ".metadata.creationTimestamp"),
        text(&responses.real, ".metadata.creationTimestamp")
    );
}

async fn a_dry_run_sets_the_time_of_deletion(s: &mut Subject) {
    s.create_as("me", HELD).await;
    let tried = s.delete().dry_run().await;
    expect_now(&tried, ".metadata.deletionTimestamp");
    tried.expect(".metadata.deletionGracePeriodSeconds", "0");
    s.expect_absent(".metadata.deletionTimestamp");
    s.rehearse(Subject::delete).await;
}

async fn a_new_object_has_no_resource_version(s: &mut Subject) {
    s.create_as("me", "data: {key: a}").dry_run().await.expect_absent(".metadata.resourceVersion");
    s.apply_as("me", "data: {key: a}").dry_run().await.expect_absent(".metadata.resourceVersion");
}

async fn a_change_keeps_the_resource_version(s: &mut Subject) {
    let version = text(&s.create_as("me", "data: {key: a}").await, ".metadata.resourceVersion");
    for response in [
        s.update_as("me", "data: {key: b}").dry_run().await,
        s.merge_patch_as("me", "data: {key: b}").dry_run().await,
        s.apply_as("you", "data: {other: b}").dry_run().await,
    ] {
        assert_eq!(text(&response, ".metadata.resourceVersion"), version);
    }
    s.expect(".data", "{key: a}");
}
