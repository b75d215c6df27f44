//! The writes to one object, step by step, on any level: each step builds on the last one.

use baton_testbed::{Json, Random, prediction::edit::overlaid};

use super::{
    schema::Schema,
    value::{Taste, Values},
};

/// An object, and the last intents of its appliers.
pub struct History {
    /// All choices.
    pub random: Random,
    /// How often values deviate from their type.
    pub taste: Taste,
    /// The percentage of fields that are set.
    pub density: u32,
    /// Below this depth, containers are empty or absent.
    pub depth: usize,
    /// The object; null if it doesn't exist.
    pub live: Json,
    /// The applier of the current step.
    pub writer: usize,
    /// The last intent of each applier.
    applied: [Option<Json>; 4],
}

impl History {
    /// No object yet.
    pub fn new(random: Random, taste: Taste, density: u32, depth: usize) -> Self {
        let applied = [const { None }; 4];
        Self { random, taste, density, depth, live: Json::Null, writer: 0, applied }
    }

    /// Chooses the next applier.
    pub fn choose_writer<'n>(&mut self, names: &[&'n str; 4]) -> &'n str {
        self.writer = self.random.below(names.len());
        names[self.writer]
    }

    /// Records the intent of this step's applier.
    pub fn has_applied(&mut self, object: Option<&Json>) {
        self.applied[self.writer] = object.cloned();
    }

    fn values<'s>(&self, schema: &'s Schema) -> Values<'s> {
        Values { schema, taste: self.taste, density: self.density, depth: self.depth }
    }

    /// A random object, without its identity.
    pub fn fresh(&mut self, schema: &Schema) -> Json {
        self.values(schema).root(&mut self.random)
    }

    /// An intent: the last one again, a small change, a part or all of the live object, or a new one.
    pub fn intent(&mut self, schema: &Schema) -> Json {
        let last = self.applied[self.writer].clone();
        match (self.random.weighted(&[3, 6, 3, 3, 1]), last) {
            (0, Some(last)) => last,
            (1, Some(last)) => self.mutated(schema, &last),
            (2, Some(last)) => part(&mut self.random, &last),
            (3, _) if self.live != Json::Null => part(&mut self.random, &self.live),
            (4, _) => self.live.clone(),
            _ => self.fresh(schema),
        }
    }

    /// The object of an update.
    pub fn replacement(&mut self, schema: &Schema) -> Json {
        if self.live == Json::Null {
            return self.fresh(schema);
        }
        let live = self.live.clone();
        match self.random.below(7) {
            0 => live,
            1 => {
                let mut less = part(&mut self.random, &live);
                if let (Some(less), Some(metadata)) = (less.get_mut("metadata"), live.get("metadata")) {
                    *less = metadata.clone();
                }
                less
            }
            2 => overlaid(&live, &self.fresh(schema)),
            _ => self.mutated(schema, &live),
        }
    }

    /// A value with some changes.
    fn mutated(&mut self, schema: &Schema, value: &Json) -> Json {
        let mut bare = value.clone();
        if let Some(metadata) = bare.get_mut("metadata") {
            // It is large, and set again below.
            metadata.take("managedFields");
        }
        let mut mutated = self.values(schema).mutated(&mut self.random, &bare);
        // Servers and clients always send these.
        for name in ["apiVersion", "kind"] {
            if let Some(known) = value.get(name)
                && !self.random.one_in(200)
            {
                mutated.set(name, known.clone());
            }
        }
        if let Some(metadata @ Json::Object(_)) = value.get("metadata") {
            let mine = mutated.entry("metadata");
            if !matches!(mine, Json::Object(_)) {
                *mine = Json::object();
            }
            for (name, known) in metadata.members() {
                if !matches!(name.as_str(), "labels" | "annotations" | "finalizers" | "ownerReferences") {
                    mine.set(name, known.clone());
                }
            }
        }
        mutated
    }
}

/// A value with some members and items left out.
pub fn part(random: &mut Random, value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let mut kept = members.clone();
            kept.retain(|_| !random.one_in(4));
            for (_, value) in &mut kept {
                *value = part(random, value);
            }
            Json::Object(kept)
        }
        Json::List(items) => {
            // Members of items stay, since some of them are keys.
            Json::List(items.iter().filter(|_| !random.one_in(4)).cloned().collect())
        }
        _ => value.clone(),
    }
}
