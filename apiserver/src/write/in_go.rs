//! Schema errors of the merge core, in the wording of structured-merge-diff's `typed` package.

/// The violations, each on its line, in Go's wording.
pub(super) fn in_go(message: &str) -> String {
    message.lines().map(violation).collect::<Vec<_>>().join("\n")
}

fn violation(line: &str) -> String {
    let line = match line.split_once("item ") {
        Some((before, rest)) if before.ends_with(": ") => &format!("{before}element {rest}"),
        _ => line,
    };
    if let Some((before, keys)) = line.split_once("an item omits all keys of its list (") {
        let keys = keys.split_once(')').map_or(keys, |(keys, _)| keys);
        let keys: Vec<_> = keys.split(", ").map(|key| format!("{key:?}")).collect();
        return format!(
            "{before}associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            keys.join(" ")
        );
    }
    let Some((before, found)) = line.split_once(", found ") else { return line.to_owned() };
    let Some((before, wanted)) = before.split_once("expected a") else { return line.to_owned() };
    let plain = found.trim_matches('"');
    match wanted {
        " map" => format!("{before}expected map, got &{{{plain}}}"),
        " list" => format!("{before}expected list, got &{{{plain}}}"),
        " string" => {
            format!("{before}expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(found))
        }
        " boolean" => format!("{before}expected boolean, got &{{{plain}}}"),
        " number" => format!("{before}expected numeric (int or float), got {}", go_type(found)),
        "ny scalar" => format!("{before}expected any scalar, got &{{{plain}}}"),
        _ => line.to_owned(),
    }
}

/// A value in Go's syntax.
fn go_syntax(found: &str) -> &str {
    match found {
        "a map" => "map[string]interface {}{}",
        "a list" => "[]interface {}{}",
        scalar => scalar,
    }
}

/// The Go type of a value from JSON.
fn go_type(found: &str) -> &'static str {
    match found {
        "a map" => "map[string]interface {}",
        "a list" => "[]interface {}",
        "true" | "false" => "bool",
        "null" => "<nil>",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_violation_gets_the_message_of_the_server() {
        for (ours, servers) in [
            (
                ".metadata.labels: expected a map, found \"none\"",
                ".metadata.labels: expected map, got &{none}",
            ),
            (
                ".spec.replicas: expected a number, found \"x\"",
                ".spec.replicas: expected numeric (int or float), got string",
            ),
            (
                ".spec.name: expected a string, found 5",
                ".spec.name: expected string, got &value.valueUnstructured{Value:5}",
            ),
            (
                ".secrets: item 0: an item omits all keys of its list (name), and none has a default",
                ".secrets: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and \
                 doesn't have default values for any key fields)",
            ),
            (
                "errors:\n  .metadata.labels: expected a map, found \"none\"\n  .unknownField: field not declared in schema",
                "errors:\n  .metadata.labels: expected map, got &{none}\n  .unknownField: field not declared in schema",
            ),
        ] {
            assert_eq!(in_go(ours), servers);
        }
    }
}
