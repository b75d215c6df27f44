//! The size limits of etcd.

use baton_merge::Arena;

use crate::{
    definitions,
    registry::Resource,
    server::RequestTarget,
    status::Failure,
    store::Record,
    types::{TYPES, delimited, varint},
    write::storage_key,
};

/// The largest request by etcd's default, `--max-request-bytes`.
const MAX_REQUEST: usize = 1536 * 1024;
/// The largest message of etcd's client.
const MAX_MESSAGE: usize = 2 * 1024 * 1024;
/// The identifier that etcd adds to a message.
const HEADER: usize = 14;
/// The largest ratio of an object's size in protobuf, with all its zeros, to its size in JSON.
const MOST_ZEROS: usize = 16;

/// Refuses an object that is too large for etcd.
pub(crate) fn check(target: &RequestTarget, record: &Record) -> Result<(), Failure> {
    if record.text().len() < MAX_REQUEST / MOST_ZEROS {
        return Ok(());
    }
    let size = message(&storage_key(target), encoded(&target.resource, record)?, record.version);
    if size > MAX_MESSAGE {
        return Err(Failure::without_reason(format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {MAX_MESSAGE})"
        )));
    }
    if delimited(5, size) + HEADER > MAX_REQUEST {
        return Err(Failure::without_reason("etcdserver: request is too large"));
    }
    Ok(())
}

/// The stored size: built-in kinds are in protobuf, except for those of aggregated servers.
fn encoded(resource: &Resource, record: &Record) -> Result<usize, Failure> {
    const IN_JSON: [&str; 2] = [definitions::GROUP, "apiregistration.k8s.io"];
    let (api_version, kind) = (&*record.stored_version, &resource.stored_as.kind);
    let unversioned = record.at_version(0);
    let is_in_json = resource.is_custom() || IN_JSON.contains(&resource.stored_as.group.as_str());
    match TYPES.of_kind(&resource.stored_as).filter(|_| !is_in_json) {
        Some(of) => {
            let arena = Arena::new();
            let object = unversioned.value(&arena, api_version, kind).map_err(Failure::internal)?;
            Ok(TYPES.protobuf_size(of, object, api_version, kind))
        }
        // With a line feed.
        None => Ok(unversioned.json(api_version, kind).len() + 1),
    }
}

/// The size of the message that replaces an object, after `OptimisticPut` of etcd's client.
fn message(key: &str, value: usize, version: u64) -> usize {
    let (is_update, version) = (version > 0, usize::try_from(version).unwrap_or_default());
    let compare = 2 + delimited(3, key.len()) + 1 + varint(version);
    let put = delimited(1, key.len()) + delimited(2, value);
    let get = if is_update { delimited(3, delimited(1, delimited(1, key.len()))) } else { 0 };
    delimited(1, compare) + delimited(2, delimited(2, put)) + get
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodTemplate;
    use kube::{Api, api::PostParams};
    use serde_json::json;

    use crate::ApiServer;

    fn template(name: &str, args: &[String]) -> PodTemplate {
        let container = json!({"name": "web", "image": "web", "args": args});
        let object = json!({"metadata": {"name": name}, "template": {"spec": {"containers": [container]}}});
        serde_json::from_value(object).unwrap()
    }

    #[tokio::test]
    async fn an_object_that_is_too_large_for_etcd_isnt_stored() {
        let server = ApiServer::builder().start().unwrap();
        let templates: Api<PodTemplate> = Api::default_namespaced(server.client());
        let create = async |name, size| {
            templates.create(&PostParams::default(), &template(name, &["x".repeat(size)])).await
        };
        assert!(create("fits", 1_570_000).await.unwrap().metadata.managed_fields.is_some());
        assert!(create("without-owners", 1_572_300).await.unwrap().metadata.managed_fields.is_none());
        let large = create("large", 1_700_000).await.unwrap_err().to_string();
        assert!(large.contains("etcdserver: request is too large"), "{large}");
        let larger = create("larger", 2_500_000).await.unwrap_err().to_string();
        // As counted by a real server.
        let message =
            "code = ResourceExhausted desc = trying to send message larger than max (2500371 vs. 2097152)";
        assert!(larger.contains(message), "{larger}");
        let largest = create("largest", 3_300_000).await.unwrap_err().to_string();
        assert!(largest.contains("Request entity too large: limit is 3145728"), "{largest}");
        assert!(templates.get_opt("large").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_counts_is_how_large_an_object_is_in_protobuf() {
        let server = ApiServer::builder().start().unwrap();
        let templates: Api<PodTemplate> = Api::default_namespaced(server.client());
        // Four bytes each in JSON, three in protobuf.
        let args = vec!["x".to_owned(); 450_000];
        templates.create(&PostParams::default(), &template("many", &args)).await.unwrap();
    }
}
