//! Where a list goes on: the token that a client gives back, as `apiserver/pkg/storage/continue.go` writes it.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::{status::Failure, store::Key};

/// The version of a list, and what was listed last.
pub(super) struct Token {
    /// None for the latest.
    pub(super) version: Option<u64>,
    start: String,
}

#[derive(Deserialize, Serialize)]
struct Written {
    v: String,
    #[serde(default)]
    rv: i64,
    start: String,
}

impl Token {
    /// A list that goes on after a key. A version of 0 stands for the latest.
    pub(super) fn next(version: u64, key: &Key, namespace: &str) -> Self {
        let start = if namespace.is_empty() && !key.namespace.is_empty() {
            format!("{}/{}\0", key.namespace, key.name)
        } else {
            format!("{}\0", key.name)
        };
        Self { version: (version > 0).then_some(version), start }
    }

    pub(super) fn written(&self) -> String {
        let rv = self.version.and_then(|version| i64::try_from(version).ok()).unwrap_or(-1);
        let written = Written { v: "meta.k8s.io/v1".to_owned(), rv, start: self.start.clone() };
        URL_SAFE_NO_PAD.encode(serde_json::to_string(&written).unwrap_or_default())
    }

    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let invalid =
            |why: &dyn std::fmt::Display| Failure::bad_request(format!("continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text));
        let bytes = bytes.map_err(|error| invalid(&error))?;
        let written: Written = serde_json::from_slice(&bytes).map_err(|error| invalid(&error))?;
        if written.v != "meta.k8s.io/v1" {
            return Err(invalid(&format!("server does not recognize this encoded version {:?}", written.v)));
        }
        if written.rv == 0 {
            return Err(invalid(&"incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if written.start.is_empty() || written.start.contains("..") {
            return Err(invalid(&"encoded start key empty (version meta.k8s.io/v1)"));
        }
        Ok(Self { version: u64::try_from(written.rv).ok(), start: written.start })
    }

    /// The key after which the list goes on.
    pub(super) fn after(&self, namespaced: bool, namespace: &str) -> Key {
        let start = self.start.trim_end_matches('\0');
        match start.split_once('/') {
            Some((namespace, name)) if namespaced => {
                Key { namespace: namespace.to_owned(), name: name.to_owned() }
            }
            _ => Key { namespace: namespace.to_owned(), name: start.to_owned() },
        }
    }
}
