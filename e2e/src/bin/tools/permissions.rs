//! Compares the permissions in the manifests with the requests of the operators in a whole test run, which the audit logs of all
//! control planes record:
//!
//!     BATON_E2E_AUDIT_DIR=/tmp/audit cargo test --workspace
//!     BATON_E2E_AUDIT_DIR=/tmp/audit cargo permissions --check
//!
//! Prints a table, and with `--check` fails when a permission is missing or was never used.

use std::{env, fs, path::Path};

use anyhow::{Context as _, bail};
use baton_e2e::permissions::{ELECTION, SECURE_METRICS, Usage, WORKLOADS, granted};
use baton_testbed::AUDIT_DIR;
use clap::Args;

/// Compare the operator's permissions with its requests in a test run.
#[derive(Args)]
pub(crate) struct Cli {
    /// Fail if a permission is missing or was never used.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(Cli { check }: Cli) -> anyhow::Result<()> {
    let folder = env::var_os(AUDIT_DIR).filter(|value| !value.is_empty());
    let folder = folder.with_context(|| format!("set {AUDIT_DIR} to the folder with the audit logs"))?;
    let (usage, logs) = usage(Path::new(&folder))?;
    if logs == 0 {
        bail!("no audit log in {}: run the tests with {AUDIT_DIR} set", folder.display());
    }

    let mut all = granted(WORKLOADS)?;
    all.extend(granted(ELECTION)?);
    all.extend(granted(SECURE_METRICS)?);
    println!("{:>9} {:>9}  permission, by {logs} audit logs", "allowed", "denied");
    for permission in &all {
        let count = usage.count(permission);
        println!("{:>9} {:>9}  {permission}", count.allowed, count.denied);
    }
    let difference = usage.compare(&all);
    for permission in &difference.missing {
        println!("missing: {permission}");
    }
    for permission in &difference.unused {
        println!("never used: {permission}");
    }
    if check && !(difference.missing.is_empty() && difference.unused.is_empty()) {
        bail!(
            "the rules in manifests/{WORKLOADS}, manifests/{ELECTION} and manifests/{SECURE_METRICS} are not what the \
             operator uses"
        );
    }
    Ok(())
}

/// The requests of the operators in all logs in `folder`, and how many logs there are.
fn usage(folder: &Path) -> anyhow::Result<(Usage, usize)> {
    let (mut usage, mut logs) = (Usage::default(), 0);
    let entries = fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            usage.add_log(&path)?;
            logs += 1;
        }
    }
    Ok((usage, logs))
}
