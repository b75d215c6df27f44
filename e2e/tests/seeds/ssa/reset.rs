//! Managed fields that are cleared, and what isn't tracked.

use baton_e2e::{
    plays,
    scenario::{Definition, Promise, Scene, Section, builtin::DEPLOYMENT},
};

use super::{DOCUMENT, NGINX};

pub const SECTION: Section = Section {
    document: DOCUMENT,
    title: "Clearing `managedFields`",
    promises: &[
        Promise::new(
            "All `managedFields` can be stripped from an object by overwriting them: with a merge patch, a strategic merge patch, a \
             JSON patch or an update, by everything but apply.",
            plays![
                a_merge_patch_clears,
                a_strategic_patch_clears,
                a_json_patch_clears,
                an_update_clears,
                an_apply_does_not_clear
            ],
        ),
        Promise::new("They are overwritten with a list of one empty entry.", plays![a_merge_patch_clears]),
        Promise::new(
            "In a JSON patch the version of the object can be made a precondition.",
            plays![a_json_patch_clears],
        )
        .but("The header `If-Match` of the example is ignored; a `test` of `/metadata/resourceVersion` is the precondition."),
        Promise::new("The object then has no `managedFields` at all.", plays![a_merge_patch_clears]),
        Promise::new(
            "An empty list doesn't clear them, so that clients that know nothing of the field don't remove it.",
            plays![an_empty_list_clears_no_custom_resource, an_empty_list_clears_what_is_built_in],
        )
        .but("That is so for custom resources only: of a built-in kind an empty list clears them."),
        Promise::new(
            "Where other fields are changed by the same request, the `managedFields` are reset first, and the changes are processed \
             after that.",
            plays![a_reset_with_other_changes],
        ),
        Promise::new(
            "So the applier takes ownership of all fields that are changed in the same request.",
            plays![a_reset_with_other_changes],
        )
        .but("Such an update isn't tracked at all, since the object has no `managedFields` then; the next apply makes the rest of \
              the object `before-first-apply`'s."),
        Promise::new(
            "Where a subresource takes objects of another type, ownership isn't tracked rightly by server-side apply.",
            plays![an_apply_of_a_scale_is_tracked, an_apply_of_a_custom_scale_is_refused],
        )
        .but("A Deployment's scale is tracked, in an entry of its own; that of a custom resource can't be applied when the number \
              changes (status 500)."),
    ],
};

const CLEAR: &str = "metadata: {managedFields: [{}]}";

async fn a_merge_patch_clears(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value}").await;
    s.merge_patch_as("admin", CLEAR).await;
    s.expect_absent(".metadata.managedFields");
    s.expect(".data.key", "value");
}

async fn a_strategic_patch_clears(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value}").await;
    s.strategic_patch_as("admin", CLEAR).await;
    s.expect_absent(".metadata.managedFields");
}

async fn a_json_patch_clears(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value}").await;
    let operations = |version: &str| {
        format!(
            "[{{op: test, path: /metadata/resourceVersion, value: {version}}},
              {{op: replace, path: /metadata/managedFields, value: [{{}}]}}]"
        )
    };
    s.json_patch_as("admin", &operations("'1'")).is_refused(422, "").await;
    s.expect_managers(&["kubectl (Apply)"]);
    let Some(version) = s.at(".metadata.resourceVersion").cloned() else { panic!("an object has a version") };
    s.json_patch_as("admin", &operations(&version.to_string())).with_header("if-match", "1").await;
    s.expect_absent(".metadata.managedFields");
}

async fn an_update_clears(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value}").await;
    s.update_as("admin", CLEAR).await;
    s.expect_absent(".metadata.managedFields");
}

async fn an_apply_does_not_clear(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value}").await;
    s.apply_as("kubectl", CLEAR).is_refused(400, "metadata.managedFields must be nil").await;
    s.expect_managers(&["kubectl (Apply)"]);
}

async fn an_empty_list_clears_no_custom_resource(s: &mut Scene) {
    s.define(Definition::schemaless("Unclearable")).await;
    s.apply_as("kubectl", "spec: {key: value}").await;
    s.merge_patch_as("admin", "metadata: {managedFields: []}").changes_nothing().await;
    s.expect_managers(&["kubectl (Apply)"]);
    s.merge_patch_as("admin", CLEAR).await;
    s.expect_absent(".metadata.managedFields");
}

async fn an_empty_list_clears_what_is_built_in(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value}").await;
    s.merge_patch_as("admin", "metadata: {managedFields: []}").await;
    s.expect_absent(".metadata.managedFields");
}

async fn a_reset_with_other_changes(s: &mut Scene) {
    s.apply_as("kubectl", "data: {key: value, other: value}").await;
    s.merge_patch_as("admin", "{metadata: {managedFields: [{}]}, data: {key: new}}").await;
    s.expect(".data.key", "new");
    s.expect_absent(".metadata.managedFields");
    s.apply_as("kubectl", "data: {own: value}").await;
    s.expect_fields("kubectl (Apply)", &[".data.own"]);
    s.expect_owner(".data.key", "before-first-apply (Update)");
}

async fn an_apply_of_a_scale_is_tracked(s: &mut Scene) {
    s.of(DEPLOYMENT).await;
    s.apply_as("kubectl", NGINX).await;
    let scale = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"example"},"spec":{"replicas":3}}"#;
    s.apply_as("scaler", scale).to("scale").await;
    s.expect_owners(".spec.replicas", &["scaler (Apply scale)", "kubectl (Apply)"]);
}

async fn an_apply_of_a_custom_scale_is_refused(s: &mut Scene) {
    let properties = "spec: {type: object, properties: {replicas: {type: integer}}}\nstatus: {type: object, \
                      properties: {replicas: {type: integer}}}";
    s.define(Definition::new("Scaled", properties).with_status().with_scale()).await;
    s.apply_as("kubectl", "spec: {replicas: 3}").await;
    let scale = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"example"},"spec":{"replicas":4}}"#;
    s.apply_as("scaler", scale).to("scale").by_force().is_refused(500, "").await;
    s.scale_as("scaler", 4).await;
    s.expect_owner(".spec.replicas", "scaler (Update scale)");
}
