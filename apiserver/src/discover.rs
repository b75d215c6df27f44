//! Version, health, discovery and OpenAPI.

use http::{
    Method,
    header::{ACCEPT, CACHE_CONTROL, ETAG, EXPIRES, IF_NONE_MATCH, LOCATION, VARY},
};
use jiff::{ToSpan as _, tz::Offset};
use serde_json::{Map, Value, json};

use crate::{
    data::{DISCOVERY, OTHERS},
    http::{Body, Endpoint, FORMATS, Form, Media, Request, Response},
    registry::{GroupVersion, Registry, hash},
    server::Server,
    status::Failure,
    swagger,
};

/// The response to a request about the server itself; none to one about objects.
pub(crate) fn respond(server: &Server, request: &Request) -> Result<Option<Response>, Failure> {
    let path = request.path.trim_end_matches('/');
    let registry = server.registry();
    let parts: Vec<_> = path.split('/').collect();
    let response = match parts.as_slice() {
        ["" | "index.html"] | ["", "index.html"] => Response::json(200, &paths(&registry)),
        ["", check @ ("healthz" | "livez" | "readyz")] if !request.path.ends_with('/') => {
            health(check, request.query.get("verbose").is_some())
        }
        ["", "healthz" | "livez" | "readyz", "ping" | "log" | "etcd"] => Response::plain(200, "ok"),
        ["", "version"] => {
            check_routed(request, &FORMATS[..1])?;
            Response::json(200, &version(server))
        }
        ["", "api" | "apis"] => {
            let media = Media::accepted(request.accept(), Endpoint::Groups);
            if media.is_ok_and(|media| media.form == Form::Discovery) {
                let list = aggregated(&registry, path == "/api").to_string();
                let hash = hash(list.as_bytes());
                let mut response = tagged(request, &hash, list);
                response.content_type =
                    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
                response.headers.push((CACHE_CONTROL, "public".to_owned()));
                response.headers.push((VARY, "Accept".to_owned()));
                return Ok(Some(response));
            }
            let is_core = path == "/api";
            if is_core {
                check_routed(request, &FORMATS)?;
            }
            negotiated(request, &if is_core { core_versions() } else { all_groups(&registry) })?
        }
        ["", "openapi", "v2"] => swagger(server, request, &registry),
        ["", "openapi", "v3"] if !request.path.ends_with('/') => Response {
            content_type: "text/plain; charset=utf-8",
            ..Response::json(200, &openapi_index(&registry))
        },
        ["", "openapi", "v3", rest @ ..] => openapi(server, &registry, request, &rest.join("/")),
        ["", "apis", group] => {
            let mut groups = groups(&registry).into_iter();
            let Some(mut found) = groups.find(|own| own["name"] == *group) else { return Ok(None) };
            found["kind"] = "APIGroup".into();
            found["apiVersion"] = "v1".into();
            negotiated(request, &found)?
        }
        _ => {
            let of = path.strip_prefix('/').and_then(|path| registry.group_version(path));
            let Some(of) = of else { return Ok(None) };
            if of.is_built_in() {
                check_routed(request, &FORMATS)?;
            }
            negotiated(request, &resources(of))?
        }
    };
    Ok(Some(response))
}

/// Checks the `Accept` header before the handler runs.
fn check_routed(request: &Request, formats: &[&str]) -> Result<(), Failure> {
    if request.method != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    Media::check_routed(request.accept(), formats)
}

/// A document in an accepted format.
fn negotiated(request: &Request, document: &Value) -> Result<Response, Failure> {
    let media = Media::accepted(request.accept(), Endpoint::Others)?;
    Ok(Response::json(200, document).in_format(media.format))
}

fn health(check: &str, is_verbose: bool) -> Response {
    if is_verbose {
        return Response::plain(200, &format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{check} check passed\n"));
    }
    Response::plain(200, "ok")
}

fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    })
}

fn all_groups(registry: &Registry) -> Value {
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(registry)})
}

/// The version, such as `v1.36.3`.
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

/// The architecture by Go's name.
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

/// The groups as `APIGroup`: built-in ones, then those of custom resources.
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
    let mut list = json!({"kind": "APIResourceList", "groupVersion": of.name(), "resources": resources});
    // The core group isn't a group here.
    if !of.group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

