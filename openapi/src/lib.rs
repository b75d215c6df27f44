#![doc = include_str!("../README.md")]

use std::io::Read as _;

use flate2::read::GzDecoder;

/// The minor version of the Kubernetes release that served the documents: 1.36.
pub const MINOR: u16 = 36;

/// The OpenAPI document of a group version.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// Its path below `/openapi/v3`, such as `apis/apps/v1`.
    pub path: &'static str,
    /// The document as the server serves it: JSON, compressed by gzip.
    pub packed: &'static [u8],
    /// The same without descriptions, enums and lists of required fields: a tenth, which says all about merging.
    pub packed_schemas: &'static [u8],
}

impl Document {
    /// The document as the server serves it.
    pub fn text(&self) -> String {
        unpacked(self.packed)
    }

    /// The same without what has no part in merging.
    pub fn schemas(&self) -> String {
        unpacked(self.packed_schemas)
    }
}

fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    // A test of the crate unpacks each.
    let _ = GzDecoder::new(packed).read_to_string(&mut text);
    text
}

/// The document at a path below `/openapi/v3`.
pub fn document(path: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.path == path)
}

macro_rules! documents {
    ($($path:literal: $file:literal,)*) => {
        /// All documents, by their path.
        pub static DOCUMENTS: [Document; [$($path),*].len()] = [$(Document {
            path: $path,
            packed: include_bytes!(concat!("../data/documents/", $file, ".json.gz")),
            packed_schemas: include_bytes!(concat!("../data/schemas/", $file, ".json.gz")),
        },)*];
    };
}

documents! {
    "api/v1": "api_v1",
    "apis/admissionregistration.k8s.io/v1": "apis_admissionregistration.k8s.io_v1",
    "apis/apiextensions.k8s.io/v1": "apis_apiextensions.k8s.io_v1",
    "apis/apiregistration.k8s.io/v1": "apis_apiregistration.k8s.io_v1",
    "apis/apps/v1": "apis_apps_v1",
    "apis/authentication.k8s.io/v1": "apis_authentication.k8s.io_v1",
    "apis/authorization.k8s.io/v1": "apis_authorization.k8s.io_v1",
    "apis/autoscaling/v1": "apis_autoscaling_v1",
    "apis/autoscaling/v2": "apis_autoscaling_v2",
    "apis/batch/v1": "apis_batch_v1",
    "apis/certificates.k8s.io/v1": "apis_certificates.k8s.io_v1",
    "apis/coordination.k8s.io/v1": "apis_coordination.k8s.io_v1",
    "apis/discovery.k8s.io/v1": "apis_discovery.k8s.io_v1",
    "apis/events.k8s.io/v1": "apis_events.k8s.io_v1",
    "apis/flowcontrol.apiserver.k8s.io/v1": "apis_flowcontrol.apiserver.k8s.io_v1",
    "apis/networking.k8s.io/v1": "apis_networking.k8s.io_v1",
    "apis/node.k8s.io/v1": "apis_node.k8s.io_v1",
    "apis/policy/v1": "apis_policy_v1",
    "apis/rbac.authorization.k8s.io/v1": "apis_rbac.authorization.k8s.io_v1",
    "apis/resource.k8s.io/v1": "apis_resource.k8s.io_v1",
    "apis/scheduling.k8s.io/v1": "apis_scheduling.k8s.io_v1",
    "apis/storage.k8s.io/v1": "apis_storage.k8s.io_v1",
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_document_is_json_with_the_same_schemas_twice() {
        for document in &DOCUMENTS {
            let [whole, schemas] = [document.text(), document.schemas()]
                .map(|text| serde_json::from_str::<Value>(&text).unwrap()["components"]["schemas"].take());
            let names = |schemas: &Value| schemas.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&whole), names(&schemas), "{}", document.path);
        }
    }
}
