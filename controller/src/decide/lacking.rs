//! Fields that a Workload lacks.

use baton_apply::FieldPath;

/// A field that a spec lacks although a manager owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Its path, or the uppermost part of it that is lacking.
    pub path: FieldPath,
    /// Its owner.
    pub manager: String,
    /// Where it is in the schema, such as `.spec.service.ports[].name`.
    pub in_schema: String,
}
