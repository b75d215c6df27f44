//! Values of a type, and similar ones: interesting merges are between two values that share much.

use baton_testbed::{Json, Number, Random};

use super::schema::{Atom, List, Map, Scalar, Schema, TypeRef};

/// How often values deviate from their type.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    /// Per mille of rare but legal values: null, empty, unusual numbers and strings, duplicates.
    pub odd: usize,
    /// Per mille of invalid values: wrong kinds, unknown fields, missing keys.
    pub broken: usize,
}

impl Taste {
    /// Valid values only.
    pub const VALID: Self = Self { odd: 0, broken: 0 };

    /// The taste of a scenario: most are plain, some odd, few broken.
    pub fn any(random: &mut Random) -> Self {
        [Self::VALID, Self { odd: 30, broken: 0 }, Self { odd: 100, broken: 3 }, Self { odd: 20, broken: 25 }]
            [random.weighted(&[40, 35, 18, 7])]
    }
}

/// A struct with more fields than this is large.
const MANY: usize = 8;

/// Generates values of one schema.
pub struct Values<'a> {
    /// The types.
    pub schema: &'a Schema,
    /// The taste.
    pub taste: Taste,
    /// The percentage of a struct's fields that are set.
    pub density: u32,
    /// Below this depth, containers are empty or absent.
    pub depth: usize,
}

