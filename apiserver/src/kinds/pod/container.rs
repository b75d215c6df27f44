//! Validation of containers: names, images, ports and mounts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Scope, check_name, env, probe, resources, security, volume};
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
};

pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(super) const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

/// Fields that ephemeral containers may not have.
#[rustfmt::skip]
const FORBIDDEN_FOR_EPHEMERAL: [&str; 9] = [
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
];

/// The pod's parts that the rules of containers need.
pub(super) struct Context<'a, 'c> {
    pub(super) scope: &'c Scope<'a>,
    /// The valid volumes, by name.
    pub(super) volumes: &'c BTreeMap<&'a str, Cursor<'a>>,
    /// The names of the pod's resource claims.
    pub(super) claims: &'c BTreeSet<&'a str>,
}

impl<'a> Context<'a, '_> {
    pub(super) fn check_containers(&self, errors: &mut Errors) {
        let containers = self.scope.spec.child("containers");
        if containers.len() == 0 {
            errors.push(containers.required(""));
            return;
        }
        let mut names = BTreeSet::new();
        for container in containers.items() {
            self.check_common(&container, errors);
            let name = container.child("name");
            if !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            self.check_lifecycle_and_probes(&container, errors);
            check_restart_policy(&container, errors);
        }
        check_host_ports(containers.items(), errors);
    }

    pub(super) fn check_init_containers(&self, errors: &mut Errors) {
        let spec = &self.scope.spec;
        let mut names: BTreeSet<_> =
            spec.child("containers").items().map(|container| container.text_of("name")).collect();
        let containers = spec.child("initContainers");
        for container in containers.items() {
            self.check_common(&container, errors);
            check_restart_policy(&container, errors);
            let name = container.child("name");
            if !name.text().is_empty() && !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            // The server's path is that of the first item.
            let as_first = container.shown_at(containers.path.index(0));
            check_host_ports(std::iter::once(as_first), errors);
            let is_sidecar = container.text_of("restartPolicy") == "Always";
            if is_sidecar {
                self.check_lifecycle_and_probes(&container, errors);
            } else {
                for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                    let field = container.child(name);
                    if field.is_set() {
                        let detail = "may not be set for init containers without restartPolicy=Always";
                        errors.push(field.forbidden(detail));
                    }
                }
                for policy in container.child("resizePolicy").items() {
                    let restart = policy.child("restartPolicy");
                    if restart.text() == "RestartContainer" {
                        let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                        errors.push(restart.invalid_text(detail));
                    }
                }
            }
        }
    }

    pub(super) fn check_ephemeral_containers(&self, errors: &mut Errors) {
        const FORBIDDEN: &str = "cannot be set for an Ephemeral Container";

        let spec = &self.scope.spec;
        let others: BTreeSet<_> = ["containers", "initContainers"]
            .iter()
            .flat_map(|name| spec.child(name).items().map(|other| other.text_of("name")).collect::<Vec<_>>())
            .collect();
        let mut names = others.clone();
        for container in spec.child("ephemeralContainers").items() {
            self.check_common(&container, errors);
            check_image_spaces(&container.child("image"), errors);
            let name = container.child("name");
            if !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            let target = container.child("targetContainerName");
            if !target.text().is_empty() && !others.contains(target.text()) {
                errors.push(target.not_found());
            }
            for name in FORBIDDEN_FOR_EPHEMERAL {
                let field = container.child(name);
                if field.len() > 0 || !field.text().is_empty() {
                    errors.push(field.forbidden(FORBIDDEN));
                }
            }
            for mount in container.child("volumeMounts").items() {
                for name in ["subPath", "subPathExpr"] {
                    let path = mount.child(name);
                    if !path.text().is_empty() {
                        errors.push(path.forbidden(FORBIDDEN));
                    }
                }
            }
        }
    }

    fn check_common(&self, container: &Cursor<'a>, errors: &mut Errors) {
        check_name(&container.child("name"), errors);
        container.child("image").check_present(errors);
        container.child("terminationMessagePolicy").check_choice(errors, &["File", "FallbackToLogsOnError"]);
        check_ports(&container.child("ports"), errors);
        env::check_env(&container.child("env"), errors);
        env::check_env_from(&container.child("envFrom"), errors);
        volume::check_mounts(container, self.volumes, errors);
        volume::check_devices(container, self.volumes, errors);
        container.child("imagePullPolicy").check_choice(errors, &PULL_POLICIES);
        resources::check_container(&container.child("resources"), self.claims, errors);
        resources::check_resize_policy(
            &container.child("resizePolicy"),
            self.scope.spec.text_of("restartPolicy"),
            errors,
        );
        security::check_container(
            &container.child("securityContext"),
            self.scope.shares_host_users(),
            errors,
        );
    }

    fn check_lifecycle_and_probes(&self, container: &Cursor<'a>, errors: &mut Errors) {
        let spec = &self.scope.spec;
        probe::check_lifecycle(&container.child("lifecycle"), spec, errors);
        for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
            probe::check_probe(&container.child(name), name, spec, errors);
        }
    }
}

