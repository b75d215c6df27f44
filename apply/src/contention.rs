//! Contention: two managers set one field again and again. This module pauses the writes of one of them, the controller.
//!
//! A controller that forces its applies and another program that sets the same field would write forever. Pauses bound that.
//! Only the pace is kept in memory; a restart begins from nothing, or from what was [recalled](Contention::recall).
//!
//! Contention begins when the same field is corrected for the third time, each time within ten minutes of the time before:
//! another manager took it over, or removed it, in between. From then on the object is paused after each such write, for a
//! time that doubles up to [`LONGEST_PAUSE`]: however fast the other manager is, the writes are bounded. Contention is over
//! when the field stays set for twice the longest time that the other manager has needed so far.
//!
//! Of an object, [`MOST_FIELDS`] are counted one by one, and all others together as the object itself, with the path `.`: however
//! many fields another manager takes, what is remembered is limited.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::{FieldPath, Takeover};

/// How often a field is corrected before that counts as contention.
const THRESHOLD: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// The shortest time after which contention may count as over.
const SHORTEST_CALM: Duration = Duration::from_secs(10);
/// A field that is taken over again after a longer time than this isn't contested.
const MEMORY: Duration = Duration::from_mins(10);

/// How many fields of an object are counted one by one.
pub const MOST_FIELDS: usize = 1_000;

/// The path for all further fields.
const OTHERS: &str = ".";

const UNKNOWN: &str = "an unknown manager";

/// The fields of some objects that are contested, or may soon be. `K` identifies an object; a generation is that of
/// the custom resource that the object belongs to.
///
/// ```
/// use std::time::Instant;
/// use baton_apply::{FieldPath, contention::{Contention, Correction}};
///
/// let (mut contention, now) = (Contention::default(), Instant::now());
/// let image = FieldPath::spelled(".spec.image");
/// for _ in 0..3 {
///     contention.corrected("web", 1, [Correction { path: image.clone(), from: Some("rogue".to_owned()) }], now);
/// }
/// assert_eq!(contention.contested(now)[0].manager, "rogue");
/// assert_eq!(contention.paused(1, now), ["web"]);
/// ```
#[derive(Clone, Debug)]
pub struct Contention<K>(BTreeMap<K, Corrections>);

impl<K> Default for Contention<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// A field that was corrected: one of [`Effects::takeovers`](crate::Effects::takeovers), or, if it was taken over from no manager, one
/// of [`Effects::sets`](crate::Effects::sets).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The field.
    pub path: FieldPath,
    /// The manager that it was taken over from; `None` if it had no owner.
    pub from: Option<String>,
}

impl From<Takeover> for Correction {
    fn from(Takeover { path, manager, .. }: Takeover) -> Self {
        Self { path, from: Some(manager) }
    }
}

/// The corrected fields of one object.
#[derive(Clone, Debug, Default)]
struct Corrections {
    fields: BTreeMap<FieldPath, Rounds>,
    /// The generation of the custom resource at the last write: an edit by a person isn't paused.
    generation: i64,
}

impl Corrections {
    fn contested(&self) -> impl Iterator<Item = (&FieldPath, &Rounds)> {
        self.fields.iter().filter(|(_, rounds)| rounds.are_contention())
    }

    /// The end of the object's pause.
    fn resume_at(&self) -> Option<Instant> {
        self.contested().map(|(_, rounds)| rounds.last + rounds.pause()).max()
    }
}

/// How often one field was corrected.
#[derive(Clone, Debug)]
struct Rounds {
    /// The manager that took it over last; `None` if that is unknown, because the manager doesn't own the field.
    manager: Option<String>,
    count: u32,
    last: Instant,
    longest_gap: Duration,
}

/// A contested field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested<K> {
    /// The object.
    pub key: K,
    /// The field.
    pub path: FieldPath,
    /// The manager that took it over last, or `an unknown manager`.
    pub manager: String,
    /// How often it was corrected.
    pub count: u32,
    /// How long the object is paused after the last time.
    pub pause: Duration,
}

impl Rounds {
    fn are_contention(&self) -> bool {
        self.count >= THRESHOLD
    }

    fn pause(&self) -> Duration {
        let doublings = self.count.saturating_sub(THRESHOLD);
        FIRST_PAUSE.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
    }

