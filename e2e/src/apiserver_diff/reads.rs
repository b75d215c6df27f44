//! Requests from a table, which change nothing: lists and watches with all their options, the forms and formats of responses,
//! discovery, and paths and methods that aren't served.
//!
//! They are about a few objects that are created before, and each response is compared by itself.

use futures::{StreamExt as _, stream};

use super::{Findings, normal::Names, pair::Pair, requests::Asked};

/// How many requests are under way at once: some watches last a second.
const AT_ONCE: usize = 24;

const CONFIGS: &str = "/api/v1/namespaces/diff-reads/configmaps";
const GADGETS: &str = "/apis/corpus.baton.rs/v1/namespaces/diff-reads/gadgets";

/// The objects in each collection, with their label `a`.
const OBJECTS: [(&str, &str); 4] = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")];

/// `resourceVersion`: none, any, an old one, the latest, and invalid ones.
const VERSIONS: [&str; 6] = ["", "0", "<version 2>", "<version 7>", "x", "%2B5"];
const MATCHES: [&str; 4] =
    ["", "&resourceVersionMatch=Exact", "&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=x"];
const PIECES: [&str; 7] = [
    "",
    "&limit=1",
    "&limit=0",
    "&limit=x",
    "&labelSelector=a%3Dx",
    "&labelSelector=a%3Dx&limit=1",
    // Continues after `b`, at the latest version.
    "&limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiL2JcdTAwMDAifQ",
];
const INITIAL_EVENTS: [&str; 3] = ["", "&sendInitialEvents=true", "&sendInitialEvents=false"];
const BOOKMARKS: [&str; 2] = ["", "&allowWatchBookmarks=true"];

/// Queries of single requests to a collection.
const LISTS: &[&str] = &[
    "resourceVersion=18446744073709551616",
    "limit=",
    "limit=9223372036854775808",
    "limit=1&limit=2",
    "limit=%zz",
    "limit=1;labelSelector=a",
    "timeoutSeconds=x",
    "sendInitialEvents=true",
    "unknown=x",
    "fieldSelector=metadata.name%3Db&limit=1",
    "fieldSelector=metadata.name%3Db,metadata.namespace%3Dx",
    "fieldSelector=metadata.name!%3Db&limit=1",
    "fieldSelector=spec.nothing%3Db",
    "fieldSelector=%3D",
    "labelSelector=a+in+(x,z)",
    "labelSelector=((",
    "labelSelector=!a",
    "includeObject=Nothing",
    "continue=x",
    "continue=!!!!",
    // Above the collection, of no version, and of an unknown one.
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vYiJ9",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJiIn0",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6LTEsInN0YXJ0IjoiYiJ9",
    "watch=false",
    "watch=0",
];

/// Queries of single watches.
const WATCHES: &[&str] = &[
    "watch=yes&timeoutSeconds=1",
    "watch=true&timeoutSeconds=",
    "watch=true&timeoutSeconds=1&continue=x",
    "watch=true&timeoutSeconds=1&limit=1",
    "watch=true&timeoutSeconds=1&labelSelector=a%3Dx",
    "watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Db",
    "watch=true&timeoutSeconds=1&fieldSelector=spec.nothing%3Db",
    "watch=true&timeoutSeconds=1&resourceVersion=99999999&resourceVersionMatch=NotOlderThan&sendInitialEvents=true",
];

/// `Accept` headers.
const ACCEPTED: &[&str] = &[
    "",
    "*/*",
    "application/*",
    "application/yaml",
    "application/json;q=0.1,application/yaml;q=0.9",
    "text/html,application/xml;q=0.9,*/*;q=0.8",
    "text/html",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
    "application/json;as=Table",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io,application/json",
    "application/json;stream=watch",
];

/// Paths whose responses are the same on both servers.
const PATHS: &[&str] = &[
    "/healthz",
    "/livez/ping",
    "/api/v1",
    "/api/v2",
    "/apis",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/apps/v2",
    "/apis/nothing.example.com/v1",
    "/apis/corpus.baton.rs/v1",
    "/apis/corpus.baton.rs/v1/nothings",
    "/openapi/v3/nothing",
    "/nothing",
    "/api/v1/namespaces/diff-reads/configmaps/",
    "/api/v1/namespaces/diff-reads/configmaps/%61",
    "/api/v1/namespaces/diff-reads/configmaps/a%25b",
    "/api/v1/namespaces/diff-reads/configmaps/a/nothing",
    "/api/v1/namespaces/diff-reads/configmaps/a?resourceVersion=x",
    "/api/v1/namespaces/diff-reads/configmaps/a?watch=true",
    "/api/v1/namespaces//configmaps/a",
    "/api/v1/namespaces/diff-reads/endpoints",
    "/api/v1/namespaces/diff-reads/endpoints/a",
    "/apis/corpus.baton.rs/v1/namespaces/diff-reads/gadgets/a?resourceVersion=0",
];

