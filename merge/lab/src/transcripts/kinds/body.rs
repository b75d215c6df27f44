//! Words to describe bodies with: which members an object may have, and what they may be. It knows no kind.

use baton_testbed::{Json, Random};

/// When a member is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    /// In every body: it says which item this is.
    Always,
    /// In a body that has to be valid by itself; now and then in one that is a part.
    Needed,
    /// Now and then.
    Maybe,
    /// Now and then, but seldom.
    Seldom,
}

/// A member of an object: its name, when it is there, and what it may be.
pub(super) type Member = (&'static str, Chance, fn(&mut Body) -> Json);

/// A body in the making.
pub(super) struct Body {
    random: Random,
    /// Whether it has to be valid by itself, as the body of a creation.
    pub(super) whole: bool,
    /// How many of a hundred optional members are there.
    density: u32,
}

impl Body {
    /// What `describe` makes, by the choices of `random`.
    pub(super) fn make(random: &mut Random, whole: bool, describe: fn(&mut Self) -> Json) -> Json {
        let density = [15, 30, 50][random.below(3)];
        // Without a borrowed source of choices there is no lifetime in the way of naming methods in tables.
        let mut body = Self { random: random.clone(), whole, density };
        let made = describe(&mut body);
        *random = body.random;
        made
    }

    pub(super) fn object(&mut self, members: &[Member]) -> Json {
        let mut object = Json::object();
        for (name, chance, value) in members {
            let there = match chance {
                Chance::Always => true,
                Chance::Needed => self.whole || self.random.percent(self.density),
                Chance::Maybe => self.random.percent(self.density),
                Chance::Seldom => self.random.percent(self.density / 4),
            };
            if there {
                object.set(name, value(self));
            }
        }
        object
    }

    pub(super) fn text(&mut self, options: &[&str]) -> Json {
        Json::string(self.random.pick(options))
    }

    pub(super) fn number(&mut self, options: &[i64]) -> Json {
        options[self.random.below(options.len())].into()
    }

    pub(super) fn flag(&mut self) -> Json {
        self.random.one_in(2).into()
    }

    /// One of these JSON texts.
    pub(super) fn literal(&mut self, options: &[&str]) -> Json {
        self.random.pick(options).parse().unwrap_or(Json::Null)
    }

    /// Some of `names` as a list, in any order.
    pub(super) fn texts(&mut self, names: &[&str]) -> Json {
        self.items(names, |_, name| Json::string(name))
    }

    /// A list of items, each made for another one of `names`, in any order. In a whole body the first is among them.
    pub(super) fn items(&mut self, names: &[&str], item: fn(&mut Self, &str) -> Json) -> Json {
        let mut chosen: Vec<&str> = names.iter().copied().filter(|_| self.random.one_in(2)).collect();
        if let Some(first) = names.first()
            && !chosen.contains(first)
            && (self.whole || chosen.is_empty())
        {
            chosen.push(first);
        }
        self.random.shuffle(&mut chosen);
        chosen.into_iter().map(|name| item(self, name)).collect::<Vec<_>>().into()
    }

    /// A map with some of `names` as keys.
    pub(super) fn map(&mut self, names: &[&str], value: fn(&mut Self) -> Json) -> Json {
        let mut map = Json::object();
        for name in names {
            if self.random.one_in(2) {
                let value = value(self);
                map.set(name, value);
            }
        }
        if map.is_empty() {
            let value = value(self);
            map.set(names[0], value);
        }
        map
    }

    /// A map from words to words.
    pub(super) fn words(&mut self) -> Json {
        self.map(&["a", "b", "example.com/c"], |body| body.text(&["x", "y", "z"]))
    }

    /// Labels and annotations.
    pub(super) fn metadata(&mut self) -> Json {
        use Chance::{Maybe, Seldom};
        self.object(&[
            ("labels", Maybe, Self::words),
            ("annotations", Maybe, Self::words),
            ("finalizers", Seldom, |body| body.texts(&["example.com/keep", "example.com/wait"])),
            ("ownerReferences", Seldom, |body| {
                body.items(
                    &["0b7ab0a5-0b1a-4b1c-8d7a-7d3f6c1e2f10", "0b7ab0a5-0b1a-4b1c-8d7a-7d3f6c1e2f11"],
                    |body, uid| {
                        Json::object()
                            .with("apiVersion", "v1")
                            .with("kind", "ConfigMap")
                            .with("name", body.text(&["owner", "other"]))
                            .with("uid", uid)
                    },
                )
            }),
        ])
    }
}