    /// The time at which it is removed if nothing more happens: contention is over then.
    fn over_at(&self) -> Instant {
        let calm = if self.are_contention() {
            (2 * self.longest_gap.max(self.pause())).clamp(SHORTEST_CALM, 2 * MEMORY)
        } else {
            MEMORY
        };
        self.last + calm
    }
}

impl<K: Clone + Ord> Contention<K> {
    /// Records that fields of an object have just been corrected.
    ///
    /// A field without an owner counts only if the generation is the same as at the write before.
    pub fn corrected(
        &mut self,
        key: K,
        generation: i64,
        fields: impl IntoIterator<Item = Correction>,
        now: Instant,
    ) {
        let object = self.0.entry(key).or_default();
        let was_edited = object.generation != generation;
        object.generation = generation;
        // Several managers may own one field: it is corrected once all the same.
        let mut corrected = BTreeMap::new();
        let mut room = MOST_FIELDS.saturating_sub(object.fields.len());
        for Correction { path, from } in fields {
            let is_new = !object.fields.contains_key(&path) && !corrected.contains_key(&path);
            let path = if is_new && room == 0 { FieldPath::spelled(OTHERS) } else { path };
            room -= usize::from(is_new && room > 0);
            corrected.insert(path, from);
        }
        for (path, from) in corrected {
            let rounds = object.fields.entry(path).or_insert(Rounds {
                manager: None,
                count: 0,
                last: now,
                longest_gap: Duration::ZERO,
            });
            let gap = now.saturating_duration_since(rounds.last);
            if gap > MEMORY || (was_edited && from.is_none()) {
                (rounds.count, rounds.longest_gap) = (0, Duration::ZERO);
            } else {
                rounds.longest_gap = rounds.longest_gap.max(gap);
            }
            rounds.count += 1;
            rounds.last = now;
            rounds.manager = from.or_else(|| rounds.manager.take());
        }
    }

    /// Records what an earlier process saw: a field that was taken over by this manager, how often, and when last. An existing record
    /// stays.
    pub fn recall(
        &mut self,
        key: K,
        generation: i64,
        path: FieldPath,
        manager: String,
        count: u32,
        last: Instant,
    ) {
        let object = self.0.entry(key).or_default();
        object.generation = object.generation.max(generation);
        let rounds = Rounds { manager: Some(manager), count, last, longest_gap: Duration::ZERO };
        object.fields.entry(path).or_insert(rounds);
    }

