//! The PodDisruptionBudget.

use baton_crd::{Workload, builtin::DISRUPTION_BUDGET};

use super::{Intent, IntentError, Selector, minimal::minimal, to_json, with_head, without_metadata};
use crate::decide::child::ChildKind;

const CHILD: ChildKind = ChildKind::DisruptionBudget;

pub(super) fn disruption_budget(
    workload: &Workload,
    selector: &Selector,
) -> Result<Option<Intent>, IntentError> {
    let Some(budget) = &workload.spec.disruption_budget else { return Ok(None) };
    // The Workload's `disruptionBudget` holds the fields of a PodDisruptionBudget's spec under the same names.
    let mut spec = minimal(to_json(CHILD, budget)?, DISRUPTION_BUDGET).unwrap_or_default();
    without_metadata(&mut spec);
    spec["selector"] = selector.to_json();
    Ok(Some(with_head(workload, CHILD, spec, &budget.labels, &budget.annotations)))
}
