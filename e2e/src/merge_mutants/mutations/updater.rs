//! The updater: conflicts, ownership, and pruning.

use super::Mutation;

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "only added fields conflict",
        seen: "an apply changes fields of others without force",
        file: "updater/mod.rs",
        old: "owned.set.intersection(self.arena, comparison.set(self.arena))",
        new: "owned.set.intersection(self.arena, comparison.added)",
    },
    Mutation {
        name: "only modified fields conflict",
        seen: "an apply that adds what an owner of an absent field holds doesn't conflict",
        file: "updater/mod.rs",
        old: "owned.set.intersection(self.arena, comparison.set(self.arena))",
        new: "owned.set.intersection(self.arena, comparison.modified)",
    },
    Mutation {
        name: "removed fields stay owned by others",
        seen: "managers own fields that are gone",
        file: "updater/mod.rs",
        old: "owned.set.difference(self.arena, taken).difference(self.arena, comparison.removed);",
        new: "owned.set.difference(self.arena, taken);",
    },
    Mutation {
        name: "forced fields stay owned by others",
        seen: "a field that is taken by force has two owners",
        file: "updater/mod.rs",
        old: "owned.set.difference(self.arena, taken).difference(self.arena, comparison.removed);",
        new: "owned.set.difference(self.arena, comparison.removed);",
    },
    Mutation {
        name: "nothing ever conflicts",
        seen: "every apply is forced",
        file: "updater/mod.rs",
        old: "if !force && !conflicts.is_empty() {",
        new: "if !force && !conflicts.is_empty() && false {",
    },
    Mutation {
        name: "force doesn't help",
        seen: "a forced apply is refused",
        file: "updater/mod.rs",
        old: "if !force && !conflicts.is_empty() {",
        new: "if (!force || force) && !conflicts.is_empty() {",
    },
    Mutation {
        name: "an updater keeps what it removed",
        seen: "an updater owns fields that it deleted",
        file: "updater/mod.rs",
        old: r#"let set = before
            .difference(self.arena, comparison.removed)"#,
        new: "let set = before",
    },
    Mutation {
        name: "an updater doesn't own what it modifies",
        seen: "an autoscaler doesn't own the replicas that it changed",
        file: "updater/mod.rs",
        old: r#"            .union(self.arena, comparison.modified)
"#,
        new: "",
    },
    Mutation {
        name: "an updater doesn't own what it adds",
        seen: "a controller doesn't own the annotation that it added",
        file: "updater/mod.rs",
        old: "            .union(self.arena, comparison.added);",
        new: "            .union(self.arena, comparison.modified);",
    },
    Mutation {
        name: "an updater forgets what it owned",
        seen: "an updater owns only what it wrote last",
        file: "updater/mod.rs",
        old: "let before = managers.get(manager).map(|owned| owned.set).unwrap_or_default();",
        new: "let before = managers.get(manager).map(|owned| owned.set).filter(|_| false).unwrap_or_default();",
    },
    Mutation {
        name: "managers of nothing stay",
        seen: "a temporary manager never disappears from managedFields",
        file: "updater/mod.rs",
        old: "if !owned.set.is_empty() {",
        new: "if !owned.set.is_empty() || true {",
    },
    Mutation {
        name: "an updater of nothing stays",
        seen: "an updater that changed nothing is in managedFields",
        file: "updater/mod.rs",
        old: r#"        if set.is_empty() {
            managers.remove(manager);"#,
        new: r#"        if set.is_empty() && false {
            managers.remove(manager);"#,
    },
    Mutation {
        name: "an applier owns ignored fields",
        seen: "who applies status through the main resource owns it",
        file: "updater/mod.rs",
        old: "let set = self.filter(version, intent.to_set()?);",
        new: "let set = intent.to_set()?;",
    },
    Mutation {
        name: "an updater owns ignored fields",
        seen: "who writes status through the main resource owns it",
        file: "updater/mod.rs",
        old: r#"        let set = self.filter(version, set);
"#,
        new: "",
    },
    Mutation {
        name: "ignored fields conflict",
        seen: "an apply to status through the main resource conflicts with the controller",
        file: "updater/mod.rs",
        old: "comparison.map(|set| self.filter(version, set))",
        new: "{ let _ = version; comparison }",
    },
    Mutation {
        name: "only the root of an ignored field is ignored",
        seen: "who applies status through the main resource owns what is in it",
        file: "updater/mod.rs",
        old: "set.recursive_difference(arena, *excluded)",
        new: "set.difference(arena, *excluded)",
    },
    Mutation {
        name: "an apply doesn't reconcile",
        seen: "after a schema change the owners of a struct that became atomic don't conflict",
        file: "updater/mod.rs",
        old: "let mut managers = self.reconcile(live, managers)?;",
        new: "let mut managers = managers;",
    },
    Mutation {
        name: "an update doesn't reconcile",
        seen: "after a schema change the owners of a struct that became atomic keep it",
        file: "updater/mod.rs",
        old: "let managers = self.reconcile(live, managers)?;",
        new: "",
    },
    Mutation {
        name: "an apply always changes",
        seen: "an apply of the same again gets a new time, and is written",
        file: "updater/mod.rs",
        old: "let unchanged = live.value() == object.value();",
        new: "let unchanged = false;",
    },
    Mutation {
        name: "only an untouched value is unchanged",
        seen: "an apply that rewrites a list as it was gets a new time",
        file: "updater/mod.rs",
        old: "let unchanged = live.value() == object.value();",
        new: "let unchanged = live.value().is_same(&object.value());",
    },
    Mutation {
        name: "a version that is gone is an error",
        seen: "an apply beside an owner in a version that is no longer served fails",
        file: "updater/mod.rs",
        old: "Err(ConversionError::UnknownVersion(_)) => continue,",
        new: "Err(ConversionError::UnknownVersion(_)) if false => continue,",
    },
    Mutation {
        name: "all versions are compared in the first one",
        seen: "the fields that an owner of another version loses are those of this version",
        file: "updater/mod.rs",
        old: "known.iter().find(|(own, _)| *own == version)",
        new: "known.iter().find(|(own, _)| !own.is_empty() || *own == version)",
    },
    Mutation {
        name: "nothing is pruned",
        seen: "fields that are no longer applied stay for ever",
        file: "updater/prune.rs",
        old: "if merged.is_regular() && keeps_all(",
        new: "if merged.is_regular() || keeps_all(",
    },
    Mutation {
        name: "the second pass of pruning is skipped",
        seen: "fields that others own go with the first who drops them",
        file: "updater/prune.rs",
        old: r#"        let pruned = self.add_back_owned(merged, pruned, last.version, managers)?;
"#,
        new: "",
    },
    Mutation {
        name: "the third pass of pruning is skipped",
        seen: "fields that nobody owned go with what somebody dropped beside them",
        file: "updater/prune.rs",
        old: r#"        let pruned = self.add_back_dangling(merged, pruned, last)?;
"#,
        new: "",
    },
    Mutation {
        name: "the applier's own set is forgotten",
        seen: "an apply prunes what it has just applied",
        file: "updater/mod.rs",
        old: "let object = self.prune(merged, &managers, manager, last)?;",
        new: r#"let mut others = managers.clone();
        others.remove(manager);
        let object = self.prune(merged, &others, manager, last)?;"#,
    },
    Mutation {
        name: "updaters hold nothing when pruning",
        seen: "fields that a controller owns too go when the applier drops them",
        file: "updater/prune.rs",
        old: "for (_, owned) in managers {",
        new: "for (_, owned) in managers.iter().filter(|(_, owned)| owned.applied) {",
    },
    Mutation {
        name: "of owners in one version the last counts",
        seen: "fields that several own go with the first who drops them",
        file: "updater/prune.rs",
        old: "*set = set.union(self.arena, owned.set),",
        new: "*set = owned.set,",
    },
    Mutation {
        name: "parents aren't pruned with their last field",
        seen: "a struct whose fields nobody applies any more stays",
        file: "updater/prune.rs",
        old: "let pruned = merged.remove(merged.with_named_fields(last.set));",
        new: "let pruned = merged.remove(last.set);",
    },
    Mutation {
        name: "parents of owned fields aren't added back",
        seen: "a struct goes although somebody owns a field in it",
        file: "updater/prune.rs",
        old: ".union(self.arena, merged.with_named_fields(owned));",
        new: ".union(self.arena, owned);",
    },
    Mutation {
        name: "a dropped field isn't noticed",
        seen: "an apply that leaves out a field prunes nothing",
        file: "updater/prune.rs",
        old: "managers.get(applier).is_some_and(|now| last.set.is_subset(now.set))",
        new: "managers.get(applier).is_some_and(|now| last.set.is_subset(now.set) || !now.set.is_empty())",
    },
    Mutation {
        name: "owners in other versions are pruned unseen",
        seen: "fields that somebody owns in another version go",
        file: "updater/prune.rs",
        old: "managers.iter().all(|(_, owned)| owned.version == last.version)",
        new: "managers.iter().any(|(_, owned)| owned.version == last.version)",
    },
];