fn aggregated(registry: &Registry, of_core: bool) -> Value {
    let version = |of: &GroupVersion| {
        let resources: Vec<_> = of.resources.iter().map(|resource| resource.discovered()).collect();
        json!({"version": of.version, "resources": resources, "freshness": "Current"})
    };
    let item = |name: &str, versions: Vec<Value>| {
        let mut metadata = json!({});
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
        let mut items: Vec<_> = groups(registry).iter().map(of).collect();
        // Unlike in the list of groups, custom ones are in the order of their names.
        if let Some(custom) = items.get_mut(DISCOVERY.groups.len()..) {
            custom.sort_by_cached_key(|item| item["metadata"]["name"].to_string());
        }
        items
    };
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn swagger(server: &Server, request: &Request, registry: &Registry) -> Response {
    let others = OTHERS.values().map(|other| other.text.as_str());
    let documents = registry.all().map(|of| of.openapi()).chain(others);
    let document = swagger::document(documents, &git_version(server));
    let json = document.to_string();
    let mut response = tagged(request, &hash(json.as_bytes()), json);
    let accepted = request.header(ACCEPT);
    let wants = |own: &str| accepted.split(',').any(|each| each.trim() == own);
    if response.code == 200 && [swagger::ACCEPTED, swagger::PROTOBUF].into_iter().any(wants) {
        response.body = Body::whole(swagger::in_protobuf(&document).into());
        response.content_type = swagger::PROTOBUF;
    }
    response.headers.push((VARY, "Accept".to_owned()));
    response
}

fn openapi_index(registry: &Registry) -> Value {
    let others = OTHERS.iter().map(|(path, other)| (path.clone(), other.hash.as_str()));
    let all = registry.all().map(|of| (of.path(), of.openapi_hash())).chain(others);
    let paths = all.map(|(path, hash)| {
        let url = openapi_url(&path, hash);
        (path, json!({"serverRelativeURL": url}))
    });
    json!({"paths": paths.collect::<Map<_, _>>()})
}

/// An OpenAPI v3 document. After `handler3/handler.go` of kube-openapi.
fn openapi(server: &Server, registry: &Registry, request: &Request, path: &str) -> Response {
    let of_group = registry.group_version(path).map(|of| (of.openapi(), of.openapi_hash()));
    let document = of_group.or_else(|| OTHERS.get(path).map(|other| (&*other.text, &*other.hash)));
    let Some((text, hash)) = document else {
        return Response { content_type: "", ..Response::text(404, String::new()) };
    };
    let asked = request.query.get("hash").unwrap_or_default();
    let mut response = if asked.is_empty() || asked == hash {
        tagged(request, hash, text.to_owned())
    } else {
        let mut moved = Response::text(301, String::new());
        moved.headers.push((LOCATION, openapi_url(path, hash)));
        moved
    };
    response.headers.push((VARY, "Accept".to_owned()));
    if asked == hash {
        // The document of a hash never changes: clients may cache it for a year, the longest time that is allowed.
        let expires = Offset::UTC.to_datetime(server.now()).saturating_add(1.year());
        response.headers.push((CACHE_CONTROL, "public, immutable".to_owned()));
        response.headers.push((EXPIRES, expires.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string()));
    }
    response
}

fn openapi_url(path: &str, hash: &str) -> String {
    format!("/openapi/v3/{path}?hash={hash}")
}

/// JSON, or 304 for a client that has it.
fn tagged(request: &Request, hash: &str, json: String) -> Response {
    let etag = format!("\"{hash}\"");
    let mut response = if request.header(IF_NONE_MATCH).split(',').any(|own| own.trim() == etag) {
        Response::text(304, String::new())
    } else {
        Response::text(200, json)
    };
    response.headers.push((ETAG, etag));
    response
}

#[cfg(test)]
mod tests {
    use http::{Request, Response, StatusCode};
    use http_body_util::BodyExt as _;
    use kube::{Client, client::Body};

    use super::*;
    use crate::ApiServer;

    async fn get(client: &Client, uri: &str, tag: &str) -> Response<Body> {
        let request = Request::get(uri).header(IF_NONE_MATCH, tag).body(Body::empty()).unwrap();
        client.send(request).await.unwrap()
    }

    async fn json(response: Response<Body>) -> Value {
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test]
    async fn a_document_under_its_hash_may_be_kept() {
        let client = ApiServer::builder().start().unwrap().client();
        let index = json(get(&client, "/openapi/v3", "").await).await;
        let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
        let current = get(&client, url, "").await;
        assert_eq!(current.headers()[CACHE_CONTROL], "public, immutable");
        assert!(current.headers()[EXPIRES].to_str().unwrap().ends_with(" UTC"));
        let old = get(&client, "/openapi/v3/apis/apps/v1?hash=0", "").await;
        assert_eq!(
            (old.status(), &old.headers()[LOCATION]),
            (StatusCode::MOVED_PERMANENTLY, &url.parse().unwrap())
        );
        let unnamed = get(&client, "/openapi/v3/apis/apps/v1", "").await;
        assert_eq!(unnamed.headers()[CACHE_CONTROL], "no-cache, private");
    }

    #[tokio::test]
    async fn the_document_of_version_2_has_paths_and_a_tag() {
        let client = ApiServer::builder().start().unwrap().client();
        let document = get(&client, "/openapi/v2", "").await;
        let tag = document.headers()[ETAG].to_str().unwrap().to_owned();
        let document = json(document).await;
        let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Deployment");
        assert!(patch["consumes"].as_array().unwrap().contains(&"application/apply-patch+yaml".into()));
        let parameters = patch["parameters"].as_array().unwrap();
        assert_eq!(
            parameters.iter().find(|own| own["in"] == "body").unwrap()["schema"]["$ref"],
            "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
        );
        assert_eq!(get(&client, "/openapi/v2", &tag).await.status(), StatusCode::NOT_MODIFIED);
    }
}
