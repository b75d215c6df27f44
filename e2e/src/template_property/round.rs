//! One step of Workloads side by side: each is edited, and the property is checked.

use std::{collections::BTreeMap, time::Duration};

use baton_controller::decide::child::ChildKind;
use baton_crd::{PlannedChild, Workload};
use baton_testbed::{Error, poll};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    core::{ApiResource, DynamicObject, Status},
};
use serde_json::{Value, json};

use super::{
    difference::{Difference, differences, general, not_as_applied},
    installation::{Installation, News},
    planned,
    reference::{COMPARED, by_hand, children, comparable},
};

/// The field manager of the user that edits Workloads.
const MANAGER: &str = "user";
/// How many requests are under way at the same time.
const AT_ONCE: usize = 8;
/// The beginnings of failures that Baton's writes show.
pub(super) const UNREST: &str = "another pass costs a write";
const WRITES: &str = "an edit takes more writes than it may";
const RESTART: &str = "a restart costs a write";
/// How long Baton may take for an edit.
const APPLIED: Duration = Duration::from_secs(30);

/// One Workload's turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its name.
    pub name: String,
    /// Its new spec.
    pub spec: Value,
    /// The children made by hand from that spec, by kind.
    pub by_hand: Value,
    /// Whether it is previewed before.
    pub previewed: bool,
}

/// How far to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The children.
    Child,
    /// Also another pass of Baton.
    Pass,
    /// And a restart.
    Restart,
}

/// A violation of the property.
#[derive(Clone, Debug)]
pub struct Breach {
    /// The sort of failure, without what only this Workload has.
    pub sort: String,
    /// A description for people.
    pub shown: String,
    /// Whether the child differs from the Workload's spec, so that later edits will likely find it again.
    pub lasts: bool,
}

impl Breach {
    /// Of something that Baton did or reported.
    fn at(what: &str, place: &str, shown: String) -> Self {
        Self { sort: format!("{what}: {}", general(place)), shown, lasts: false }
    }

    /// Of the current state.
    fn lasting(what: &str, place: &str, shown: String) -> Self {
        Self { lasts: true, ..Self::at(what, place, shown) }
    }
}

type Children = BTreeMap<&'static str, DynamicObject>;

/// The observations of a turn of a Workload.
#[derive(Debug, Default)]
struct Seen {
    plan: Option<Vec<PlannedChild>>,
    /// The children before, by kind.
    before: Children,
    /// The children afterwards; absent if the turn ended early.
    after: Option<Children>,
    breaches: Vec<Breach>,
}

/// Plays a round, and returns the breaches of each turn.
pub async fn play<S: Installation>(
    installation: &mut S,
    turns: &[Turn],
    depth: Depth,
) -> Result<Vec<Vec<Breach>>, Error> {
    installation.news()?;
    let board = Board::new(installation);
    let mut all: Vec<Seen> = stream::iter(turns)
        .map(|turn| board.take(turn, installation))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let mut judge = |what: &str, allowed: usize, news: &News| {
        for (seen, turn) in all.iter_mut().zip(turns) {
            seen.judge(turn, news, allowed, what);
        }
    };
    // Two more writes may be needed first: for leftovers, and for what becomes empty.
    judge(WRITES, 3, &installation.news()?);
    // A refused Workload doesn't exist.
    let workloads = board.count().await?;
    if depth >= Depth::Pass {
        installation.reconcile_all(workloads).await?;
        judge(UNREST, 0, &installation.news()?);
    }
    if depth >= Depth::Restart {
        installation.restart(workloads).await?;
        judge(RESTART, 0, &installation.news()?);
    }
    Ok(all.into_iter().map(|seen| seen.breaches).collect())
}

/// Deletes Workloads. Their children go later.
pub async fn clear(installation: &impl Installation, names: &[String]) -> Result<(), Error> {
    let workloads = Board::new(installation).workloads;
    let delete = async |name: &String| match workloads.delete(name, &DeleteParams::background()).await {
        Err(error) if !matches!(&error, kube::Error::Api(status) if status.code == 404) => {
            Err(Error::api(format!("delete {name}"))(error))
        }
        _ => Ok(()),
    };
    stream::iter(names).map(delete).buffer_unordered(AT_ONCE).try_collect().await
}

