//! The other ways in which kubectl changes objects.

use anyhow::Result;

use crate::terminal::{Terminal, WEB};

async fn terminal() -> Result<Terminal> {
    let terminal = Terminal::open().await?;
    terminal.server.load(WEB)?;
    Ok(terminal)
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn an_object_is_edited() -> Result<()> {
    terminal()
        .await?
        .editor("nginx:1.27", "nginx:1.28")
        .shows(
            "
$ kubectl edit deployment web
deployment.apps/web edited
$ kubectl get deployment web -o jsonpath={.spec.template.spec.containers[0].image}
nginx:1.28
$ kubectl edit deployment web
Edit cancelled, no changes made.
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn an_object_is_scaled() -> Result<()> {
    terminal()
        .await?
        .shows(
            "
$ kubectl scale deployment web --replicas=5
deployment.apps/web scaled
$ kubectl get deployment web --subresource=scale
NAME   DESIRED   AVAILABLE   AGE
web    5         0           0s
$ kubectl scale deployment web --replicas=4 --current-replicas=9
error: Expected replicas to be 9, was 5
[1]
$ kubectl scale deployment web --replicas=-1
error: The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0
[1]
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn labels_and_annotations_are_set_and_removed() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl label deployment web tier=back
error: 'tier' already has a value (front), and --overwrite is false
[1]
$ kubectl label deployment web tier=back --overwrite
deployment.apps/web labeled
$ kubectl label deployment web tier-
deployment.apps/web unlabeled
$ kubectl annotate deployment web note=hello
deployment.apps/web annotated
$ kubectl get deployment web -o jsonpath={.metadata.labels}{.metadata.annotations}
{"app":"web"}{"note":"hello"}
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn an_object_is_patched_in_three_ways() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}'
deployment.apps/web patched
$ kubectl patch deployment web --type=merge -p '{"metadata":{"labels":{"tier":null}},"spec":{"paused":true}}'
deployment.apps/web patched
$ kubectl patch deployment web --type=json -p '[{"op":"remove","path":"/spec/paused"}]'
deployment.apps/web patched
$ kubectl patch deployment web --type=json -p '[{"op":"remove","path":"/spec/paused"}]'
The request is invalid: the server rejected our request due to an error in our request
[1]
$ kubectl get deployment web -o jsonpath={.spec.template.spec.containers[0].image}{.metadata.labels}{.spec.paused}
nginx:2{"app":"web"}
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn kubectl_waits_for_the_status_that_a_controller_writes() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl rollout status deployment web --timeout=1s
Waiting for deployment spec update to be observed...
error: timed out waiting for the condition
[1]
$ kubectl wait deployment web --for=condition=Available --timeout=1s
error: timed out waiting for the condition on deployments/web
[1]
$ kubectl patch deployment web --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,"conditions":[{"type":"Available","status":"True"}]}}'
deployment.apps/web patched
$ kubectl rollout status deployment web --timeout=9s
deployment "web" successfully rolled out
$ kubectl wait deployment web --for=condition=Available --timeout=9s
deployment.apps/web condition met
$ kubectl wait deployment web --for=jsonpath={.status.readyReplicas}=2 --timeout=9s
deployment.apps/web condition met
$ kubectl get deployment web
NAME   READY   UP-TO-DATE   AVAILABLE   AGE
web    2/2     2            2           0s
$ kubectl rollout restart deployment web
deployment.apps/web restarted
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn objects_are_created_from_the_command_line() -> Result<()> {
    Terminal::open()
        .await?
        .shows(
            r#"
$ kubectl create namespace shop
namespace/shop created
$ kubectl create deployment web --image=nginx --replicas=2 --namespace shop
deployment.apps/web created
$ kubectl create secret generic keys --from-literal=a=b
secret/keys created
$ kubectl create job once --image=busybox -- date
job.batch/once created
$ kubectl create rolebinding viewers --clusterrole=view --user=alice
rolebinding.rbac.authorization.k8s.io/viewers created
$ kubectl expose deployment web --port=80 --namespace shop
service/web exposed
$ kubectl set image deployment web nginx=nginx:2 --namespace shop
deployment.apps/web image updated
$ kubectl autoscale deployment web --min=1 --max=3 --cpu=80% --namespace shop
horizontalpodautoscaler.autoscaling/web autoscaled
$ kubectl get deployments,horizontalpodautoscalers --namespace shop
NAME                  READY   UP-TO-DATE   AVAILABLE   AGE
deployment.apps/web   0/2     0            0           0s
NAME                                      REFERENCE        TARGETS              MINPODS   MAXPODS   REPLICAS   AGE
horizontalpodautoscaler.autoscaling/web   Deployment/web   cpu: <unknown>/80%   1         3         0          0s
$ kubectl create deployment web --image=nginx --namespace shop
error: failed to create deployment: deployments.apps "web" already exists
[1]
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_deletion_may_have_to_wait_for_a_garbage_collector() -> Result<()> {
    let terminal = terminal().await?;
    terminal
        .shows(
            r#"
$ kubectl delete deployment web --cascade=orphan --wait=false
deployment.apps "web" deleted from default namespace
$ kubectl get deployment web -o jsonpath={.metadata.finalizers}
["orphan"]
$ kubectl delete deployment web --cascade=foreground --wait=false
deployment.apps "web" deleted from default namespace
$ kubectl get deployment web -o jsonpath={.metadata.finalizers}
["foregroundDeletion"]
$ kubectl patch deployment web --type=merge -p {"metadata":{"finalizers":null}}
deployment.apps/web patched
$ kubectl get deployments
No resources found in default namespace.
$ kubectl create deployment api --image=nginx
deployment.apps/api created
$ kubectl delete deployment api
deployment.apps "api" deleted from default namespace
$ kubectl create configmap a
configmap/a created
$ kubectl create configmap b
configmap/b created
$ kubectl delete configmaps --all
configmap "a" deleted from default namespace
configmap "b" deleted from default namespace
$ kubectl delete configmap a
Error from server (NotFound): configmaps "a" not found
[1]
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn the_objects_of_a_list_are_created_one_by_one() -> Result<()> {
    let list = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: Secret, metadata: {name: b}}
";
    Terminal::open()
        .await?
        .file("list.yaml", list)?
        .file("wrong.yaml", &list.replace("{name: a}", "{name: a}, dta: {}"))?
        .shows(
            r#"
$ kubectl create -f list.yaml
configmap/a created
secret/b created
$ kubectl create -f wrong.yaml
error: error validating "wrong.yaml": error validating data: ValidationError(ConfigMap): unknown field "dta" in io.k8s.api.core.v1.ConfigMap; if you choose to ignore these errors, turn validation off with --validate=false
[1]
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_pod_gets_an_ephemeral_container() -> Result<()> {
    Terminal::open()
        .await?
        .shows(
            "
$ kubectl run web --image=nginx
pod/web created
$ kubectl debug web --image=busybox --container=look --profile=general
$ kubectl get pod web -o jsonpath={.spec.ephemeralContainers[*].image}
busybox
$ kubectl get pod web -o jsonpath={.metadata.managedFields[0].manager}/{.metadata.managedFields[0].subresource}
kubectl/ephemeralcontainers
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_pod_is_resized() -> Result<()> {
    Terminal::open()
        .await?
        .shows(
            r#"
$ kubectl run web --image=nginx --overrides '{"spec":{"containers":[{"name":"web","image":"nginx","resources":{"requests":{"cpu":"1"}}}]}}'
pod/web created
$ kubectl patch pod web --subresource=resize -p '{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"2"}}}]}}'
pod/web patched
$ kubectl get pod web -o jsonpath={.spec.containers[0].resources}{.metadata.generation}
{"requests":{"cpu":"2"}}2
$ kubectl patch pod web --subresource=resize -p '{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":null}}}]}}'
The Pod "web" is invalid:
* spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing
* spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed
[1]
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn forbidden_changes_and_unknown_fields_are_reported() -> Result<()> {
    terminal()
        .await?
        .shows(
            r#"
$ kubectl patch deployment web --type=merge -p '{"metadata":{"uid":"1"}}'
The Deployment "web" is invalid: metadata.uid: Invalid value: "1": field is immutable
[1]
$ kubectl delete namespace kube-system
Error from server (Forbidden): namespaces "kube-system" is forbidden: this namespace may not be deleted
[1]
$ kubectl create configmap settings --from-literal=a=b --save-config
configmap/settings created
$ kubectl patch configmap settings -p '{"dta":{"a":"c"}}'
configmap/settings patched (no change)
Warning: unknown field "dta"
"#,
        )
        .await
}
