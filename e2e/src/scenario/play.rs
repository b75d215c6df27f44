//! A scenario in the list of all scenarios.

use std::pin::Pin;

use super::Scene;

/// A scenario.
#[derive(Clone, Copy)]
pub struct Play {
    /// Its name, with its module.
    pub name: &'static str,
    /// Its file, relative to the workspace.
    pub file: &'static str,
    /// Plays it.
    pub run: for<'s> fn(&'s mut Scene) -> Playing<'s>,
}

/// A scenario that is being played. It stays on its thread.
pub type Playing<'s> = Pin<Box<dyn Future<Output = ()> + 's>>;

impl Play {
    /// Its name without its module.
    pub fn title(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

/// The scenarios of a module, as its constant `PLAYS`: functions, each `async fn name(s: &mut Scene)`.
#[macro_export]
macro_rules! plays {
    ($($play:ident),* $(,)?) => {
        pub const PLAYS: &[$crate::scenario::Play] = &[$($crate::scenario::Play {
            name: concat!(module_path!(), "::", stringify!($play)),
            file: file!(),
            run: |scene| Box::pin($play(scene)),
        }),*];
    };
}
