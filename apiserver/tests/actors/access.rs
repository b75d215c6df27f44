//! Access control.

use baton_apiserver::Actor;
use http::Method;
use serde_json::{Value, json};

use crate::cluster::{CONFIG_MAPS, Cluster, PODS, config_map};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

/// A cluster whose user `anna` may read pods in the namespace `default`.
async fn cluster() -> (Cluster, Cluster) {
    let cluster = Cluster::with([Actor::AccessControl]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "anna"}],
    });
    cluster.post(&format!("{RBAC}/roles"), role).await;
    cluster.post(&format!("{RBAC}/rolebindings"), binding).await;
    let anna = cluster.for_user("anna", "developers");
    (cluster, anna)
}

#[tokio::test]
async fn a_user_may_do_what_its_roles_say() {
    let (admin, anna) = cluster().await;
    assert_eq!(anna.items(PODS).await.len(), 0);
    admin.post(CONFIG_MAPS, config_map("mine", &json!(null))).await;
    let cases = [
        (
            Method::GET,
            "/apis/apps/v1/namespaces/default/deployments",
            "deployments.apps is forbidden: User \"anna\" cannot list resource \"deployments\" in API group \"apps\" in the namespace \"default\"",
        ),
        (
            Method::DELETE,
            "/api/v1/namespaces/default/configmaps/mine",
            "configmaps \"mine\" is forbidden: User \"anna\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"default\"",
        ),
        (
            Method::GET,
            "/api/v1/pods",
            "pods is forbidden: User \"anna\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
        ),
        (
            Method::GET,
            "/api/v1/namespaces/default/pods/web/log",
            "pods \"web\" is forbidden: User \"anna\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"default\"",
        ),
        (Method::GET, "/metrics", "forbidden: User \"anna\" cannot get path \"/metrics\""),
    ];
    for (method, path, message) in cases {
        let refused = anna.ask(method, path, Value::Null).await;
        assert_eq!(refused, Err((403, message.to_owned())), "{path}");
    }
    // Discovery is open to all users.
    assert_eq!(anna.get("/apis").await["kind"], "APIGroupList");
}

fn access_review(verb: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": "default", "verb": verb, "resource": resource}},
    })
}

#[tokio::test]
async fn reviews_say_what_a_user_may_do() {
    let (admin, anna) = cluster().await;
    let path = format!("{REVIEWS}/selfsubjectaccessreviews");
    let reason = "RBAC: allowed by RoleBinding \"readers/default\" of Role \"reader\" to User \"anna\"";
    let review = anna.post(&path, access_review("list", "pods")).await;
    assert_eq!(review["status"], json!({"allowed": true, "reason": reason}));
    assert_eq!(anna.post(&path, access_review("list", "secrets")).await["status"], json!({"allowed": false}));
    assert_eq!(admin.post(&path, access_review("list", "secrets")).await["status"], json!({"allowed": true}));

    let mut review = access_review("get", "pods");
    review["kind"] = "SubjectAccessReview".into();
    review["spec"]["user"] = "anna".into();
    let path = format!("{REVIEWS}/subjectaccessreviews");
    assert_eq!(admin.post(&path, review.clone()).await["status"]["allowed"], true);
    assert_eq!(anna.ask(Method::POST, &path, review).await.unwrap_err().0, 403);

    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    });
    let review = anna.post(&format!("{REVIEWS}/selfsubjectrulesreviews"), review).await;
    let rules = review["status"]["resourceRules"].as_array().unwrap();
    assert!(rules.contains(&json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]})));

    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review = anna.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review).await;
    let groups = json!(["developers", "system:authenticated"]);
    assert_eq!(review["status"]["userInfo"], json!({"username": "anna", "groups": groups}));
}

#[tokio::test]
async fn without_access_control_everything_is_allowed() {
    let cluster = Cluster::with([]);
    let review = access_review("delete", "nodes");
    let review = cluster.post(&format!("{REVIEWS}/selfsubjectaccessreviews"), review).await;
    assert_eq!(review["status"], json!({"allowed": true}));
    let anybody = cluster.for_user("anybody", "nobodies");
    assert_eq!(anybody.items("/api/v1/secrets").await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_role_is_made_of_the_rules_of_those_that_it_selects() {
    let cluster = Cluster::with([Actor::AccessControl]);
    let get_shops = json!({"apiGroups": ["example.com"], "resources": ["shops"], "verbs": ["get"]});
    let shops = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "shops", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, "rules": [get_shops],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    cluster.post(path, shops).await;
    cluster.settle().await;
    for name in ["view", "edit", "admin"] {
        let role = cluster.get(&format!("{path}/{name}")).await;
        let rules = role["rules"].as_array().unwrap();
        assert!(rules.contains(&get_shops), "{role}");
        assert!(rules.iter().any(|rule| rule["resources"] == json!(["namespaces"])), "{role}");
    }
}

#[tokio::test]
async fn users_cannot_grant_more_than_they_have() {
    let (admin, anna) = cluster().await;
    let roles = format!("{RBAC}/roles");
    let writer = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "writer"},
        "rules": [{
            "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create", "patch"],
        }],
    });
    let binding = |name: &str, role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "anna"}],
        })
    };
    let role = |name: &str, verbs: &[&str]| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
        })
    };
    let bindings = format!("{RBAC}/rolebindings");
    admin.post(&roles, writer).await;
    admin.post(&bindings, binding("writers", "writer")).await;
    admin.post(&roles, role("all", &["*"])).await;
    anna.post(&roles, role("same", &["list"])).await;
    anna.post(&bindings, binding("same", "same")).await;
    let attempts = [
        (
            &roles,
            role("more", &["get", "delete", "watch"]),
            r#"roles.rbac.authorization.k8s.io "more""#,
            r#"["delete" "watch"]"#,
        ),
        (&bindings, binding("more", "all"), r#"rolebindings.rbac.authorization.k8s.io "more""#, r#"["*"]"#),
    ];
    for (path, object, what, verbs) in attempts {
        let refused = anna.ask(Method::POST, path, object).await;
        let message = format!(
            "{what} is forbidden: user \"anna\" (groups=[\"developers\" \"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n{{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:{verbs}}}"
        );
        assert_eq!(refused, Err((403, message)));
    }
}

#[tokio::test]
async fn the_name_of_an_object_is_read_as_the_server_reads_it() {
    let (admin, _) = cluster().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{
            "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a:b", "x"],
            "verbs": ["get", "list", "delete", "deletecollection"],
        }],
    });
    admin.ask(Method::PUT, &format!("{RBAC}/roles/reader"), role).await.unwrap();
    let anna = admin.for_user("anna", "developers");
    admin.post(CONFIG_MAPS, config_map("x", &json!(null))).await;
    let code = async |method: Method, path: &str| {
        let refused = anna.ask(method, &format!("{CONFIG_MAPS}{path}"), Value::Null).await.err();
        refused.map_or(200, |(code, _)| code)
    };
    for (method, path, expected) in [
        (Method::GET, "/a%3Ab", 404),
        (Method::GET, "/x?watch=true", 200),
        (Method::GET, "?fieldSelector=metadata.namespace=default,metadata.name=x", 200),
        (Method::GET, "?fieldSelector=metadata.name%3D%3Dx", 200),
        (Method::GET, "?fieldSelector=metadata.name!=x", 403),
        (Method::GET, "?fieldSelector=metadata.name=x&watch=true", 403),
        (Method::DELETE, "?fieldSelector=metadata.name=x", 403),
        (Method::GET, "", 403),
    ] {
        assert_eq!(code(method.clone(), path).await, expected, "{method} {path}");
    }
}
