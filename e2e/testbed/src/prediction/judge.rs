//! Whether a prediction came true: conflicts, refusals, whether anything was stored, `managedFields` to the letter, and the
//! object except for what a server fills in. It works on what is recorded, so it judges a server that
//! responds now and one that responded long ago alike.

use jiff::Timestamp;

use super::defaults::{is_filled_in, is_taken_away, is_written_anew};
use crate::Json;

/// The accuracy of a prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// It is exact.
    Match,
    /// It is right, but for defaults that the server added.
    ModuloDefaulting,
    /// The core can't predict the result.
    Unknown,
    /// The server refuses for reasons that aren't the core's: what is valid beyond the schema, versions that are stale.
    Refused,
    /// It is wrong. Holds the difference.
    Mismatch(String),
}

/// The server's own members of metadata, which aren't predicted.
const SERVERS_METADATA: [&str; 6] =
    ["uid", "creationTimestamp", "generation", "resourceVersion", "namespace", "managedFields"];

/// Judges the prediction for a request by the response of the server.
pub fn judge(question: &Json, server: &Json, prediction: &Json) -> Accuracy {
    match differences(question, server, prediction) {
        Ok(accuracy) => accuracy,
        Err(difference) => Accuracy::Mismatch(difference),
    }
}

fn text<'a>(json: &'a Json, path: &[&str]) -> &'a str {
    json.at(path).and_then(Json::as_str).unwrap_or_default()
}

fn differences(question: &Json, server: &Json, prediction: &Json) -> Result<Accuracy, String> {
    let code = server.get("code").map(Json::to_string).unwrap_or_default();
    let (message, reason) = (text(server, &["message"]), text(prediction, &["error", "reason"]));
    if text(prediction, &["certainty"]) == "unknown" {
        return Ok(Accuracy::Unknown);
    }
    let expect = |wanted: &str| {
        if reason == wanted { Ok(Accuracy::Match) } else { Err(refusal(wanted, server, prediction)) }
    };
    match code.as_str() {
        "200" if prediction.get("object").is_some() => done(question, server, prediction),
        "200" => Err(format!("the server does it, predicted is {prediction}")),
        "409" if server.get("conflicts").is_some() => {
            let none = Json::Null;
            let (wanted, found) = (&server.get("conflicts"), prediction.get("conflicts").unwrap_or(&none));
            match wanted {
                Some(wanted) if wanted.same_value(found) => Ok(Accuracy::Match),
                _ if found == &none => Err(refusal("Conflicts", server, prediction)),
                _ => Err(format!(
                    "conflicts: the server has {}, predicted is {found}",
                    wanted.unwrap_or(&none)
                )),
            }
        }
        // Admission comes after the field manager.
        "400" if message.starts_with("admission webhook") => Ok(Accuracy::Refused),
        "400" => expect("BadRequest"),
        "404" => expect("NotFound"),
        "500" if message.starts_with("failed to create typed") => expect("Invalid"),
        // Allocation comes late, too.
        "500" if message.starts_with("duplicate nodePort") => Ok(Accuracy::Refused),
        "500" => expect("Internal"),
        // These come after the field manager: validation, and the comparison of the resourceVersion.
        "403" | "409" => Ok(Accuracy::Refused),
        "422" if prediction.get("object").is_some() => Ok(Accuracy::Refused),
        _ => Err(refusal("something else", server, prediction)),
    }
}

fn refusal(wanted: &str, server: &Json, prediction: &Json) -> String {
    let (code, message) = (server.get("code").unwrap_or(&Json::Null), text(server, &["message"]));
    let mut predicted = prediction.to_string();
    if prediction.get("object").is_some() {
        "that it is done".clone_into(&mut predicted);
    }
    format!("the server refuses with {code} ({message}), which should be {wanted}; predicted is {predicted}")
}