    /// Whether fields of an object have been corrected lately.
    pub fn is_about(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Forgets the fields of an object that the controller doesn't set any more; the contention about them is over. The object itself
    /// is forgotten with the last of its fields.
    pub fn retain(&mut self, key: &K, is_set: impl Fn(&FieldPath) -> bool) {
        if let Some(object) = self.0.get_mut(key) {
            object.fields.retain(|path, _| path.as_str() == OTHERS || is_set(path));
            if object.fields.keys().all(|path| path.as_str() == OTHERS) {
                self.0.remove(key);
            }
        }
    }

    /// The objects that are paused now, all of one custom resource. An edit of that ends the pause once.
    pub fn paused(&self, generation: i64, now: Instant) -> Vec<K> {
        self.0.keys().filter(|key| self.pause(key, generation, now).is_some()).cloned().collect()
    }

    /// How long an object is still paused; `None` if it may be written.
    pub fn pause(&self, key: &K, generation: i64, now: Instant) -> Option<Duration> {
        let object = self.0.get(key).filter(|object| object.generation == generation)?;
        object.resume_at()?.checked_duration_since(now).filter(|pause| !pause.is_zero())
    }

    /// The contested fields, in the order of the objects and paths. Removes those whose contention is over.
    pub fn contested(&mut self, now: Instant) -> Vec<Contested<K>> {
        self.0.retain(|_, object| {
            object.fields.retain(|_, rounds| rounds.over_at() > now);
            !object.fields.is_empty()
        });
        let of_object = |(key, object): (&K, &Corrections)| {
            let contested = |(path, rounds): (&FieldPath, &Rounds)| Contested {
                key: key.clone(),
                path: path.clone(),
                manager: rounds.manager.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
                count: rounds.count,
                pause: rounds.pause(),
            };
            object.contested().map(contested).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_object).collect()
    }

    /// The time of the next pass after one that began at `begun`: a pause ends, or contention may be over. The time may be in the
    /// past, if that happened during the pass.
    pub fn next_pass(&self, begun: Instant) -> Option<Instant> {
        let moments = self.0.values().flat_map(|object| {
            object.contested().map(|(_, rounds)| rounds.over_at()).chain(object.resume_at())
        });
        moments.filter(|moment| *moment > begun).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: &str = "web";
    const IMAGE: &str = ".spec.template.spec.containers[name=\"app\"].image";

    fn taken(path: &str, from: &str) -> Correction {
        Correction { path: FieldPath::spelled(path), from: Some(from.to_owned()) }
    }

    fn removed(path: &str) -> Correction {
        Correction { path: FieldPath::spelled(path), from: None }
    }

    /// Lets a rogue take the image each time that Baton owns it, and Baton take it back at each end of a pause; returns when.
    fn contend(
        contention: &mut Contention<&'static str>,
        start: Instant,
        lasts: Duration,
        rogue_takes_after: Duration,
    ) -> Vec<Duration> {
        let (mut takeovers, mut now) = (Vec::new(), start);
        while now < start + lasts {
            contention.corrected(WEB, 1, [taken(IMAGE, "rogue")], now);
            takeovers.push(now - start);
            now += rogue_takes_after;
            if contention.paused(1, now).contains(&WEB) {
                now = contention.next_pass(now).unwrap();
            }
        }
        takeovers
    }

    #[test]
    fn writes_are_bounded_however_fast_the_other_manager_is() {
        let mut contention = Contention::default();
        let takeovers =
            contend(&mut contention, Instant::now(), Duration::from_mins(1), Duration::from_millis(1));
        let seconds: Vec<u64> = takeovers.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [0, 0, 0, 1, 3, 7, 15, 31]);
    }

    #[test]
    fn the_pause_ends_at_its_cap() {
        let mut contention = Contention::default();
        let takeovers =
            contend(&mut contention, Instant::now(), Duration::from_hours(5), Duration::from_millis(1));
        let longest = takeovers.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap();
        assert_eq!(longest, LONGEST_PAUSE);
        assert!(takeovers.len() < 75, "{}", takeovers.len());
    }

    #[test]
    fn contention_names_the_field_and_the_manager_and_ends_by_itself() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        let takeovers = contend(&mut contention, start, Duration::from_secs(20), Duration::from_millis(100));
        let last = start + *takeovers.last().unwrap();
        let contested = contention.contested(last);
        assert_eq!(contested.len(), 1);
        let Contested { key, path, manager, count, .. } = &contested[0];
        assert_eq!((*key, path.as_str(), manager.as_str()), (WEB, IMAGE, "rogue"));
        assert_eq!(*count as usize, takeovers.len());

        let mut now = last;
        while !contention.contested(now).is_empty() {
            now = contention.next_pass(now).expect("a pass is due when it may be over");
            assert!(now < last + Duration::from_mins(1), "it never ends");
        }
        assert_eq!(contention.next_pass(now), None);
    }

