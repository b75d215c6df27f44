//! Custom resources.

use anyhow::Result;
use baton_testbed::workspace;

use crate::terminal::Terminal;

const SHOP: &str = "\
apiVersion: baton.rs/v1alpha1
kind: Workload
metadata: {name: shop}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: nginx}]}
";

async fn terminal() -> Result<Terminal> {
    let crd = std::fs::read_to_string(workspace().join("manifests/crd/workloads.baton.rs.yaml"))?;
    Terminal::open().await?.file("workloads.yaml", &crd)?.file("shop.yaml", SHOP)
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_custom_resource_is_served_once_its_crd_is_applied() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl get workloads
error: the server doesn't have a resource type "workloads"
[1]
$ kubectl apply --server-side -f workloads.yaml
customresourcedefinition.apiextensions.k8s.io/workloads.baton.rs serverside-applied
$ kubectl wait crd workloads.baton.rs --for=condition=Established --timeout=9s
customresourcedefinition.apiextensions.k8s.io/workloads.baton.rs condition met
$ kubectl apply -f shop.yaml
workload.baton.rs/shop created
$ kubectl apply -f shop.yaml
workload.baton.rs/shop unchanged
$ kubectl get workloads
NAME   READY   REPLICAS   SCALED BY   STATUS   AGE
shop                                           0s
$ kubectl get bwl -o wide
NAME   READY   REPLICAS   SCALED BY   STATUS   APPLIED   PHASE   MODE      AGE
shop                                                             Enforce   0s
$ kubectl scale workload shop --replicas=5
workload.baton.rs/shop scaled
$ kubectl get workload shop -o jsonpath={.spec.replicas}
5
$ kubectl patch workload shop --type=merge -p {"spec":{"replicas":-1}}
The Workload "shop" is invalid:
* spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0
* .spec.replicas: Invalid value: -1: should be a non-negative integer
[1]
$ kubectl patch workload shop -p {"spec":{"replicas":1}}
error: application/strategic-merge-patch+json is not supported by baton.rs/v1alpha1, Kind=Workload: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
[1]
$ kubectl describe workload shop
Name:         shop
Namespace:    default
Labels:       <none>
Annotations:  <none>
API Version:  baton.rs/v1alpha1
Kind:         Workload
Metadata:
  Creation Timestamp:  2026-01-01T00:00:00Z
  Generation:          2
Spec:
  Adoption:  Refuse
  Mode:      Enforce
  Replicas:  5
  Template:
    Metadata:
      Labels:
        App:  shop
    Spec:
      Containers:
        Image:  nginx
        Name:   shop
Status:
  Observed Generation:  -1
Events:                 <none>
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn the_objects_of_a_crd_are_deleted_with_it() -> Result<()> {
    terminal()
        .await?
        .workloads()?
        .shows(
            r#"
$ kubectl apply -f shop.yaml
workload.baton.rs/shop created
$ kubectl patch workload shop --type=merge -p {"metadata":{"finalizers":["example.com/hold"]}}
workload.baton.rs/shop patched
$ kubectl delete crd workloads.baton.rs --wait=false
customresourcedefinition.apiextensions.k8s.io "workloads.baton.rs" deleted
$ kubectl get crd workloads.baton.rs -o 'jsonpath={.status.conditions[?(@.type=="Terminating")].message}'
CustomResource deletion is in progress
$ kubectl get workload shop -o jsonpath={.metadata.deletionTimestamp}
2026-01-01T00:00:00Z
$ kubectl create -f shop.yaml
Error from server (Forbidden): error when creating "shop.yaml": workloads.baton.rs "shop" is forbidden: create not allowed while custom resource definition is terminating
[1]
$ kubectl patch workload shop --type=merge -p {"metadata":{"finalizers":null}}
workload.baton.rs/shop patched
$ kubectl get crds
No resources found
$ kubectl get --raw /apis/baton.rs/v1alpha1
Error from server (NotFound): the server could not find the requested resource
[1]
"#,
        )
        .await
}