/// Judges a write that succeeded.
fn done(question: &Json, server: &Json, prediction: &Json) -> Result<Accuracy, String> {
    let is_true = |json: &Json| json.get("changed") == Some(&Json::Bool(true));
    let (changed, predicted_change) = (is_true(server), is_true(prediction));
    // Defaulting may bring back what an apply takes away, and then nothing is stored: as is a change of times alone.
    let defaults = text(prediction, &["certainty"]) == "modulo-defaulting";
    let undone = defaults && predicted_change && !changed && text(question, &["do"]) == "apply";
    let stored_anew = changed && is_stored_anew(text(question, &["gvk", "kind"]), question.get("live"));
    if predicted_change != changed && !undone && !stored_anew {
        let does = if changed { "stores something" } else { "stores nothing" };
        return Err(format!("changed: the server {does}, predicted is the contrary"));
    }
    let none = Json::Null;
    let (live, object) = (question.get("live").unwrap_or(&none), server.get("object"));
    let owners =
        |object: &Json| object.at(&["metadata", "managedFields"]).cloned().unwrap_or(Vec::new().into());
    let stored = if changed {
        server.get("managedFields").cloned().or(object.map(owners)).unwrap_or(Json::Null)
    } else {
        owners(live)
    };
    let predicted = prediction.get("object").unwrap_or(&none);
    same_owners(&stored, &owners(predicted), if undone { None } else { Some(text(question, &["now"])) })?;
    let Some(stored) = (if changed { object } else { Some(live) }) else { return Ok(Accuracy::Match) };
    let mut comparison = Comparer {
        kind: text(question, &["gvk", "kind"]),
        custom: question.get("crd").is_some(),
        creates: live == &none,
        filled_in: false,
        path: Vec::new(),
    };
    comparison.compare(predicted, stored)?;
    match (comparison.filled_in, defaults) {
        (true, false) => {
            Err("the prediction says that it is exact, and the server fills something in".to_owned())
        }
        (true, true) => Ok(Accuracy::ModuloDefaulting),
        (false, _) if undone => Err("changed: the server stores nothing, and fills nothing in".to_owned()),
        (false, _) => Ok(Accuracy::Match),
    }
}

/// Whether a write stores an object anew even if nothing is different in it: the first one after the creation of a claim, or of a
/// custom resource whose status has a default, which is filled in when it is read; and the first one after a null in the data of
/// a Secret, which is encoded in another way than the empty value that it is read as.
fn is_stored_anew(kind: &str, live: Option<&Json>) -> bool {
    let member = |name| live.and_then(|live| live.get(name));
    match kind {
        "PersistentVolumeClaim" => true,
        "Secret" => member("data")
            .is_some_and(|data| data.members().iter().any(|(_, value)| value.as_str() == Some(""))),
        _ => member("status").is_some_and(|status| is_filled_in(kind, &["status".to_owned()], status)),
    }
}

/// Compares two lists of managers: their order, and the order of members in their field sets, count. Times count where
/// the time of the write is given.
fn same_owners(server: &Json, predicted: &Json, now: Option<&str>) -> Result<(), String> {
    let name = |entry: &Json| {
        ["manager", "operation", "subresource", "apiVersion"]
            .map(|member| text(entry, &[member]).to_owned())
            .join(" ")
    };
    let names = |list: &Json| list.items().iter().map(name).collect::<Vec<_>>();
    if names(server) != names(predicted) {
        return Err(format!(
            "managedFields: the server has {:?}, predicted is {:?}",
            names(server),
            names(predicted)
        ));
    }
    for (server, predicted) in server.items().iter().zip(predicted.items()) {
        let fields = |entry: &Json| entry.get("fieldsV1").map(Json::to_string).unwrap_or_default();
        if fields(server) != fields(predicted) {
            let (name, server, predicted) = (name(server), fields(server), fields(predicted));
            return Err(format!(
                "managedFields of {name}: the server has {server}, predicted is {predicted}"
            ));
        }
        let Some(now) = now else { continue };
        let (was, predicted) = (text(server, &["time"]), text(predicted, &["time"]));
        if was != predicted && !(predicted == now && are_near(was, now)) {
            let name = name(server);
            return Err(format!(
                "managedFields of {name}: the time is {was:?}, predicted is {predicted:?}, now is {now}"
            ));
        }
    }
    Ok(())
}

/// Whether two times are the same but for the turn of a second.
fn are_near(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (one.parse::<Timestamp>(), other.parse::<Timestamp>()) else { return false };
    (one.as_second() - other.as_second()).abs() <= 1
}

/// Two objects being compared.
struct Comparer<'a> {
    kind: &'a str,
    custom: bool,
    creates: bool,
    /// Whether the server has filled something in.
    filled_in: bool,
    /// Names of members; indexes are left out.
    path: Vec<String>,
}

