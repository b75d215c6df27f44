//! The user of a request.

use std::collections::BTreeMap;

use crate::{http::Request, server::percent_decoded, status::Failure};

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const IMPERSONATED: &str = "impersonate-user";
const ANONYMOUS: &str = "system:anonymous";

/// A user and its groups.
#[derive(Default)]
pub(crate) struct User {
    pub(crate) name: String,
    /// Only of impersonated users.
    pub(super) uid: String,
    pub(crate) groups: Vec<String>,
    /// Only of impersonated users.
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The user of a request: the impersonated one, otherwise that of the token, otherwise the cluster's administrator.
    pub(crate) fn of(request: &Request) -> Self {
        let impersonated = request.header(IMPERSONATED);
        if !impersonated.is_empty() {
            let uid = request.header("impersonate-uid").to_owned();
            return Self { uid, extra: extra(request), ..Self::new(impersonated, groups(request)) };
        }
        let token = request.header(http::header::AUTHORIZATION).strip_prefix("Bearer ").unwrap_or_default();
        match token.trim() {
            "" => Self::new("system:admin", vec!["system:masters".to_owned()]),
            name => Self::new(name, Vec::new()),
        }
    }

    /// Refuses impersonation of groups, a UID or extras without a user.
    ///
    /// # Errors
    /// When the request has those headers and no user.
    pub(crate) fn check_impersonation(request: &Request) -> Result<(), Failure> {
        let (uid, groups, extra) = (request.header("impersonate-uid"), groups(request), extra(request));
        if !request.header(IMPERSONATED).is_empty() || uid.is_empty() && groups.is_empty() && extra.is_empty()
        {
            return Ok(());
        }
        // The struct as Go prints it.
        let list = |values: &[String]| match values {
            [] => "[]string(nil)".to_owned(),
            some => format!(
                "[]string{{{}}}",
                some.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")
            ),
        };
        let extra = match extra
            .iter()
            .map(|(key, values)| format!("{key:?}:{}", list(values)))
            .collect::<Vec<_>>()
            .join(", ")
        {
            none if none.is_empty() => "map[string][]string(nil)".to_owned(),
            some => format!("map[string][]string{{{some}}}"),
        };
        Err(Failure::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:{}, Extra:{extra}}} without impersonating a user name",
            list(&groups)
        )))
    }

    pub(super) fn new(name: &str, mut groups: Vec<String>) -> Self {
        if let (Some((namespace, _)), true) = (service_account(name), groups.is_empty()) {
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        let everybody = if name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        if !groups.iter().any(|group| group == everybody) {
            groups.push(everybody.to_owned());
        }
        Self { name: name.to_owned(), groups, ..Self::default() }
    }

    pub(super) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    pub(super) fn is_service_account(&self, namespace: &str, name: &str) -> bool {
        service_account(&self.name) == Some((namespace, name))
    }
}

fn groups(request: &Request) -> Vec<String> {
    let groups = request.headers.get_all("impersonate-group").iter();
    groups.filter_map(|group| group.to_str().ok()).map(str::to_owned).collect()
}

/// The `Impersonate-Extra-` headers, with their keys unescaped.
fn extra(request: &Request) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<_, Vec<_>>::new();
    for (header, value) in &request.headers {
        if let (Some(key), Ok(value)) = (header.as_str().strip_prefix("impersonate-extra-"), value.to_str()) {
            extra.entry(percent_decoded(key)).or_default().push(value.to_owned());
        }
    }
    extra
}

/// The namespace and the name of a service account.
fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, Method};

    use super::*;
    use crate::options::Query;

    fn request(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        });
        Request {
            method: Method::GET,
            path: "/api/v1/namespaces".to_owned(),
            query: Query::default(),
            headers: headers.collect::<HeaderMap>(),
            body: bytes::Bytes::new(),
        }
    }

    #[test]
    fn groups_and_extras_of_nobody_are_refused() {
        for (headers, of) in [
            (
                &[("Impersonate-Group", "devs"), ("Impersonate-Group", "ops")][..],
                r#"UID:"", Groups:[]string{"devs", "ops"}, Extra:map[string][]string(nil)"#,
            ),
            (
                &[("Impersonate-Uid", "u1")],
                r#"UID:"u1", Groups:[]string(nil), Extra:map[string][]string(nil)"#,
            ),
            (
                &[("Impersonate-Extra-Scopes", "a")],
                r#"UID:"", Groups:[]string(nil), Extra:map[string][]string{"scopes":[]string{"a"}}"#,
            ),
        ] {
            let failure = User::check_impersonation(&request(headers)).unwrap_err();
            let message =
                format!("requested &user.DefaultInfo{{Name:\"\", {of}}} without impersonating a user name");
            assert_eq!((failure.code, failure.message), (400, message));
        }
        assert!(User::check_impersonation(&request(&[])).is_ok());
        assert!(User::check_impersonation(&request(&[("Impersonate-User", "bob")])).is_ok());
    }

    #[test]
    fn an_impersonated_user_has_extras() {
        let user = User::of(&request(&[
            ("Impersonate-User", "bob"),
            ("Impersonate-Extra-Scopes", "a"),
            ("Impersonate-Extra-Scopes", "b"),
            ("Impersonate-Extra-acme.com%2fproject", "p"),
        ]));
        let extra: Vec<_> = user.extra.into_iter().collect();
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            extra,
            [("acme.com/project".to_owned(), list(&["p"])), ("scopes".to_owned(), list(&["a", "b"]))]
        );
    }
}
