//! The real autoscaler under real load: the replica count is handed over to it and comes back, and never falls below what was asked
//! for.

use baton_testbed::ReplicaWatch;

use crate::{
    shared::SharedNode,
    workload::{WEB, Web, autoscaled},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn load_on_real_pods_scales_through_a_handover_and_back_without_a_dip() {
    let Some(shared) = SharedNode::enter("autoscaling").await else { return };
    shared.install().await;
    shared.measure().await;
    let web = Web::start(&shared, WEB).await;
    let watch = ReplicaWatch::start(shared.cluster(), web.namespace.name(), "web").await.unwrap();

    // Each pod requests 20m of CPU and uses its limit of 50m, so that the autoscaler scales to its maximum.
    web.load("10m").await;
    web.apply(&autoscaled()).await;
    web.condition("HandedOver", "True").await;
    web.ready(5).await;
    web.serves(5).await;
    let up = watch.history().await.unwrap();
    shared.report(&format!("under load the replicas went {:?}", up.values()));
    up.never_below(2).unwrap();

    // The load goes on, and the pods stay when Baton takes the replica count back.
    web.apply(&WEB.replace("replicas: 2", "replicas: 5")).await;
    web.fixed().await;
    web.ready(5).await;
    let back = watch.history().await.unwrap();
    shared.report(&format!("and back {:?}", back.values()));
    back.never_below(2).unwrap();
    assert_eq!(back.last().unwrap().replicas, 5);
}
