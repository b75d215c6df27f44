//! Validation of security contexts.

use super::Scope;
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    go_json::{GoField, GoType, go_json},
};

use super::volume::check_descending_path;

const PROFILE_TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

/// The highest user or group ID.
const MAX_ID: i64 = i32::MAX as i64;

/// The longest path of a profile.
const PROFILE_LENGTH: usize = 4095;

/// The security context of a container, as Go prints it.
const SECURITY_CONTEXT: &[GoField] = &[
    (
        "Capabilities",
        "capabilities",
        GoType::Pointer(&[("Add", "add", GoType::Plain("null")), ("Drop", "drop", GoType::Plain("null"))]),
    ),
    ("Privileged", "privileged", GoType::Plain("null")),
    (
        "SELinuxOptions",
        "seLinuxOptions",
        GoType::Pointer(&[
            ("User", "user", GoType::Plain("\"\"")),
            ("Role", "role", GoType::Plain("\"\"")),
            ("Type", "type", GoType::Plain("\"\"")),
            ("Level", "level", GoType::Plain("\"\"")),
        ]),
    ),
    (
        "WindowsOptions",
        "windowsOptions",
        GoType::Pointer(&[
            ("GMSACredentialSpecName", "gmsaCredentialSpecName", GoType::Plain("null")),
            ("GMSACredentialSpec", "gmsaCredentialSpec", GoType::Plain("null")),
            ("RunAsUserName", "runAsUserName", GoType::Plain("null")),
            ("HostProcess", "hostProcess", GoType::Plain("null")),
        ]),
    ),
    ("RunAsUser", "runAsUser", GoType::Plain("null")),
    ("RunAsGroup", "runAsGroup", GoType::Plain("null")),
    ("RunAsNonRoot", "runAsNonRoot", GoType::Plain("null")),
    ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem", GoType::Plain("null")),
    ("AllowPrivilegeEscalation", "allowPrivilegeEscalation", GoType::Plain("null")),
    ("ProcMount", "procMount", GoType::Plain("null")),
    ("SeccompProfile", "seccompProfile", GoType::Pointer(PROFILE)),
    ("AppArmorProfile", "appArmorProfile", GoType::Pointer(PROFILE)),
];

const PROFILE: &[GoField] = &[
    ("Type", "type", GoType::Plain("\"\"")),
    ("LocalhostProfile", "localhostProfile", GoType::Plain("null")),
];

/// Validates the security context of a pod.
pub(super) fn check_pod(scope: &Scope<'_>, errors: &mut Errors) {
    let spec = &scope.spec;
    let context = spec.child("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.child(name).check_range(errors, 0, MAX_ID);
    }
    for group in context.child("supplementalGroups").items() {
        group.check_range(errors, 0, MAX_ID);
    }
    let shared = spec.child("shareProcessNamespace");
    if shared.flag() && spec.flag_of("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(shared.shown_at(context.path.child("shareProcessNamespace")).invalid(detail));
    }
    check_sysctls(spec, &context.child("sysctls"), errors);
    context.child("fsGroupChangePolicy").check_one_of(errors, &["Always", "OnRootMismatch"]);
    check_seccomp_profile(&context.child("seccompProfile"), errors);
    check_app_armor_profile(&context.child("appArmorProfile"), errors);
    context.child("supplementalGroupsPolicy").check_one_of(errors, &["Merge", "Strict"]);
    context.child("seLinuxChangePolicy").check_one_of(errors, &["MountOption", "Recursive"]);
}

fn check_sysctls(spec: &Cursor<'_>, sysctls: &Cursor<'_>, errors: &mut Errors) {
    const REGEX: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
    const LENGTH: usize = 253;

    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        bytes.first().is_some_and(|byte| is_end(*byte))
            && bytes.last().is_some_and(|byte| is_end(*byte))
            && bytes.iter().all(|byte| is_end(*byte) || matches!(byte, b'-' | b'_'))
    };
    let mut names = std::collections::BTreeSet::new();
    for sysctl in sysctls.items() {
        let name = sysctl.child("name");
        if name.text().is_empty() {
            errors.push(name.required(""));
        } else if name.text().len() > LENGTH || !name.text().split(['.', '/']).all(is_segment) {
            let detail = format!("must have at most {LENGTH} characters and match regex {REGEX}");
            errors.push(name.invalid_text(&detail));
        } else if !names.insert(name.text()) {
            errors.push(name.duplicate());
        }
        let dotted = name.text().replace('/', ".");
        let is_net = dotted.starts_with("net.");
        let is_ipc =
            ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|prefix| dotted.starts_with(prefix))
                || dotted == "kernel.sem";
        if is_net && spec.flag_of("hostNetwork") {
            errors.push(name.invalid_text("may not be specified when 'hostNetwork' is true"));
        } else if is_ipc && spec.flag_of("hostIPC") {
            errors.push(name.invalid_text("may not be specified when 'hostIPC' is true"));
        }
    }
}

