//! `null` in a Workload. The API server stores it when a server-side apply empties a map, a list or a struct of which another
//! manager owns a part.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Reads `null` as absent.
pub(crate) fn absent<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads labels or annotations: a value that is `null` is empty, as the API server reads it in any object.
pub(crate) fn texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let texts: BTreeMap<String, Option<String>> = absent(deserializer)?;
    Ok(texts.into_iter().map(|(name, text)| (name, text.unwrap_or_default())).collect())
}
