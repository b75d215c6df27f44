//! Checks that `docs/flags.md` matches the command line. To write it again:
//!
//! ```sh
//! BATON_WRITE_DOCS=1 cargo test -p baton-controller flags
//! ```

use std::{env, fs};

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/flags.md");

const HEAD: &str = "\
# Flags and environment variables

Each flag has an environment variable; the flag wins over the variable. A test writes this page from the texts of `baton --help`
(`cargo test -p baton-controller flags`).

Times are written as `30s`, `1m 30s` or `500ms`. Baton finds the cluster as other clients do: in a pod by its ServiceAccount, else by
`KUBECONFIG` or `~/.kube/config`.

A binary that is built with the feature `otel` has one more flag: `--otlp-endpoint`, or `OTEL_EXPORTER_OTLP_ENDPOINT`, sets where spans
of passes and requests are sent, by OTLP over HTTP without TLS, such as `http://localhost:4318`. The other `OTEL_…` variables of OTLP
exporters apply too.
";

fn page() -> String {
    let sections: String = Cli::command().get_subcommands().map(section).collect();
    format!("{HEAD}{sections}")
}

fn section(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let begin = format!("\n## `baton {}`\n\n{}\n", command.get_name(), sentence(&about.unwrap_or_default()));
    match table(command) {
        table if table.is_empty() => begin,
        table => {
            format!(
                "{begin}\n| flag | environment | default | what it does |\n| --- | --- | --- | --- |\n{table}"
            )
        }
    }
}

fn table(command: &Command) -> String {
    flags(command).map(row).collect()
}

/// The flags of the default build; the page's head has the other one.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|flag| !matches!(flag.get_id().as_str(), "help" | "version" | "otlp_endpoint"))
}

fn row(flag: &Arg) -> String {
    let code = |text: String| if text.is_empty() { text } else { format!("`{text}`") };
    let name = format!("--{}", flag.get_long().unwrap_or_default());
    let variable = flag.get_env().map(|name| name.to_string_lossy().into_owned());
    let defaults: Vec<_> =
        flag.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let help = flag.get_long_help().or(flag.get_help()).map(ToString::to_string).unwrap_or_default();
    let choices: Vec<_> =
        flag.get_possible_values().iter().map(|one| format!("`{}`", one.get_name())).collect();
    let choices = if choices.is_empty() { String::new() } else { format!(" One of {}.", choices.join(", ")) };
    let help = sentence(&help).replace('|', "\\|");
    format!(
        "| {} | {} | {} | {help}{choices} |\n",
        code(name),
        code(variable.unwrap_or_default()),
        code(defaults.join(","))
    )
}

/// The full stop at the end, which is left out where there is only one sentence.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim().trim_end_matches('.'))
}

#[test]
fn the_page_of_flags_matches_the_command_line() {
    let page = page();
    if env::var_os("BATON_WRITE_DOCS").is_some() {
        fs::write(PATH, &page).unwrap();
    }
    let written = fs::read_to_string(PATH).unwrap_or_default();
    let hint = "docs/flags.md is stale: BATON_WRITE_DOCS=1 cargo test -p baton-controller flags";
    let differs =
        page.lines().zip(written.lines().chain(std::iter::repeat(""))).find(|(now, then)| now != then);
    assert_eq!(differs, None, "{hint}");
    assert_eq!(page, written, "{hint}");
}

#[test]
fn every_flag_has_an_environment_variable_of_its_name() {
    for command in Cli::command().get_subcommands() {
        for flag in flags(command) {
            let name = flag.get_long().unwrap_or_default();
            let variable = format!("BATON_{}", name.replace('-', "_").to_uppercase());
            assert_eq!(flag.get_env().and_then(|name| name.to_str()), Some(&*variable), "--{name}");
        }
    }
}