/// Validates the security context of a container.
pub(super) fn check_container(context: &Cursor<'_>, shares_host_users: bool, errors: &mut Errors) {
    if !context.is_set() {
        return;
    }
    for name in ["runAsUser", "runAsGroup"] {
        context.child(name).check_range(errors, 0, MAX_ID);
    }
    let proc_mount = context.child("procMount");
    proc_mount.check_one_of(errors, &["Default", "Unmasked"]);
    if shares_host_users && proc_mount.text() == "Unmasked" {
        errors.push(proc_mount.invalid_text("`hostUsers` must be false to use `Unmasked`"));
    }
    check_seccomp_profile(&context.child("seccompProfile"), errors);
    if matches!(context.get("allowPrivilegeEscalation"), Some(baton_merge::value::Value::Bool(false))) {
        let mut conflict = |detail: &str| {
            let json = go_json(context.value, SECURITY_CONTEXT);
            errors.push(FieldError::invalid_json(&context.path, &json, detail));
        };
        if context.flag_of("privileged") {
            conflict("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        let added = context.at(&["capabilities", "add"]);
        for _ in added.texts().filter(|capability| *capability == "CAP_SYS_ADMIN") {
            conflict("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    check_app_armor_profile(&context.child("appArmorProfile"), errors);
}

fn check_seccomp_profile(profile: &Cursor<'_>, errors: &mut Errors) {
    if !profile.is_set() {
        return;
    }
    let (kind, path) = (profile.child("type"), profile.child("localhostProfile"));
    if kind.text().is_empty() {
        errors.push(kind.required("type is required when seccompProfile is set"));
    } else {
        kind.check_one_of(errors, &PROFILE_TYPES);
    }
    match (kind.text(), path.is_set()) {
        ("Localhost", false) => errors.push(path.required("must be set when seccomp type is Localhost")),
        ("Localhost", true) => check_descending_path(&path, errors),
        (_, true) => errors.push(FieldError::invalid_json(
            &path.path,
            &go_json(profile.value, PROFILE),
            "can only be set when seccomp type is Localhost",
        )),
        (_, false) => {}
    }
}

fn check_app_armor_profile(profile: &Cursor<'_>, errors: &mut Errors) {
    if !profile.is_set() {
        return;
    }
    let (kind, path) = (profile.child("type"), profile.child("localhostProfile"));
    match kind.text() {
        "Localhost" => {
            let needed = "must be set when AppArmor type is Localhost";
            if !path.is_set() {
                errors.push(path.required(needed));
            } else if path.text().trim() != path.text() {
                errors.push(path.invalid_text("must not be padded with whitespace"));
            } else if path.text().is_empty() {
                errors.push(path.required(needed));
            }
            if path.text().len() > PROFILE_LENGTH {
                errors.push(FieldError::too_long(&path.path, PROFILE_LENGTH));
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if path.is_set() {
                errors.push(path.invalid_text("can only be set when AppArmor type is Localhost"));
            }
        }
        "" => errors.push(kind.required("type is required when appArmorProfile is set")),
        _ => errors.push(kind.not_supported(&PROFILE_TYPES)),
    }
}

const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether it is the key of an `AppArmor` annotation.
pub(super) fn is_app_armor_annotation(key: &str) -> bool {
    key.starts_with(APP_ARMOR_CONTAINER)
}

/// Validates deprecated annotations of profiles.
pub(super) fn check_profile_annotations(annotations: &Cursor<'_>, spec: &Cursor<'_>, errors: &mut Errors) {
    let scope = Scope { spec: spec.clone(), is_pod: true };
    let mut check_seccomp = |key: &str, profile: &Cursor<'_>| {
        let profile = profile.shown_at(annotations.path.child(key));
        match profile.text() {
            "runtime/default" | "docker/default" | "unconfined" => {}
            text => match text.strip_prefix("localhost/") {
                Some(path) => check_descending_path(
                    &Cursor { value: Some(baton_merge::value::Value::String(path)), path: profile.path },
                    errors,
                ),
                None => errors.push(profile.invalid_text("must be a valid seccomp profile")),
            },
        }
    };
    let members = || annotations.members();
    members().filter(|(key, _)| *key == SECCOMP_POD).for_each(|(key, profile)| check_seccomp(key, &profile));
    members()
        .filter(|(key, _)| key.starts_with(SECCOMP_CONTAINER))
        .for_each(|(key, profile)| check_seccomp(key, &profile));
    for (key, profile) in members() {
        let Some(name) = key.strip_prefix(APP_ARMOR_CONTAINER) else { continue };
        if !scope.containers().any(|container| container.text_of("name") == name) {
            errors.push(FieldError::invalid_text(&profile.path, name, "container not found"));
        }
        if !matches!(profile.text(), "" | "runtime/default" | "unconfined")
            && !profile.text().starts_with("localhost/")
        {
            errors
                .push(profile.invalid_text(&format!("invalid AppArmor profile name: {:?}", profile.text())));
        }
    }
}

/// Annotations and fields must name the same profile.
pub(super) fn check_annotations_match(scope: &Scope<'_>, annotations: &Cursor<'_>, errors: &mut Errors) {
    let of_pod = scope.spec.child("securityContext");
    let pod_seccomp = of_pod.child("seccompProfile");
    check_profile_matches(&pod_seccomp, &annotations.child(SECCOMP_POD), "seccomp", &pod_seccomp, errors);
    for container in scope.containers() {
        let profile = container.at(&["securityContext", "seccompProfile"]);
        let key = format!("{SECCOMP_CONTAINER}{}", container.text_of("name"));
        check_profile_matches(&profile, &annotations.child(&key), "seccomp", &profile, errors);
    }
    if scope.spec.at(&["os", "name"]).text() == "windows" {
        return;
    }
    for container in scope.containers() {
        let place = container.at(&["securityContext", "appArmorProfile"]);
        let profile = if place.is_set() { place.clone() } else { of_pod.child("appArmorProfile") };
        let key = format!("{APP_ARMOR_CONTAINER}{}", container.text_of("name"));
        check_profile_matches(&profile, &annotations.child(&key), "apparmor", &place, errors);
    }
}

fn check_profile_matches(
    profile: &Cursor<'_>,
    annotation: &Cursor<'_>,
    sort: &str,
    place: &Cursor<'_>,
    errors: &mut Errors,
) {
    if !profile.is_set() || !annotation.is_set() {
        return;
    }
    let same_type = match profile.text_of("type") {
        "Unconfined" => annotation.text() == "unconfined",
        "RuntimeDefault" => {
            annotation.text() == "runtime/default"
                || (sort == "seccomp" && annotation.text() == "docker/default")
        }
        "Localhost" => annotation.text().starts_with("localhost/"),
        _ => true,
    };
    if !same_type {
        let detail = format!("{sort} type in annotation and field must match");
        errors.push(place.child("type").forbidden(&detail));
    } else if profile.text_of("type") == "Localhost"
        && annotation.text().strip_prefix("localhost/")
            != profile.child("localhostProfile").value.and(Some(profile.text_of("localhostProfile")))
    {
        let detail = format!("{sort} profile in annotation and field must match");
        errors.push(place.child("localhostProfile").forbidden(&detail));
    }
}

/// Fields that a Linux pod may not have.
pub(super) fn check_linux(scope: &Scope<'_>, errors: &mut Errors) {
    let contexts = std::iter::once(scope.spec.child("securityContext"))
        .chain(scope.containers().map(|container| container.child("securityContext")));
    for options in contexts.map(|context| context.child("windowsOptions")) {
        options.check_unset(errors, "windows options cannot be set for a linux pod");
    }
}

/// Fields that a Windows pod may not have.
pub(super) fn check_windows(scope: &Scope<'_>, errors: &mut Errors) {
    #[rustfmt::skip]
    const OF_POD: [&str; 15] = [
        "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID",
        "hostIPC", "securityContext.seccompProfile", "securityContext.fsGroup",
        "securityContext.fsGroupChangePolicy", "securityContext.sysctls", "shareProcessNamespace",
        "securityContext.runAsUser", "securityContext.runAsGroup", "securityContext.supplementalGroups",
        "securityContext.supplementalGroupsPolicy", "securityContext.seLinuxChangePolicy",
    ];
    #[rustfmt::skip]
    const OF_CONTAINER: [&str; 10] = [
        "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "securityContext.seccompProfile",
        "securityContext.capabilities", "securityContext.readOnlyRootFilesystem",
        "securityContext.privileged", "securityContext.allowPrivilegeEscalation", "securityContext.procMount",
        "securityContext.runAsUser", "securityContext.runAsGroup",
    ];
    let mut forbid = |parent: &Cursor<'_>, fields: &[&str]| {
        for field in fields.iter().map(|path| parent.at(&path.split('.').collect::<Vec<_>>())) {
            field.check_unset(errors, "cannot be set for a windows pod");
        }
    };
    forbid(&scope.spec, &OF_POD);
    for container in scope.containers() {
        forbid(&container, &OF_CONTAINER);
    }
}
