//! Who manages which field.

use baton_e2e::{
    plays,
    scenario::{Promise, Scene, Section},
};

pub const SECTION: Section = Section {
    document: super::DOCUMENT,
    title: "Field management",
    promises: &[Promise::new(
        "The API server tracks the managed fields of every new object, however it is made.",
        plays![every_way_to_create_is_recorded],
    )],
};

async fn every_way_to_create_is_recorded(s: &mut Scene) {
    s.create_as("kubectl-create", "data: {key: some value}").creates().await;
    s.expect_owner(".data.key", "kubectl-create (Update)");
    s.apply_as("kubectl", "data: {key: other value}").conflicts_with("kubectl-create", ".data.key").await;
    s.kubectl("apply --server-side --force-conflicts -f -").reading("data: {key: other value}").await;
    s.expect_owner(".data.key", "kubectl (Apply)");
}
