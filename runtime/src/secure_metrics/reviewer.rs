//! Whether a client may read the metrics, by the API server's review of its bearer token.
//!
//! Two reviews, as in other components of Kubernetes that delegate this to the API server: a `TokenReview` says whose token it
//! is, and a `SubjectAccessReview` whether that user may `get` the non-resource URL `/metrics`. Tokens aren't stored: a verdict
//! is cached by the digest of its token.
//!
//! A client with invented tokens can load the API server only so much: few are reviewed at the same time, and few in a second. A
//! token that was good before has turns of its own, so invented ones keep no scraper out that has been here, however slow they are.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header::AUTHORIZATION};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tracing::warn;

use crate::{
    lock,
    text::with_causes,
    timeout::{RequestError, with_timeout},
};

/// How long both reviews may take together: less than Prometheus waits for a scrape.
const LIMIT: Duration = Duration::from_secs(5);
/// How many tokens are reviewed at the same time, so that clients with random tokens can't load the API server; and how many of those
/// that were good before.
const AT_ONCE: usize = 4;
/// How long a verdict holds. A refusal is short, for a client that just got the permission.
const ALLOWED_FOR: Duration = Duration::from_mins(1);
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// How many verdicts are cached.
const CACHED: usize = 1024;
/// How often a token is reviewed that wasn't good before, and how many at once after a pause.
const INTERVAL: Duration = Duration::from_millis(200);
const BURST: u32 = 20;

/// The API server's verdict on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The user may read the metrics.
    Allowed,
    /// There is no token, or it isn't valid.
    Unauthenticated,
    /// The user may not read the metrics.
    Denied,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreviewed {
    /// The review failed, which is logged.
    Failed,
    /// There are more new tokens than are reviewed.
    TooMany,
}

impl Verdict {
    fn holds_for(self) -> Duration {
        match self {
            Self::Allowed => ALLOWED_FOR,
            Self::Unauthenticated | Self::Denied => REFUSED_FOR,
        }
    }
}

/// Sends reviews to the API server, and caches the verdicts for a while. Clones share the cache.
#[derive(Clone)]
pub struct Reviewer {
    client: Client,
    /// The audience that a token must be issued for; if absent, the API server itself.
    audience: Option<Arc<str>>,
    state: Arc<State>,
}

struct State {
    verdicts: Mutex<Verdicts>,
    budget: Mutex<Budget>,
    turns: Semaphore,
    /// The turns of tokens that were good before.
    turns_of_known: Semaphore,
    /// Whether the last review failed, so that a failure is logged once and not at each scrape.
    fails: AtomicBool,
}

impl Reviewer {
    /// A reviewer of tokens for this audience, or for the API server itself. The client must not be behind the fence of an election.
    pub fn new(client: Client, audience: Option<&str>) -> Self {
        let state = State {
            verdicts: Mutex::default(),
            budget: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
            turns_of_known: Semaphore::new(AT_ONCE),
            fails: AtomicBool::new(false),
        };
        Self { client, audience: audience.map(Arc::from), state: Arc::new(state) }
    }

    /// The verdict on a request with these headers.
    pub(super) async fn verdict(&self, headers: &HeaderMap) -> Result<Verdict, Unreviewed> {
        let Some(token) = bearer(headers) else { return Ok(Verdict::Unauthenticated) };
        let (digest, now) = (TokenDigest::of(token), Instant::now());
        let was_good = {
            let verdicts = lock(&self.state.verdicts);
            if let Some(known) = verdicts.get(&digest, now) {
                return Ok(known);
            }
            verdicts.was_good(&digest)
        };
        if !was_good && !lock(&self.state.budget).spend(now) {
            return Err(Unreviewed::TooMany);
        }
        let turns = if was_good { &self.state.turns_of_known } else { &self.state.turns };
        let reviewed = with_timeout(LIMIT, async {
            // It is never closed, so there is no error.
            let _turn = turns.acquire().await;
            self.review(token).await
        });
        match reviewed.await {
            Ok(verdict) => {
                self.state.fails.store(false, Ordering::Relaxed);
                lock(&self.state.verdicts).insert(digest, verdict, Instant::now());
                Ok(verdict)
            }
            Err(error) => {
                self.log(&error);
                Err(Unreviewed::Failed)
            }
        }
    }

    async fn review(&self, token: &str) -> kube::Result<Verdict> {
        let params = PostParams::default();
        let tokens: Api<TokenReview> = Api::all(self.client.clone());
        let audience = self.audience.as_deref();
        let reviewed = tokens.create(&params, &token_review(token, audience)).await?;
        let Some(user) = authenticated(reviewed.status.unwrap_or_default(), audience) else {
            return Ok(Verdict::Unauthenticated);
        };
        let accesses: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let review = accesses.create(&params, &access_review(user)).await?;
        let is_allowed = review.status.is_some_and(|status| status.allowed);
        Ok(if is_allowed { Verdict::Allowed } else { Verdict::Denied })
    }