impl Values<'_> {
    fn odd(&self, random: &mut Random) -> bool {
        random.below(1000) < self.taste.odd
    }

    fn broken(&self, random: &mut Random) -> bool {
        random.below(1000) < self.taste.broken
    }

    /// A value of the schema's first type.
    pub fn root(&self, random: &mut Random) -> Json {
        self.value(random, &self.schema.root(), 0)
    }

    /// A value of a type.
    pub fn value(&self, random: &mut Random, of: &TypeRef, depth: usize) -> Json {
        if self.broken(random) {
            return stray(random);
        }
        let Some(atom) = self.schema.resolve(of) else { return scalar(random, Scalar::Untyped, true) };
        let relationship = of.relationship;
        self.of_atom(random, atom, relationship, depth)
    }

    fn of_atom(
        &self,
        random: &mut Random,
        atom: &Atom,
        relationship: Option<&'static str>,
        depth: usize,
    ) -> Json {
        if self.odd(random) {
            let empty = match random.below(3) {
                0 => Some(Json::Null),
                1 => atom.map.as_ref().map(|_| Json::object()),
                _ => atom.list.as_ref().map(|_| Json::List(Vec::new())),
            };
            if let Some(empty) = empty {
                return empty;
            }
        }
        if let Some(sample) = random.choose(&atom.samples)
            && (atom.scalar.is_some() || !random.one_in(3))
        {
            return sample.clone();
        }
        let there = [atom.scalar.is_some(), atom.list.is_some(), atom.map.is_some()];
        match (random.weighted(&there.map(|there| u32::from(there) * 10)), &atom.list, &atom.map) {
            (1, Some(list), _) => self.list(random, list, relationship.or(list.relationship), depth),
            (2, _, Some(map)) => self.map(random, map, depth),
            _ => {
                let odd = self.odd(random);
                atom.scalar.map_or(Json::Null, |kind| scalar(random, kind, odd))
            }
        }
    }

    fn map(&self, random: &mut Random, map: &Map, depth: usize) -> Json {
        let mut members = Vec::new();
        // Of a large struct few fields are set, mostly common ones.
        let many = map.fields.len() > MANY;
        for field in &map.fields {
            let density = match (many, field.common) {
                _ if depth >= self.depth => 5,
                (true, false) => 4,
                _ => self.density,
            };
            if random.percent(density) {
                members.push((field.name.clone(), self.value(random, &field.of, depth + 1)));
            }
        }
        if let Some(element) = &map.element
            && depth < self.depth
        {
            for _ in 0..random.below(4) {
                let name = member_name(random, self.taste.odd > 0);
                if members.iter().all(|(known, _)| *known != name) {
                    members.push((name, self.value(random, element, depth + 1)));
                }
            }
        }
        if self.broken(random) {
            members.push(("unknown".to_owned(), scalar(random, Scalar::Untyped, false)));
        }
        Json::Object(members)
    }

    fn list(
        &self,
        random: &mut Random,
        list: &List,
        relationship: Option<&'static str>,
        depth: usize,
    ) -> Json {
        let count = if depth >= self.depth { 0 } else { random.weighted(&[1, 4, 5, 4, 1]) };
        let mut items: Vec<Json> = Vec::new();
        for _ in 0..count {
            let item = self.item(random, list, depth);
            let unique = relationship != Some("associative")
                || items.iter().all(|known| !same_item(list, known, &item))
                || (self.taste.odd > 0 && random.one_in(6));
            if unique {
                items.push(item);
            }
        }
        Json::List(items)
    }

    fn item(&self, random: &mut Random, list: &List, depth: usize) -> Json {
        let mut item = self.value(random, &list.element, depth + 1);
        let Some(Atom { map: Some(map), .. }) = self.schema.resolve(&list.element) else { return item };
        for key in &list.keys {
            let Some(field) = map.fields.iter().find(|field| field.name == *key) else { continue };
            // Absent keys have defaults, and one of several may be missing.
            let absent = (field.default.is_some() && random.one_in(3))
                || self.broken(random)
                || (self.odd(random) && list.keys.len() > 1);
            if absent {
                item.take(key);
            } else if matches!(item, Json::Object(_)) && item.get(key).is_none_or(|key| *key == Json::Null) {
                let plain = Values { taste: Taste::VALID, ..*self };
                item.set(key, plain.value(random, &field.of, self.depth));
            }
        }
        item
    }

    /// Changes some parts of a value of the first type.
    pub fn mutated(&self, random: &mut Random, value: &Json) -> Json {
        let mut mutated = value.clone();
        let changes = 1 + random.below(3);
        // A change may have no effect.
        for tried in 0..8 {
            if tried >= changes && mutated != *value {
                break;
            }
            let mut steps = random.below(mutated.size());
            self.mutate(random, &mut mutated, &self.schema.root(), 0, &mut steps);
        }
        mutated
    }

    /// Descends `steps` values into `value`, and changes the last one.
    fn mutate(
        &self,
        random: &mut Random,
        value: &mut Json,
        of: &TypeRef,
        depth: usize,
        steps: &mut usize,
    ) -> bool {
        if *steps == 0 {
            self.change(random, value, of, depth);
            return true;
        }
        *steps -= 1;
        let atom = self.schema.resolve(of).cloned().unwrap_or_default();
        match value {
            Json::Object(members) => {
                let nothing = TypeRef::default();
                for (name, member) in members {
                    let map = atom.map.as_deref();
                    let field = map.and_then(|map| map.fields.iter().find(|field| field.name == *name));
                    let below = field.map(|field| &field.of).or(map.and_then(|map| map.element.as_ref()));
                    if self.mutate(random, member, below.unwrap_or(&nothing), depth + 1, steps) {
                        return true;
                    }
                }
            }
            Json::List(items) => {
                let below = atom.list.map(|list| list.element).unwrap_or_default();
                for item in items {
                    if self.mutate(random, item, &below, depth + 1, steps) {
                        return true;
                    }
                }
            }
            _ => {}
        }
        false
    }

    /// Changes one value: adds, removes, moves or replaces a member or an item.
    fn change(&self, random: &mut Random, value: &mut Json, of: &TypeRef, depth: usize) {
        let atom = self.schema.resolve(of).cloned().unwrap_or_default();
        match value {
            Json::Object(members) if depth == 0 || !random.one_in(6) => {
                if !members.is_empty() && random.one_in(3) {
                    members.remove(random.below(members.len()));
                } else if let Some(map) = &atom.map
                    && let Json::Object(more) = (Values { density: 40, ..*self }).map(random, map, depth)
                {
                    // A new member replaces the one with its name.
                    for (name, member) in more.into_iter().take(2) {
                        members.retain(|(known, _)| *known != name);
                        members.push((name, member));
                    }
                }
            }
            Json::List(items) if !random.one_in(6) => match random.below(4) {
                0 => random.shuffle(items),
                1 if !items.is_empty() => drop(items.remove(random.below(items.len()))),
                2 if self.taste.odd > 0 && !items.is_empty() && random.one_in(4) => {
                    let twice = items[random.below(items.len())].clone();
                    items.insert(random.below(items.len() + 1), twice);
                }
                _ => {
                    if let Some(list) = &atom.list {
                        let item = self.item(random, list, depth);
                        let atomic = list.relationship != Some("associative");
                        if atomic || items.iter().all(|known| !same_item(list, known, &item)) {
                            items.insert(random.below(items.len() + 1), item);
                        }
                    }
                }
            },
            Json::Number(number) if self.taste.odd > 0 && random.one_in(3) => *value = respelled(number),
            _ => *value = self.value(random, of, depth),
        }
    }
}

