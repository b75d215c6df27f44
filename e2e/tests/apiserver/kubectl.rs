//! kubectl shows objects, fields, and the server.

use anyhow::Result;

use crate::terminal::{Terminal, WEB};

#[tokio::test]
#[ignore = "by kubectl"]
async fn objects_are_shown_in_every_form() -> Result<()> {
    let terminal = Terminal::open().await?.file("web.yaml", WEB)?;
    terminal
        .shows(
            "
$ kubectl create -f web.yaml
deployment.apps/web created
$ kubectl get deployments
NAME   READY   UP-TO-DATE   AVAILABLE   AGE
web    0/2     0            0           0s
$ kubectl get deployment web -o wide --show-labels
NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES       SELECTOR   LABELS
web    0/2     0            0           0s    web          nginx:1.27   app=web    app=web,tier=front
$ kubectl get deploy,ns -o name
deployment.apps/web
namespace/default
namespace/kube-node-lease
namespace/kube-public
namespace/kube-system
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn a_watch_shows_changes_until_its_time_is_up() -> Result<()> {
    let terminal = Terminal::open().await?;
    let watch = terminal.shows(
        "
$ kubectl get configmaps --watch --request-timeout=3s
NAME       DATA   AGE
settings   1      0s
settings   2      0s
",
    );
    let change = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        terminal
            .shows(
                "$ kubectl create configmap settings --from-literal=colour=blue\nconfigmap/settings created",
            )
            .await?;
        terminal.shows("$ kubectl patch configmap settings -p {\"data\":{\"size\":\"9\"}}\nconfigmap/settings patched").await
    };
    let (watched, changed) = tokio::join!(watch, change);
    changed?;
    watched
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn an_object_is_described() -> Result<()> {
    let terminal = Terminal::open().await?.file("web.yaml", WEB)?;
    terminal
        .shows(
            "
$ kubectl create -f web.yaml
deployment.apps/web created
$ kubectl describe deployment web
Name:                   web
Namespace:              default
CreationTimestamp:      Thu, 01 Jan 2026 00:00:00 +0000
Labels:                 app=web
                        tier=front
Annotations:            <none>
Selector:               app=web
Replicas:               2 desired | 0 updated | 0 total | 0 available | 0 unavailable
StrategyType:           RollingUpdate
MinReadySeconds:        0
RollingUpdateStrategy:  25% max unavailable, 25% max surge
Pod Template:
  Labels:  app=web
  Containers:
   web:
    Image:      nginx:1.27
    Port:       <none>
    Host Port:  <none>
    Environment:
      COLOUR:      blue
    Mounts:        <none>
  Volumes:         <none>
  Node-Selectors:  <none>
  Tolerations:     <none>
Events:            <none>
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn fields_are_explained() -> Result<()> {
    let terminal = Terminal::open().await?.workloads()?;
    terminal
        .shows(
            r#"
$ kubectl explain deployment.spec.replicas
GROUP:      apps
KIND:       Deployment
VERSION:    v1
FIELD: replicas <integer>
DESCRIPTION:
    Number of desired pods. This is a pointer to distinguish between explicit
    zero and not specified. Defaults to 1.
$ kubectl explain workload.spec.replicas
GROUP:      baton.rs
KIND:       Workload
VERSION:    v1alpha1
FIELD: replicas <integer>
DESCRIPTION:
    The replica count while no autoscaler sets it. With `autoscaling`, it is
    only the count to start with. If absent, Baton doesn't own the Deployment's
    replica count.
$ kubectl explain deployment.spec.nothing
GROUP:      apps
KIND:       Deployment
VERSION:    v1
error: field "nothing" does not exist
[1]
"#,
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn fields_are_explained_by_the_older_document_too() -> Result<()> {
    let terminal = Terminal::open().await?.workloads()?;
    terminal
        .shows(
            "
$ kubectl explain deployment.spec.replicas --output=plaintext-openapiv2
KIND:     Deployment
VERSION:  apps/v1
FIELD:    replicas <integer>
DESCRIPTION:
     Number of desired pods. This is a pointer to distinguish between explicit
     zero and not specified. Defaults to 1.
$ kubectl explain workload.spec.replicas --output=plaintext-openapiv2
KIND:     Workload
VERSION:  baton.rs/v1alpha1
FIELD:    replicas <integer>
DESCRIPTION:
     The replica count while no autoscaler sets it. With `autoscaling`, it is
     only the count to start with. If absent, Baton doesn't own the Deployment's
     replica count.
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn the_server_shows_its_version_its_resources_and_the_user() -> Result<()> {
    let terminal = Terminal::open().await?.workloads()?;
    terminal
        .shows(
            "
$ kubectl version
Client Version: v1.36.3
Kustomize Version: v5.8.1
Server Version: v1.36.3
$ kubectl get --raw /healthz
ok
$ kubectl api-resources --api-group=apps
NAME                  SHORTNAMES   APIVERSION   NAMESPACED   KIND
controllerrevisions                apps/v1      true         ControllerRevision
daemonsets            ds           apps/v1      true         DaemonSet
deployments           deploy       apps/v1      true         Deployment
replicasets           rs           apps/v1      true         ReplicaSet
statefulsets          sts          apps/v1      true         StatefulSet
$ kubectl api-resources --api-group=baton.rs -o wide
NAME        SHORTNAMES   APIVERSION          NAMESPACED   KIND       VERBS                                                        CATEGORIES
workloads   bwl          baton.rs/v1alpha1   true         Workload   delete,deletecollection,get,list,patch,create,update,watch   baton
$ kubectl auth can-i create deployments
yes
$ kubectl auth can-i --list
Resources   Non-Resource URLs   Resource Names   Verbs
*.*         []                  []               [*]
            [*]                 []               [*]
$ kubectl auth whoami
ATTRIBUTE   VALUE
Username    system:admin
Groups      [system:masters system:authenticated]
$ kubectl auth whoami --as=anna --as-uid=7 --as-group=developers
ATTRIBUTE   VALUE
Username    anna
UID         7
Groups      [developers system:authenticated]
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn requests_that_the_server_doesnt_play_fail_with_a_message() -> Result<()> {
    let terminal = Terminal::open().await?;
    terminal
        .shows(
            "
$ kubectl run web --image=nginx
pod/web created
$ kubectl logs web
Error from server (NotImplemented): log of pods isn't played by this server
[1]
$ kubectl exec web -- ls
error: unable to upgrade connection: exec of pods isn't played by this server
[1]
$ kubectl create token default
error: failed to create token: token of serviceaccounts isn't played by this server
[1]
$ kubectl top nodes
error: Metrics API not available
[1]
",
        )
        .await
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn missing_objects_and_unknown_fields_and_kinds_are_errors() -> Result<()> {
    let terminal = Terminal::open().await?;
    terminal
        .shows(
            r#"
$ kubectl get pods
No resources found in default namespace.
$ kubectl get pod web
Error from server (NotFound): pods "web" not found
[1]
$ kubectl get nothing
error: the server doesn't have a resource type "nothing"
[1]
$ kubectl get pods --selector 'a in'
Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "a in", field selector "": unable to parse requirement: found '' expected: '('
[1]
$ kubectl get pods --field-selector spec.colour=blue
Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "", field selector "spec.colour=blue": field label not supported: spec.colour
[1]
$ kubectl create deployment web --image=nginx --namespace nowhere
error: failed to create deployment: namespaces "nowhere" not found
[1]
"#,
        )
        .await
}