impl Comparer<'_> {
    fn compare(&mut self, predicted: &Json, stored: &Json) -> Result<(), String> {
        match (predicted, stored) {
            (Json::Object(ours), Json::Object(theirs)) => {
                for (name, predicted) in ours {
                    self.member(name, Some(predicted), stored.get(name))?;
                }
                for (name, stored) in theirs {
                    if ours.iter().all(|(own, _)| own != name) {
                        self.member(name, None, Some(stored))?;
                    }
                }
                Ok(())
            }
            (Json::List(ours), Json::List(theirs)) if ours.len() == theirs.len() => {
                ours.iter().zip(theirs).try_for_each(|(ours, theirs)| self.compare(ours, theirs))
            }
            _ if predicted.same_value(stored) => Ok(()),
            _ if is_zero(predicted) && self.may_replace_zero(stored) => {
                self.filled_in = true;
                Ok(())
            }
            _ if is_written_anew(self.kind, &self.path) => {
                self.filled_in = true;
                Ok(())
            }
            (Json::Null, Json::Object(_)) => self.added(stored),
            _ => self.difference(Some(predicted), Some(stored)),
        }
    }

    fn may_replace_zero(&self, stored: &Json) -> bool {
        let go_type = !self.custom || self.path[0] == "metadata";
        (go_type && is_zero(stored)) || is_filled_in(self.kind, &self.path, stored)
    }

    fn member(&mut self, name: &str, predicted: Option<&Json>, stored: Option<&Json>) -> Result<(), String> {
        let at_top = self.path.len() == 1 && self.path[0] == "metadata";
        if at_top && SERVERS_METADATA.contains(&name) {
            return Ok(());
        }
        self.path.push(name.to_owned());
        let result = match (predicted, stored) {
            (Some(predicted), Some(stored)) => self.compare(predicted, stored),
            (Some(predicted), None) => self.missing(predicted),
            (None, Some(stored)) => self.added(stored),
            (None, None) => Ok(()),
        };
        self.path.pop();
        result
    }

    /// A value that is predicted and not there: a Go type leaves zero values out.
    fn missing(&mut self, predicted: &Json) -> Result<(), String> {
        // Metadata is of a Go type in custom resources, too.
        let go_type = !self.custom || self.path[0] == "metadata";
        if (go_type && is_zero(predicted)) || is_taken_away(self.kind, &self.path) {
            self.filled_in = true;
            return Ok(());
        }
        self.difference(Some(predicted), None)
    }

    /// A value that is there and isn't predicted.
    fn added(&mut self, stored: &Json) -> Result<(), String> {
        let status = self.path[0] == "status" && !self.custom && (self.creates || is_zero(stored));
        if status || is_filled_in(self.kind, &self.path, stored) {
            self.filled_in = true;
            return Ok(());
        }
        match stored {
            Json::Object(members) if !members.is_empty() => {
                members.iter().try_for_each(|(name, stored)| self.member(name, None, Some(stored)))
            }
            _ => self.difference(None, Some(stored)),
        }
    }

    fn difference(&self, predicted: Option<&Json>, stored: Option<&Json>) -> Result<(), String> {
        let show = |value: Option<&Json>| value.map_or("nothing".to_owned(), Json::to_string);
        Err(format!(
            ".{}: the server has {}, predicted is {}",
            self.path.join("."),
            show(stored),
            show(predicted)
        ))
    }
}