/// Whether two items of a set or map list are the same.
fn same_item(list: &List, one: &Json, other: &Json) -> bool {
    if list.keys.is_empty() {
        return one.same_value(other);
    }
    list.keys.iter().all(|key| match (one.get(key), other.get(key)) {
        (Some(one), Some(other)) => one.same_value(other),
        // A default may make them equal.
        _ => true,
    })
}

/// Strings that are often equal.
const STRINGS: [&str; 5] = ["a", "b", "c", "d", "x"];
/// Strings that are hard to write, sort or distinguish.
const ODD_STRINGS: [&str; 20] = [
    "",
    ".",
    "..",
    "a.b",
    "\"",
    "\\",
    "<b>&",
    "é",
    "\u{1f600}",
    "\u{2028}",
    "\n\t\u{1}",
    "null",
    "1",
    "1.0",
    "true",
    " ",
    "f:a",
    "k:{}",
    "\u{ffff}",
    "[0]",
];

fn member_name(random: &mut Random, odd: bool) -> String {
    if odd && random.one_in(10) { random.pick(&ODD_STRINGS) } else { random.pick(&STRINGS) }.to_owned()
}

/// A scalar.
pub fn scalar(random: &mut Random, kind: Scalar, odd: bool) -> Json {
    match kind {
        Scalar::Numeric => number(random, odd),
        Scalar::String => Json::string(if odd { random.pick(&ODD_STRINGS) } else { random.pick(&STRINGS) }),
        Scalar::Boolean => Json::Bool(random.one_in(2)),
        Scalar::Untyped => {
            let kind = [Scalar::Numeric, Scalar::String, Scalar::Boolean][random.weighted(&[4, 4, 1])];
            scalar(random, kind, odd)
        }
    }
}

/// A number: a small integer, or one that implementations get wrong.
fn number(random: &mut Random, odd: bool) -> Json {
    const EXACT: i64 = 1 << 53;
    let small = [0, 1, 2, 3][random.below(4)];
    if !odd {
        return Json::from(small);
    }
    match random.below(12) {
        0 | 1 => Json::float(f64::from(i32::try_from(small).unwrap_or_default())),
        2 => Json::float(1.5),
        3 => Json::from(EXACT),
        4 => Json::from(EXACT + 1),
        5 => Json::from(-1),
        6 => Json::from(i64::MAX),
        7 => Json::from(i64::MIN),
        8 => Json::float(-0.0),
        9 if random.one_in(2) => Json::float(random.float()),
        9 => Json::float([0.1, 1e21, 1e-7, 123_456_789.5, 1e20][random.below(5)]),
        10 => Json::Number(u64::MAX.into()),
        _ => Json::from(100),
    }
}

/// The same number, or nearly, as an integer instead of a float and the other way round.
fn respelled(number: &Number) -> Json {
    let integer = if number.is_f64() { number.as_f64() } else { None };
    // The conversion through text loses nothing.
    let text = integer.map_or_else(|| format!("{number}.0"), |float| format!("{float:.0}"));
    text.parse().unwrap_or(Json::Null)
}

/// A value of another type.
pub fn stray(random: &mut Random) -> Json {
    match random.below(8) {
        0 => Json::Null,
        1 => Json::object(),
        2 => Json::List(Vec::new()),
        3 => Json::object().with("a", 1),
        4 => Json::List(vec![Json::Null, scalar(random, Scalar::Untyped, true)]),
        5 => Json::List(vec![Json::List(Vec::new()), Json::object()]),
        _ => scalar(random, Scalar::Untyped, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::generate::schema;

    #[test]
    fn a_mutated_value_shares_most_with_its_origin() {
        let mut random = Random::new(1, 1);
        let (mut same, mut total) = (0, 0);
        for _ in 0..500 {
            let schema = schema::schema(&mut random);
            let values = Values { schema: &schema, taste: Taste::VALID, density: 60, depth: 6 };
            let value = values.root(&mut random);
            let mutated = values.mutated(&mut random, &value);
            total += value.members().len();
            same += value.members().iter().filter(|(name, value)| mutated.get(name) == Some(value)).count();
        }
        assert!(same * 3 > total && same < total, "{same} of {total}");
    }
}
