//! The parts that the server inside the process lacks, each with requests that show its behaviour instead.

use std::process::Command;

use baton_apiserver::ApiServer;
use baton_testbed::{
    assets::{Assets, Program},
    raw::Request,
};

/// A missing part of the real server.
pub(super) struct Absent {
    /// The part.
    pub(super) what: &'static str,
    /// The behaviour instead.
    pub(super) instead: &'static str,
    shown_by: &'static [Probe],
}

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A request, and what its response contains.
struct Probe {
    method: &'static str,
    path: &'static str,
    accept: &'static str,
    body: &'static str,
    code: u16,
    /// A part of the body, or of a warning.
    says: &'static str,
}

const fn get(path: &'static str, code: u16, says: &'static str) -> Probe {
    get_as(JSON, path, code, says)
}

const fn get_as(accept: &'static str, path: &'static str, code: u16, says: &'static str) -> Probe {
    Probe { method: "GET", path, accept, body: "", code, says }
}

const fn post(path: &'static str, body: &'static str, code: u16, says: &'static str) -> Probe {
    Probe { method: "POST", path, accept: JSON, body, code, says }
}

macro_rules! absent {
    ($($what:literal, $instead:literal: [$($probe:expr),* $(,)?];)*) => {
        &[$(Absent { what: $what, instead: $instead, shown_by: &[$($probe),*] }),*]
    };
}

