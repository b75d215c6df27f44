//! IP addresses and CIDRs, in the forms that the server accepts.

use std::net::IpAddr;

use super::cursor::{Cursor, Errors};

/// Parses an address, also with leading zeros, which were allowed once.
pub(super) fn parse_sloppy(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| without_leading_zeros(text).parse().ok())
}

fn without_leading_zeros(text: &str) -> String {
    let (head, dotted) = text.rfind(':').map_or(("", text), |at| text.split_at(at + 1));
    let number = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        digits => digits.to_owned(),
    };
    let numbers: Vec<_> = dotted.split('.').map(number).collect();
    format!("{head}{}", numbers.join("."))
}

/// Parses a CIDR such as `10.0.0.0/8`: the address as written, and the length of the prefix.
pub(super) fn parse_range_sloppy(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address = parse_sloppy(address)?;
    let bits = if bits.bytes().all(|byte| byte.is_ascii_digit()) { bits.parse().ok()? } else { return None };
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}

/// The prefix of an address, as a number.
fn prefix(address: IpAddr, bits: u8) -> u128 {
    let (all, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    all.checked_shr(width - u32::from(bits)).unwrap_or(0)
}

/// The first address of a CIDR.
pub(super) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    let width = if address.is_ipv4() { 32 } else { 128 };
    let first = prefix(address, bits).checked_shl(width - u32::from(bits)).unwrap_or(0);
    match u32::try_from(first) {
        Ok(first) if address.is_ipv4() => IpAddr::V4(first.into()),
        _ => IpAddr::V6(first.into()),
    }
}

/// Whether a CIDR is within a larger one.
pub(super) fn is_strictly_within(inner: (IpAddr, u8), outer: (IpAddr, u8)) -> bool {
    inner.0.is_ipv4() == outer.0.is_ipv4()
        && inner.1 > outer.1
        && prefix(inner.0, outer.1) == prefix(outer.0, outer.1)
}

pub(super) fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Validates an address; `known` ones may stay in any form.
pub(super) fn check_address(node: &Cursor<'_>, errors: &mut Errors, known: &[&str]) {
    let text = node.text();
    if known.contains(&text) {
        return;
    }
    match (parse_sloppy(text), text.parse::<IpAddr>()) {
        (None, _) => {
            errors.push(node.invalid_text("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
        }
        (_, Err(_)) => errors.push(node.invalid_text("must not have leading 0s")),
        (_, Ok(address)) if is_mapped(address) => {
            errors.push(node.invalid_text("must not be an IPv4-mapped IPv6 address"));
        }
        _ => {}
    }
}

/// Validates an address in canonical form.
pub(super) fn check_canonical_address(node: &Cursor<'_>, errors: &mut Errors) {
    let before = errors.len();
    check_address(node, errors, &[]);
    if let (true, Some(address)) = (errors.len() == before, parse_sloppy(node.text()))
        && address.to_string() != node.text()
    {
        errors.push(node.invalid_text(&format!("must be in canonical form (\"{address}\")")));
    }
}

/// Validates a CIDR; `known` ones may stay in any form.
pub(super) fn check_range(node: &Cursor<'_>, errors: &mut Errors, known: &[&str]) {
    let text = node.text();
    if known.contains(&text) {
        return;
    }
    let Some((address, bits)) = parse_range_sloppy(text) else {
        errors.push(node.invalid_text("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
        return;
    };
    let strict = text.split_once('/').is_some_and(|(address, bits)| {
        address.parse::<IpAddr>().is_ok() && (bits == "0" || !bits.starts_with('0'))
    });
    if !strict {
        errors.push(node.invalid_text("must not have leading 0s in IP or prefix length"));
    } else if is_mapped(address) {
        errors.push(node.invalid_text("must not have an IPv4-mapped IPv6 address"));
    } else if masked(address, bits) != address {
        errors.push(node.invalid_text("must not have bits set beyond the prefix length"));
    }
}

/// The address isn't unspecified, loopback, link-local or multicast.
pub(super) fn check_endpoint(node: &Cursor<'_>, errors: &mut Errors) {
    let Some(address) = parse_sloppy(node.text()) else {
        errors.push(node.invalid_text("must be a valid IP address"));
        return;
    };
    let address = address.to_canonical();
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    let problems = [
        (address.is_unspecified(), format!("may not be unspecified ({})", node.text())),
        (address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (
            link_local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ];
    errors
        .extend(problems.iter().filter(|(broken, _)| *broken).map(|(_, problem)| node.invalid_text(problem)));
}
