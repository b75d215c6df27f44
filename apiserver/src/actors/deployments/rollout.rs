//! The rollout of a Deployment. After `pkg/controller/deployment/sync.go`, `rolling.go` and `recreate.go`.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    numbers::{available, is_rolling, limit, max_surge, max_unavailable, new_replicas},
    sets::{
        DESIRED, MAX, REVISION, Sets, age, annotate, annotate_new, annotate_replicas, annotation, create,
        fresh, revision,
    },
    status::TIMED_OUT,
};
use crate::actors::{
    Pass,
    claim::claim,
    client::Refused,
    object::{controller, int, is_deleted, name, replicas, text, uid},
    view::Object,
};

/// One Deployment during one pass.
pub(super) struct Rollout<'r, 'p> {
    pub(super) pass: &'r mut Pass<'p>,
    pub(super) progressed: &'r mut HashMap<String, Instant>,
    /// As last read or written.
    pub(super) deployment: Value,
}

/// Takes the next step of a Deployment.
pub(super) fn sync(
    pass: &mut Pass<'_>,
    progressed: &mut HashMap<String, Instant>,
    deployment: &Object,
    candidates: Vec<Object>,
) -> Result<(), Refused> {
    let mut rollout = Rollout { pass, progressed, deployment: (**deployment).clone() };
    if rollout.deployment.pointer("/spec/selector") == Some(&json!({})) {
        return rollout.only_observe();
    }
    let own = claim(rollout.pass, deployment, candidates);
    let mut sets = Sets::of(deployment, own.into_iter().map(|set| (*set).clone()).collect());
    if is_deleted(deployment) {
        rollout.sync_revision(&mut sets)?;
        return rollout.sync_status(&sets);
    }
    rollout.note_pause()?;
    let is_paused = rollout.deployment.pointer("/spec/paused") == Some(&true.into());
    rollout.sync_revision(&mut sets)?;
    if is_paused || rollout.is_scaled(&sets) {
        rollout.scale(&mut sets)?;
        if is_paused {
            rollout.clean_up(&sets)?;
        }
        return rollout.sync_status(&sets);
    }
    if is_rolling(&rollout.deployment) { rollout.roll(&mut sets) } else { rollout.recreate(&mut sets) }
}

impl Rollout<'_, '_> {
    /// A Deployment with an empty selector does nothing.
    fn only_observe(&mut self) -> Result<(), Refused> {
        let generation = int(&self.deployment, "/metadata/generation");
        if int(&self.deployment, "/status/observedGeneration") >= generation {
            return Ok(());
        }
        self.deployment["status"]["observedGeneration"] = generation.into();
        self.write_status()
    }

    /// Records a pause or a resume in the Progressing condition, so that a pause doesn't count towards the deadline.
    fn note_pause(&mut self) -> Result<(), Refused> {
        let reason = self.progressing().map(|live| text(live, "/reason").to_owned()).unwrap_or_default();
        if limit(&self.deployment, "progressDeadlineSeconds").is_none() || reason == TIMED_OUT {
            return Ok(());
        }
        let is_paused = self.deployment.pointer("/spec/paused") == Some(&true.into());
        let is_noted = reason == "DeploymentPaused";
        if is_paused && !is_noted {
            self.note_progress("Unknown", "DeploymentPaused", "Deployment is paused");
        } else if !is_paused && is_noted {
            self.note_progress("Unknown", "DeploymentResumed", "Deployment is resumed");
        } else {
            return Ok(());
        }
        self.write_status()
    }

    /// The revision of the current template: one more than the latest of the old ReplicaSets.
    fn revision(sets: &Sets) -> i64 {
        sets.old.iter().map(revision).max().unwrap_or_default().saturating_add(1)
    }

    /// Updates the revision annotations of the new ReplicaSet and the Deployment.
    fn sync_revision(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        let wanted = Self::revision(sets);
        let Some(new) = &mut sets.new else { return Ok(()) };
        let mut has_changed = annotate_new(&self.deployment, new, wanted);
        if int(new, "/spec/minReadySeconds") != int(&self.deployment, "/spec/minReadySeconds") {
            new["spec"]["minReadySeconds"] = int(&self.deployment, "/spec/minReadySeconds").into();
            has_changed = true;
        }
        if has_changed {
            *new = self.pass.update(new, "")?;
        }
        let revision = annotation(new, REVISION).unwrap_or_default().to_owned();
        let found = format!("Found new replica set {:?}", name(new));
        let mut is_new = annotate(&mut self.deployment, REVISION, &revision);
        if limit(&self.deployment, "progressDeadlineSeconds").is_some() && self.progressing().is_none() {
            is_new |= self.note_progress("True", "FoundNewReplicaSet", &found);
        }
        if is_new { self.write_status() } else { Ok(()) }
    }

