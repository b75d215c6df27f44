//! What the server says of itself: its version, its health, its resources and their schemas.

use http::{
    Method,
    header::{ACCEPT, ETAG, IF_NONE_MATCH},
};
use serde_json::{Map, Value, json};

use crate::{
    data::DISCOVERY,
    http::{Answer, Body, Form, Request},
    registry::{GroupVersion, Registry},
    server::{Server, media},
    status::Failure,
    swagger,
};

/// The answer to a request that isn't about objects; none for one that is.
pub(crate) fn answer(server: &Server, request: &Request) -> Result<Option<Answer>, Failure> {
    let path = request.path.trim_end_matches('/');
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Ok(None);
    }
    let registry = server.registry();
    let answer = match path {
        "/healthz" | "/livez" | "/readyz" => health(request, &path[1..]),
        "/healthz/ping" | "/livez/ping" | "/readyz/ping" => Answer::plain(200, "ok"),
        "/version" => Answer::json(200, &version(server)),
        "" => Answer::json(200, &paths(&registry)),
        "/api" | "/apis" if media(request)?.form == Form::Discovery => {
            let list = aggregated(&registry, path == "/api");
            let answer = Answer::json(200, &list);
            Answer {
                content_type: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                ..answer
            }
        }
        "/api" => Answer::json(
            200,
            &json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
            }),
        ),
        "/apis" => Answer::json(
            200,
            &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(&registry)}),
        ),
        "/openapi/v2" => swagger(server, request, &registry),
        "/openapi/v3" => Answer::json(200, &openapi_index(&registry)),
        _ => match path.trim_start_matches('/').split('/').collect::<Vec<_>>().as_slice() {
            ["openapi", "v3", rest @ ..] => return openapi(&registry, request, &rest.join("/")).map(Some),
            ["api" | "apis", ..] => match registry.group_version(path.trim_start_matches('/')) {
                Some(of) => Answer::json(200, &resources(of)),
                None => match path.strip_prefix("/apis/") {
                    Some(group) if !group.contains('/') => {
                        let groups = groups(&registry);
                        let mut found = groups.into_iter().find(|own| own["name"] == group);
                        let Some(found) = &mut found else { return Ok(None) };
                        found["kind"] = "APIGroup".into();
                        found["apiVersion"] = "v1".into();
                        Answer::json(200, found)
                    }
                    _ => return Ok(None),
                },
            },
            _ => return Ok(None),
        },
    };
    Ok(Some(answer))
}

/// Whoever can be asked is healthy.
fn health(request: &Request, name: &str) -> Answer {
    match request.query.get("verbose") {
        Some(_) => Answer::plain(200, &format!("[+]ping ok\n{name} check passed\n")),
        None => Answer::plain(200, "ok"),
    }
}

/// Such as `v1.36.3`.
fn git_version(server: &Server) -> String {
    let release = server.release.to_string();
    if release.matches('.').count() == 2 { format!("v{release}") } else { format!("v{release}.0") }
}

fn version(server: &Server) -> Value {
    let release = server.release.to_string();
    let minor = release.split('.').nth(1).unwrap_or_default();
    let oldest = minor.parse::<u32>().unwrap_or_default().saturating_sub(1).to_string();
    json!({
        "major": "1", "minor": minor, "emulationMajor": "1", "emulationMinor": minor,
        "minCompatibilityMajor": "1", "minCompatibilityMinor": oldest, "gitVersion": git_version(server),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
        "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn paths(registry: &Registry) -> Value {
    let mut paths: Vec<String> = registry.all().map(|of| format!("/{}", of.path())).collect();
    let groups = groups(registry);
    paths.extend(groups.iter().map(|of| format!("/apis/{}", of["name"].as_str().unwrap_or_default())));
    paths.extend(
        ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
            .map(str::to_owned),
    );
    paths.sort();
    json!({"paths": paths})
}

/// The groups as `APIGroup`: the recorded ones, then those of custom resources.
fn groups(registry: &Registry) -> Vec<Value> {
    let custom = registry.custom().iter().map(|(group, versions)| {
        let version = |of: &GroupVersion| json!({"groupVersion": of.name(), "version": of.version});
        let versions: Vec<_> = versions.iter().map(|of| version(of)).collect();
        json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
    });
    DISCOVERY.groups.iter().cloned().chain(custom).collect()
}

fn resources(of: &GroupVersion) -> Value {
    let resources: Vec<_> = of.resources.iter().flat_map(|resource| resource.listed()).collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": of.name(), "resources": resources})
}

fn aggregated(registry: &Registry, of_core: bool) -> Value {
    let version = |of: &GroupVersion| {
        let resources: Vec<_> = of.resources.iter().map(|resource| resource.discovered()).collect();
        json!({"version": of.version, "resources": resources, "freshness": "Current"})
    };
    let item = |name: &str, versions: Vec<Value>| {
        let mut metadata = json!({"creationTimestamp": null});
        if !name.is_empty() {
            metadata["name"] = name.into();
        }
        json!({"metadata": metadata, "versions": versions})
    };
    let items: Vec<Value> = if of_core {
        registry.group_version("api/v1").map(|of| item("", vec![version(of)])).into_iter().collect()
    } else {
        let of = |group: &Value| {
            let name = group["name"].as_str().unwrap_or_default();
            let versions = group["versions"].as_array().into_iter().flatten();
            let path = |of: &Value| format!("apis/{}", of["groupVersion"].as_str().unwrap_or_default());
            let versions = versions.filter_map(|of| registry.group_version(&path(of)));
            item(name, versions.map(|of| version(of)).collect())
        };
        groups(registry).iter().map(of).collect()
    };
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn swagger(server: &Server, request: &Request, registry: &Registry) -> Answer {
    let document = swagger::document(registry, &git_version(server));
    if request
        .header(ACCEPT)
        .split(',')
        .any(|accepted| [swagger::ACCEPTED, swagger::PROTOBUF].contains(&accepted.trim()))
    {
        let body = Body::whole(swagger::in_protobuf(&document).into());
        return Answer { content_type: swagger::PROTOBUF, body, ..Answer::text(200, String::new()) };
    }
    Answer::json(200, &document)
}

fn openapi_index(registry: &Registry) -> Value {
    let paths = registry.all().map(|of| {
        let (path, hash) = (of.path(), of.openapi_hash());
        let url = format!("/openapi/v3/{path}?hash={hash}");
        (path, json!({"serverRelativeURL": url}))
    });
    json!({"paths": paths.collect::<Map<_, _>>()})
}

fn openapi(registry: &Registry, request: &Request, path: &str) -> Result<Answer, Failure> {
    let of = registry.group_version(path).ok_or_else(Failure::no_such_path)?;
    let etag = format!("\"{}\"", of.openapi_hash());
    let mut answer = if request.header(IF_NONE_MATCH).split(',').any(|own| own.trim() == etag) {
        Answer::text(304, String::new())
    } else {
        Answer::text(200, of.openapi().to_owned())
    };
    answer.headers.push((ETAG, etag));
    Ok(answer)
}
