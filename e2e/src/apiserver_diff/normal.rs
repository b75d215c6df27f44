//! Makes the responses of two servers comparable: a value that a server generates gets a name, which is the same on both sides if
//! it first appeared in the same response.

use baton_testbed::Json;
use jiff::Timestamp;

use super::pair::Response;

/// The values that one server has generated so far, in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct Names {
    uids: Vec<String>,
    versions: Vec<String>,
    addresses: Vec<String>,
    ports: Vec<String>,
}

impl Names {
    /// Replaces generated values by names.
    pub(super) fn name(&mut self, json: &mut Json) {
        self.walk(json, "", true);
    }

    /// Replaces names in a text by this server's values.
    pub(super) fn unnamed(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let texts = [("uid", &self.uids), ("version", &self.versions), ("address", &self.addresses)];
        for (sort, values) in texts {
            for (position, value) in values.iter().enumerate() {
                text = text.replace(&format!("<{sort} {position}>"), value);
            }
        }
        for (position, port) in self.ports.iter().enumerate() {
            text = text.replace(&format!("\"<port {position}>\""), port);
        }
        text
    }

    fn walk(&mut self, json: &mut Json, name: &str, is_top: bool) {
        match json {
            Json::Object(members) => {
                let is_list = is_top && members.iter().any(|(name, _)| name == "items" || name == "rows");
                // In one order: the servers write them in different ones.
                let mut sorted: Vec<_> = members.iter_mut().collect();
                sorted.sort_by(|left, right| left.0.cmp(&right.0));
                for (name, value) in sorted {
                    // The version of a list is that of all that the server has.
                    if is_list && name == "metadata" {
                        value.take("resourceVersion");
                        if value.take("continue").is_some() {
                            value.set("continue", "<token>");
                        }
                        continue;
                    }
                    self.walk(value, name, false);
                }
            }
            Json::List(items) => {
                for item in items.iter_mut() {
                    self.walk(item, name, false);
                }
                // The server lists conflicts in the order of a map.
                if name == "causes" {
                    items.sort_by_key(|cause| {
                        ["field", "message"].map(|name| cause.get(name).map(ToString::to_string))
                    });
                }
            }
            Json::String(text) => *text = self.named(text, name),
            Json::Number(_) if matches!(name, "nodePort" | "healthCheckNodePort") => {
                *json = Json::string(named(&mut self.ports, &json.to_string(), "port"));
            }
            _ => {}
        }
    }

    /// Replaces generated values inside a text, such as a message or an object as JSON.
    fn named_in(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.len() > 36 {
            for (position, uid) in self.uids.iter().enumerate() {
                text = text.replace(uid, &format!("<uid {position}>"));
            }
        }
        for (position, port) in self.ports.iter().enumerate() {
            text = text.replace(&format!("nodePort\":{port}"), &format!("nodePort\":\"<port {position}>\""));
        }
        if let Some((before, _)) = text.split_once(", current: ") {
            text = format!("{before}, current: <version>");
        }
        if let Some((before, rest)) = text.split_once("ResourceVersion in record (") {
            let after = rest.split_once(')').map_or(rest, |(_, after)| after);
            text = format!("{before}ResourceVersion in record (<version>){after}");
        }
        if let Some((before, rest)) = text.split_once("ResourceVersion in object meta: ") {
            let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            text = format!("{before}ResourceVersion in object meta: <version>{after}");
        }
        for (position, address) in self.addresses.iter().enumerate() {
            text = text.replace(&format!("\"{address}\""), &format!("\"<address {position}>\""));
        }
        for (position, version) in self.versions.iter().enumerate() {
            text = text.replace(&format!("({version})"), &format!("(<version {position}>)"));
            text = text.replace(&format!("\"{version}\""), &format!("\"<version {position}>\""));
            text = text.replace(&format!("\\\"{version}\\\""), &format!("\\\"<version {position}>\\\""));
        }
        text
    }

    /// The ports of a Service as a cell shows them, such as `80:31388/TCP,53:30839/UDP`.
    fn named_ports(&mut self, text: &str) -> String {
        let mut port = |shown: &str| {
            let (outside, rest) = shown.split_once(':')?;
            let (inside, protocol) = rest.split_once('/')?;
            Some(format!("{outside}:{}/{protocol}", named(&mut self.ports, inside, "port")))
        };
        let all: Vec<_> =
            text.split(',').map(|shown| port(shown).unwrap_or_else(|| shown.to_owned())).collect();
        all.join(",")
    }

