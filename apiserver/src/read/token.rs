//! Continue tokens, in the format of `apiserver/pkg/storage/continue.go`.

use base64::{
    DecodeError, Engine as _, alphabet,
    engine::general_purpose::{GeneralPurpose, NO_PAD},
};
use serde::{Deserialize, Serialize};

use crate::{objects, status::Failure, store::Key};

/// As Go reads it: trailing bits are ignored.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The version and the start key of the next page.
pub(super) struct Token {
    /// None for the latest.
    pub(super) version: Option<u64>,
    /// `namespace/name`, or a name.
    start: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Written {
    v: String,
    rv: i64,
    start: String,
}

impl Token {
    /// The page after a key, at a version.
    pub(super) fn next(version: u64, key: &Key, namespace: &str) -> Self {
        Self { version: Some(version), start: format!("{}\0", path(key, namespace)) }
    }

    /// The page from a key on, at the latest version.
    pub(super) fn at_latest(key: &Key, namespace: &str) -> Self {
        Self { version: None, start: path(key, namespace) }
    }

    pub(super) fn written(&self) -> String {
        let rv = self.version.and_then(|version| i64::try_from(version).ok()).unwrap_or(-1);
        let written = Written { v: "meta.k8s.io/v1".to_owned(), rv, start: format!("/{}", self.start) };
        BASE64.encode(serde_json::to_string(&written).unwrap_or_default())
    }

    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let invalid = |why: &str| {
            Failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = BASE64.decode(text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                DecodeError::InvalidPadding => text.find('=').unwrap_or_default(),
                _ => text.len() / 4 * 4,
            };
            invalid(&format!("illegal base64 data at input byte {at}"))
        })?;
        let written: Option<Written> =
            serde_json::from_slice(&bytes).map_err(|error| invalid(&objects::in_go(&error)))?;
        let Written { v, rv, start } = written.unwrap_or_default();
        if v != "meta.k8s.io/v1" {
            return Err(invalid(&format!("server does not recognize this encoded version {v}")));
        }
        if rv == 0 {
            return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if start.is_empty() {
            return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
        }
        let path = start.strip_prefix('/').unwrap_or(&start);
        if !path.is_empty() && path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid(&start));
        }
        Ok(Self { version: u64::try_from(rv).ok(), start: path.to_owned() })
    }

    /// The start key.
    pub(super) fn from(&self, namespaced: bool, namespace_of_list: &str) -> Key {
        match self.start.split_once('/') {
            Some((namespace, name)) if namespaced && namespace_of_list.is_empty() => {
                Key { namespace: namespace.to_owned(), name: name.to_owned() }
            }
            _ => Key { namespace: namespace_of_list.to_owned(), name: self.start.clone() },
        }
    }
}

/// A key, relative to the list's namespace.
fn path(key: &Key, namespace_of_list: &str) -> String {
    if namespace_of_list.is_empty() && !key.namespace.is_empty() {
        format!("{}/{}", key.namespace, key.name)
    } else {
        key.name.clone()
    }
}
