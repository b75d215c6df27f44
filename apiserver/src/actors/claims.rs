//! PersistentVolumeClaims: binds each to a volume, and deletes claims and volumes that nothing uses. After
//! `pkg/controller/volume`.
//!
//! A claim without a class gets a volume as in a cluster with a default class. A volume is only an object: there is no
//! storage.

use serde_json::{Value, json};

use super::{
    Controller, Pass,
    client::Refused,
    object::{claims_of, has_finalizer, is_active, is_deleted, items, name, namespace, selects, text, uid},
    view::Object,
};
use crate::kinds::Quantity;

const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
const CLASS_PROTECTION: &str = "kubernetes.io/vac-protection";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

pub(super) struct Claims;

impl Controller for Claims {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let (pods, claims) = (pass.list("", "pods"), pass.list("", "persistentvolumeclaims"));
        for claim in &claims {
            let done = if is_deleted(claim) {
                // A pod without a node can't start with a claim that is being deleted.
                let holds = |pod: &Object| !text(pod, "/spec/nodeName").is_empty() && uses(pod, claim);
                if pods.iter().any(holds) { Ok(()) } else { unprotect(pass, claim, CLAIM_PROTECTION) }
            } else {
                bind(pass, claim, &pods)
            };
            if done.is_err() {
                pass.retry();
            }
        }
        // Listed again: some of them were just bound.
        let claims = pass.list("", "persistentvolumeclaims");
        let volumes = pass.list("", "persistentvolumes");
        for volume in &volumes {
            if sync(pass, volume, &claims).is_err() {
                pass.retry();
            }
        }
        for class in pass.list("storage.k8s.io", "volumeattributesclasses") {
            let names = |of: &Object| {
                ["/spec/volumeAttributesClassName", "/status/currentVolumeAttributesClassName"]
                    .iter()
                    .any(|at| text(of, at) == name(&class))
            };
            let is_used = claims.iter().chain(&volumes).any(names);
            if is_deleted(&class) && !is_used && unprotect(pass, &class, CLASS_PROTECTION).is_err() {
                pass.retry();
            }
        }
    }
}

/// Whether a pod uses a claim.
fn uses(pod: &Value, claim: &Value) -> bool {
    namespace(pod) == namespace(claim) && claims_of(pod).any(|own| own == name(claim))
}

fn unprotect(pass: &Pass<'_>, object: &Value, finalizer: &str) -> Result<(), Refused> {
    if has_finalizer(object, finalizer) {
        pass.remove_finalizer(object, finalizer)?;
    }
    Ok(())
}

