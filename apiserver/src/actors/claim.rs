//! Adoption and release: a controller owns the objects that its selector matches and that no other controller owns. After
//! `pkg/controller/controller_ref_manager.go`.

use serde_json::{Value, json};

use super::{
    Pass,
    object::{controller, is_controlled_by, is_deleted, namespace, owners, reference_to, selects, text, uid},
    view::Object,
};

/// The candidates that the owner controls. Matching orphans are adopted, and owned objects that don't match are released.
pub(super) fn claim(pass: &mut Pass<'_>, owner: &Value, candidates: Vec<Object>) -> Vec<Object> {
    let selector = owner.pointer("/spec/selector");
    let mut own = Vec::new();
    for object in candidates {
        if namespace(&object) != namespace(owner) {
            continue;
        }
        let is_controlled = controller(&object).is_some();
        if is_controlled && !is_controlled_by(&object, owner) {
            continue;
        }
        let is_selected = selects(selector, object.pointer("/metadata/labels"));
        match is_controlled {
            true if is_selected => own.push(object),
            true if !is_deleted(owner) => {
                let others = owners(&object).iter().filter(|other| text(other, "/uid") != uid(owner));
                let others: Vec<_> = others.collect();
                if pass.patch_metadata(&object, json!({"ownerReferences": others})).is_err() {
                    pass.retry();
                }
            }
            false if is_selected && !is_deleted(owner) && !is_deleted(&object) => {
                let mut all = owners(&object).to_vec();
                all.push(reference_to(owner));
                match pass.patch_metadata(&object, json!({"ownerReferences": all})) {
                    Ok(adopted) => own.push(adopted.into()),
                    Err(_) => pass.retry(),
                }
            }
            _ => {}
        }
    }
    own
}
