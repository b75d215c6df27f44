//! Measures the API server inside a process beside a real kube-apiserver with etcd, in one run and by the same client: applies and
//! gets over HTTP, the time from the start to the first response, and memory for each object.

use std::{
    future::Future,
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use baton_apiserver::ApiServer;
use baton_testbed::ControlPlane;
use clap::Args;
use futures::future::try_join_all;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Namespace};
use kube::{
    Api, Client, Config,
    api::{ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

/// Measure the in-process API server and a real one: requests a second, time to start, memory.
#[derive(Args)]
pub(crate) struct Cli {
    /// How many seconds each server gets requests of each type.
    #[arg(long, default_value = "5")]
    seconds: u64,
    /// How many clients send requests at the same time.
    #[arg(long, default_value = "8")]
    clients: usize,
    /// How many objects the server holds when its memory is measured.
    #[arg(long, default_value = "10000")]
    objects: usize,
}

/// The managers that apply each of the objects whose memory is measured.
const MANAGERS: [&str; 3] = ["baton", "kubectl", "argocd"];

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    let lasts = Duration::from_secs(cli.seconds);
    // First, before the servers of this process have read what they share.
    let our_start = start_of_ours().await?;
    let memory = memory(cli.objects).await?;
    println!("memory: {memory} bytes for each of {} objects", cli.objects);

    let server = ApiServer::builder().start()?;
    let serving = server.serve((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let kubeconfig = Kubeconfig::from_yaml(&serving.kubeconfig())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let ours = Client::try_from(config)?;
    let our_applies = rate(cli.clients, lasts, |client| applies(ours.clone(), client)).await?;
    let our_gets = rate(cli.clients, lasts, |client| gets(ours.clone(), client)).await?;
    println!(
        "ours: {our_applies:.0} applies a second, {our_gets:.0} gets a second, started in {our_start:?}"
    );
    drop(serving);

    let began = Instant::now();
    let control_plane = ControlPlane::options().start().await?;
    let real = control_plane.admin().await?;
    let real_start = began.elapsed();
    let real_applies = rate(cli.clients, lasts, |client| applies(real.clone(), client)).await?;
    let real_gets = rate(cli.clients, lasts, |client| gets(real.clone(), client)).await?;
    println!(
        "real: {real_applies:.0} applies a second, {real_gets:.0} gets a second, started in {real_start:?}"
    );
    println!(
        "apply ratio {:.1}, get ratio {:.1}, start ratio {:.0}",
        our_applies / real_applies,
        our_gets / real_gets,
        real_start.as_secs_f64() / our_start.as_secs_f64()
    );
    Ok(())
}

/// The time from the start of our server to its first response.
async fn start_of_ours() -> anyhow::Result<Duration> {
    let began = Instant::now();
    let server = ApiServer::builder().start()?;
    let namespaces: Api<Namespace> = Api::all(server.client());
    anyhow::ensure!(
        !namespaces.list(&ListParams::default()).await?.items.is_empty(),
        "there is no namespace"
    );
    Ok(began.elapsed())
}

/// How often a second so many clients together do something.
async fn rate<F: Future<Output = anyhow::Result<()>>>(
    clients: usize,
    lasts: Duration,
    act: impl Fn(usize) -> F,
) -> anyhow::Result<f64> {
    let began = Instant::now();
    let client = async |number| {
        let mut done: u32 = 0;
        while began.elapsed() < lasts {
            act(number).await?;
            done += 1;
        }
        anyhow::Ok(done)
    };
    let done = try_join_all((0..clients).map(client)).await?;
    Ok(f64::from(done.iter().sum::<u32>()) / began.elapsed().as_secs_f64())
}

async fn applies(client: Client, number: usize) -> anyhow::Result<()> {
    let api: Api<Deployment> = Api::namespaced(client, "default");
    let name = format!("web-{number}");
    let body = deployment(&name, &format!("example.com/web:{}", fastrand::u32(..)));
    api.patch(&name, &PatchParams::apply("baton").force(), &Patch::Apply(&body)).await.context("apply")?;
    Ok(())
}

async fn gets(client: Client, number: usize) -> anyhow::Result<()> {
    let api: Api<Deployment> = Api::namespaced(client, "default");
    api.get(&format!("web-{number}")).await.context("get")?;
    Ok(())
}

fn deployment(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "web", "image": image, "ports": [{"name": "http", "containerPort": 80}],
                     "env": [{"name": "MODE", "value": "fast"}],
                     "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}},
                    {"name": "proxy", "image": "example.com/proxy:1", "args": ["--verbose"]},
                ]},
            },
        },
    })
}

/// How much more memory the process has for each object: a Deployment with two containers that three managers have applied.
async fn memory(objects: usize) -> anyhow::Result<usize> {
    // A short history, so that only live objects count.
    let server = ApiServer::builder().history(100).start()?;
    let api: Api<Deployment> = Api::namespaced(server.client(), "default");
    let apply = async |name: &str| {
        let body = deployment(name, "example.com/web:1");
        for manager in MANAGERS {
            api.patch(name, &PatchParams::apply(manager), &Patch::Apply(&body)).await?;
        }
        anyhow::Ok(())
    };
    apply("first").await?;
    let before = resident()?;
    for number in 0..objects {
        apply(&format!("web-{number}")).await?;
    }
    Ok(resident()?.saturating_sub(before) / objects.max(1))
}

/// The resident memory of the process, in bytes.
fn resident() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory is measured on Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}
