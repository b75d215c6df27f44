//! Three candidates, again and again: never two leaders.

use std::time::Duration;

use baton_e2e::{End, Operator, scenarios};
use baton_testbed::{Cluster, eventually};
use serde_json::json;
use tokio::time::Instant;

use crate::{candidates::Candidates, judge::Record};

scenarios! { three_candidates_never_have_two_leaders }

const NAMES: [&str; 3] = ["a", "b", "c"];
/// How often the leader is killed or stopped.
const ROUNDS: usize = 6;

async fn three_candidates_never_have_two_leaders(cluster: Cluster) {
    let candidates = Candidates::of(&cluster, &NAMES).await;
    let mut operators: Vec<Operator> = Vec::new();
    for started in futures::future::join_all(NAMES.map(|name| candidates.start(name, None))).await {
        operators.push(started);
    }
    let is_done = std::sync::atomic::AtomicBool::new(false);
    // The leader always has something to write.
    let users = async {
        let mut replicas = 1;
        while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
            replicas = replicas % 5 + 1;
            candidates.env.apply(&json!({"replicas": replicas})).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let rounds = async {
        for round in 0..ROUNDS {
            let leader =
                eventually("a leader", async || candidates.holder().await.ok_or("there is no leader")).await;
            let place = NAMES.iter().position(|name| *name == leader).unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
            let begun = Instant::now();
            if round % 2 == 0 {
                operators[place].kill();
            } else {
                assert_eq!(operators[place].stop().await.unwrap(), End::Success);
            }
            let next = eventually("another leader", async || match candidates.holder().await {
                Some(holder) if holder != leader => Ok(holder),
                holder => Err(holder),
            })
            .await;
            println!("round {round}: {leader} was replaced by {next} after {:.1?}", begun.elapsed());
            operators[place] = candidates.start(NAMES[place], None).await;
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    futures::join!(users, rounds);
    let record = Record::of(&candidates);
    record.no_operator_wrote_without_the_lease();
    assert!(record.terms.len() > ROUNDS, "{:#?}", record.terms);
    println!("writes: {:?}", record.writes_by_user());
}
