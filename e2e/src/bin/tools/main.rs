//! The programs beside the tests: benchmarks, the model checker, simulations, comparisons with a real server, recordings,
//! and generated files. Each is a cargo command of its own, by `.cargo/config.toml`.

mod apiserver_bench;
mod apiserver_diff;
mod chart;
mod golden_record;
mod handover_model;
mod handover_soak;
mod permissions;
mod pictures;
mod plugin_bench;
mod scale_bench;
mod simulate;
mod template_property;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo")]
enum Tool {
    ApiserverBench(apiserver_bench::Cli),
    ApiserverDiff(apiserver_diff::Cli),
    Chart(chart::Cli),
    /// Record the children of some Workloads as this version of Baton creates them.
    GoldenRecord,
    HandoverModel(handover_model::Cli),
    HandoverSoak(handover_soak::Cli),
    Permissions(permissions::Cli),
    Pictures(pictures::Cli),
    PluginBench(plugin_bench::Cli),
    ScaleBench(scale_bench::Cli),
    Simulate(simulate::Cli),
    TemplateProperty(template_property::Cli),
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Tool::parse() {
        Tool::ApiserverDiff(cli) => return apiserver_diff::run(cli).await,
        Tool::HandoverModel(cli) => return Ok(handover_model::run(&cli)),
        Tool::HandoverSoak(cli) => return handover_soak::run(cli).await,
        Tool::Simulate(cli) => return simulate::run(cli),
        Tool::TemplateProperty(cli) => return template_property::run(cli).await,
        Tool::ApiserverBench(cli) => apiserver_bench::run(cli).await,
        Tool::Chart(cli) => chart::run(cli),
        Tool::GoldenRecord => golden_record::run().await,
        Tool::Permissions(cli) => permissions::run(cli),
        Tool::Pictures(cli) => pictures::run(cli).await,
        Tool::PluginBench(cli) => plugin_bench::run(cli).await,
        Tool::ScaleBench(cli) => scale_bench::run(cli).await,
    }?;
    Ok(ExitCode::SUCCESS)
}