/// Whether a value is the zero value of a Go type.
fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Object(members) => members.iter().all(|(_, value)| is_zero(value)),
        Json::List(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        text.parse().unwrap()
    }

    const NOW: &str = "2026-01-02T03:04:05Z";

    /// A request about a Deployment, with the live object.
    fn question(live: &str) -> Json {
        json(&format!(r#"{{"gvk":{{"kind":"Deployment"}},"openapi":{{}},"now":"{NOW}","live":{live}}}"#))
    }

    fn stored(object: &str) -> Json {
        json(&format!(r#"{{"code":200,"changed":true,"object":{object}}}"#))
    }

    fn predicted(object: &str, certainty: &str) -> Json {
        json(&format!(r#"{{"object":{object},"changed":true,"certainty":"{certainty}"}}"#))
    }

    fn accuracy(server: &str, prediction: &str) -> Accuracy {
        judge(&question("{}"), &stored(server), &predicted(prediction, "modulo-defaulting"))
    }

    fn is_mismatch(accuracy: &Accuracy) -> bool {
        matches!(accuracy, Accuracy::Mismatch(_))
    }

    #[test]
    fn a_default_is_filled_in_and_nothing_else() {
        assert_eq!(accuracy(r#"{"spec":{"replicas":1}}"#, r#"{"spec":{}}"#), Accuracy::ModuloDefaulting);
        assert!(is_mismatch(&accuracy(r#"{"spec":{"replicas":2}}"#, r#"{"spec":{}}"#)));
        assert!(is_mismatch(&accuracy(r#"{"spec":{"replicas":1}}"#, r#"{"spec":{"replicas":2}}"#)));
        assert!(is_mismatch(&accuracy(r#"{"spec":{}}"#, r#"{"spec":{"replicas":2}}"#)));
        let exact = predicted(r#"{"spec":{}}"#, "exact");
        assert!(is_mismatch(&judge(&question("{}"), &stored(r#"{"spec":{"replicas":1}}"#), &exact)));
    }

    #[test]
    fn items_of_lists_have_an_order() {
        assert_eq!(accuracy(r#"{"a":[1,2]}"#, r#"{"a":[1,2]}"#), Accuracy::Match);
        assert!(is_mismatch(&accuracy(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#)));
        assert!(is_mismatch(&accuracy(r#"{"a":[1,2]}"#, r#"{"a":[1]}"#)));
    }

    #[test]
    fn owners_are_compared_exactly_and_times_to_the_second() {
        let owner = |fields: &str, time: &str| {
            format!(
                r#"{{"metadata":{{"managedFields":[{{"manager":"m","fieldsV1":{fields},"time":"{time}"}}]}}}}"#
            )
        };
        let (fields, other) = (r#"{"f:a":{},"f:b":{}}"#, r#"{"f:b":{},"f:a":{}}"#);
        assert_eq!(accuracy(&owner(fields, NOW), &owner(fields, NOW)), Accuracy::Match);
        assert!(is_mismatch(&accuracy(&owner(other, NOW), &owner(fields, NOW))));
        assert_eq!(accuracy(&owner(fields, "2026-01-02T03:04:06Z"), &owner(fields, NOW)), Accuracy::Match);
        assert!(is_mismatch(&accuracy(&owner(fields, "2026-01-02T03:04:07Z"), &owner(fields, NOW))));
        assert!(is_mismatch(&accuracy(&owner(fields, NOW), &owner(fields, "2026-01-02T03:04:06Z"))));
    }

    #[test]
    fn whether_anything_is_stored_is_compared() {
        let nothing = json(r#"{"code":200,"changed":false}"#);
        assert!(is_mismatch(&judge(&question("{}"), &nothing, &predicted("{}", "exact"))));
        let still = json(r#"{"object":{"a":1},"changed":false,"certainty":"exact"}"#);
        assert_eq!(judge(&question(r#"{"a":1}"#), &nothing, &still), Accuracy::Match);
        let apply = |live: &str| question(live).with("do", "apply");
        let to = |object: &str| predicted(object, "modulo-defaulting");
        let live = r#"{"spec":{"replicas":1}}"#;
        assert_eq!(judge(&apply(live), &nothing, &to(r#"{"spec":{}}"#)), Accuracy::ModuloDefaulting);
        assert!(is_mismatch(&judge(&apply(live), &nothing, &to(live))));
        assert!(is_mismatch(&judge(&apply(r#"{"spec":{"replicas":2}}"#), &nothing, &to(r#"{"spec":{}}"#))));
        assert!(is_mismatch(&judge(&question(r#"{"a":2}"#), &nothing, &still)));
    }

    #[test]
    fn refusals_are_compared_by_what_they_are_for() {
        let refused = |code: u16, rest: &str| json(&format!(r#"{{"code":{code},"message":""{rest}}}"#));
        let error = |reason: &str| json(&format!(r#"{{"error":{{"reason":"{reason}"}}}}"#));
        let conflict = json(r#"{"conflicts":[{"manager":"m"}]}"#);
        let question = question("{}");
        let conflicts = refused(409, r#","conflicts":[{"manager":"m"}]"#);
        assert_eq!(judge(&question, &conflicts, &conflict), Accuracy::Match);
        assert!(is_mismatch(&judge(&question, &conflicts, &predicted("{}", "exact"))));
        assert_eq!(judge(&question, &refused(400, ""), &error("BadRequest")), Accuracy::Match);
        assert!(is_mismatch(&judge(&question, &refused(400, ""), &error("Invalid"))));
        assert_eq!(judge(&question, &refused(422, ""), &predicted("{}", "exact")), Accuracy::Refused);
        assert!(is_mismatch(&judge(&question, &refused(422, ""), &conflict)));
        assert!(is_mismatch(&judge(&question, &stored("{}"), &error("Internal"))));
    }
}
