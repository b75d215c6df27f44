//! The no-op check, which may miss a no-op but must not see one where there is none: the driver holds it against the
//! prediction.

use super::Mutation;

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "owned fields needn't be applied",
        seen: "a field that is no longer applied is never released",
        file: "noop.rs",
        old: "require(self.members.is_none_or(|mut members| members.next().is_none()))",
        new: "require(self.members.is_none_or(|mut members| members.next().is_none() || true))",
    },
    Mutation {
        name: "scalars needn't be equal",
        seen: "an apply that changes a scalar isn't sent",
        file: "noop.rs",
        old: r#"                atom.scalar?;
                require(intent == live && owned.is_empty())"#,
        new: r#"                atom.scalar?;
                require(owned.is_empty())"#,
    },
    Mutation {
        name: "atomic lists needn't be equal",
        seen: "an apply that changes an atomic list isn't sent",
        file: "noop.rs",
        old: r#"                if list.is_atomic() {
                    return require(intent == live && owned.is_empty());"#,
        new: r#"                if list.is_atomic() {
                    return require(owned.is_empty());"#,
    },
    Mutation {
        name: "atomic maps needn't be equal",
        seen: "an apply that changes an atomic map isn't sent",
        file: "noop.rs",
        old: r#"                if map.is_atomic {
                    return require(intent == live && owned.is_empty());"#,
        new: r#"                if map.is_atomic {
                    return require(owned.is_empty());"#,
    },
    Mutation {
        name: "items may have another order",
        seen: "an apply that moves a list item isn't sent",
        file: "noop.rs",
        old: "let live = rest.find(|live| Self::same_name",
        new: "let live = live.iter().find(|live| Self::same_name",
    },
    Mutation {
        name: "items needn't be owned",
        seen: "an apply that releases a list item isn't sent",
        file: "noop.rs",
        old: r#"        require(owned.len() == intent.len() + marks)?;
"#,
        new: "",
    },
    Mutation {
        name: "marks of lists don't matter",
        seen: "an apply that owns a list anew isn't sent",
        file: "noop.rs",
        old: r#"        require(marks == usize::from(owns_itself && !intent.is_empty()))?;
"#,
        new: "",
    },
    Mutation {
        name: "marks of maps don't matter",
        seen: "an apply that owns a map anew isn't sent",
        file: "noop.rs",
        old: r#"            require(members.next()?.0 == ".")?;
"#,
        new: r#"            drop(fields);
"#,
    },
    Mutation {
        name: "duplicates are no matter",
        seen: "an apply over live duplicates, which makes one of them, isn't sent",
        file: "noop.rs",
        old: r#"        self.are_unique(list, live)
"#,
        new: r#"        self.are_unique(list, live).or(Some(()))
"#,
    },
    Mutation {
        name: "names of owned fields don't matter",
        seen: "an apply of a field that somebody else owns alone isn't sent",
        file: "noop.rs",
        old: r#"require(own.strip_prefix("f:") == Some(name))?;"#,
        new: "let _ = (own, name);",
    },
    Mutation {
        name: "null is as good as any value",
        seen: "an apply of null isn't sent",
        file: "noop.rs",
        old: "(Json::Null | Json::Object(_) | Json::Array(_), _) => None,",
        new: "(Json::Null | Json::Object(_) | Json::Array(_), _) => Some(()),",
    },
    Mutation {
        name: "empty lists needn't be there",
        seen: "an apply of an empty list isn't sent where there is none",
        file: "noop.rs",
        old: "return require(!list.is_atomic() && live.is_array());",
        new: "return require(!list.is_atomic() || live.is_array());",
    },
    Mutation {
        name: "stripped metadata needn't be equal",
        seen: "an apply with another name isn't sent",
        file: "noop.rs",
        old: "require(intent == live)?;",
        new: "require(intent == live || true)?;",
    },
    Mutation {
        name: "reset fields don't matter",
        seen: "an apply that holds a reset field isn't sent",
        file: "noop.rs",
        old: "&& resets_nothing &&",
        new: "&& (resets_nothing || true) &&",
    },
    Mutation {
        name: "kubectl is like anybody",
        seen: "an apply that updates kubectl's annotation isn't sent",
        file: "noop.rs",
        old: r#"matches!(apply.manager, "kubectl" | "")"#,
        new: r#"matches!(apply.manager, "")"#,
    },
    Mutation {
        name: "no name is a name",
        seen: "an apply without a manager beside one of that name isn't sent",
        file: "noop.rs",
        old: r#"matches!(apply.manager, "kubectl" | "")"#,
        new: r#"matches!(apply.manager, "kubectl")"#,
    },
    Mutation {
        name: "entries may have any order",
        seen: "an apply that sorts managedFields isn't sent",
        file: "noop.rs",
        old: "require(seen.last().is_none_or(|last| last.key() < entry.key()))?;",
        new: "let _ = Entry::key;",
    },
    Mutation {
        name: "entries may be there twice",
        seen: "an apply that makes one of two entries isn't sent",
        file: "noop.rs",
        old: "require(!seen.iter().any(|other| other.is_of_same(&entry)))?;",
        new: "let _ = Entry::is_of_same;",
    },
    Mutation {
        name: "owners of nothing may stay",
        seen: "an apply that drops an empty manager isn't sent",
        file: "noop.rs",
        old: r#"require(!entry.fields.is_empty() && !entry.fields.contains_key("."))?;"#,
        new: "",
    },
    Mutation {
        name: "sets of others needn't stay",
        seen: "an apply that reconciles the owners with a changed schema isn't sent",
        file: "noop.rs",
        old: "self.stays(resource.type_id(), entry.fields, false)?;",
        new: "",
    },
];
