//! Which sentence of which document a scenario shows.

use std::pin::Pin;

use super::Scene;

/// A document that promises something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// How the document is called.
    pub title: &'static str,
}

/// A section of a document, with all that it promises.
pub struct Section {
    /// The document.
    pub document: Document,
    /// The title of the section.
    pub title: &'static str,
    /// What it promises, in its order.
    pub promises: &'static [Promise],
}

/// One promise, in our own words, and the scenarios that show it kept.
pub struct Promise {
    /// What is promised.
    pub says: &'static str,
    /// Scenarios of this suite.
    pub plays: &'static [Play],
    /// Tests of other suites, as `file::name`, relative to the workspace.
    pub tests: &'static [&'static str],
    /// What a server does today instead.
    pub today: Option<&'static str>,
}

/// A scenario.
#[derive(Clone, Copy)]
pub struct Play {
    /// Its name, with its module.
    pub name: &'static str,
    /// The file that it is written in, relative to the workspace.
    pub file: &'static str,
    /// Plays it.
    pub run: for<'s> fn(&'s mut Scene) -> Playing<'s>,
}

/// A scenario that is played, on the thread where it began.
pub type Playing<'s> = Pin<Box<dyn Future<Output = ()> + 's>>;

impl Promise {
    /// A promise, with the scenarios that show it kept.
    pub const fn new(says: &'static str, plays: &'static [Play]) -> Self {
        Self { says, plays, tests: &[], today: None }
    }

    /// With tests of other suites that show it, too: `e2e/tests/scenarios/handover.rs::name`.
    #[must_use]
    pub const fn and_tests(mut self, tests: &'static [&'static str]) -> Self {
        self.tests = tests;
        self
    }

    /// With what a server does today where it no longer keeps to it.
    #[must_use]
    pub const fn but(mut self, today: &'static str) -> Self {
        self.today = Some(today);
        self
    }
}

/// The scenarios of these functions, each `async fn name(s: &mut Scene)`.
#[macro_export]
macro_rules! plays {
    ($($play:ident),* $(,)?) => {
        &[$($crate::scenario::Play {
            name: concat!(module_path!(), "::", stringify!($play)),
            file: file!(),
            run: |scene| Box::pin($play(scene)),
        }),*]
    };
}
