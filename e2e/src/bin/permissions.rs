//! Holds what the operators of a whole test run did, by the audit logs of all its control planes, against what the
//! manifests let them do:
//!
//!     BATON_E2E_AUDIT_DIR=/tmp/audit cargo test --workspace
//!     BATON_E2E_AUDIT_DIR=/tmp/audit cargo permissions --check
//!
//! Prints a table, and with `--check` fails when a permission is missing or was never used.

use std::{env, fs, path::Path};

use anyhow::{Context as _, bail};
use baton_e2e::permissions::{ELECTION, SECURE_METRICS, Usage, WORKLOADS, granted};
use baton_testbed::AUDIT_DIR;
use clap::Parser;

/// Compares the operator's permissions with what it did in a test run.
#[derive(Parser)]
struct Cli {
    /// Fail when a permission is missing or was never used.
    #[arg(long)]
    check: bool,
}

fn main() -> anyhow::Result<()> {
    let Cli { check } = Cli::parse();
    let folder = env::var_os(AUDIT_DIR).filter(|value| !value.is_empty());
    let folder = folder.with_context(|| format!("{AUDIT_DIR} doesn't say where the audit logs are"))?;
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

/// What the operators did by all logs in `folder`, and how many logs there are.
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
