//! The kinds whose objects are written, and bodies for them: `kinds.yaml` describes them, and explains how.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Json, Random};

/// A kind of objects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Its API group.
    #[serde(default)]
    pub group: String,
    /// The version that is mostly written.
    pub version: String,
    /// Other versions that are served.
    #[serde(default)]
    pub others: Vec<String>,
    /// Its name.
    pub kind: String,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects are in no namespace.
    #[serde(default)]
    pub cluster: bool,
    /// The file with its crd, relative to the workspace; a built-in kind has the server's own document.
    pub crd: Option<String>,
    /// Whether there is a scale subresource, in the version that is mostly written.
    #[serde(default)]
    pub scale: bool,
    /// Of a custom resource, the versions that have a status subresource.
    #[serde(default)]
    with_status: Vec<String>,
    /// The names of the members that can be changed, where not nearly all can.
    #[serde(default)]
    fixed: Vec<String>,
    /// The possible contents of an object, without its kind and name.
    body: Json,
    /// The possible contents of its status.
    status: Option<Json>,
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let mut document: serde_norway::Value =
        serde_norway::from_str(include_str!("kinds.yaml")).expect("kinds.yaml is YAML");
    document.apply_merge().expect("only objects are merged in kinds.yaml");
    serde_norway::from_value(document["kinds"].clone()).expect("kinds.yaml describes kinds")
});

impl Kind {
    /// All kinds.
    pub fn all() -> &'static [Self] {
        &KINDS
    }

    /// Whether its objects are custom resources.
    pub fn is_custom(&self) -> bool {
        self.crd.is_some()
    }

    /// The value of `apiVersion` in a version of the kind.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// Whether a version has a status subresource that something is known to write to.
    pub fn has_status(&self, version: &str) -> bool {
        self.status.is_some() && (!self.is_custom() || self.with_status.iter().any(|name| name == version))
    }

    /// A body that can be created.
    pub fn whole(&self, random: &mut Random) -> Json {
        Body::new(random, true).choose(&self.body)
    }

    /// A part of a body, such as one of several managers has an opinion of.
    pub fn part(&self, random: &mut Random) -> Json {
        Body::new(random, false).choose(&self.body)
    }

    /// A body with a status.
    pub fn status(&self, random: &mut Random) -> Json {
        let status = self.status.as_ref().map(|status| Body::new(random, false).choose(status));
        Json::object().with("status", status.unwrap_or_else(Json::object))
    }

    /// Whether a member of this name may be taken out or changed without the server refusing it for sure.
    pub fn may_change(&self, path: &[&str]) -> bool {
        let identity = ["apiVersion", "kind", "name", "namespace"];
        let last = path.last().copied().unwrap_or_default();
        let free = |name: &&str| self.fixed.iter().any(|free| free == name);
        !identity.contains(&last) && (self.fixed.is_empty() || path.iter().any(free))
    }
}

/// A body in the making.
struct Body<'r> {
    random: &'r mut Random,
    /// Whether it has to be valid alone, as the body of a creation.
    whole: bool,
    /// How many of a hundred optional members are there.
    density: u32,
}

impl<'r> Body<'r> {
    fn new(random: &'r mut Random, whole: bool) -> Self {
        let density = [15, 30, 50][random.below(3)];
        Self { random, whole, density }
    }

    /// A value, as `kinds.yaml` describes it.
    fn choose(&mut self, what: &Json) -> Json {
        let Json::Object(members) = what else { return what.clone() };
        let options = |word| what.get(word).map(Json::items);
        if let Some(options) = options("$one") {
            self.random.choose(options).cloned().unwrap_or(Json::Null)
        } else if let Some(options) = options("$some") {
            self.some(options).into()
        } else if let Some(options) = options("$each") {
            let items = self.some(options).into_iter().map(|item| self.members(item, members));
            items.collect::<Vec<_>>().into()
        } else if let (Some(options), Some(of)) = (options("$map"), what.get("$of")) {
            let mut map = Json::object();
            for name in self.some(options).iter().filter_map(Json::as_str) {
                map.set(name, self.choose(of));
            }
            map
        } else {
            self.members(Json::object(), members)
        }
    }

    /// An object with those members that are there.
    fn members(&mut self, mut object: Json, members: &[(String, Json)]) -> Json {
        for (name, what) in members.iter().filter(|(name, _)| !name.starts_with('$')) {
            let bare = name.trim_end_matches(['!', '%', '+', '-']);
            let chance = match &name[bare.len()..] {
                "" => 100,
                "!" | "+" if self.whole => 100,
                "+" => 0,
                "-%" | "-%%" if self.whole => 0,
                "%%" | "-%%" => self.density / 4,
                _ => self.density,
            };
            if self.random.percent(chance) {
                object.set(bare, self.choose(what));
            }
        }
        object
    }

    /// Some of these in any order, and one at least. In a whole body the first is among them.
    fn some(&mut self, options: &[Json]) -> Vec<Json> {
        let mut chosen: Vec<_> = options.iter().filter(|_| self.random.one_in(2)).cloned().collect();
        if let Some(first) = options.first()
            && !chosen.contains(first)
            && (self.whole || chosen.is_empty())
        {
            chosen.push(first.clone());
        }
        self.random.shuffle(&mut chosen);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_hold_no_marks_of_their_description() {
        assert_eq!(Kind::all().len(), 35);
        let mut random = Random::new(1, 1);
        for kind in Kind::all() {
            let bodies = (0..200)
                .flat_map(|_| [kind.whole(&mut random), kind.part(&mut random), kind.status(&mut random)]);
            for body in bodies.map(|body| body.to_string()) {
                let is_clean = !body.contains('$')
                    && ["!\":", "%\":", "+\":", "-\":"].iter().all(|end| !body.contains(end));
                assert!(is_clean, "{}: {body}", kind.kind);
            }
        }
    }

    #[test]
    fn the_end_of_a_name_says_when_a_member_is_there() {
        let what: Json = r#"{"a":1,"b!":1,"c+":1,"d-%":1,"e%%":1,"f":{"$each":[{"x":1},{"x":2}],"y%":1}}"#
            .parse()
            .unwrap();
        let mut random = Random::new(1, 1);
        let mut count = |whole: bool, name: &str| {
            let mut made = (0..1000).map(|_| Body { random: &mut random, whole, density: 40 }.choose(&what));
            (0..1000).filter(|_| made.next().is_some_and(|made| made.get(name).is_some())).count()
        };
        assert_eq!(
            [count(true, "a"), count(true, "b"), count(true, "c"), count(true, "d")],
            [1000, 1000, 1000, 0]
        );
        assert_eq!([count(false, "a"), count(false, "c")], [1000, 0]);
        assert!((300..500).contains(&count(false, "b")) && (300..500).contains(&count(false, "d")));
        assert!((50..150).contains(&count(true, "e")));
    }
}
