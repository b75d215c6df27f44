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
    /// Why it is played only on a real control plane; absent if the API server in the process plays it too.
    pub only_real: Option<&'static str>,
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

/// The scenarios of a module, as its constant `PLAYS`: functions, each `async fn name(s: &mut Scene)`. Those after
/// `only real, because "…":` need what the API server in the process doesn't have.
#[macro_export]
macro_rules! plays {
    (only real, $($rest:tt)+) => { $crate::plays! { @all only real, $($rest)+ } };
    ($($play:ident),+ $(,)?) => { $crate::plays! { @all both: $($play),+; } };
    ($($play:ident),+; $($rest:tt)+) => { $crate::plays! { @all both: $($play),+; $($rest)+ } };
    (@all $(both: $($play:ident),+;)? $(only real, because $why:tt: $($real:ident),+;)*) => {
        pub const PLAYS: &[$crate::scenario::Play] = &[
            $($($crate::plays! { @one $play, None },)+)?
            $($($crate::plays! { @one $real, Some($why) },)+)*
        ];
    };
    (@one $play:ident, $only_real:expr) => {
        $crate::scenario::Play {
            name: concat!(module_path!(), "::", stringify!($play)),
            file: file!(),
            only_real: $only_real,
            run: |scene| Box::pin($play(scene)),
        }
    };
}
