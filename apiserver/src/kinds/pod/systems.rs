//! Validation of volume sources of single storage systems, for pods and persistent volumes, which differ in the references
//! to secrets.

use baton_merge::value::Value;

use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
};

/// The required strings of each source, in the server's order.
#[rustfmt::skip]
const REQUIRED: [(&str, &[&str]); 13] = [
    ("gcePersistentDisk", &["pdName"]), ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]), ("rbd", &["monitors", "image"]), ("cinder", &["volumeID"]),
    ("cephfs", &["monitors"]), ("flexVolume", &["driver"]), ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]), ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]), ("scaleIO", &["gateway", "system", "volumeName"]),
    ("azureDisk", &["diskName", "diskURI"]),
];

/// Required secrets, which need a namespace in a persistent volume.
const SECRETS: [&str; 2] = ["cinder", "storageos"];

const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
const DISK_URI: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
const MANAGED_URI: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";

/// Validates the source with this name in a volume.
pub(in crate::kinds) fn check_system(name: &str, volume: &Cursor<'_>, persistent: bool, errors: &mut Errors) {
    let source = &match name {
        "gcePersistentDisk" => volume.child(name).shown_at(volume.path.child("persistentDisk")),
        _ => volume.child(name),
    };
    let required = REQUIRED.iter().filter(|(own, _)| *own == name).flat_map(|(_, required)| *required);
    for field in required.map(|field| source.child(field)) {
        if field.len() == 0 && field.text().is_empty() {
            errors.push(field.required(""));
        }
    }
    match name {
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let partition = source.child("partition");
            if !(0..=255).contains(&partition.int()) {
                errors.push(partition.invalid_int("must be between 1 and 255, inclusive"));
            }
        }
        "glusterfs" => {
            let namespace = source.child("endpointsNamespace");
            if namespace.is_set() && namespace.text().is_empty() {
                let detail = "if the endpointnamespace is set, it must be a valid namespace name";
                errors.push(namespace.invalid_text(detail));
            } else {
                namespace.check_if_set(errors, format::dns_label);
            }
        }
        "flocker" => check_flocker(source, errors),
        "quobyte" => check_quobyte(source, errors),
        "iscsi" => check_iscsi(source, persistent, errors),
        "fc" => check_fibre_channel(source, errors),
        "flexVolume" => {
            for (key, option) in source.child("options").members() {
                let namespace = format!(".{}", key.split('/').next().unwrap_or_default().to_lowercase());
                if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
                    let detail = "kubernetes.io and k8s.io namespaces are reserved";
                    errors.push(FieldError::invalid_text(&option.path, key, detail));
                }
            }
        }
        "azureFile" => {
            let namespace = source.child("secretNamespace");
            if namespace.is_set() && namespace.text().is_empty() {
                errors.push(namespace.required(""));
            }
        }
        "azureDisk" => check_azure_disk(source, errors),
        "storageos" => {
            source.child("volumeName").check_required(errors, format::dns_label);
            let namespace = source.child("volumeNamespace");
            namespace.check_unless_empty(errors, format::dns_label);
        }
        _ => {}
    }
    let secret = source.child("secretRef");
    if SECRETS.contains(&name) && secret.is_set() {
        secret.child("name").check_present(errors);
        if persistent {
            secret.child("namespace").check_present(errors);
        }
    }
}

fn check_flocker(source: &Cursor<'_>, errors: &mut Errors) {
    let (name, id) = (source.child("datasetName"), source.child("datasetUUID"));
    match (name.text().is_empty(), id.text().is_empty()) {
        (true, true) => errors.push(source.required("one of datasetName and datasetUUID is required")),
        (false, false) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid_text(&source.path, "resource", detail));
        }
        _ => {}
    }
    if name.text().contains('/') {
        errors.push(name.invalid_text("must not contain '/'"));
    }
}

