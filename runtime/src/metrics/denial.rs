//! Whether a refusal (403) means that a permission is missing.
//!
//! The API server's authorizer isn't the only one that responds with 403: quotas, admission webhooks and policies do too, which
//! concerns the tenant and not the operator. Only the message distinguishes them; the authorizer's is always
//! `… forbidden: User "…" cannot …` (`apiserver/pkg/endpoints/handlers/responsewriters/errors.go`).

use serde::Deserialize;

/// The field of a Status that is read.
#[derive(Deserialize)]
struct Refusal {
    message: String,
}

/// Whether the body of a 403 response comes from the authorizer.
pub(super) fn is_from_the_authorizer(body: &[u8]) -> bool {
    let Ok(Refusal { message }) = serde_json::from_slice(body) else { return false };
    // At most the object's kind and name come before, which can't contain this text.
    let Some((_, cause)) = message.split_once("forbidden: ") else { return false };
    cause.strip_prefix("User \"").is_some_and(|rest| rest.contains("\" cannot "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_denial(message: &str) -> bool {
        let status = json!({"kind": "Status", "status": "Failure", "message": message, "reason": "Forbidden", "code": 403});
        is_from_the_authorizer(status.to_string().as_bytes())
    }

    #[test]
    fn a_missing_permission_is_recognized_by_the_authorizers_message() {
        for message in [
            r#"services "web" is forbidden: User "system:serviceaccount:baton-system:baton" cannot patch resource "services" in API group "" in the namespace "shop""#,
            r#"workloads.baton.rs is forbidden: User "baton" cannot list resource "workloads" in API group "baton.rs" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "baton" not found"#,
            r#"forbidden: User "baton" cannot get path "/version""#,
        ] {
            assert!(is_denial(message), "{message}");
        }
    }

    #[test]
    fn refusals_by_quotas_policies_and_webhooks_are_not_missing_permissions() {
        for message in [
            r#"services "web" is forbidden: exceeded quota: none, requested: count/services=1, used: count/services=0, limited: count/services=0"#,
            r#"deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: User "baton" cannot do this"#,
            r#"admission webhook "w.example" denied the request: User "baton" cannot do this"#,
            r#"services "web" is forbidden: unable to create new content in namespace shop because it is being terminated"#,
            r#"deployments.apps "web" is forbidden: cannot set an ownerRef on a resource you can't delete: User "baton" cannot"#,
        ] {
            assert!(!is_denial(message), "{message}");
        }
        assert!(!is_from_the_authorizer(b"Forbidden"));
        assert!(!is_from_the_authorizer(b""));
    }
}