    fn log(&self, error: &RequestError) {
        if !self.state.fails.swap(true, Ordering::Relaxed) {
            warn!(
                error = with_causes(error),
                "can't check who may read the metrics; scrapes are refused meanwhile, but for tokens that were reviewed a moment ago"
            );
        }
    }
}

/// The bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn token_review(token: &str, audience: Option<&str>) -> TokenReview {
    let audiences = audience.map(|audience| vec![audience.to_owned()]);
    TokenReview { spec: TokenReviewSpec { token: token.to_owned(), audiences }, ..TokenReview::default() }
}

/// The user that a token is for. An authenticator that knows no audiences names none, and means the API server's.
fn authenticated(status: TokenReviewStatus, audience: Option<&str>) -> Option<UserInfo> {
    let names = |audience: &str| status.audiences.iter().flatten().any(|one| one == audience);
    let is_meant = audience.is_none_or(names);
    status.user.filter(|_| is_meant && status.authenticated == Some(true))
}

/// Whether this user may do what a scrape does.
fn access_review(UserInfo { username, uid, groups, extra }: UserInfo) -> SubjectAccessReview {
    let attributes =
        NonResourceAttributes { path: Some("/metrics".to_owned()), verb: Some("get".to_owned()) };
    let spec = SubjectAccessReviewSpec {
        user: username,
        uid,
        groups,
        extra,
        non_resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

/// Identifies a token without storing it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TokenDigest([u8; 32]);

impl TokenDigest {
    fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

/// The cached verdicts.
#[derive(Default)]
struct Verdicts(HashMap<TokenDigest, (Verdict, Instant)>);

impl Verdicts {
    fn get(&self, token: &TokenDigest, now: Instant) -> Option<Verdict> {
        self.0.get(token).filter(|(_, until)| now < *until).map(|(verdict, _)| *verdict)
    }

    /// Whether the last verdict on the token was good, even if it doesn't hold any more.
    fn was_good(&self, token: &TokenDigest) -> bool {
        self.0.get(token).is_some_and(|(verdict, _)| *verdict == Verdict::Allowed)
    }

    /// The oldest verdict makes room, a refusal before a permission: so invented tokens don't displace good ones.
    fn insert(&mut self, token: TokenDigest, verdict: Verdict, now: Instant) {
        if self.0.len() >= CACHED && !self.0.contains_key(&token) {
            let oldest =
                self.0.iter().min_by_key(|(_, (verdict, until))| (*verdict == Verdict::Allowed, *until));
            if let Some(oldest) = oldest.map(|(token, _)| *token) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(token, (verdict, now + verdict.holds_for()));
    }
}

/// The reviews that new tokens may still have: since when one is due, at first since long ago.
#[derive(Default)]
struct Budget(Option<Instant>);

impl Budget {
    /// Whether there is one; it is spent then.
    fn spend(&mut self, now: Instant) -> bool {
        let due = self.0.max(now.checked_sub(INTERVAL * (BURST - 1))).unwrap_or(now);
        let may = due <= now;
        if may {
            self.0 = Some(due + INTERVAL);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::pending};

    use axum::http::HeaderValue;
    use futures::future::{join_all, select};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::time::timeout;
    use tower::service_fn;

    use super::*;

    #[test]
    fn a_token_is_what_follows_the_scheme_bearer() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(of("Bearer abc.def").as_deref(), Some("abc.def"));
        assert_eq!(of("bearer  abc ").as_deref(), Some("abc"));
        for other in ["Bearer", "Bearer ", "Basic abc", "abc", ""] {
            assert_eq!(of(other), None, "{other:?}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn the_review_is_whether_the_user_may_get_the_metrics() {
        let user = json!({"username": "prometheus", "uid": "1", "groups": ["system:authenticated"], "extra": {"k": ["v"]}});
        let review = access_review(serde_json::from_value(user).unwrap());
        let spec = json!({
            "user": "prometheus", "uid": "1", "groups": ["system:authenticated"], "extra": {"k": ["v"]},
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        });
        assert_eq!(serde_json::to_value(review.spec).unwrap(), spec);
    }

    #[test]
    fn a_token_for_another_audience_is_no_token() {
        let review = serde_json::to_value(token_review("abc", Some("baton")).spec).unwrap();
        assert_eq!(review, json!({"token": "abc", "audiences": ["baton"]}));
        assert_eq!(serde_json::to_value(token_review("abc", None).spec).unwrap(), json!({"token": "abc"}));

        let is_user = |audiences: &[&str], wanted: Option<&str>| {
            let status =
                json!({"authenticated": true, "user": {"username": "prometheus"}, "audiences": audiences});
            authenticated(serde_json::from_value(status).unwrap(), wanted).is_some()
        };
        assert!(is_user(&["baton"], Some("baton")) && is_user(&["https://kubernetes.default.svc"], None));
        // An authenticator without audiences accepts a token for the API server.
        assert!(!is_user(&[], Some("baton")) && !is_user(&["other"], Some("baton")));
        let refused = TokenReviewStatus { authenticated: Some(false), ..TokenReviewStatus::default() };
        assert!(authenticated(refused, None).is_none());
    }

    #[test]
    fn a_refusal_is_cached_for_less_time_than_a_permission() {
        let (now, mut verdicts) = (Instant::now(), Verdicts::default());
        let [allowed, denied] = ["allowed", "denied"].map(TokenDigest::of);
        verdicts.insert(allowed, Verdict::Allowed, now);
        verdicts.insert(denied, Verdict::Denied, now);
        assert_eq!(verdicts.get(&allowed, now), Some(Verdict::Allowed));
        assert_eq!(verdicts.get(&denied, now), Some(Verdict::Denied));
        assert_eq!(verdicts.get(&TokenDigest::of("other"), now), None);
        let later = now + REFUSED_FOR;
        assert_eq!(verdicts.get(&allowed, later), Some(Verdict::Allowed));
        assert_eq!(verdicts.get(&denied, later), None);
        assert_eq!(verdicts.get(&allowed, now + ALLOWED_FOR), None);
    }

    #[test]
    fn the_count_of_cached_verdicts_is_limited() {
        let (now, mut verdicts) = (Instant::now(), Verdicts::default());
        for number in 0..3 * CACHED {
            verdicts.insert(TokenDigest::of(&number.to_string()), Verdict::Unauthenticated, now);
            assert!(verdicts.0.len() <= CACHED, "{}", verdicts.0.len());
        }
    }

    #[test]
    fn invented_tokens_displace_the_oldest_of_each_other_and_no_good_one() {
        let (now, mut verdicts) = (Instant::now(), Verdicts::default());
        let token = |number: usize| TokenDigest::of(&number.to_string());
        let good = TokenDigest::of("good");
        verdicts.insert(good, Verdict::Allowed, now);
        for number in 0..CACHED {
            let at = now + Duration::from_millis(number.try_into().unwrap());
            verdicts.insert(token(number), Verdict::Unauthenticated, at);
        }
        assert_eq!(verdicts.get(&token(0), now), None);
        assert_eq!(verdicts.get(&token(1), now), Some(Verdict::Unauthenticated));
        assert_eq!(verdicts.get(&good, now), Some(Verdict::Allowed));
        let later = now + ALLOWED_FOR;
        assert!(verdicts.get(&good, later).is_none() && verdicts.was_good(&good), "reviewed before others");
        verdicts.insert(good, Verdict::Denied, later);
        assert!(!verdicts.was_good(&good));
    }

    #[tokio::test]
    async fn slow_reviews_of_invented_tokens_do_not_delay_a_token_that_was_good() {
        let respond = async |request: http::Request<Body>| {
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            if review["spec"]["token"].as_str().is_some_and(|token| token != "good") {
                pending::<()>().await;
            }
            review["status"] =
                json!({"authenticated": true, "user": {"username": "prometheus"}, "allowed": true});
            Ok::<_, Infallible>(http::Response::new(Body::from(review.to_string().into_bytes())))
        };
        let client = Client::new(service_fn(move |request| Box::pin(respond(request))), "default");
        let reviewer = Reviewer::new(client, None);
        let verdict = async |token: String| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
            reviewer.verdict(&headers).await
        };
        let expired = Instant::now().checked_sub(ALLOWED_FOR).unwrap();
        lock(&reviewer.state.verdicts).insert(TokenDigest::of("good"), Verdict::Allowed, expired);

        let invented = join_all((0..AT_ONCE).map(|number| verdict(format!("invented-{number}"))));
        let good = timeout(LIMIT / 2, verdict("good".to_owned()));
        let (invented, good) = (std::pin::pin!(invented), std::pin::pin!(good));
        let futures::future::Either::Right((verdict, _)) = select(invented, good).await else {
            panic!("the reviews of invented tokens ended first");
        };
        assert_eq!(verdict, Ok(Ok(Verdict::Allowed)));
    }

    #[test]
    fn new_tokens_have_a_rate() {
        let now = Instant::now();
        let mut budget = Budget::default();
        let later = now + Duration::from_mins(1);
        let spent = (0..100).filter(|_| budget.spend(later)).count();
        assert_eq!(spent, usize::try_from(BURST).unwrap());
        assert!(!budget.spend(later + INTERVAL / 2));
        assert!(budget.spend(later + INTERVAL) && !budget.spend(later + INTERVAL));
    }
}