impl Seen {
    /// Judges what Baton did since: `allowed` is how many writes of each child it may have sent.
    fn judge(&mut self, turn: &Turn, news: &News, allowed: usize, what: &str) {
        for mismatch in news.mismatches.iter().filter(|one| one.name == turn.name) {
            for what in mismatch.what.split("; ") {
                self.breaches.push(Breach::at("wrong prediction", place(what), mismatch.what.clone()));
            }
        }
        // Baton retries a refused write. And if another pass already costs a write, the restart shows nothing new.
        let is_refused = self.after.is_none();
        if is_refused || what == RESTART && self.breaches.iter().any(|breach| breach.sort.starts_with(UNREST))
        {
            return;
        }
        let of = |kind: ChildKind| {
            let sent = news.sent.iter().filter(move |one| one.name == turn.name && one.kind == kind.name());
            sent.skip(allowed)
        };
        for again in COMPARED.into_iter().flat_map(of) {
            let live = self.after.as_ref().and_then(|after| json(after.get(again.kind.as_str())));
            let unlike = match (&again.body, &live) {
                (Some(body), Some(live)) => not_as_applied(body, live),
                _ => Vec::new(),
            };
            let shown = format!("{}\n{}", again.what, lines(&unlike));
            // Zeros explain a write only if nothing else does.
            let odd = unlike.iter().filter(|one| !one.is_unstored_zero());
            let mut sorts: Vec<String> = odd.map(Difference::sort).collect();
            if sorts.is_empty() {
                sorts.push(
                    if unlike.is_empty() { "nothing differs" } else { "only zeros are missing" }.to_owned(),
                );
            }
            let breach = |sort: String| Breach::at(what, &sort, shown.clone());
            self.breaches.extend(sorts.into_iter().map(breach));
        }
    }
}

/// The parts of a spec that the children depend on.
fn content(spec: &Value) -> [Value; 3] {
    ["template", "rollout", "service"].map(|part| spec[part].clone())
}

/// The paths of a wrong prediction, without the values.
fn place(mismatch: &str) -> &str {
    mismatch.split(": predicted").next().unwrap_or_default()
}

fn json(child: Option<&DynamicObject>) -> Option<Value> {
    serde_json::to_value(child?).ok()
}

