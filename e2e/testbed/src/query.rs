//! The query of a request's URI. It doesn't know what the parameters mean.

/// The value of the first parameter of this name, with its escapes resolved.
pub fn value(uri: &str, key: &str) -> Option<String> {
    let (_, query) = uri.split_once('?')?;
    form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == key)
        .map(|(_, value)| value.into_owned())
}

/// A value, escaped for a query.
pub fn escape(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
