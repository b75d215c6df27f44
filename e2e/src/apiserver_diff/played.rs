//! Behaviour that the server inside the process lacks, and that compared requests show.

use baton_testbed::Json;

use super::pair::Response;

/// A behaviour that is absent, and the one instead.
pub const NOT_PLAYED: &[(&str, &str)] = &[
    (KEY_PAIRS, "no warning: keys and certificates aren't read"),
    (PROFILES, "they stay annotations: no field is set, no warning is given"),
    (OTHER_VERSION, "no warnings beside the error"),
    (CHARGED_FOR_REFUSED, "quotas count what is stored"),
    (EMPTY_LISTS, "empty and absent lists are the same to it"),
    (PATCHED_TEXT, "its members are sorted"),
    (MALFORMED, "the messages of the parsers that are used here"),
    (EXPRESSIONS, "expressions that can't be right are stored, and fail when they are evaluated"),
    (SPELLED_OUT, "their first line, or with the names that the API has"),
    (SHOWN_ORDER, "sorted by their names"),
    (EMPTY_VALUES, "nothing is written"),
    (EMPTY_SHOWN, "`null`"),
    (UNCONVERTED, "one text, whichever step of the merge it is"),
    (VIOLATIONS, "all of them; the real server stops at the first unknown field, in the order of a hash map"),
];

const KEY_PAIRS: &str = "the warning about a TLS Secret whose key and certificate don't match";
const PROFILES: &str = "deprecated AppArmor annotations of a pod";
const OTHER_VERSION: &str =
    "warnings about unknown fields in a custom resource whose `apiVersion` isn't the one of the path";
/// A scenario shows it too.
pub const CHARGED_FOR_REFUSED: &str =
    "a ResourceQuota being charged for what is refused after admission, until the next recount";
const EMPTY_LISTS: &str = "empty lists that a server distinguishes from absent ones: it counts them in the `generation` of a NetworkPolicy, and refuses them as \
     the policies of a HorizontalPodAutoscaler's `behavior`";
const PATCHED_TEXT: &str = "the order of members in the text of an object that a patch made unreadable";
const MALFORMED: &str = "what is wrong with JSON, YAML or a regular expression that can't be read";
const EXPRESSIONS: &str = "the types in CEL expressions, when a CRD is stored";
const SPELLED_OUT: &str = "Go's own structs and differences in messages about pods, templates and claims that may not change, and about the versions of \
     a CRD";
const SHOWN_ORDER: &str = "the order of the fields in field sets that tables and PartialObjectMetadata show";
const EMPTY_VALUES: &str = "a write that changes nothing but how the store holds an empty value (labels of a custom resource, \
    data of a Secret, a PersistentVolumeClaim, the labels that a Job has from its template, an empty map in a LimitRange) being a change";

const EMPTY_SHOWN: &str = "`{}` and `[]` in messages about an empty map or list";
const UNCONVERTED: &str = "the message where an object of a custom resource has fields that the version of one of its owners doesn't know";
const VIOLATIONS: &str =
    "which violations of a schema are reported besides an unknown field, and in which order";

/// Whether the objects on both servers are still equal.
pub(super) fn changes_no_object(excuse: &'static str) -> bool {
    ![EMPTY_LISTS, EMPTY_VALUES].contains(&excuse)
}

/// Parts of messages about what can't be read.
const UNREADABLE: [&str; 4] =
    ["yaml:", "json parse error:", "error decoding patch:", "no kind is registered for the type v1.Scale"];

/// The server's messages about an expression whose types don't fit.
const EXPRESSION_ERRORS: [&str; 2] =
    ["found no matching overload for", "messageExpression must evaluate to a string"];

/// A message without the lines in which the server shows how two of Go's structs differ.
fn without_difference(message: &str) -> String {
    match (message.find(r"\n@@"), message.rfind(r"\n")) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &message[..start], &message[end + 2..]),
        _ => message.to_owned(),
    }
}

