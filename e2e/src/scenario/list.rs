//! A scenario in the list of all scenarios.

use std::pin::Pin;

use super::Subject;

/// A scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Its name, with its module.
    pub name: &'static str,
    /// Its file, relative to the workspace.
    pub file: &'static str,
    /// Why it is played only on a real control plane; absent if the API server in the process plays it too.
    pub only_real: Option<&'static str>,
    /// Plays it.
    pub run: for<'s> fn(&'s mut Subject) -> Running<'s>,
}

/// A scenario that is being played. It stays on its thread.
pub type Running<'s> = Pin<Box<dyn Future<Output = ()> + 's>>;

impl Scenario {
    /// Its name without its module.
    pub fn title(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

/// The scenarios of a module, as its constant `SCENARIOS`: functions, each `async fn name(s: &mut Subject)`. Those after
/// `only real, because "…":` need what the API server in the process doesn't have.
#[macro_export]
macro_rules! scenario_list {
    (only real, $($rest:tt)+) => { $crate::scenario_list! { @all only real, $($rest)+ } };
    ($($scenario:ident),+ $(,)?) => { $crate::scenario_list! { @all both: $($scenario),+; } };
    ($($scenario:ident),+; $($rest:tt)+) => { $crate::scenario_list! { @all both: $($scenario),+; $($rest)+ } };
    (@all $(both: $($scenario:ident),+;)? $(only real, because $why:tt: $($real:ident),+;)*) => {
        pub const SCENARIOS: &[$crate::scenario::Scenario] = &[
            $($($crate::scenario_list! { @one $scenario, None },)+)?
            $($($crate::scenario_list! { @one $real, Some($why) },)+)*
        ];
    };
    (@one $scenario:ident, $only_real:expr) => {
        $crate::scenario::Scenario {
            name: concat!(module_path!(), "::", stringify!($scenario)),
            file: file!(),
            only_real: $only_real,
            run: |subject| Box::pin($scenario(subject)),
        }
    };
}