/// Binds a claim to a volume, or resizes the volume of a bound claim.
fn bind(pass: &mut Pass<'_>, claim: &Object, pods: &[Object]) -> Result<(), Refused> {
    let is_bound = text(claim, "/status/phase") == "Bound";
    let volume = match (volume_of(pass, claim), is_bound) {
        (Some(volume), true) => with_size(pass, &volume, claim)?,
        (Some(volume), false) => with_claim(pass, &volume, claim)?,
        // A bound claim that lost its volume gets no other.
        (None, true) => return Ok(()),
        (None, false) => match provisioned(pass, claim, pods) {
            Some(volume) => pass.create(&volume)?,
            None => return Ok(()),
        },
    };
    let mut updated = (**claim).clone();
    if text(claim, "/spec/volumeName").is_empty() {
        updated["spec"]["volumeName"] = name(&volume).into();
        updated["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] = "yes".into();
    }
    updated["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes".into();
    if updated != **claim {
        updated = pass.update(&updated, "")?;
    }
    let before = updated["status"].clone();
    updated["status"]["phase"] = "Bound".into();
    updated["status"]["accessModes"] = volume["spec"]["accessModes"].clone();
    updated["status"]["capacity"] = volume["spec"]["capacity"].clone();
    if updated["status"] != before {
        pass.update(&updated, "status")?;
    }
    Ok(())
}

/// The volume that is bound to the claim, that it names, or the smallest one that fits.
fn volume_of(pass: &mut Pass<'_>, claim: &Value) -> Option<Object> {
    let volumes = pass.list("", "persistentvolumes");
    let named = text(claim, "/spec/volumeName");
    if !named.is_empty() {
        return volumes.into_iter().find(|volume| name(volume) == named && !is_anothers(volume, claim));
    }
    let is_own = |volume: &&Object| volume.pointer("/spec/claimRef").is_some() && !is_anothers(volume, claim);
    let own = volumes.iter().find(is_own).cloned();
    own.or_else(|| {
        let free = volumes.into_iter().filter(|volume| {
            volume.pointer("/spec/claimRef").is_none() && !is_deleted(volume) && fits(volume, claim)
        });
        free.min_by_key(|volume| capacity(volume))
    })
}

/// Whether a volume is bound to, or reserved for, another claim.
fn is_anothers(volume: &Value, claim: &Value) -> bool {
    let Some(reference) = volume.pointer("/spec/claimRef") else { return false };
    let uid_of = text(reference, "/uid");
    [text(reference, "/namespace"), text(reference, "/name")] != [namespace(claim), name(claim)]
        || !uid_of.is_empty() && uid_of != uid(claim)
}

fn capacity(volume: &Value) -> Quantity {
    Quantity::parse(text(volume, "/spec/capacity/storage"))
}

fn request(claim: &Value) -> Quantity {
    Quantity::parse(text(claim, "/spec/resources/requests/storage"))
}

fn fits(volume: &Value, claim: &Value) -> bool {
    let has_mode = |mode: &Value| items(volume, "/spec/accessModes").contains(mode);
    let selector = claim.pointer("/spec/selector");
    capacity(volume) >= request(claim)
        && items(claim, "/spec/accessModes").iter().all(has_mode)
        && text(volume, "/spec/storageClassName") == text(claim, "/spec/storageClassName")
        && volume["spec"]["volumeMode"] == claim["spec"]["volumeMode"]
        && (selector.is_none() || selects(selector, volume.pointer("/metadata/labels")))
}

/// The volume, with a reference to its claim.
fn with_claim(pass: &Pass<'_>, volume: &Object, claim: &Value) -> Result<Value, Refused> {
    let mut updated = (**volume).clone();
    if text(volume, "/spec/claimRef/uid").is_empty() {
        updated["spec"]["claimRef"] = reference_to(claim);
        updated["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] = "yes".into();
        updated = pass.update(&updated, "")?;
    }
    Ok(updated)
}

fn reference_to(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace(claim), "name": name(claim),
        "uid": uid(claim), "resourceVersion": text(claim, "/metadata/resourceVersion"),
    })
}

/// The volume of a bound claim, grown to the claim's request. Admission checks whether the class allows growth.
fn with_size(pass: &Pass<'_>, volume: &Object, claim: &Value) -> Result<Value, Refused> {
    let mut updated = (**volume).clone();
    if capacity(volume) < request(claim) {
        updated["spec"]["capacity"]["storage"] = claim["spec"]["resources"]["requests"]["storage"].clone();
        updated = pass.update(&updated, "")?;
    }
    Ok(updated)
}

/// A new volume for a claim; none if its class doesn't exist, has no provisioner, or waits for a pod.
fn provisioned(pass: &mut Pass<'_>, claim: &Value, pods: &[Object]) -> Option<Value> {
    let classes = pass.list("storage.k8s.io", "storageclasses");
    let class = match claim.pointer("/spec/storageClassName").and_then(Value::as_str) {
        None => json!({}),
        Some(wanted) => (**classes.iter().find(|class| name(class) == wanted)?).clone(),
    };
    let provisioner = text(&class, "/provisioner");
    let waits = text(&class, "/volumeBindingMode") == "WaitForFirstConsumer";
    let is_consumer =
        |pod: &Object| is_active(pod) && items(pod, "/spec/schedulingGates").is_empty() && uses(pod, claim);
    if provisioner == "kubernetes.io/no-provisioner" || waits && !pods.iter().any(is_consumer) {
        return None;
    }
    let made = format!("pvc-{}", uid(claim));
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": made, "annotations": {PROVISIONED_BY: provisioner}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"], "volumeMode": claim["spec"]["volumeMode"],
            "persistentVolumeReclaimPolicy": "Delete", "claimRef": reference_to(claim),
            "hostPath": {"path": format!("/var/lib/volumes/{made}")},
        },
    });
    for (from, to) in [
        ("/reclaimPolicy", "persistentVolumeReclaimPolicy"),
        ("/mountOptions", "mountOptions"),
        ("/metadata/name", "storageClassName"),
    ] {
        if let Some(value) = class.pointer(from) {
            volume["spec"][to] = value.clone();
        }
    }
    Some(volume)
}

/// Writes the phase of a volume, or deletes a provisioned volume whose claim is gone, unless its class retains it.
fn sync(pass: &Pass<'_>, volume: &Object, claims: &[Object]) -> Result<(), Refused> {
    let holder = text(volume, "/spec/claimRef/uid");
    let phase = match claims.iter().any(|claim| uid(claim) == holder) {
        true => "Bound",
        false if holder.is_empty() => "Available",
        false => "Released",
    };
    if is_deleted(volume) {
        return if phase == "Bound" { Ok(()) } else { unprotect(pass, volume, VOLUME_PROTECTION) };
    }
    if text(volume, "/status/phase") != phase {
        pass.patch_status(volume, &json!({"phase": phase}))?;
    }
    let was_made = volume["metadata"]["annotations"].get(PROVISIONED_BY).is_some();
    if phase == "Released" && was_made && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete" {
        pass.delete(volume, json!({}))?;
    }
    Ok(())
}