/// An image has no spaces around its name.
pub(super) fn check_image_spaces(image: &Cursor<'_>, errors: &mut Errors) {
    if image.text().trim() != image.text() {
        errors.push(image.invalid_text("must not have leading or trailing whitespace"));
    }
}

fn check_ports(ports: &Cursor<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for port in ports.items() {
        let name = port.child("name");
        if !name.text().is_empty() {
            let problems = format::port_name(name.text());
            if problems.is_empty() && !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            errors.extend(problems.iter().map(|problem| name.invalid_text(problem)));
        }
        let container_port = port.child("containerPort");
        if container_port.int() == 0 {
            errors.push(container_port.required(""));
        }
        for number in [container_port, port.child("hostPort")] {
            if number.int() != 0 {
                check_port_number(&number, errors);
            }
        }
        port.child("protocol").check_choice(errors, &PROTOCOLS);
    }
}

pub(super) fn check_port_number(port: &Cursor<'_>, errors: &mut Errors) {
    if let Some(problem) = format::port_number(port.int()) {
        errors.push(port.invalid_int(problem));
    }
}

fn check_host_ports<'a>(containers: impl Iterator<Item = Cursor<'a>>, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for container in containers {
        for port in container.child("ports").items() {
            let host = port.child("hostPort");
            let key = format!("{}/{}/{}", port.text_of("protocol"), port.text_of("hostIP"), host.int());
            if host.int() != 0 && !taken.insert(key.clone()) {
                errors.push(FieldError::duplicate(&host.path, baton_merge::value::Value::String(&key)));
            }
        }
    }
}

fn check_restart_policy(container: &Cursor<'_>, errors: &mut Errors) {
    const RULES: usize = 20;
    const EXIT_CODES: usize = 255;

    let (policy, rules) = (container.child("restartPolicy"), container.child("restartPolicyRules"));
    if !policy.is_set() && rules.len() > 0 {
        errors.push(policy.required("must specify restartPolicy when restart rules are used"));
    }
    policy.check_one_of(errors, &["Always", "Never", "OnFailure"]);
    if rules.len() > RULES {
        errors.push(FieldError::too_many(&rules.path, rules.len(), RULES));
    }
    for rule in rules.items() {
        let action = rule.child("action");
        if !matches!(action.text(), "Restart" | "RestartAllContainers") {
            errors.push(action.not_supported(&["Restart", "RestartAllContainers"]));
        }
        let exit_codes = rule.child("exitCodes");
        if !exit_codes.is_set() {
            errors.push(exit_codes.required("must be specified"));
            continue;
        }
        let (operator, values) = (exit_codes.child("operator"), exit_codes.child("values"));
        if !matches!(operator.text(), "In" | "NotIn") {
            errors.push(operator.not_supported(&["In", "NotIn"]));
        }
        if values.len() > EXIT_CODES {
            errors.push(FieldError::too_many(&values.path, values.len(), EXIT_CODES));
        }
    }
}
