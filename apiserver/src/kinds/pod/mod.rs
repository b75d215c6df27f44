//! Validation of pods and for the templates of pods in other kinds.

mod container;
mod env;
mod probe;
mod projected;
mod resize;
mod resources;
mod scheduling;
mod security;
mod spec;
mod status;
mod systems;
mod update;
mod volume;

pub(super) use probe::check_port;
pub(super) use resize::check_resize;
pub(super) use resources::{
    check_amount, check_resource_list_name, check_resource_name, is_native, is_overcommit_allowed,
};
pub(super) use scheduling::check_preemption_policy;
pub(super) use status::check_status_update;
pub(super) use systems::check_system;
pub(super) use update::{check_ephemeral_containers_update, check_pod_update};
pub(super) use volume::{check_host_path, check_nfs, check_no_backsteps, has_source};

use super::{
    cursor::{Cursor, Errors},
    format,
    metadata::{check_annotations, check_labels},
};

/// The context of a pod's rules.
#[derive(Clone)]
struct Scope<'a> {
    spec: Cursor<'a>,
    /// Whether it is a pod instead of a template.
    is_pod: bool,
}

impl<'a> Scope<'a> {
    fn containers(&self) -> impl Iterator<Item = Cursor<'a>> {
        containers(&self.spec).into_iter()
    }

    /// Whether the pod is in the node's user namespace.
    fn shares_host_users(&self) -> bool {
        self.spec.get("hostUsers").is_none() || self.spec.flag_of("hostUsers")
    }
}

/// All containers of a pod spec, in the server's order.
pub(super) fn containers<'a>(spec: &Cursor<'a>) -> Vec<Cursor<'a>> {
    ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|name| spec.child(name).items().collect::<Vec<_>>())
        .collect()
}

/// Validates a template of pods.
pub(super) fn check_template(template: &Cursor<'_>, errors: &mut Errors) {
    let metadata = template.child("metadata");
    check_template_metadata(template, errors);
    let scope = Scope { spec: template.child("spec"), is_pod: false };
    spec::check(&scope, None, errors);
    security::check_annotations_match(&scope, &metadata.child("annotations"), errors);
    let ephemeral = template.at(&["spec", "ephemeralContainers"]);
    if ephemeral.len() > 0 {
        errors.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Validates labels and annotations of a template, with the server's paths, which lack `metadata`.
pub(super) fn check_template_metadata(template: &Cursor<'_>, errors: &mut Errors) {
    let metadata = template.child("metadata");
    let annotations = metadata.child("annotations").shown_at(template.path.child("annotations"));
    check_labels(&metadata.child("labels").shown_at(template.path.child("labels")), errors);
    check_annotations(&annotations, errors);
    check_pod_annotations(&annotations, &template.child("spec"), errors);
}

/// Validates a new pod, except for its metadata.
pub(super) fn check_new_pod(pod: &Cursor<'_>, errors: &mut Errors) {
    check_pod(pod, errors);
    let spec = pod.child("spec");
    let ephemeral = spec.child("ephemeralContainers");
    if ephemeral.len() > 0 {
        errors.push(ephemeral.forbidden("cannot be set on create"));
    }
    let node_name = spec.child("nodeName");
    if !node_name.text().is_empty() && spec.child("schedulingGates").len() > 0 {
        errors.push(node_name.forbidden("cannot be set until all schedulingGates have been cleared"));
    }
    let scope = Scope { spec, is_pod: true };
    security::check_annotations_match(&scope, &pod.at(&["metadata", "annotations"]), errors);
}

/// Validates a pod, except for its metadata.
fn check_pod(pod: &Cursor<'_>, errors: &mut Errors) {
    let spec = pod.child("spec");
    let metadata = pod.child("metadata");
    check_pod_annotations(&metadata.child("annotations"), &spec, errors);
    spec::check(&Scope { spec: spec.clone(), is_pod: true }, Some(&metadata), errors);
    if spec.text_of("serviceAccountName").is_empty() {
        for volume in spec.child("volumes").items() {
            for source in volume.at(&["projected", "sources"]).items() {
                source
                    .child("serviceAccountToken")
                    .check_unset(errors, "must not be specified when serviceAccountName is not set");
            }
        }
    }
    for name in ["containers", "initContainers"] {
        for container in spec.child(name).items() {
            container::check_image_spaces(&container.child("image"), errors);
        }
    }
}

/// Validates annotations with a meaning for pods.
fn check_pod_annotations(annotations: &Cursor<'_>, spec: &Cursor<'_>, errors: &mut Errors) {
    let value = |key: &str| Cursor { value: annotations.get(key), path: annotations.path.key(key) };
    let mirror = value("kubernetes.io/config.mirror");
    if mirror.is_set() && spec.text_of("nodeName").is_empty() {
        errors.push(mirror.invalid_text("must set spec.nodeName if mirror pod annotation is set"));
    }
    let cost = value("controller.kubernetes.io/pod-deletion-cost");
    let starts_like_a_number = |text: &str| {
        text == "0" || text.starts_with(|first: char| first == '-' || ('1'..='9').contains(&first))
    };
    if cost.is_set() && (!starts_like_a_number(cost.text()) || cost.text().parse::<i32>().is_err()) {
        errors.push(cost.invalid_text("must be a 32bit integer"));
    }
    security::check_profile_annotations(annotations, spec, errors);
}

/// Requires a name that is a DNS label.
fn check_name(name: &Cursor<'_>, errors: &mut Errors) {
    name.check_required(errors, format::dns_label);
}