    #[test]
    fn a_pause_that_ends_while_a_pass_is_under_way_is_followed_by_another_pass() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        let takeovers = contend(&mut contention, start, Duration::from_secs(2), Duration::from_millis(1));
        let begun = start + *takeovers.last().unwrap() + Duration::from_secs(1);
        assert_eq!(contention.paused(1, begun), [WEB]);
        let next = contention.next_pass(begun).unwrap();
        assert!(next > begun + Duration::from_millis(500));
        assert_eq!(contention.next_pass(begun + Duration::from_millis(500)), Some(next));
        assert!(contention.paused(1, next).is_empty(), "the next pass writes it");
    }

    #[test]
    fn two_takeovers_are_not_contention_and_neither_are_takeovers_far_apart() {
        let (mut contention, mut now) = (Contention::default(), Instant::now());
        for _ in 0..10 {
            contention.corrected(WEB, 1, [taken(IMAGE, "rogue")], now);
            assert!(contention.contested(now).is_empty());
            assert!(contention.paused(1, now).is_empty());
            now += MEMORY + Duration::from_secs(1);
        }
    }

    #[test]
    fn what_is_remembered_of_very_many_fields_is_limited() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        for _ in 0..THRESHOLD {
            let many = (0..3 * MOST_FIELDS).map(|number| taken(&format!(".spec.f{number}"), "rogue"));
            contention.corrected(WEB, 1, many, now);
        }
        let contested = contention.contested(now);
        assert_eq!(contested.len(), MOST_FIELDS + 1);
        assert_eq!(contested[0].path.as_str(), ".", "all others");
        assert!(contested.iter().all(|field| field.count == THRESHOLD));
        contention.corrected(WEB, 1, [taken(IMAGE, "rogue")], now);
        assert_eq!(contention.contested(now)[0].count, THRESHOLD + 1, "one that comes later is one of them");
    }

    #[test]
    fn contention_about_a_field_that_is_not_set_any_more_is_over() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        for _ in 0..THRESHOLD {
            contention.corrected(WEB, 1, [taken(IMAGE, "rogue"), taken(".spec.paused", "rogue")], now);
        }
        contention.retain(&WEB, |path| path.as_str() == IMAGE);
        let contested = contention.contested(now);
        assert_eq!(contested.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), [IMAGE]);
        contention.retain(&WEB, |_| false);
        assert!(contention.contested(now).is_empty() && !contention.is_about(&WEB));
        for _ in 0..THRESHOLD {
            let many = (0..=MOST_FIELDS).map(|number| taken(&format!(".spec.f{number}"), "rogue"));
            contention.corrected(WEB, 1, many, now);
        }
        contention.retain(&WEB, |_| false);
        assert!(contention.contested(now).is_empty(), "also that about all other fields");
    }

    #[test]
    fn a_field_that_several_managers_own_counts_once() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        for _ in 1..THRESHOLD {
            let managers = ["one", "another", "third"];
            contention.corrected(WEB, 1, managers.map(|manager| taken(IMAGE, manager)), now);
        }
        assert!(contention.contested(now).is_empty());
        contention.corrected(WEB, 1, [taken(IMAGE, "one")], now);
        assert_eq!(contention.contested(now)[0].count, THRESHOLD);
    }

    #[test]
    fn a_slow_manager_causes_contention_too_which_is_not_over_between_its_takeovers() {
        let (mut contention, mut now) = (Contention::default(), Instant::now());
        for round in 1..10 {
            contention.corrected(WEB, 1, [taken(IMAGE, "gitops")], now);
            let just_before = now + Duration::from_secs(179);
            assert_eq!(contention.contested(just_before).len(), usize::from(round >= THRESHOLD));
            now += Duration::from_mins(3);
        }
    }

    #[test]
    fn an_edit_of_the_spec_is_written_at_once() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        let takeovers = contend(&mut contention, start, Duration::from_secs(20), Duration::from_millis(100));
        let now = start + *takeovers.last().unwrap();
        assert_eq!(contention.paused(1, now), [WEB]);
        assert!(contention.paused(2, now).is_empty());
        contention.corrected(WEB, 2, [taken(IMAGE, "rogue")], now);
        assert_eq!(contention.paused(2, now), [WEB], "but not again and again");
    }

    #[test]
    fn a_field_that_is_removed_again_and_again_is_contested_too_and_edits_are_not() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        for generation in 1..10 {
            contention.corrected(WEB, generation, [removed(".metadata.labels.team")], now);
            assert!(contention.contested(now).is_empty(), "a user edits the Workload {generation} times");
        }
        for _ in 0..2 {
            contention.corrected(WEB, 9, [removed(".metadata.labels.team")], now);
        }
        assert_eq!(contention.contested(now)[0].manager, UNKNOWN);
    }

    #[test]
    fn other_objects_are_not_paused() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        contend(&mut contention, start, Duration::from_secs(20), Duration::from_millis(100));
        contention.corrected("service", 1, [taken(".spec.type", "rogue")], start);
        assert!(!contention.paused(1, start).contains(&"service"));
    }

    #[test]
    fn the_records_of_an_earlier_process_count() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        contention.recall(WEB, 1, FieldPath::spelled(IMAGE), "rogue".to_owned(), 8, now);
        assert_eq!(contention.paused(1, now), [WEB]);
        assert_eq!(contention.contested(now)[0].count, 8);
    }
}
