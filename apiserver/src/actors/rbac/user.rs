//! Who makes a request.

use crate::http::Request;

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

/// A user, with the groups that it is in.
pub(crate) struct User {
    pub(crate) name: String,
    /// Only impersonated users have one.
    pub(super) uid: String,
    pub(crate) groups: Vec<String>,
}

impl User {
    /// The user of a request: the one that it impersonates, else the one that its token names, else the cluster's administrator.
    pub(crate) fn of(request: &Request) -> Self {
        let impersonated = request.header("impersonate-user");
        if !impersonated.is_empty() {
            let groups = request.headers.get_all("impersonate-group").iter();
            let groups = groups.filter_map(|group| group.to_str().ok()).map(str::to_owned).collect();
            let uid = request.header("impersonate-uid").to_owned();
            return Self { uid, ..Self::new(impersonated, groups) };
        }
        let token = request.header(http::header::AUTHORIZATION).strip_prefix("Bearer ").unwrap_or_default();
        match token.trim() {
            "" => Self::new("system:admin", vec!["system:masters".to_owned()]),
            name => Self::new(name, Vec::new()),
        }
    }

    pub(super) fn new(name: &str, mut groups: Vec<String>) -> Self {
        if let (Some((namespace, _)), true) = (service_account(name), groups.is_empty()) {
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        let everybody = if name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        if !groups.iter().any(|group| group == everybody) {
            groups.push(everybody.to_owned());
        }
        Self { name: name.to_owned(), uid: String::new(), groups }
    }

    pub(super) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    pub(super) fn is_service_account(&self, namespace: &str, name: &str) -> bool {
        service_account(&self.name) == Some((namespace, name))
    }
}

/// The namespace and the name of the service account that a user is.
fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}
