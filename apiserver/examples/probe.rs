use baton_apiserver::*;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, api::*};
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let t=std::time::Instant::now();
    let server = ApiServer::builder().start()?;
    println!("start {:?}", t.elapsed());
    let c = server.client();
    let api: Api<ConfigMap> = Api::namespaced(c.clone(), "default");
    println!("{:?}", api.list(&Default::default()).await?.metadata);
    println!("first list {:?}", t.elapsed());
    let cm: ConfigMap = serde_json::from_value(serde_json::json!({"metadata":{"name":"a","labels":{"x":"y"}},"data":{"a":"b"}}))?;
    println!("{}", serde_json::to_string(&api.create(&PostParams::default(), &cm).await?)?);
    let p = serde_json::json!({"apiVersion":"v1","kind":"ConfigMap","data":{"a":"c"}});
    println!("{:?}", api.patch("a", &PatchParams::apply("me"), &Patch::Apply(&p)).await.err().map(|e|e.to_string()));
    println!("{}", serde_json::to_string(&api.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(&p)).await?)?);
    println!("{}", serde_json::to_string(&api.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(&p)).await?)?);
    println!("{:?}", api.list(&Default::default()).await?.items.len());
    let d: Api<Deployment> = Api::namespaced(c.clone(), "default");
    let t=std::time::Instant::now();
    let p = serde_json::json!({"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"x","image":"y","resources":{"limits":{"cpu":"1000m"}}}]}}}});
    println!("{}", serde_json::to_string(&d.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(&p)).await?)?);
    println!("apply {:?}", t.elapsed());
    let t=std::time::Instant::now();
    println!("{}", serde_json::to_string(&d.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(&p)).await?)?.len());
    println!("apply {:?}", t.elapsed());
    println!("{:?}", api.delete("a", &DeleteParams::default()).await?);
    println!("{:?}", api.get_opt("a").await?);
    Ok(())
}