fn check_quobyte(source: &Cursor<'_>, errors: &mut Errors) {
    const TENANT: usize = 64;

    let (registry, tenant) = (source.child("registry"), source.child("tenant"));
    if registry.text().is_empty() {
        errors.push(registry.required(PAIRS));
    } else if tenant.text().len() > TENANT {
        errors.push(tenant.required("must be a UUID and may not exceed a length of 64 characters"));
    } else {
        let broken = registry.text().split(',').filter(|pair| pair.matches(':').count() != 1);
        errors.extend(broken.map(|_| registry.invalid_text(PAIRS)));
    }
    source.child("volume").check_present(errors);
}

fn check_iscsi(source: &Cursor<'_>, persistent: bool, errors: &mut Errors) {
    source.child("targetPortal").check_present(errors);
    let (own, initiator) = (source.child("iqn"), source.child("initiatorName"));
    own.check_present(errors);
    if !own.text().is_empty() {
        check_qualified(&own, persistent, errors);
    }
    let unit = source.child("lun");
    unit.check_range(errors, 0, 255);
    let secret = source.child("secretRef");
    if secret.is_set() && persistent {
        secret.child("name").check_present(errors);
    } else if !secret.is_set()
        && ["chapAuthDiscovery", "chapAuthSession"].iter().any(|name| source.flag_of(name))
    {
        errors.push(secret.required(""));
    }
    if initiator.is_set() {
        check_qualified(&initiator.shown_at(source.path.child("initiatorname")), persistent, errors);
    }
}

/// A qualified name in a storage network.
fn check_qualified(name: &Cursor<'_>, persistent: bool, errors: &mut Errors) {
    let text = name.text();
    let is_number =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_valid = match text.get(..3) {
        Some("iqn") => is_dated_name(text),
        Some("eui") => text.get(4..).is_some_and(|rest| is_number(rest, 16)),
        Some("naa") => text.get(4..).is_some_and(|rest| is_number(rest, 32)),
        _ => {
            let starts = if persistent { "" } else { " starting with iqn, eui, or naa" };
            errors.push(name.invalid_text(&format!("must be valid format{starts}")));
            return;
        }
    };
    if !is_valid {
        errors.push(name.invalid_text("must be valid format"));
    }
}

/// A name such as `iqn.2001-04.com.example:storage`.
fn is_dated_name(text: &str) -> bool {
    let digits = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = || {
        let (year, rest) = text.strip_prefix("iqn.")?.split_once('-')?;
        let (month, rest) = rest.split_once('.')?;
        let (authority, name) = rest.split_once(':')?;
        Some((year, month, authority, name))
    };
    parts().is_some_and(|(year, month, authority, name)| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
        digits(year, 4)
            && digits(month, 2)
            && !authority.is_empty()
            && authority.chars().all(is_part)
            && !name.is_empty()
            && !name.contains(|letter: char| ",;*&$|".contains(letter) || letter.is_ascii_whitespace())
    })
}

fn check_fibre_channel(source: &Cursor<'_>, errors: &mut Errors) {
    let (names, ids, unit) = (source.child("targetWWNs"), source.child("wwids"), source.child("lun"));
    match (names.len(), ids.len()) {
        (0, 0) => errors.push(names.required("must specify either targetWWNs or wwids, but not both")),
        (1.., 1..) => {
            errors.push(names.invalid("targetWWNs and wwids can not be specified simultaneously"));
        }
        _ => {}
    }
    if names.len() > 0 && !unit.is_set() {
        errors.push(unit.required("lun is required if targetWWNs is specified"));
    } else if names.len() > 0 {
        unit.check_range(errors, 0, 255);
    }
}

fn check_azure_disk(source: &Cursor<'_>, errors: &mut Errors) {
    source.child("cachingMode").check_one_of(errors, &["None", "ReadOnly", "ReadWrite"]);
    let (kind, address) = (source.child("kind"), source.child("diskURI"));
    kind.check_one_of(errors, &["Dedicated", "Managed", "Shared"]);
    let (start, supported) =
        if kind.text() == "Managed" { ("/subscriptions/", MANAGED_URI) } else { ("https://", DISK_URI) };
    if kind.is_set() && !address.text().starts_with(start) {
        errors.push(FieldError::not_supported(&address.path, Value::String(address.text()), &[supported]));
    }
}