/// The explanation of a difference between responses about a kind, given its lines.
pub(super) fn excuse(
    kind: &str,
    is_custom: bool,
    real: &Response,
    ours: &Response,
    lines: &str,
) -> Option<&'static str> {
    let message =
        |response: &Response| response.body.get("message").map(ToString::to_string).unwrap_or_default();
    let (real_message, our_message) = (message(real), message(ours));
    let same_code = real.code == ours.code;
    if lines.lines().all(|line| line.starts_with("warnings: ")) {
        let is_warned = |part: &str| real.warnings.iter().any(|warning| warning.contains(part));
        let is_other_version = real_message.contains("does not match the expected API version");
        let missing = [
            (KEY_PAIRS, kind == "Secret" && is_warned("tls: ")),
            (PROFILES, kind == "Pod" && is_warned("appArmorProfile")),
            (OTHER_VERSION, is_other_version && is_warned("unknown field")),
        ];
        return missing.iter().find(|(_, holds)| *holds).map(|(excuse, _)| *excuse);
    }
    let form = real.body.get("kind").and_then(Json::as_str);
    if form.is_some_and(|form| form == "Table" || form.starts_with("PartialObjectMetadata"))
        && lines.lines().all(|line| line.contains(".fieldsV1.") && line.contains(": in the order "))
    {
        return Some(SHOWN_ORDER);
    }
    let shows = |part: &str| real.body.to_string().contains(part);
    let has_empty_values = match kind {
        "Secret" => shows(r#"":"""#),
        "PersistentVolumeClaim" | "LimitRange" => true,
        "Job" => shows(r#""labels":{"batch.kubernetes.io/controller-uid""#),
        _ => is_custom && (shows(r#""f:labels":{}"#) || shows(r#""f:annotations":{}"#)),
    };
    // The manager that writes the empty map owns the limits.
    let is_of_write = |line: &str| {
        line.starts_with(".metadata.resourceVersion: ")
            || kind == "LimitRange" && line.starts_with(".metadata.managedFields[")
    };
    if has_empty_values && same_code && lines.lines().all(is_of_write) {
        return Some(EMPTY_VALUES);
    }
    let generation =
        |response: &Response| response.body.at(&["metadata", "generation"]).map(ToString::to_string);
    if kind == "NetworkPolicy" && same_code && generation(real) != generation(ours) {
        return Some(EMPTY_LISTS);
    }
    let refuses_empty = |message: &str| message.contains("must specify at least one Policy");
    if kind == "HorizontalPodAutoscaler" && refuses_empty(&real_message) && !refuses_empty(&our_message) {
        return Some(EMPTY_LISTS);
    }
    if EXPRESSION_ERRORS.iter().any(|part| real_message.contains(part)) && ours.code < 300 {
        return Some(EXPRESSIONS);
    }
    if !same_code || real_message == our_message {
        return None;
    }
    let no_empty = |message: &str| {
        let empty = ["value: {}", "value: []", ":[]"];
        empty.iter().fold(message.to_owned(), |message, empty| {
            message.replace(empty, &format!("{}null", empty.trim_end_matches(['{', '}', '[', ']'])))
        })
    };
    if no_empty(&real_message) == no_empty(&our_message) {
        return Some(EMPTY_SHOWN);
    }
    if our_message.contains("can't convert to the version") {
        return Some(UNCONVERTED);
    }
    let sorted = |message: &str| {
        let mut lines: Vec<_> = message.trim_matches('"').split(r"\n").map(str::to_owned).collect();
        lines.sort();
        lines
    };
    if real_message.contains(": errors:") && sorted(&real_message) == sorted(&our_message) {
        return Some(VIOLATIONS);
    }
    let violation = real_message.trim_matches('"').rsplit("): ").next().unwrap_or_default();
    if our_message.contains(": errors:") && our_message.contains(violation) && violation.starts_with('.') {
        return Some(VIOLATIONS);
    }
    if real_message.contains("patch: Invalid value:") {
        return Some(PATCHED_TEXT);
    }
    if UNREADABLE.iter().any(|part| real_message.contains(part)) {
        return Some(MALFORMED);
    }
    let before = |message: &str, part: &str| message.split_once(part).map(|(before, _)| before.to_owned());
    let expression = before(&real_message, "error parsing regexp:");
    if expression.is_some() && expression == before(&our_message, "regex parse error:") {
        return Some(MALFORMED);
    }
    if without_difference(&real_message) == our_message
        || real_message.contains(r#"\"Schema\":{\"OpenAPIV3Schema\":"#)
    {
        return Some(SPELLED_OUT);
    }
    if real_message.contains("may not change fields") || real_message.contains(r#"\"Containers\":"#) {
        return Some(SPELLED_OUT);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{apiserver_diff::absent::ABSENT, generated};

    const BEGIN: &str = "apiserver_diff` -->\n";
    const END: &str = "<!-- end -->";

    #[test]
    fn the_readme_lists_what_isnt_played() {
        let rows =
            ABSENT.iter().map(|absent| (absent.what, absent.instead)).chain(NOT_PLAYED.iter().copied());
        let rows: Vec<_> = rows.map(|(what, instead)| format!("| {what} | {instead} |")).collect();
        let table = format!("\n| what | what there is instead |\n| --- | --- |\n{}\n\n", rows.join("\n"));
        let page = generated::read("apiserver/README.md").unwrap();
        let page = generated::with_part(&page, BEGIN, &table, END);
        generated::up_to_date("apiserver/README.md", &page, "test -p baton-e2e --lib apiserver_diff")
            .unwrap();
    }
}
