//! The permissions of a user, from the API server.

use baton_testbed::Error;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::{Api, Client, api::PostParams};

/// Whether a user may do this.
pub async fn may(client: &Client, user: &str, what: ResourceAttributes) -> Result<bool, Error> {
    let mut groups = vec!["system:authenticated".to_owned()];
    if user.starts_with("system:serviceaccount:") {
        groups.push("system:serviceaccounts".to_owned());
    }
    let spec = SubjectAccessReviewSpec {
        user: Some(user.to_owned()),
        groups: Some(groups),
        resource_attributes: Some(what),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let reviewed = reviews.create(&PostParams::default(), &review).await;
    let reviewed = reviewed.map_err(Error::api(format!("review the access of {user}")))?;
    Ok(reviewed.status.is_some_and(|status| status.allowed))
}
