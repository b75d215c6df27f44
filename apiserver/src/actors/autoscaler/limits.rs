//! Bounds, scaling policies and recent recommendations of an autoscaler.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::actors::object::{int, items, text};

/// Seconds that a lower recommendation waits by default.
const STABILIZATION: i64 = 300;

#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) min: i64,
    pub(super) max: i64,
}

impl Bounds {
    pub(super) fn of(autoscaler: &Value) -> Self {
        let min = autoscaler.pointer("/spec/minReplicas").and_then(Value::as_i64).unwrap_or(1);
        Self { min, max: int(autoscaler, "/spec/maxReplicas") }
    }

    pub(super) fn clamp(self, replicas: i64) -> i64 {
        if replicas > self.max { self.max } else { replicas.max(self.min) }
    }
}

/// Recent recommendations and changes of an autoscaler.
#[derive(Default)]
pub(super) struct Memory {
    recommendations: Vec<(Instant, i64)>,
    /// The change of the replica count and its time; negative for a scale-down.
    changes: Vec<(Instant, i64)>,
}

/// The replica count after all limits.
pub(super) struct Decision {
    pub(super) replicas: i64,
    /// Type, status, reason and message of each condition.
    pub(super) conditions: [(&'static str, bool, &'static str, &'static str); 2],
}

/// The policies of a direction.
struct Rules<'v> {
    window: i64,
    select: &'v str,
    policies: &'v [Value],
}

impl<'v> Rules<'v> {
    fn of(autoscaler: &'v Value, direction: &str, window: i64) -> Self {
        let at = |field: &str| format!("/spec/behavior/{direction}/{field}");
        Self {
            window: autoscaler
                .pointer(&at("stabilizationWindowSeconds"))
                .and_then(Value::as_i64)
                .unwrap_or(window),
            select: text(autoscaler, &at("selectPolicy")),
            policies: items(autoscaler, &at("policies")),
        }
    }
}

fn age(now: Instant, at: Instant) -> Duration {
    now.saturating_duration_since(at)
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}

impl Memory {
    /// Counts the target's first replica count as a recommendation.
    pub(super) fn remember_first(&mut self, current: i64, now: Instant) {
        if self.recommendations.is_empty() {
            self.recommendations.push((now, current));
        }
    }

    pub(super) fn remember_change(&mut self, before: i64, after: i64, now: Instant) {
        const LONGEST: Duration = Duration::from_mins(30);
        self.changes.retain(|(at, _)| age(now, *at) <= LONGEST);
        self.changes.push((now, after - before));
    }

    /// Limits a proposal by the stabilization, the policies and the bounds.
    pub(super) fn limit(
        &mut self,
        autoscaler: &Value,
        bounds: Bounds,
        current: i64,
        proposed: i64,
        now: Instant,
    ) -> Decision {
        let has_behavior = autoscaler.pointer("/spec/behavior").is_some();
        let up = Rules::of(autoscaler, "scaleUp", 0);
        let down = Rules::of(autoscaler, "scaleDown", STABILIZATION);
        let stable = self.stable(&up, &down, if has_behavior { Some(current) } else { None }, proposed, now);
        let able = if stable == proposed {
            ("AbleToScale", true, "ReadyForNewScale", "recommended size matches current size")
        } else if has_behavior && proposed >= current {
            let message = "recent recommendations were lower than current one, applying the lowest recent recommendation";
            ("AbleToScale", true, "ScaleUpStabilized", message)
        } else {
            let message = "recent recommendations were higher than current one, applying the highest recent recommendation";
            ("AbleToScale", true, "ScaleDownStabilized", message)
        };
        let (replicas, reason, message) = if has_behavior {
            self.within_rates(&up, &down, bounds, current, stable, now)
        } else {
            within_bounds(bounds, current, stable)
        };
        let limited = ("ScalingLimited", replicas != stable, reason, message);
        Decision { replicas, conditions: [able, limited] }
    }