/// Methods that read nothing here.
const METHODS: [&str; 5] = ["HEAD", "OPTIONS", "POST", "PUT", "PATCH"];

/// Sends the requests of the table to both servers.
///
/// # Errors
/// When one of the servers can't be reached.
pub async fn reads(pair: &mut Pair) -> anyhow::Result<Findings> {
    pair.open("diff-reads").await?;
    let mut names = [Names::default(), Names::default()];
    let mut findings = Findings::default();
    for (name, label) in OBJECTS {
        for (collection, api_version, kind) in
            [(CONFIGS, "v1", "ConfigMap"), (GADGETS, "corpus.baton.rs/v1", "Gadget")]
        {
            let body = format!(
                r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"{name}","labels":{{"a":"{label}"}}}}}}"#
            );
            let asked = Asked::plain("make an object", "POST", collection, &body);
            let (real, ours) = pair.send(&asked, &mut names).await?;
            findings.compare(&asked.label, [&real, &ours], "reads", asked.to_string(), |_| None);
        }
    }
    let pair = &*pair;
    let replies = stream::iter(table()).map(|asked| {
        let requests = [asked.request(&names[0]), asked.request(&names[1])];
        async move { anyhow::Ok((asked, pair.read(requests).await?)) }
    });
    let replies: Vec<_> = replies.buffered(AT_ONCE).collect().await;
    for reply in replies {
        let (asked, [real, ours]) = reply?;
        let (real, ours) = (names[0].response(real), names[1].response(ours));
        findings.compare(&asked.label, [&real, &ours], "reads", asked.to_string(), |_| None);
    }
    Ok(findings)
}

/// All requests.
fn table() -> Vec<Asked> {
    let get = |label, uri: &str| Asked::of(label, "GET", uri, None, String::new());
    let mut table = Vec::new();
    for collection in [CONFIGS, GADGETS] {
        for version in VERSIONS {
            for matched in MATCHES {
                for piece in PIECES {
                    let uri = format!("{collection}?resourceVersion={version}{matched}{piece}");
                    table.push(get("list", &uri));
                }
                for (initial, bookmarks) in
                    INITIAL_EVENTS.iter().flat_map(|initial| BOOKMARKS.map(|bookmarks| (initial, bookmarks)))
                {
                    let options = format!("{version}{matched}{initial}{bookmarks}");
                    let uri = format!("{collection}?watch=true&timeoutSeconds=1&resourceVersion={options}");
                    table.push(get("watch", &uri));
                }
            }
        }
        table.extend(LISTS.iter().map(|query| get("list oddly", &format!("{collection}?{query}"))));
        table.extend(WATCHES.iter().map(|query| get("watch oddly", &format!("{collection}?{query}"))));
        for accepted in ACCEPTED {
            let watch = "watch=true&timeoutSeconds=1&allowWatchBookmarks=true";
            for rest in ["", "/a", "/nothing", "?labelSelector=((", &format!("?{watch}")] {
                let uri = format!("{collection}{rest}");
                table.push(Asked::of("accept", "GET", &uri, Some(("accept", accepted)), String::new()));
            }
        }
    }
    for accepted in ACCEPTED {
        for path in ["/apis", "/apis/apps", "/apis/apps/v1", "/apis/corpus.baton.rs/v1"] {
            table.push(Asked::of("accept", "GET", path, Some(("accept", accepted)), String::new()));
        }
    }
    table.extend(PATHS.iter().map(|path| get("path", path)));
    for method in METHODS {
        for path in ["/version", "/apis", "/apis/apps/v1", "/healthz"] {
            table.push(Asked::of("method", method, path, None, String::new()));
        }
    }
    table.push(Asked::of("method", "HEAD", CONFIGS, None, String::new()));
    table.push(Asked::of("method", "HEAD", GADGETS, None, String::new()));
    table
}