/// All of them.
pub(super) const ABSENT: &[Absent] = absent! {
    "authentication, conversion webhooks, the admission plugins MutatingAdmissionPolicy, MutatingAdmissionWebhook, \
     ValidatingAdmissionPolicy and ValidatingAdmissionWebhook", "webhooks and policies can be stored, without effect": [
        post(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"no"},
                "webhooks":[{"name":"no.example.com","clientConfig":{"url":"https://127.0.0.1:1/"},"sideEffects":"None",
                    "admissionReviewVersions":["v1"],"failurePolicy":"Fail",
                    "rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]}]}"#,
            201, "no.example.com",
        ),
        post(
            "/api/v1/namespaces/default/configmaps",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"}}"#, 201, "web",
        ),
    ];
    "the admission plugins ServiceAccount and RuntimeClass", "a pod may name any account and any class, without effect": [
        post(
            "/api/v1/namespaces/default/pods",
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"accountable"},"spec":{"serviceAccountName":"nobody",
                "runtimeClassName":"nothing","containers":[{"name":"web","image":"web"}]}}"#,
            201, "nobody",
        ),
    ];
    "the admission plugins NodeDeclaredFeatureValidator, PodResizeValidator and PodTopologyLabels",
    "pods are bound and resized without regard to their node, and don't get its labels": [
        post(
            "/api/v1/nodes",
            r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"a"}}}"#,
            201, "topology",
        ),
        post(
            "/api/v1/namespaces/default/pods",
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"placed"},"spec":{"nodeName":"n",
                "containers":[{"name":"web","image":"web"}]}}"#,
            201, r#""nodeName":"n""#,
        ),
        get("/api/v1/namespaces/default/pods?labelSelector=topology.kubernetes.io/zone", 200, r#""items":[]"#),
    ];
    "the admission plugins CertificateApproval, CertificateSigning, CertificateSubjectRestriction and ClusterTrustBundleAttest",
    "whoever may write a request for a certificate may ask for any, and approve and sign it": [
        post(
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            r#"{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"any"},
                "spec":{"request":"eA==","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}}"#,
            201, "doesn't implement the defaults and the validation of certificatesigningrequests",
        ),
    ];
    "controllers and nodes",
    "actors, if a test asks for them: garbage collection, namespace deletion, Deployments, StatefulSets, pods, claims and volumes, \
     an autoscaler, disruption budgets, quotas, RBAC": [
        post(
            "/api/v1/namespaces/default/pods",
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":"web"}]}}"#,
            201, r#""phase":"Pending""#,
        ),
        get("/api/v1/nodes?fieldSelector=metadata.name!=n", 200, r#""items":[]"#),
    ];
    "DaemonSets, Jobs, EndpointSlices, Events of controllers", "no controller works on them": [
        post(
            "/apis/batch/v1/namespaces/default/jobs",
            r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"web"},"spec":{"template":
                {"spec":{"restartPolicy":"Never","containers":[{"name":"work","image":"work"}]}}}}"#,
            201, r#""status":{}"#,
        ),
        get("/api/v1/namespaces/default/events", 200, r#""items":[]"#),
    ];
    "`exec`, `attach`, `log`, `port-forward`, `proxy`", "501 with a message": [
        get("/api/v1/namespaces/default/pods/web/exec", 501, "isn't implemented"),
        get("/api/v1/namespaces/default/pods/web/attach", 501, "isn't implemented"),
        get("/api/v1/namespaces/default/pods/web/log", 501, "isn't implemented"),
        get("/api/v1/namespaces/default/pods/web/portforward", 501, "isn't implemented"),
        get("/api/v1/namespaces/default/pods/web/proxy", 501, "isn't implemented"),
    ];
    "defaults and validation of kinds that operators rarely create", "stored and merged as they are, with a warning": [
        post(
            "/apis/resource.k8s.io/v1/deviceclasses",
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"web"},"spec":{}}"#,
            201, "doesn't implement the defaults and the validation of deviceclasses",
        ),
    ];
    "protobuf in responses, CBOR", "JSON and YAML; what clients send as protobuf is read": [
        get_as(PROTOBUF, "/api/v1/namespaces/default", 406, "media types"),
        get_as("application/cbor", "/api/v1/namespaces/default", 406, "Available representations"),
    ];
    "paths with `/watch/`, `/metrics`, `/statusz`, OpenID discovery", "404": [
        get("/api/v1/watch/configmaps", 404, ""),
        get("/metrics", 404, ""),
        get("/statusz", 404, ""),
        get("/.well-known/openid-configuration", 404, ""),
    ];
    "indented (`pretty`) and compressed responses", "JSON without spaces": [
        get("/api/v1/namespaces/default?pretty=true", 200, r#"{"kind":"Namespace""#),
    ];
    "the parameters `timeout` and `export`", "ignored": [
        get("/api/v1/namespaces?timeout=x", 200, ""),
        get("/api/v1/namespaces/default?export=true", 200, ""),
    ];
    "`TokenReview`, tokens of ServiceAccounts", "422 and 501": [
        post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"x"}}"#, 422, "",
        ),
        post(
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}"#, 501, "isn't implemented",
        ),
    ];
    "the admission plugin LimitRanger, and what RuntimeClasses and ServiceAccounts do to new pods",
    "pods are stored without these changes": [
        post(
            "/api/v1/namespaces/kube-public/limitranges",
            r#"{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"small"},"spec":{"limits":[{"type":"Container",
                "default":{"cpu":"1"}}]}}"#,
            201, "small",
        ),
        post(
            "/api/v1/namespaces/kube-public/pods",
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"serviceAccountName":"nobody",
                "runtimeClassName":"none","containers":[{"name":"web","image":"web"}]}}"#,
            201, r#""resources":{}"#,
        ),
    ];
    "what is there from the start: the Service `kubernetes`, APIServices, FlowSchemas, in each namespace a ServiceAccount and \
     the CA's certificate", "no such objects": [
        get("/api/v1/namespaces/default/services", 200, r#""items":[]"#),
        get("/apis/apiregistration.k8s.io/v1/apiservices", 200, r#""items":[]"#),
        get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", 200, r#""items":[]"#),
        get("/api/v1/namespaces/default/serviceaccounts", 200, r#""items":[]"#),
        get("/api/v1/namespaces/kube-system/configmaps", 200, r#""items":[]"#),
    ];
};

#[tokio::test]
async fn absent_parts_behave_as_listed() {
    let server = ApiServer::builder().start().unwrap();
    let client = server.client();
    let mut wrong = Vec::new();
    for Probe { method, path, accept, body, code, says } in ABSENT.iter().flat_map(|absent| absent.shown_by) {
        let headers = vec![("content-type", JSON.to_owned()), ("accept", (*accept).to_owned())];
        let request = Request { method, uri: (*path).to_owned(), headers, body: (*body).to_owned() };
        let reply = request.send(&client).await.unwrap();
        let shown = format!("{} {}", reply.text, reply.warnings.join(" "));
        if reply.code != *code || !shown.contains(says) {
            wrong.push(format!(
                "{method} {path}: {code} with {says:?} expected, found {} {shown}",
                reply.code
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The admission plugins that a server has by default and that are played here.
const PLAYED: [&str; 10] = [
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "NamespaceLifecycle",
    "PersistentVolumeClaimResize",
    "PodSecurity",
    "Priority",
    "ResourceQuota",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
];

/// The plugins that do nothing, as their features are off by default.
const OFF: [&str; 3] = ["JobValidation", "PodGroupProtection", "PodGroupWorkloadExists"];

#[test]
#[ignore = "asks the real kube-apiserver for its plugins"]
fn a_default_admission_plugin_is_played_or_listed_as_absent() {
    let program = Assets::locate(&[Program::ApiServer]).unwrap().path(Program::ApiServer);
    let help = Command::new(program).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, rest) = help.split_once("in addition to default enabled ones (").unwrap();
    let (plugins, _) = rest.split_once(')').unwrap();
    let is_known = |plugin: &str| {
        let is_listed = |what: &str| what.contains("admission plugin") && what.contains(plugin);
        PLAYED.contains(&plugin)
            || OFF.contains(&plugin)
            || ABSENT.iter().any(|absent| is_listed(absent.what))
    };
    let unknown: Vec<_> = plugins.split(',').map(str::trim).filter(|plugin| !is_known(plugin)).collect();
    assert!(plugins.contains("PodSecurity"), "{plugins}");
    assert!(unknown.is_empty(), "{unknown:?}");
}
