//! Events, which are stored in the core group and also served in `events.k8s.io`.

use anyhow::Result;
use serde_json::{Value, json};

use super::{APPLY, JSON_PATCH, MERGE, STRATEGIC, delete, get, patch, reads, same_responses, write};

const CORE: &str = "/api/v1/namespaces/versions/events";
const NEW: &str = "/apis/events.k8s.io/v1/namespaces/versions/events";

#[tokio::test]
#[ignore = "by kubectl"]
async fn events_are_the_same_in_both_groups() -> Result<()> {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "versions"});
    let core = |name: &str, more: Value| {
        let mut event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": pod, "message": "hi",
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        event
    };
    let new = |name: &str, more: Value| {
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name}, "regarding": pod, "note": "hi",
            "reason": "R", "type": "Normal", "eventTime": "2026-01-01T00:00:00.123456Z",
            "reportingController": "x.io/c", "reportingInstance": "i", "action": "Act",
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        event
    };
    let labels = |key: &str, value: &str| json!({"metadata": {"labels": {key: value}}});
    let counted = json!({
        "reason": "R", "type": "Normal", "count": 2, "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:01Z", "source": {"component": "c", "host": "h"},
    });
    let series = json!({"series": {"count": 3, "lastObservedTime": "2026-01-01T00:00:00.123456Z"}});
    let (a, new_a) = (&format!("{CORE}/a"), &format!("{NEW}/a"));
    let (b, new_b) = (&format!("{CORE}/b"), &format!("{NEW}/b"));
    let (d, new_d) = (&format!("{CORE}/d"), &format!("{NEW}/d"));
    let mut steps =
        vec![write("POST", CORE, "core", core("a", counted)), write("POST", NEW, "new", new("b", series))];
    for name in ["a", "b"] {
        steps.extend(reads(CORE, name));
        steps.extend(reads(NEW, name));
    }
    steps.extend([
        patch(MERGE, new_a, "new", json!({"note": "changed"})),
        patch(MERGE, new_a, "new", labels("a", "b")),
        patch(MERGE, b, "core", json!({"message": "changed", "metadata": {"labels": {"k": "v"}}})),
        patch(STRATEGIC, new_b, "new", labels("x", "b")),
        patch(STRATEGIC, new_b, "new", json!({"note": "no", "reportingController": "y"})),
        patch(JSON_PATCH, new_b, "new", json!([{"op": "test", "path": "/note", "value": "changed"}])),
        write("POST", NEW, "new", new("c", json!({"eventTime": null, "deprecatedCount": 1}))),
        write("POST", NEW, "new", new("c", json!({"deprecatedSource": {"component": "c"}, "reportingController": ""}))),
        write("POST", CORE, "core", core("c", json!({"eventTime": "2026-01-01T00:00:00.123456Z"}))),
        write("POST", CORE, "core", core("c", json!({"involvedObject": {"namespace": "other"}}))),
        write("POST", NEW, "new", new("b", json!({}))),
        write("PUT", &format!("{NEW}/e"), "new", new("e", json!({}))),
        write("PUT", &format!("{NEW}/e"), "new", core("e", json!({}))),
        write("PUT", &format!("{CORE}/e"), "core", core("e", json!({}))),
        get(format!("{NEW}/e")),
        patch(APPLY, new_a, "one", json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a", "labels": {"q": "q"}},
        })),
        patch(APPLY, a, "two", json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a", "labels": {"q": "r"}},
        })),
        patch(APPLY, d, "one", core("d", json!({"count": 1}))),
        patch(APPLY, new_d, "one", json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "d"}, "regarding": pod, "note": "hi",
        })),
        get(d),
        get(format!("{NEW}/none")),
        patch(MERGE, &format!("{NEW}/none"), "new", json!({})),
        delete(&format!("{NEW}/none"), Value::Null),
    ]);
    for selector in [
        "regarding.name=web",
        "regarding.kind!=Pod",
        "involvedObject.name=web",
        "reportingController=x.io/c",
        "reportingComponent=x.io/c",
        "source=c",
        "reason=R,type=Normal",
    ] {
        steps.extend([CORE, NEW].map(|path| get(format!("{path}?fieldSelector={selector}"))));
    }
    steps.extend([
        delete(&format!("{new_b}?dryRun=All"), json!({"preconditions": {"resourceVersion": "x"}})),
        delete(new_b, Value::Null),
        get(b),
        delete(&format!("{NEW}?fieldSelector=regarding.name=web"), Value::Null),
        get(CORE),
    ]);
    same_responses(steps).await
}
