//! Field sets: the algebra, the order of elements, and FieldsV1.

use super::Mutation;

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "a difference drops what is below",
        seen: "who loses a field loses everything in it too",
        file: "fieldpath/algebra.rs",
        old: "branch(out, node, |out| difference(below, other_below, out));",
        new: r#"if !other.member {
            branch(out, node, |out| difference(below, other_below, out));
        }"#,
    },
    Mutation {
        name: "a difference keeps members",
        seen: "who loses a field keeps owning it",
        file: "fieldpath/algebra.rs",
        old: "member: node.member && !other.member",
        new: "member: node.member",
    },
    Mutation {
        name: "a recursive difference keeps what is below",
        seen: "a write that resets status still owns what is in it",
        file: "fieldpath/algebra.rs",
        old: "if !other.member {",
        new: "if !other.member || !below.is_empty() {",
    },
    Mutation {
        name: "a union spells numbers as the left side",
        seen: "1.0 in managedFields becomes 1",
        file: "fieldpath/algebra.rs",
        old: "if left.is_leaf() { right.element } else { left.element }",
        new: "left.element",
    },
    Mutation {
        name: "a union forgets the rest of the right side",
        seen: "an updater that adds fields doesn't own the last of them",
        file: "fieldpath/algebra.rs",
        old: r#"    out.extend_from_slice_copy(rights.rest());
"#,
        new: "",
    },
    Mutation {
        name: "a union needs both sides",
        seen: "a field that one of two owns is owned by nobody",
        file: "fieldpath/algebra.rs",
        old: "member: left.member || right.member",
        new: "member: left.member && right.member",
    },
    Mutation {
        name: "an intersection needs only one side",
        seen: "fields that only the other one owns are conflicts",
        file: "fieldpath/algebra.rs",
        old: "member: node.member && other.member,",
        new: "member: node.member || other.member,",
    },
    Mutation {
        name: "a subset may have more below",
        seen: "a field that is no longer applied isn't pruned where another of its struct is",
        file: "fieldpath/algebra.rs",
        old: "(!node.member || other.member) && below.is_subset(other_below)",
        new: "(!node.member || other.member) && (below.is_subset(other_below) || !other_below.is_empty())",
    },
    Mutation {
        name: "keys sort after values",
        seen: "managedFields has the items of a list in another order",
        file: "fieldpath/element.rs",
        old: r#"Self::Key(_) => 1,
            Self::Value(_) => 2,"#,
        new: r#"Self::Key(_) => 2,
            Self::Value(_) => 1,"#,
    },
    Mutation {
        name: "the shorter of two keys is the same",
        seen: "items with some of their keys omitted count as one",
        file: "fieldpath/element.rs",
        old: ".unwrap_or_else(|| left.len().cmp(&right.len()))",
        new: ".unwrap_or(Ordering::Equal)",
    },
    Mutation {
        name: "conflicts separate keys with blanks",
        seen: "the path of a port in a conflict message isn't the server's",
        file: "fieldpath/element.rs",
        old: r#"if position == 0 { "" } else { "," }"#,
        new: r#"if position == 0 { "" } else { " " }"#,
    },
    Mutation {
        name: "sets contain what is above them",
        seen: "a manager of a field below replicas' parent counts as its owner",
        file: "fieldpath/set.rs",
        old: ".is_some_and(|(node, _)| node.member)",
        new: ".is_some()",
    },
    Mutation {
        name: "paths have no members below",
        seen: "conflicts deep in an object aren't reported",
        file: "fieldpath/set.rs",
        old: r#"        collect(below, arena, above, paths);
"#,
        new: "",
    },
    Mutation {
        name: "marks aren't written",
        seen: "a field set that holds a parent and its child is written without the parent",
        file: "fieldpath/fields_v1.rs",
        old: r#"out.push_str(if node.member { "\":{\".\":{}," } else { "\":{" });"#,
        new: r#"out.push_str("\":{");"#,
    },
    Mutation {
        name: "marks aren't written into managedFields",
        seen: "the next server that reads managedFields doesn't know that a list item is owned itself",
        file: "fieldpath/fields_v1.rs",
        old: r#"level.serialize_entry(".", &FieldSet::default())?;"#,
        new: "",
    },
    Mutation {
        name: "names of fields aren't escaped",
        seen: "a label with a quote in its name makes managedFields no JSON",
        file: "fieldpath/fields_v1.rs",
        old: "escape_json(out, name);",
        new: "out.push_str(name);",
    },
    Mutation {
        name: "keys aren't escaped twice",
        seen: "the JSON in the name of a list item isn't escaped",
        file: "fieldpath/fields_v1.rs",
        old: "escape_json(out, scratch);",
        new: "out.push_str(scratch);",
    },
    Mutation {
        name: "custom resources keep the order of the set",
        seen: "managedFields of a custom resource have another order than the server's, so each write is one",
        file: "fieldpath/fields_v1.rs",
        old: r#"        named.sort_by(|(left, _), (right, _)| left.cmp(right));
"#,
        new: "",
    },
    Mutation {
        name: "the mark of a custom resource comes first",
        seen: "`.` comes before an item whose name sorts before it",
        file: "fieldpath/fields_v1.rs",
        old: "includes_self: node.member && !below.is_empty() }",
        new: "includes_self: false }",
    },
    Mutation {
        name: "an unknown sort of element is an error",
        seen: "managedFields with an element of a later release can't be read",
        file: "fieldpath/read.rs",
        old: "_ => return Ok(None),",
        new: r#"_ => return Err(format!("{name:?} is of an unknown kind")),"#,
    },
    Mutation {
        name: "of duplicates the first counts",
        seen: "of 1 and 1.0 in one field set, what is below the first is kept",
        file: "fieldpath/read.rs",
        old: "same.iter().rev().map(",
        new: "same.iter().map(",
    },
    Mutation {
        name: "duplicates are owned only together",
        seen: "of 1 and 1.0 in one field set both have to be marked",
        file: "fieldpath/read.rs",
        old: "same.iter().any(|(node, _)| node.member)",
        new: "same.iter().all(|(node, _)| node.member)",
    },
    Mutation {
        name: "marks in managedFields aren't read",
        seen: "list items that a manager owns itself are pruned",
        file: "fieldpath/read.rs",
        old: "nodes[at].member = read_level(arena, *map, nodes, depth, trailing)?;",
        new: r#"read_level(arena, *map, nodes, depth, trailing)?;
                nodes[at].member = false;"#,
    },
    Mutation {
        name: "marks aren't read",
        seen: "a field set that holds a parent and its child is read without the parent",
        file: "fieldpath/read.rs",
        old: "nodes[at].member = member;",
        new: "nodes[at].member = member && nodes.len() == at + 1;",
    },
    Mutation {
        name: "sets aren't sorted when they are read",
        seen: "managers with sets in another order own nothing of what they list",
        file: "fieldpath/read.rs",
        old: r#"        if !sorted {
            sort_level(arena, nodes, start);
        }
"#,
        new: "",
    },
    Mutation {
        name: "managedFields aren't sorted when they are read",
        seen: "items of lists that the server sorts as text aren't found",
        file: "fieldpath/read.rs",
        old: r#"    if !sorted {
        sort_level(arena, nodes, start);
    }
"#,
        new: "",
    },
    Mutation {
        name: "numbers in sets stay integers",
        seen: "large numbers in managedFields keep digits that a server loses",
        file: "fieldpath/read.rs",
        old: "ValueSeed::new(arena).with_all_numbers_as_floats()",
        new: "ValueSeed::new(arena)",
    },
    Mutation {
        name: "key fields keep their order",
        seen: "an item whose keys are listed in another order isn't found",
        file: "fieldpath/read.rs",
        old: r#"        fields.sort_by_key(|(name, _): &KeyField<'_>| *name);
"#,
        new: "",
    },
];