fn lines<T: ToString>(all: &[T]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The APIs of Workloads and their children.
struct Board {
    workloads: Api<DynamicObject>,
    children: [(ChildKind, Api<DynamicObject>); COMPARED.len()],
}

/// Baton's report about a finished spec.
enum Reported {
    Applied,
    Previewed,
}

impl Board {
    fn new(installation: &impl Installation) -> Self {
        let kind = ApiResource::erase::<Workload>(&());
        Self {
            workloads: Api::namespaced_with(installation.client().clone(), installation.namespace(), &kind),
            children: COMPARED.map(|kind| (kind, children(installation, kind))),
        }
    }

    /// Plays the turn of one Workload, until Baton reports that it has finished.
    async fn take(&self, turn: &Turn, installation: &impl Installation) -> Result<Seen, Error> {
        let mut seen = Seen::default();
        let mut previewed = None;
        if turn.previewed {
            match self.apply(turn, "Preview", &Reported::Previewed).await? {
                Ok(workload) => {
                    previewed = Some(content(&workload.data["spec"]));
                    let plan = workload.data["status"]["plan"].clone();
                    seen.plan = Some(serde_json::from_value(plan).unwrap_or_default());
                    seen.before = self.children(&turn.name).await?;
                }
                Err(breach) => {
                    seen.breaches.push(breach);
                    return Ok(seen);
                }
            }
        }
        let stored = match self.apply(turn, "Enforce", &Reported::Applied).await? {
            Ok(workload) => workload.data["spec"].clone(),
            Err(breach) => {
                seen.breaches.push(breach);
                return Ok(seen);
            }
        };
        // A field that an apply empties is null in the stored Workload, which means the same as absent. The next apply makes it
        // empty, so that the plan was made from another Workload.
        if previewed != Some(content(&stored)) {
            seen.plan = None;
        }
        let wanted = if content(&stored) == content(&turn.spec) {
            turn.by_hand.clone()
        } else {
            let wanted = by_hand(installation, &turn.name, &stored).await;
            wanted.map_err(Error::api(format!("try {} by hand", turn.name)))?
        };
        let after = self.children(&turn.name).await?;
        let shown =
            |kind: ChildKind| Some((kind.name().to_owned(), comparable(kind, after.get(kind.name())?)));
        let found = Value::Object(COMPARED.into_iter().filter_map(shown).collect());
        for difference in differences(&wanted, &found) {
            let (sort, shown) = (difference.sort(), difference.to_string());
            seen.breaches.push(Breach::lasting("the child isn't as by hand", &sort, shown));
        }
        for plan in seen.plan.iter().flatten() {
            let live = |children: &Children| json(children.get(plan.kind.as_str()));
            for (what, place) in planned::faults(plan, live(&seen.before).as_ref(), live(&after).as_ref()) {
                seen.breaches.push(Breach::at(what, self::place(&place), format!("{what}: {place}")));
            }
        }
        seen.after = Some(after);
        Ok(seen)
    }

    async fn count(&self) -> Result<usize, Error> {
        let all = self.workloads.list_metadata(&ListParams::default()).await;
        all.map(|all| all.items.len()).map_err(Error::api("count the Workloads"))
    }

    async fn children(&self, name: &str) -> Result<Children, Error> {
        let mut children = Children::new();
        for (kind, api) in &self.children {
            let child =
                api.get_opt(name).await.map_err(Error::api(format!("read the {} {name}", kind.name())))?;
            children.extend(child.map(|child| (kind.name(), child)));
        }
        Ok(children)
    }

    /// Applies the Workload in this mode, and waits until Baton has reported on it.
    async fn apply(
        &self,
        turn: &Turn,
        mode: &str,
        wanted: &Reported,
    ) -> Result<Result<DynamicObject, Breach>, Error> {
        let mut workload = crate::workload(&turn.name, &turn.spec);
        workload["spec"]["mode"] = mode.into();
        let params = PatchParams::apply(MANAGER).force();
        let applied = match self.workloads.patch(&turn.name, &params, &Patch::Apply(&workload)).await {
            Ok(applied) => applied,
            Err(kube::Error::Api(status)) => {
                return Ok(Err(Breach::lasting(
                    "the Workload is refused",
                    &status.message,
                    status.message.clone(),
                )));
            }
            Err(error) => return Err(Error::api(format!("apply {}", turn.name))(error)),
        };
        let generation = applied.metadata.generation;
        let reported = poll(APPLIED, async || {
            let workload = self.workloads.get(&turn.name).await.map_err(|error| json!(error.to_string()))?;
            let is_done = condition(&workload, generation).is_some_and(|condition| match wanted {
                Reported::Applied => condition["status"] != "Unknown" && condition["reason"] != "Pending",
                Reported::Previewed => condition["reason"] == "Preview",
            });
            if is_done { Ok(workload) } else { Err(workload.data["status"].clone()) }
        });
        let workload = match reported.await {
            Ok(workload) => workload,
            Err(status) => {
                return Ok(Err(Breach::lasting(
                    "Baton doesn't report",
                    mode,
                    format!("the status stays {status:#}"),
                )));
            }
        };
        let condition = condition(&workload, generation).cloned().unwrap_or_default();
        if condition["status"] == "False" {
            let message = condition["message"].as_str().unwrap_or_default();
            return Ok(Err(Breach::lasting(
                "the child is refused",
                &message.replace(&workload.name_any(), "…"),
                message.to_owned(),
            )));
        }
        Ok(Ok(workload))
    }
}

/// The causes of a refusal, without what only this object has.
pub(super) fn causes(status: &Status) -> Vec<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut all: Vec<String> =
        causes.map(|cause| general(&format!("{}: {}", cause.field, cause.message))).collect();
    if all.is_empty() {
        // The rest is about rules that weren't checked for that reason.
        all.extend(status.message.split(", <nil>").next().map(general));
    }
    all.sort();
    all.dedup();
    all
}

/// The condition `Applied` of this generation.
fn condition(workload: &DynamicObject, generation: Option<i64>) -> Option<&Value> {
    let conditions = workload.data["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == "Applied" && one["observedGeneration"].as_i64() == generation)
}

/// The breaches by their sort, one of each.
pub fn by_sort(breaches: &[Breach]) -> BTreeMap<&str, &Breach> {
    breaches.iter().rev().map(|breach| (breach.sort.as_str(), breach)).collect()
}
