//! The children, and who owns which of their fields.

use baton_apply::LiveObject;
use baton_controller::{FIELD_MANAGER, decide::child::ChildKind};

use crate::{
    claims::Claims,
    demo::{Demo, NAME},
    ownership, print,
};

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(3, "Who owns what");
    print::text(
        "The API server records in metadata.managedFields which field manager owns which field. Baton applies the fields that \
         follow from the Workload, and owns only those. All other fields belong to other managers.",
    );
    let children = demo.all_children().await?;
    for (kind, child) in &children {
        print::table(&format!("{kind} {NAME}"), &ownership::table(child));
    }
    print::gap();
    let kinds: Vec<ChildKind> = children.iter().map(|(kind, _)| *kind).collect();
    let wanted = [ChildKind::Deployment, ChildKind::Service, ChildKind::DisruptionBudget];
    claims.equal("the Workload has the three children that its spec asks for", &kinds, &wanted)?;
    one_entry_each(&children, claims)
}

/// Claims that Baton has one entry in each child, and that it is one by Apply.
pub(crate) fn one_entry_each(
    children: &[(ChildKind, LiveObject)],
    claims: &mut Claims,
) -> anyhow::Result<()> {
    let mut seen = Vec::new();
    for (kind, child) in children {
        let entries = child.managed_fields();
        let batons = entries.iter().filter(|entry| entry.manager() == FIELD_MANAGER);
        seen.push((*kind, batons.map(ownership::how).collect::<Vec<_>>()));
    }
    let expected: Vec<_> = children.iter().map(|(kind, _)| (*kind, vec!["Apply".to_owned()])).collect();
    let claim = format!("in all {}, Baton has one entry, by Apply, and none by Update", children.len());
    Ok(claims.equal(&claim, &seen, &expected)?)
}
