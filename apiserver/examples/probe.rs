use baton_apiserver::*;
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let t = std::time::Instant::now();
    let crd = std::fs::read_to_string("manifests/crd/workloads.baton.rs.yaml")?;
    let server = ApiServer::builder().load(&crd)?.start()?;
    println!("start {:?}", t.elapsed());
    server.load(&std::fs::read_to_string("merge/tests/corpus/data/gadget.crd.json")?)?;
    let s = server.serve("127.0.0.1:18080".parse()?).await?;
    println!("{}", s.kubeconfig());
    std::fs::write("/tmp/kc.yaml", s.kubeconfig())?;
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    Ok(())
}