    /// The proposal after the stabilization window.
    fn stable(
        &mut self,
        up: &Rules<'_>,
        down: &Rules<'_>,
        current: Option<i64>,
        proposed: i64,
        now: Instant,
    ) -> i64 {
        let within = |window: i64| {
            let recent = self.recommendations.iter().filter(move |(at, _)| age(now, *at) < seconds(window));
            recent.map(|(_, replicas)| *replicas)
        };
        let lowest = within(up.window).fold(proposed, i64::min);
        let highest = within(down.window).fold(proposed, i64::max);
        let longest = seconds(up.window.max(down.window));
        self.recommendations.retain(|(at, _)| age(now, *at) < longest);
        // A proposal is recorded once, however often it is computed.
        match self.recommendations.last_mut() {
            Some((at, replicas)) if *replicas == proposed => *at = now,
            _ => self.recommendations.push((now, proposed)),
        }
        // By default only a scale-down is stabilized.
        current.map_or(highest, |current| current.max(lowest).min(highest))
    }

    /// The sum of changes in the last `period` seconds.
    fn change(&self, period: i64, now: Instant) -> i64 {
        let recent = self.changes.iter().filter(|(at, _)| age(now, *at) < seconds(period));
        recent.map(|(_, change)| change).sum()
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Numbers of replicas are 32 bits wide.
    fn limit_of(&self, rules: &Rules<'_>, grows: bool, current: i64, now: Instant) -> i64 {
        let limit = |policy: &Value| {
            let start = current - self.change(int(policy, "/periodSeconds"), now);
            let value = int(policy, "/value");
            let sign = if grows { 1.0 } else { -1.0 };
            match (policy["type"] == "Pods", grows) {
                (true, true) => start.saturating_add(value),
                (true, false) => start.saturating_sub(value),
                (false, _) => {
                    let share = start as f64 * (1.0 + sign * value as f64 / 100.0);
                    if grows { share.ceil() as i64 } else { share as i64 }
                }
            }
        };
        let limits = rules.policies.iter().map(limit);
        let limit = match (rules.select, grows) {
            ("Disabled", _) => None,
            ("Min", true) | ("Max" | "", false) => limits.min(),
            _ => limits.max(),
        };
        let limit = limit.unwrap_or(current);
        if grows { limit.max(current) } else { limit.min(current) }
    }

    fn within_rates(
        &self,
        up: &Rules<'_>,
        down: &Rules<'_>,
        bounds: Bounds,
        current: i64,
        wanted: i64,
        now: Instant,
    ) -> (i64, &'static str, &'static str) {
        if wanted > current {
            let limit = self.limit_of(up, true, current, now);
            let most = bounds.max.min(limit);
            if wanted > most {
                return if bounds.max > limit {
                    (
                        most,
                        "ScaleUpLimit",
                        "the desired replica count is increasing faster than the maximum scale rate",
                    )
                } else {
                    (
                        most,
                        "TooManyReplicas",
                        "the desired replica count is more than the maximum replica count",
                    )
                };
            }
        } else if wanted < current {
            let limit = self.limit_of(down, false, current, now);
            let least = bounds.min.max(limit);
            if wanted < least {
                return if bounds.min < limit {
                    (
                        least,
                        "ScaleDownLimit",
                        "the desired replica count is decreasing faster than the maximum scale rate",
                    )
                } else {
                    (
                        least,
                        "TooFewReplicas",
                        "the desired replica count is less than the minimum replica count",
                    )
                };
            }
        }
        (wanted, "DesiredWithinRange", "the desired count is within the acceptable range")
    }
}

/// The default policy: at most double, or four.
fn within_bounds(bounds: Bounds, current: i64, wanted: i64) -> (i64, &'static str, &'static str) {
    let limit = current.saturating_mul(2).max(4);
    let most = bounds.max.min(limit);
    if wanted < bounds.min {
        (bounds.min, "TooFewReplicas", "the desired replica count is less than the minimum replica count")
    } else if wanted <= most {
        (wanted, "DesiredWithinRange", "the desired count is within the acceptable range")
    } else if bounds.max > limit {
        (most, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
    } else {
        (most, "TooManyReplicas", "the desired replica count is more than the maximum replica count")
    }
}
