//! A CustomResourceDefinition: the Workload's own, some hundreds of kilobytes of schema in one atomic list.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Types, condition, document,
    story::{Other, Story},
    workload_definition,
};

pub(super) fn story() -> Result<Story> {
    Ok(Story {
        name: "CRD",
        types: Types::builtin("apiextensions.k8s.io__v1"),
        intent: document(&workload_definition())?,
        applier: "baton-install",
        defaults: |object| {
            object["spec"]["conversion"] = json!({"strategy": "None"});
            object["spec"]["names"]["listKind"] = json!("WorkloadList");
        },
        others: vec![
            Other::Updates { manager: "kube-apiserver", subresource: "status", change: status },
            Other::Updates {
                manager: "cert-manager-cainjector",
                subresource: "",
                change: |object| {
                    object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = json!("baton/ca");
                },
            },
        ],
        next: |intent| intent["spec"]["versions"][0]["additionalPrinterColumns"][0]["priority"] = json!(1),
        updater: "kubectl-edit",
        update: |object| {
            object["spec"]["versions"][0]["additionalPrinterColumns"][1]["priority"] = json!(1);
            object["metadata"]["annotations"]["example.com/reason"] = json!("wide output");
        },
    })
}

fn status(object: &mut Value) {
    object["status"] = json!({
        "acceptedNames": object["spec"]["names"].clone(),
        "storedVersions": ["v1alpha1"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    });
}