    /// Creates the ReplicaSet of the current template, if it doesn't exist.
    fn make_new(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        if sets.new.is_some() {
            return Ok(());
        }
        let revision = Self::revision(sets);
        let set = fresh(&self.deployment, &sets.old, revision);
        let has_deadline = limit(&self.deployment, "progressDeadlineSeconds").is_some();
        let made = match create(self.pass, &self.deployment, &set) {
            Ok(Some(made)) => made,
            Ok(None) => {
                let count = int(&self.deployment, "/status/collisionCount") + 1;
                self.deployment["status"]["collisionCount"] = count.into();
                self.write_status()?;
                return Err(Refused::collision(name(&set)));
            }
            Err(refused) => {
                let message =
                    format!("Failed to create new replica set {:?}: {}", name(&set), refused.message);
                if has_deadline
                    && !refused.in_terminating
                    && self.note_progress("False", "ReplicaSetCreateError", &message)
                {
                    self.write_status()?;
                }
                return Err(refused);
            }
        };
        let mut is_new = annotate(&mut self.deployment, REVISION, &revision.to_string());
        if has_deadline {
            let message = format!("Created new replica set {:?}", name(&made));
            is_new |= self.note_progress("True", "NewReplicaSetCreated", &message);
        }
        sets.new = Some(made);
        if is_new { self.write_status() } else { Ok(()) }
    }

    /// Resizes a ReplicaSet. Returns whether its size changed.
    fn resize(&mut self, set: &mut Value, wanted: i64, always: bool) -> Result<bool, Refused> {
        let is_other = replicas(set) != wanted;
        if !is_other && !always {
            return Ok(false);
        }
        let mut resized = set.clone();
        resized["spec"]["replicas"] = wanted.into();
        let is_noted = !annotate_replicas(&self.deployment, &mut resized);
        if is_other || !is_noted {
            *set = self.pass.update(&resized, "")?;
        }
        Ok(is_other)
    }

    /// Whether the Deployment's replica count differs from the one that its ReplicaSets recorded last.
    fn is_scaled(&self, sets: &Sets) -> bool {
        let wanted = replicas(&self.deployment);
        let desired = |set: &Value| annotation(set, DESIRED).and_then(|text| text.parse::<i64>().ok());
        sets.all()
            .filter(|set| replicas(set) > 0)
            .any(|set| desired(set).is_some_and(|desired| desired != wanted))
    }

    /// Scales all ReplicaSets in proportion.
    fn scale(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        let wanted = replicas(&self.deployment);
        let mut all: Vec<&mut Value> = sets.old.iter_mut().chain(&mut sets.new).collect();
        let active = all.iter().filter(|set| replicas(set) > 0).count();
        if active <= 1 {
            // The only ReplicaSet with replicas, otherwise the latest; the new one is last.
            let place = all.iter().position(|set| replicas(set) > 0).or(all.len().checked_sub(1));
            return match place.and_then(|place| all.get_mut(place)) {
                Some(set) => self.resize(set, wanted, false).map(|_| ()),
                None => Ok(()),
            };
        }
        let is_saturated = sets.new.as_ref().is_some_and(|new| {
            replicas(new) == wanted
                && available(new) == wanted
                && annotation(new, DESIRED) == Some(wanted.to_string().as_str())
        });
        if is_saturated {
            for old in sets.old.iter_mut().filter(|old| replicas(old) > 0) {
                self.resize(old, 0, false)?;
            }
            return Ok(());
        }
        if is_rolling(&self.deployment) { self.scale_proportionally(sets) } else { Ok(()) }
    }

