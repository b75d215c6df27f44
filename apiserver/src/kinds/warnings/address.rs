//! Warnings about ambiguous addresses and CIDRs. After `k8s.io/apimachinery/pkg/util/validation/ip.go`.

use std::net::IpAddr;

use crate::kinds::{
    cursor::Cursor,
    ip::{is_mapped, masked, parse_range_sloppy, parse_sloppy},
};

/// Warns of an address in an uncommon form.
pub(super) fn warn_of_address(node: &Cursor<'_>, warnings: &mut Vec<String>) {
    let text = node.text();
    let Some(address) = parse_sloppy(text) else { return };
    let usual = address.to_canonical().to_string();
    match text.parse::<IpAddr>() {
        Ok(strict) if !is_mapped(strict) => {
            if usual != text {
                let what =
                    format!("IPv6 address {text:?} should be in RFC 5952 canonical format ({usual:?})");
                node.warn(warnings, &what);
            }
        }
        _ => node.warn(warnings, &format!("non-standard IP address {text:?} is invalid: use {usual:?}")),
    }
}

/// Warns of a CIDR in an uncommon form, or whose address isn't its first one.
pub(super) fn warn_of_range(node: &Cursor<'_>, warnings: &mut Vec<String>) {
    let text = node.text();
    let Some((address, bits)) = parse_range_sloppy(text) else { return };
    let first = masked(address, bits);
    let usual = format!("{first}/{bits}");
    let before = warnings.len();
    if first != address {
        let single = format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 });
        let what =
            format!("CIDR value {text:?} is ambiguous in this context (should be {usual:?} or {single:?}?)");
        node.warn(warnings, &what);
    }
    let is_strict = text.split_once('/').is_some_and(|(address, bits)| {
        address.parse().is_ok_and(|address| !is_mapped(address)) && (bits == "0" || !bits.starts_with('0'))
    });
    if !is_strict {
        node.warn(warnings, &format!("non-standard CIDR value {text:?} is invalid: use {usual:?}"));
    }
    if warnings.len() == before && address.is_ipv6() && usual != text {
        let what = format!("IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({usual:?})");
        node.warn(warnings, &what);
    }
}

#[cfg(test)]
mod tests {
    use baton_merge::value::Value;

    use super::*;
    use crate::field::FieldPath;

    fn warned(warn: fn(&Cursor<'_>, &mut Vec<String>), text: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        warn(&Cursor { value: Some(Value::String(text)), path: FieldPath::new("ip") }, &mut warnings);
        warnings
    }

    #[test]
    fn an_uncommon_address_is_reported_with_the_common_one() {
        assert!(warned(warn_of_address, "10.0.0.1").is_empty());
        assert!(warned(warn_of_address, "2001:db8::1").is_empty());
        let non_standard = r#"ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1""#;
        assert_eq!(warned(warn_of_address, "010.0.0.1"), [non_standard]);
        let mapped = r#"ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4""#;
        assert_eq!(warned(warn_of_address, "::ffff:1.2.3.4"), [mapped]);
        let long = r#"ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")"#;
        assert_eq!(warned(warn_of_address, "2001:DB8::1"), [long]);
    }

    #[test]
    fn a_range_begins_with_its_first_address() {
        assert!(warned(warn_of_range, "10.0.0.0/8").is_empty());
        let ambiguous = r#"ip: CIDR value "10.1.0.0/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.0.0/32"?)"#;
        assert_eq!(warned(warn_of_range, "10.1.0.0/8"), [ambiguous]);
    }
}
