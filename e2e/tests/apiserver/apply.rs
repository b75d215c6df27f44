//! `kubectl apply`, client-side and server-side, and `kubectl diff`.

use anyhow::Result;

use crate::terminal::{Terminal, WEB};

/// Another image, and neither the label nor the variable.
fn changed() -> String {
    WEB.replace("1.27", "1.28")
        .replace(", tier: front", "")
        .replace("        env: [{name: COLOUR, value: blue}]\n", "")
}

async fn terminal() -> Result<Terminal> {
    Terminal::open().await?.file("web.yaml", WEB)?.file("changed.yaml", &changed())
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_client_side_apply_removes_what_the_manifest_no_longer_has() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl apply -f web.yaml
deployment.apps/web created
$ kubectl apply -f web.yaml
deployment.apps/web unchanged
$ kubectl diff -f web.yaml
$ kubectl diff -f changed.yaml
diff -U0 '--label=live' '--label=merged' live merged
--- live
+++ merged
@@ -8 +8 @@
-  generation: 1
+  generation: 2
@@ -11 +10,0 @@
-    tier: front
@@ -34,4 +33 @@
-      - env:
-        - name: COLOUR
-          value: blue
-        image: nginx:1.27
+      - image: nginx:1.28
[1]
$ kubectl apply -f changed.yaml
deployment.apps/web configured
$ kubectl get deployment web -o yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{},"labels":{"app":"web"},"name":"web","namespace":"default"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1.28","name":"web"}]}}}}
  creationTimestamp: "2026-01-01T00:00:00Z"
  generation: 2
  labels:
    app: web
  name: web
  namespace: default
spec:
  progressDeadlineSeconds: 600
  replicas: 2
  revisionHistoryLimit: 10
  selector:
    matchLabels:
      app: web
  strategy:
    rollingUpdate:
      maxSurge: 25%
      maxUnavailable: 25%
    type: RollingUpdate
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: nginx:1.28
        imagePullPolicy: IfNotPresent
        name: web
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
status: {}
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_server_side_apply_has_conflicts_and_can_be_forced() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl apply --server-side -f web.yaml
deployment.apps/web serverside-applied
$ kubectl apply --server-side -f changed.yaml
deployment.apps/web serverside-applied
$ kubectl get deployment web -o jsonpath={.metadata.labels}
{"app":"web"}
$ kubectl apply --server-side --field-manager=other -f web.yaml
error: Apply failed with 1 conflict: conflict with "kubectl": .spec.template.spec.containers[name="web"].image
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
[1]
$ kubectl apply --server-side --field-manager=other -f web.yaml --force-conflicts
deployment.apps/web serverside-applied
$ kubectl get deployment web -o jsonpath={.spec.template.spec.containers[0].image}
nginx:1.27
$ kubectl get deployment web -o jsonpath={.metadata.managedFields[*].manager}
kubectl other
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn an_object_created_client_side_can_be_applied_server_side() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl apply -f web.yaml
deployment.apps/web created
$ kubectl apply --server-side -f changed.yaml
deployment.apps/web serverside-applied
$ kubectl get deployment web -o jsonpath={.metadata.managedFields[*].manager}
kubectl-last-applied kubectl
$ kubectl get deployment web -o jsonpath={.metadata.labels}
{"app":"web"}
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn unknown_fields_are_refused_or_cause_a_warning() -> Result<()> {
    let settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, dta: {colour: blue}}";
    let shop = "{apiVersion: baton.rs/v1alpha1, kind: Workload, metadata: {name: shop}, spec: {size: 3}}";
    Terminal::open()
        .await?
        .workloads()?
        .file("settings.yaml", settings)?
        .file("shop.yaml", shop)?
        .shows(
            r#"
$ kubectl apply -f settings.yaml
Error from server (BadRequest): error when creating "settings.yaml": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"
[1]
$ kubectl apply -f settings.yaml --validate=warn
configmap/settings created
Warning: unknown field "dta"
$ kubectl apply -f shop.yaml
Error from server (BadRequest): error when creating "shop.yaml": Workload in version "v1alpha1" cannot be handled as a Workload: strict decoding error: unknown field "spec.size"
[1]
$ kubectl apply --server-side -f settings.yaml
Error from server: failed to create typed patch object (default/settings; /v1, Kind=ConfigMap): .dta: field not declared in schema
[1]
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_secret_with_texts_can_be_applied_in_both_ways() -> Result<()> {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {a: b}}";
    Terminal::open()
        .await?
        .file("keys.yaml", secret)?
        .shows(
            r#"
$ kubectl apply -f keys.yaml
secret/keys created
$ kubectl get secret keys -o jsonpath={.metadata.managedFields[0].fieldsV1.f:data}
{".":{},"f:a":{}}
$ kubectl apply --server-side -f keys.yaml
secret/keys serverside-applied
$ kubectl get secret keys -o jsonpath={.metadata.managedFields[1].fieldsV1.f:stringData}
{"f:a":{}}
"#,
        )
        .await
}
