//! The merge, the conflicts and the field owners of a write, as a kube-apiserver computes them. A library, without a server
//! and without I/O.
//!
//! A program can ask before it writes:
//!
//! - Would this apply change anything, or can I skip it? ([`Resource::is_noop`])
//! - What will the object and its `managedFields` be? ([`Resource::predict`])
//! - Which managers conflict, and whose fields does a forced apply take over? ([`PredictedApply::conflicts`], [`PredictedApply::taken`])
//! - Which fields are removed because the intent no longer has them? ([`PredictedApply::released`], [`PredictedApply::comparison`])
//! - How certain is the prediction? ([`PredictedApply::certainty`])
//!
//! ```
//! use baton_merge::{Arena, Release, predict::Apply, schema::kinds::GroupVersionKind, server::Resources};
//! use serde_json::json;
//!
//! // Once: compile what the server knows about the kind. A built-in kind comes from its OpenAPI document.
//! let resources = Resources::from_crd(&json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//!     "spec": {
//!         "group": "example.com", "scope": "Namespaced", "names": {"kind": "Shop", "plural": "shops"},
//!         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
//!             "type": "object",
//!             "properties": {"spec": {
//!                 "type": "object",
//!                 "properties": {"image": {"type": "string"}, "replicas": {"type": "integer"}},
//!             }},
//!         }}}],
//!     },
//! }))?;
//! let shops = resources.get(&GroupVersionKind::new("example.com", "v1", "Shop")).expect("v1 is served");
//!
//! // For each write: the object as the server returned it, and what is to be applied.
//! let live = json!({
//!     "apiVersion": "example.com/v1", "kind": "Shop",
//!     "metadata": {"name": "books", "uid": "1", "managedFields": [
//!         {"manager": "alice", "operation": "Apply", "apiVersion": "example.com/v1",
//!          "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:image": {}, "f:replicas": {}}}},
//!     ]},
//!     "spec": {"image": "shop:1", "replicas": 3},
//! });
//! let intent = json!({
//!     "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "books"},
//!     "spec": {"replicas": 5},
//! });
//! let apply = Apply {
//!     manager: "bob", force: false, subresource: "",
//!     now: "2026-01-02T03:04:05Z".parse()?, release: Release::LATEST,
//! };
//!
//! let arena = Arena::new();
//! let refused = shops.predict(&arena, Some(&live), &intent, apply)?;
//! assert_eq!(
//!     refused.conflicts.to_string(),
//!     r#"Apply failed with 1 conflict: conflict with "alice": .spec.replicas"#,
//! );
//!
//! let forced = shops.predict(&arena, Some(&live), &intent, Apply { force: true, ..apply })?;
//! assert!(forced.changed);
//! assert_eq!(forced.taken[0].path.to_string(), ".spec.replicas");
//! assert_eq!(forced.taken[0].from.manager, "alice");
//! assert_eq!(forced.stored.to_json()["spec"]["image"], "shop:1", "fields outside bob's intent don't change");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The rest of this page explains the model behind it. It assumes that you know Kubernetes objects, and nothing else.
//!
//! # Managers own fields
//!
//! Several programs and people write to one object: you apply a manifest, an autoscaler sets the replicas, a mesh adds a
//! label. The server keeps a list of which client set which field. A client in that list is a **field manager**; what it
//! set is its **field set**: a set of paths. A path in the set is **owned**.
//!
//! Ownership says nothing about who may write. It decides which apply gets a conflict, and when a field is removed.
//!
//! ```
//! use baton_merge::{Arena, fieldpath::{FieldSet, Path}};
//!
//! let entry = serde_json::json!({
//!     "f:metadata": {"f:labels": {"f:team": {}}},
//!     "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}},
//! });
//! let arena = Arena::new();
//! let owned = FieldSet::from_fields_v1(&arena, &entry)?;
//! let lines = [
//!     r#".metadata.labels.team"#,
//!     r#".spec.containers[name="web"]"#,
//!     r#".spec.containers[name="web"].image"#,
//!     r#".spec.containers[name="web"].name"#,
//! ];
//! assert_eq!(owned.to_string(), lines.join("\n"));
//!
//! // A path and what is below it are separate members: this manager doesn't own `.spec` itself.
//! assert!(!owned.contains(&Path::of_fields(&arena, ["spec"])));
//! # Ok::<(), baton_merge::fieldpath::FieldsV1Error>(())
//! ```
//!
//! ## What `managedFields` looks like
//!
//! `metadata.managedFields` of an object is that list. `kubectl get -o yaml --show-managed-fields` prints it. An entry:
//!
//! ```yaml
//! - manager: alice                 # who
//!   operation: Apply               # how: Apply is server-side apply, Update is any other write
//!   subresource: status            # through which part of the object; left out for the object itself
//!   apiVersion: example.com/v1     # the version in which the paths below are meant
//!   time: "2026-01-02T03:04:05Z"   # when this manager last changed the object
//!   fieldsType: FieldsV1           # how the set is written: there is only this one
//!   fieldsV1:                      # the field set
//!     f:spec:
//!       f:replicas: {}
//! ```
//!
//! Manager, operation, subresource and (for updates) version together identify a manager. The same name by `Apply` and by
//! `Update` is two managers, and they can conflict with each other.
//!
//! A field set is a tree. A name says what kind of step it is; `.` in a level means that the path to this level is owned
//! itself; so does `{}` at the end of a branch.
//!
//! | name | step | printed |
//! | --- | --- | --- |
//! | `f:replicas` | into a field of a struct, or a key of a map | `.replicas` |
//! | `k:{"name":"web"}` | to the item of a list that has these keys | `[name="web"]` |
//! | `v:"http"` | to the item of a list that has this value | `[="http"]` |
//! | `i:2` | to the item at a position; servers don't write these | `[2]` |
//!
//! No manager owns `apiVersion` and `kind`, nor in `metadata` the name, the namespace, and the `uid`, `generation` and the like
//! that the server keeps there.
//!
//! # What an apply does
//!
//! An apply sends an **intent**: not the whole object, but every field that its manager wants to set, and no other. The
//! server then does this, and so does this crate:
//!
//! 1. If no manager owns anything of the live object, give all fields to a manager called `before-first-apply`.
//! 2. Check the intent against the **schema** of the kind. Unknown fields, wrong types and duplicate items are refused.
//! 3. Read all field sets under the current schema: it may have changed since the set was written.
//! 4. **Merge**: lay the intent over the live object. The intent wins where both have something; nothing is removed yet.
//! 5. Take the intent's own paths as the applier's new field set. It replaces the old one: paths that aren't in the
//!    intent are released.
//! 6. **Prune**: remove the fields that the applier owned before, doesn't apply now, and no other manager owns.
//! 7. Compare the outcome with the live object. A changed path that another manager owns is a **conflict**: the apply
//!    is refused, with every conflict named. If it is forced, the others lose these paths instead.
//! 8. Write the new `managedFields`. If nothing is different but times, store nothing: `resourceVersion` stays.
//!
//! The [`updater`] does steps 3 to 7 for objects of any schema and managers of any kind; [`server`] does the rest. The
//! examples below use the updater, to be short: with a schema that is *deduced* from the values.
//!
//! ```
//! use baton_merge::{
//!     Arena, schema::Schema, typed::{Duplicates, Typed}, updater::{Managers, SameVersion, Updater}, value::Value,
//! };
//!
//! let arena = Arena::new();
//! let schema = Schema::deduced();
//! let object = |text| {
//!     let value = Value::from_text(&arena, text).expect("it is JSON");
//!     let deduced = schema.deduced_type().expect("a deduced schema has it");
//!     Typed::new(&arena, schema, deduced, value, Duplicates::Forbidden).expect("any JSON fits")
//! };
//!
//! let updater = Updater::new(&arena, &SameVersion);
//! let intent = object(r#"{"image": "shop:1", "replicas": 3}"#);
//! let created = updater.apply(object("{}"), intent, "v1", Managers::default(), &"alice", false).unwrap();
//!
//! let alice = created.managers.get(&"alice").unwrap();
//! assert_eq!(alice.set.to_string(), ".image\n.replicas");
//! ```
//!
//! # Why a field disappears
//!
//! A field goes when its *last* owner applies without it. This is how you delete with apply: leave it out.
//!
//! ```
//! # use baton_merge::{
//! #     Arena, schema::Schema, typed::{Duplicates, Typed}, updater::{Managers, SameVersion, Updater},
//! #     value::Value,
//! # };
//! # let arena = Arena::new();
//! # let schema = Schema::deduced();
//! # let object = |text| {
//! #     let value = Value::from_text(&arena, text).unwrap();
//! #     Typed::new(&arena, schema, schema.deduced_type().unwrap(), value, Duplicates::Forbidden).unwrap()
//! # };
//! # let updater = Updater::new(&arena, &SameVersion);
//! let apply = |live, owners, who, text| updater.apply(live, object(text), "v1", owners, &who, false).unwrap();
//!
//! let both = apply(object("{}"), Managers::default(), "alice", r#"{"image": "shop:1", "replicas": 3}"#);
//! let less = apply(both.object.unwrap(), both.managers, "alice", r#"{"image": "shop:1"}"#);
//! assert_eq!(less.object.unwrap().value().to_json(), serde_json::json!({"image": "shop:1"}));
//! ```
//!
//! A real server then fills in the default of a removed field, if it has one. A Deployment whose last
//! owner drops `replicas` runs one pod. And a field without an owner, because the server filled it in, stays as long as the
//! struct around it does: no manager can release it.
//!
//! # Co-ownership
//!
//! Two managers that apply the *same value* both own the field. Neither can change it without a conflict with the other;
//! either can leave, and the field stays for the other one. That makes it the way to hand a field over without a gap: the
//! new owner applies the live value, then the old one releases the field.
//!
//! ```
//! # use baton_merge::{
//! #     Arena, schema::Schema, typed::{Duplicates, Typed}, updater::{Managers, SameVersion, Updater},
//! #     value::Value,
//! # };
//! # let arena = Arena::new();
//! # let schema = Schema::deduced();
//! # let object = |text| {
//! #     let value = Value::from_text(&arena, text).unwrap();
//! #     Typed::new(&arena, schema, schema.deduced_type().unwrap(), value, Duplicates::Forbidden).unwrap()
//! # };
//! # let updater = Updater::new(&arena, &SameVersion);
//! # let apply = |live, owners, who, text| updater.apply(live, object(text), "v1", owners, &who, false).unwrap();
//! let first = apply(object("{}"), Managers::default(), "alice", r#"{"image": "shop:1", "replicas": 3}"#);
//! let live = first.object.unwrap();
//!
//! // Bob agrees. The object stays as it is, so the outcome has none.
//! let shared = apply(live, first.managers, "bob", r#"{"replicas": 3}"#);
//! assert!(shared.object.is_none());
//! assert_eq!(shared.managers.get(&"bob").unwrap().set.to_string(), ".replicas");
//!
//! // Alice leaves, the replicas stay.
//! let handed_over = apply(live, shared.managers, "alice", r#"{"image": "shop:1"}"#);
//! assert!(handed_over.object.is_none());
//! assert_eq!(handed_over.managers.get(&"alice").unwrap().set.to_string(), ".image");
//! ```
//!
//! # Conflicts and force
//!
//! Applying *another value* to another manager's field is a conflict. Three ways out: apply their value (and co-own), leave
//! the field out (and own nothing of it), or **force**: take it. Where the value differs, force doesn't add an owner, it
//! replaces all others. Where it is the same, a forced apply co-owns as any other does.
//!
//! Controllers usually force, since they have no user to ask. A tool that a person runs usually doesn't.
//!
//! ```
//! # use baton_merge::{
//! #     Arena, schema::Schema, typed::{Duplicates, Typed},
//! #     updater::{Managers, SameVersion, UpdateError, Updater}, value::Value,
//! # };
//! # let arena = Arena::new();
//! # let schema = Schema::deduced();
//! # let object = |text| {
//! #     let value = Value::from_text(&arena, text).unwrap();
//! #     Typed::new(&arena, schema, schema.deduced_type().unwrap(), value, Duplicates::Forbidden).unwrap()
//! # };
//! # let updater = Updater::new(&arena, &SameVersion);
//! # let three = object(r#"{"replicas": 3}"#);
//! # let first = updater.apply(object("{}"), three, "v1", Managers::default(), &"alice", false).unwrap();
//! # let (live, owners) = (first.object.unwrap(), first.managers);
//! // Alice owns `replicas`, which is 3.
//! let five = || object(r#"{"replicas": 5}"#);
//! match updater.apply(live, five(), "v1", owners.clone(), &"bob", false) {
//!     Err(UpdateError::Conflicts(conflicts)) => {
//!         assert_eq!(conflicts[0].manager, "alice");
//!         assert_eq!(conflicts[0].path.to_string(), ".replicas");
//!     }
//!     other => panic!("{other:?}"),
//! }
//!
//! let forced = updater.apply(live, five(), "v1", owners, &"bob", true).unwrap();
//! assert!(forced.managers.get(&"alice").is_none(), "alice has lost the only field she owned");
//! ```
//!
//! # Any other write
//!
//! A `PUT`, a JSON patch, `kubectl edit`, `kubectl scale`: all of them send what the object should be, not an intent.
//! The server compares before and after, and the writer becomes the owner of what is *different*. The
//! other owners lose it. There are no conflicts: an update always takes over.
//!
//! ```
//! # use baton_merge::{
//! #     Arena, schema::Schema, typed::{Duplicates, Typed}, updater::{Managers, SameVersion, Updater},
//! #     value::Value,
//! # };
//! # let arena = Arena::new();
//! # let schema = Schema::deduced();
//! # let object = |text| {
//! #     let value = Value::from_text(&arena, text).unwrap();
//! #     Typed::new(&arena, schema, schema.deduced_type().unwrap(), value, Duplicates::Forbidden).unwrap()
//! # };
//! # let updater = Updater::new(&arena, &SameVersion);
//! # let text = r#"{"image": "shop:1", "replicas": 3}"#;
//! # let first = updater.apply(object("{}"), object(text), "v1", Managers::default(), &"alice", false).unwrap();
//! # let (live, owners) = (first.object.unwrap(), first.managers);
//! // Alice owns both fields. An autoscaler puts the whole object back with another number.
//! let scaled = object(r#"{"image": "shop:1", "replicas": 7}"#);
//! let updated = updater.update(live, scaled, "v1", owners, &"autoscaler").unwrap();
//! assert_eq!(updated.managers.get(&"alice").unwrap().set.to_string(), ".image");
//! assert_eq!(updated.managers.get(&"autoscaler").unwrap().set.to_string(), ".replicas");
//! ```
//!
//! An update of what is the same already gains nothing, unlike an apply.
//!
//! # Lists: atomic, set, map
//!
//! Whether two managers can share a list is up to the schema.
//!
//! | list | an item is named by | who owns | `x-kubernetes-list-type` |
//! | --- | --- | --- | --- |
//! | **atomic** | nothing | one path for the whole list; applying replaces it | `atomic`, and the default |
//! | **set** | its value | each item on its own; items are scalars | `set` |
//! | **map** | the values of its key fields | each item, and in it each field | `map`, with `x-kubernetes-list-map-keys` |
//!
//! ```
//! use baton_merge::{
//!     Arena, schema::{Schema, definition::SchemaDefinition}, typed::{Duplicates, Typed}, value::Value,
//! };
//!
//! // A schema in structured-merge-diff's own form. Associative without keys is a set.
//! let definition = SchemaDefinition::from_json(&serde_json::json!({"types": [
//!     {"name": "shop", "map": {"fields": [
//!         {"name": "args", "type": {"list": {
//!             "elementType": {"scalar": "string"}, "elementRelationship": "atomic"}}},
//!         {"name": "tags", "type": {"list": {
//!             "elementType": {"scalar": "string"}, "elementRelationship": "associative"}}},
//!         {"name": "ports", "type": {"list": {
//!             "elementType": {"namedType": "port"}, "elementRelationship": "associative", "keys": ["name"]}}},
//!     ]}},
//!     {"name": "port", "map": {"fields": [
//!         {"name": "name", "type": {"scalar": "string"}},
//!         {"name": "port", "type": {"scalar": "numeric"}},
//!     ]}},
//! ]}))?;
//! let schema = Schema::compile(&definition);
//! let arena = Arena::new();
//! let shop = |text| {
//!     let value = Value::from_text(&arena, text).expect("it is JSON");
//!     Typed::new(&arena, &schema, schema.type_named("shop").expect("it is there"), value, Duplicates::Forbidden)
//! };
//!
//! let live = shop(r#"{"args": ["-v"], "tags": ["a", "b"], "ports": [{"name": "web", "port": 80}]}"#)?;
//! let lines = [
//!     r#".args"#, r#".ports[name="web"]"#, r#".ports[name="web"].name"#, r#".ports[name="web"].port"#,
//!     r#".tags[="a"]"#, r#".tags[="b"]"#,
//! ];
//! let owned = live.to_set()?.to_string();
//! let mut owned: Vec<_> = owned.lines().collect();
//! owned.sort();
//! assert_eq!(owned, lines);
//!
//! let merged = live.merge(&shop(r#"{"args": ["-q"], "tags": ["c"], "ports": [{"name": "tls", "port": 443}]}"#)?)?;
//! assert_eq!(merged.value().to_json(), serde_json::json!({
//!     "args": ["-q"],
//!     "tags": ["a", "b", "c"],
//!     "ports": [{"name": "web", "port": 80}, {"name": "tls", "port": 443}],
//! }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three things surprise people. The *order* of a shared list follows the intent only in part, and the
//! result isn't always what one would write by hand. A missing key takes the schema's default, so a port without
//! `protocol` is the `TCP` one. And an item stays only while a manager owns the *item*; owning a field in it isn't enough.
//!
//! # Structs and maps
//!
//! Both are JSON objects. A **struct** has fields that the schema names; a **map** has keys that people choose, such as
//! labels. A key is owned as such. A field of a struct isn't, unless it is empty: it is there as long as there is something
//! in it.
//!
//! So a struct is removed when the last owner of anything in it releases it. It is removed *whole*, with its unowned fields,
//! such as defaults. A map key is removed when its last owner releases it.
//!
//! ```
//! # use baton_merge::{
//! #     Arena, schema::{Schema, definition::SchemaDefinition}, typed::{Duplicates, Typed},
//! #     updater::{Managers, SameVersion, Updater}, value::Value,
//! # };
//! # let definition = SchemaDefinition::from_json(&serde_json::json!({"types": [
//! #     {"name": "shop", "map": {"fields": [
//! #         {"name": "labels", "type": {"map": {"elementType": {"scalar": "string"}}}},
//! #         {"name": "limits", "type": {"map": {"fields": [
//! #             {"name": "cpu", "type": {"scalar": "string"}}, {"name": "memory", "type": {"scalar": "string"}},
//! #         ]}}},
//! #     ]}},
//! # ]}))?;
//! # let schema = Schema::compile(&definition);
//! # let arena = Arena::new();
//! # let shop = |text| {
//! #     let value = Value::from_text(&arena, text).unwrap();
//! #     Typed::new(&arena, &schema, schema.type_named("shop").unwrap(), value, Duplicates::Forbidden).unwrap()
//! # };
//! # let updater = Updater::new(&arena, &SameVersion);
//! // `labels` is a map of strings, `limits` a struct of `cpu` and `memory`.
//! let intent = shop(r#"{"labels": {"team": "a", "tier": "1"}, "limits": {"cpu": "1"}}"#);
//! let first = updater.apply(shop("{}"), intent, "v1", Managers::default(), &"alice", false).unwrap();
//! let alice = first.managers.get(&"alice").unwrap();
//! assert_eq!(alice.set.to_string(), ".labels.team\n.labels.tier\n.limits.cpu");
//!
//! // The server has filled in `memory`, and `zone` was put into the store. Neither has an owner.
//! let live = r#"{"labels": {"team": "a", "tier": "1", "zone": "x"}, "limits": {"cpu": "1", "memory": "1Gi"}}"#;
//! let intent = shop(r#"{"labels": {"team": "a"}}"#);
//! let less = updater.apply(shop(live), intent, "v1", first.managers, &"alice", false).unwrap();
//! assert_eq!(
//!     less.object.unwrap().value().to_json(),
//!     serde_json::json!({"labels": {"team": "a", "zone": "x"}}),
//!     "the key goes alone, the struct goes whole",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `x-kubernetes-map-type: atomic` makes either one thing: owned by one path, replaced as a whole.
//!
//! Absent, `null`, `{}` and `[]` are four different things. An intent should have what it wants to set and leave out the
//! rest: a `null` for a granular map removes nothing from it, and still makes the applier own its path.
//!
//! # Certainty
//!
//! Values that only a server knows aren't guessed. Every prediction has a [`Certainty`]:
//!
//! | certainty | means |
//! | --- | --- |
//! | [`Exact`](server::Certainty::Exact) | the server does just this |
//! | [`ModuloDefaulting`](server::Certainty::ModuloDefaulting) | the server does this, and then fills in defaults |
//! | [`Unseen`](server::Certainty::Unseen) | a client sees no change; the server may store what no client sees, for the reason that is given |
//! | [`Unknown`](server::Certainty::Unknown) | the server knows more than this crate does; the reason is given |
//!
//! Outside of all three is what runs before and after the field manager: admission, webhooks, validation beyond the schema,
//! permissions, quotas. A prediction is about fields and owners, not about whether the server accepts the object.
//!
//! # Skipping what changes nothing
//!
//! Most applies of a controller change nothing. [`Resource::is_noop`] finds that for much less than a prediction costs.
//! Its `true` is certain, for a live object as the server returned it; its `false` only means: predict, or just apply.
//!
//! ```
//! # use baton_merge::{
//! #     Arena, Release, predict::Apply, schema::kinds::GroupVersionKind, server::Resources, value::Value,
//! # };
//! # use serde_json::json;
//! # let resources = Resources::from_crd(&json!({
//! #     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//! #     "spec": {
//! #         "group": "example.com", "scope": "Namespaced", "names": {"kind": "Shop", "plural": "shops"},
//! #         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
//! #             "type": "object",
//! #             "properties": {"spec": {
//! #                 "type": "object",
//! #                 "properties": {"image": {"type": "string"}, "replicas": {"type": "integer"}},
//! #             }},
//! #         }}}],
//! #     },
//! # }))?;
//! # let shops = resources.get(&GroupVersionKind::new("example.com", "v1", "Shop")).unwrap();
//! # let live = json!({
//! #     "apiVersion": "example.com/v1", "kind": "Shop",
//! #     "metadata": {"name": "books", "uid": "1", "managedFields": [
//! #         {"manager": "alice", "operation": "Apply", "apiVersion": "example.com/v1",
//! #          "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:image": {}, "f:replicas": {}}}},
//! #     ]},
//! #     "spec": {"image": "shop:1", "replicas": 3},
//! # });
//! # let mut intent = json!({
//! #     "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "books"},
//! #     "spec": {"image": "shop:1", "replicas": 3},
//! # });
//! // Alice owns image and replicas, which are `shop:1` and 3. She applies the same again.
//! let apply = Apply {
//!     manager: "alice", force: true, subresource: "",
//!     now: "2026-01-02T03:04:05Z".parse()?, release: Release::LATEST,
//! };
//! let arena = Arena::new();
//! let live = Value::from_json(&arena, &live)?;
//! assert!(shops.is_noop(live, Value::from_json(&arena, &intent)?, apply));
//!
//! // Releasing a field is a change, although all that is left in the intent is live already.
//! intent["spec"] = json!({"image": "shop:1"});
//! assert!(!shops.is_noop(live, Value::from_json(&arena, &intent)?, apply));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//!
//! Values, field sets and results live in an [`Arena`] and are freed with it, all at once. What a merge doesn't change is
//! shared with what it began with: the same memory, not a copy. Keep one arena for a loop of writes and
//! [reset](Arena::reset) it between them; then a write allocates little more than what a caller asks to own, such as
//! [`Stored::to_json`](server::Stored::to_json). The borrow checker sees to it that nothing outlives the arena.
//!
//! Schemas ([`Resources`]) are compiled once and shared between threads. An arena is used by one thread at a time.
//!
//! # Releases
//!
//! Servers differ. [`Release`] says which server's rules apply, from Kubernetes 1.33 to 1.37.
//!
//! # The modules, from the bottom
//!
//! | module | knows |
//! | --- | --- |
//! | [`value`] | JSON as Go compares and orders it |
//! | [`fieldpath`] | paths and sets of them, FieldsV1 |
//! | [`schema`] | what a value may be and how its parts merge, from OpenAPI, a CRD, or written down |
//! | [`typed`] | values of a type: merge, compare, remove, … |
//! | [`updater`] | one write to an object that several managers share |
//! | [`server`] | what an API server does to one write of a Kubernetes object |
//! | [`predict`] | the same, explained |
//!
//! `DESIGN.md` beside this crate describes how it is built and compared with the Go libraries, and what is not
//! promised; `COMPARE.md` compares it with other ways to the same results. `examples/` has one program for each use.
//!
//! [`Resource::predict`]: server::Resource::predict
//! [`Resource::is_noop`]: server::Resource::is_noop
//! [`Resources`]: server::Resources
//! [`Certainty`]: server::Certainty
//! [`PredictedApply::conflicts`]: predict::PredictedApply::conflicts
//! [`PredictedApply::taken`]: predict::PredictedApply::taken
//! [`PredictedApply::released`]: predict::PredictedApply::released
//! [`PredictedApply::comparison`]: predict::PredictedApply::comparison
//! [`PredictedApply::certainty`]: predict::PredictedApply::certainty

mod arena;
pub mod fieldpath;
mod noop;
pub mod predict;
pub mod quantity;
mod release;
pub mod schema;
pub mod server;
pub mod typed;
pub mod updater;
pub mod value;
pub mod yaml;

pub use arena::Arena;
pub use release::{Release, ReleaseError};
