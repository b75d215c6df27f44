//! Placeholder until the strategies are there.
pub(crate) const CONDITIONAL: &[(&str, &str)] = &[];