    fn scale_proportionally(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        let wanted = replicas(&self.deployment);
        let most = if wanted > 0 { wanted + max_surge(&self.deployment) } else { 0 };
        let mut active: Vec<&mut Value> =
            sets.old.iter_mut().chain(&mut sets.new).filter(|set| replicas(set) > 0).collect();
        let missing = most - active.iter().map(|set| replicas(set)).sum::<i64>();
        active.sort_by(|one, other| {
            let by_age = age(one).cmp(&age(other));
            let by_age = if missing > 0 { by_age.reverse() } else { by_age };
            replicas(other).cmp(&replicas(one)).then(by_age)
        });
        let mut sizes = Vec::new();
        let mut added = 0;
        for set in &active {
            let share = self.share(set, missing, added);
            added += share;
            sizes.push(replicas(set) + share);
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + missing - added).max(0);
        }
        for (set, size) in active.into_iter().zip(sizes) {
            self.resize(set, size, true)?;
        }
        Ok(())
    }

    /// A ReplicaSet's share of the replicas to add or remove.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Numbers of replicas are 32 bits wide.
    fn share(&self, set: &Value, missing: i64, added: i64) -> i64 {
        if missing == 0 || missing == added {
            return 0;
        }
        let wanted = replicas(&self.deployment);
        let before = annotation(set, MAX).and_then(|text| text.parse::<i64>().ok()).filter(|most| *most > 0);
        let before = before.unwrap_or_else(|| int(&self.deployment, "/status/replicas"));
        let fraction = match (wanted, before) {
            (0, _) => -replicas(set),
            (_, 0) => 0,
            _ => {
                let most = wanted + max_surge(&self.deployment);
                (replicas(set).saturating_mul(most) as f64 / before as f64).round() as i64 - replicas(set)
            }
        };
        let rest = missing - added;
        if missing > 0 { fraction.min(rest) } else { fraction.max(rest) }
    }

    /// A step of a rolling update.
    fn roll(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        self.make_new(sets)?;
        if !self.grow_new(sets)? && !self.shrink_old(sets)? && self.is_complete(&self.deployment["status"]) {
            self.clean_up(sets)?;
        }
        self.sync_rollout_status(sets)
    }

    fn grow_new(&mut self, sets: &mut Sets) -> Result<bool, Refused> {
        let (wanted, total) = (replicas(&self.deployment), sets.sum(replicas));
        let Some(new) = &mut sets.new else { return Ok(false) };
        let size = if replicas(new) > wanted {
            wanted
        } else {
            new_replicas(&self.deployment, total, replicas(new))
        };
        self.resize(new, size, false)
    }

    fn shrink_old(&mut self, sets: &mut Sets) -> Result<bool, Refused> {
        if sets.old.iter().all(|old| replicas(old) == 0) {
            return Ok(false);
        }
        let least = replicas(&self.deployment) - max_unavailable(&self.deployment);
        let lacking = sets.new.as_ref().map_or(0, |new| replicas(new) - available(new));
        let spare = sets.sum(replicas) - least - lacking;
        if spare <= 0 {
            return Ok(false);
        }
        // Unavailable pods first, since they serve nothing.
        let removed = self.shrink(&mut sets.old, spare, |old| replicas(old) - available(old))?;
        let healthy = sets.sum(available) - least;
        let more = self.shrink(&mut sets.old, healthy, replicas)?;
        Ok(removed + more > 0)
    }

    /// Removes up to `most` replicas, from the oldest ReplicaSets first. Returns how many it removed.
    fn shrink(&mut self, old: &mut [Value], most: i64, from: impl Fn(&Value) -> i64) -> Result<i64, Refused> {
        let mut taken = 0;
        for set in old.iter_mut().filter(|set| replicas(set) > 0) {
            let count = from(set).min(most - taken);
            if count > 0 {
                let size = replicas(set) - count;
                self.resize(set, size, false)?;
                taken += count;
            }
        }
        Ok(taken)
    }

    /// A step of a `Recreate` update, which deletes all old pods first.
    fn recreate(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        let mut is_shrunk = false;
        for old in &mut sets.old {
            is_shrunk |= self.resize(old, 0, false)?;
        }
        if is_shrunk || self.has_old_pods(sets) {
            return self.sync_rollout_status(sets);
        }
        self.make_new(sets)?;
        let wanted = replicas(&self.deployment);
        if let Some(new) = &mut sets.new {
            self.resize(new, wanted, false)?;
        }
        if self.is_complete(&self.deployment["status"]) {
            self.clean_up(sets)?;
        }
        self.sync_rollout_status(sets)
    }

    fn has_old_pods(&mut self, sets: &Sets) -> bool {
        let is_old = |pod: &Object| {
            let owner = controller(pod).map(|owner| text(owner, "/uid")).unwrap_or_default();
            sets.old.iter().any(|old| uid(old) == owner)
                && !matches!(text(pod, "/status/phase"), "Failed" | "Succeeded")
        };
        sets.old.iter().any(|old| int(old, "/status/replicas") > 0)
            || self.pass.list("", "pods").iter().any(is_old)
    }

    /// Deletes the oldest ReplicaSets without pods, beyond `revisionHistoryLimit`.
    fn clean_up(&mut self, sets: &Sets) -> Result<(), Refused> {
        let Some(kept) = limit(&self.deployment, "revisionHistoryLimit") else { return Ok(()) };
        let mut old: Vec<_> = sets.old.iter().filter(|set| !is_deleted(set)).collect();
        old.sort_by(|one, other| revision(one).cmp(&revision(other)).then(age(one).cmp(&age(other))));
        let surplus = old.len().saturating_sub(usize::try_from(kept).unwrap_or_default());
        for set in old.into_iter().take(surplus) {
            let is_observed = int(set, "/metadata/generation") <= int(set, "/status/observedGeneration");
            if int(set, "/status/replicas") == 0 && replicas(set) == 0 && is_observed {
                match self.pass.delete(set, json!({})) {
                    Err(refused) if refused.code != 404 => return Err(refused),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