    fn named(&mut self, text: &str, name: &str) -> String {
        match name {
            "uid" | "controller-uid" | "batch.kubernetes.io/controller-uid" if text.len() == 36 => {
                named(&mut self.uids, text, "uid")
            }
            "resourceVersion" if !text.is_empty() && text != "0" => {
                named(&mut self.versions, text, "version")
            }
            "clusterIP" | "clusterIPs" if text.contains('.') => named(&mut self.addresses, text, "address"),
            "cells" if is_age(text) => "<age>".to_owned(),
            "cells" if text.starts_with("10.96.") => named(&mut self.addresses, text, "address"),
            "cells" if text.contains(":3") => self.named_ports(text),
            _ => self.named_in(text),
        }
    }
}

/// Whether a cell of a table is an age, which depends on the time of the request.
fn is_age(text: &str) -> bool {
    text.len() < 8
        && text.ends_with(['s', 'm', 'h', 'd'])
        && text.starts_with(|letter: char| letter.is_ascii_digit())
}

fn named(known: &mut Vec<String>, value: &str, sort: &str) -> String {
    // Values from the requests are the same on both sides.
    if value.starts_with('<') || value.starts_with("0b7ab0a5") {
        return value.to_owned();
    }
    let position = known.iter().position(|own| own == value).unwrap_or_else(|| {
        known.push(value.to_owned());
        known.len() - 1
    });
    format!("<{sort} {position}>")
}

/// The difference of two responses; `None` without one.
pub(super) fn difference(real: &Response, ours: &Response) -> Option<String> {
    let mut lines = Vec::new();
    if real.code != ours.code {
        lines.push(format!("code: {} / {}", real.code, ours.code));
    }
    if real.warnings != ours.warnings {
        lines.push(format!("warnings: {:?} / {:?}", real.warnings, ours.warnings));
    }
    if real.content_type != ours.content_type {
        lines.push(format!("content type: {:?} / {:?}", real.content_type, ours.content_type));
    }
    compare(&real.body, &ours.body, "", &mut lines);
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn is_second_before(real: &Json, ours: &Json) -> bool {
    let second = |time: &Json| Some(time.as_str()?.parse::<Timestamp>().ok()?.as_second());
    second(real).zip(second(ours)).is_some_and(|(real, ours)| real + 1 == ours)
}

/// Compares two values. The order of members counts in field sets only.
pub(super) fn compare(real: &Json, ours: &Json, path: &str, lines: &mut Vec<String>) {
    match (real, ours) {
        (Json::Object(left), Json::Object(right)) => {
            for (name, value) in left {
                match ours.get(name) {
                    Some(other) => compare(value, other, &format!("{path}.{name}"), lines),
                    None => lines.push(format!("{path}.{name}: {value} / absent")),
                }
            }
            for (name, value) in right.iter().filter(|(name, _)| real.get(name).is_none()) {
                lines.push(format!("{path}.{name}: absent / {value}"));
            }
            let names =
                |members: &[(String, Json)]| members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            if path.contains(".fieldsV1") && left.len() == right.len() && names(left) != names(right) {
                lines.push(format!("{path}: in the order {:?} / {:?}", names(left), names(right)));
            }
        }
        (Json::List(left), Json::List(right)) => {
            for (position, (left, right)) in left.iter().zip(right).enumerate() {
                compare(left, right, &format!("{path}[{position}]"), lines);
            }
            for (position, item) in left.iter().enumerate().skip(right.len()) {
                lines.push(format!("{path}[{position}]: {item} / absent"));
            }
            for (position, item) in right.iter().enumerate().skip(left.len()) {
                lines.push(format!("{path}[{position}]: absent / {item}"));
            }
        }
        _ if real == ours || real.same_value(ours) => {}
        // The real server reads the clock several times in a request, and a new second may begin in between.
        _ if path.rsplit('.').next() == Some("time") && is_second_before(real, ours) => {}
        _ => lines.push(format!("{path}: {real} / {ours}")),
    }
}
