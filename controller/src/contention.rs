//! Fights about fields: who keeps taking what Baton takes back, and how long to leave a child alone for it.
//!
//! Like [`crate::backoff`] it remembers nothing but pace; a restart begins with what the status tells. Refuses to know how a
//! field is taken.
//!
//! The third time that Baton sets the same field right, within a while of the time before, is a fight: another manager took
//! it, or removed it, in between. From then on the child is left alone after each such write, for a pause that doubles up to
//! [`LONGEST_PAUSE`]: however fast the other side is, the writes are bounded. A fight is over when the field stays Baton's for
//! twice the longest time that the other side took so far.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use crate::child::ChildKind;

/// How often a field is taken before that counts as a fight.
const FIGHT: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// The shortest time after which a fight may count as over.
const SHORTEST_CALM: Duration = Duration::from_secs(10);
/// A field that is taken again after a longer time than this isn't fought about.
const MEMORY: Duration = Duration::from_mins(10);

const SOMEBODY: &str = "somebody";

/// The children of all Workloads that are fought about, or may soon be.
#[derive(Debug, Default)]
pub struct Contention {
    /// By the Workload's uid.
    workloads: HashMap<String, BTreeMap<ChildKind, Fought>>,
    /// When Workloads that are gone were forgotten last.
    swept: Option<Instant>,
}

/// What is known about one child.
#[derive(Debug, Default)]
struct Fought {
    fields: BTreeMap<String, Rounds>,
    /// The generation of the Workload's spec at the last write: the edit of a person isn't held back.
    generation: i64,
}

impl Fought {
    fn fights(&self) -> impl Iterator<Item = (&String, &Rounds)> {
        self.fields.iter().filter(|(_, rounds)| rounds.is_fight())
    }

    /// Until when the child is left alone.
    fn resume_at(&self) -> Option<Instant> {
        self.fights().map(|(_, rounds)| rounds.last + rounds.pause()).max()
    }
}

/// How often one field was set right.
#[derive(Clone, Debug)]
struct Rounds {
    /// Who took it last; empty where that can't be told, because the other side owns nothing by it.
    manager: String,
    count: u32,
    last: Instant,
    longest_gap: Duration,
}

/// A field that is fought about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested {
    /// The child.
    pub child: ChildKind,
    /// The field's path.
    pub path: String,
    /// The manager that took it last, or `somebody` where that can't be told.
    pub manager: String,
    /// How often Baton took it back in this fight.
    pub count: u32,
    /// How long the child is left alone after the last time.
    pub pause: Duration,
}

impl Rounds {
    fn is_fight(&self) -> bool {
        self.count >= FIGHT
    }

    fn pause(&self) -> Duration {
        let doublings = self.count.saturating_sub(FIGHT);
        FIRST_PAUSE.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
    }

    /// When it is forgotten if nothing more happens: a fight is over then.
    fn over_at(&self) -> Instant {
        let calm = if self.is_fight() {
            (2 * self.longest_gap.max(self.pause())).clamp(SHORTEST_CALM, 2 * MEMORY)
        } else {
            MEMORY
        };
        self.last + calm
    }
}

impl Contention {
    /// Notes that Baton has just set fields of a child: paths, each with the manager that it was taken from, or none.
    ///
    /// A field that was nobody's is only news where the spec is the same as at the write before.
    pub fn wrote<'t>(
        &mut self,
        uid: &str,
        child: ChildKind,
        generation: i64,
        fields: impl IntoIterator<Item = (&'t str, Option<&'t str>)>,
        now: Instant,
    ) {
        self.sweep(now);
        let fought = self.workloads.entry(uid.to_owned()).or_default().entry(child).or_default();
        let was_edited = fought.generation != generation;
        fought.generation = generation;
        // Several managers may hold one field: it is taken once all the same.
        let fields: BTreeMap<&str, Option<&str>> = fields.into_iter().collect();
        for (path, manager) in fields {
            let rounds = fought.fields.entry(path.to_owned()).or_insert_with(|| Rounds {
                manager: String::new(),
                count: 0,
                last: now,
                longest_gap: Duration::ZERO,
            });
            let gap = now.saturating_duration_since(rounds.last);
            if gap > MEMORY || (was_edited && manager.is_none()) {
                (rounds.count, rounds.longest_gap) = (0, Duration::ZERO);
            } else {
                rounds.longest_gap = rounds.longest_gap.max(gap);
            }
            rounds.count += 1;
            rounds.last = now;
            if let Some(manager) = manager {
                manager.clone_into(&mut rounds.manager);
            }
        }
    }

    /// Notes what an earlier process had seen of a fight: a field that was taken this often, the last time this long ago.
    /// What is known already stays.
    pub fn recall(
        &mut self,
        uid: &str,
        child: ChildKind,
        generation: i64,
        (path, manager): (&str, &str),
        count: u32,
        last: Instant,
    ) {
        let fought = self.workloads.entry(uid.to_owned()).or_default().entry(child).or_default();
        fought.generation = fought.generation.max(generation);
        let rounds = Rounds { manager: manager.to_owned(), count, last, longest_gap: Duration::ZERO };
        fought.fields.entry(path.to_owned()).or_insert(rounds);
    }

    /// The children of a Workload that are to be left alone now. An edit of the spec ends the pause once.
    pub fn held_back(&self, uid: &str, generation: i64, now: Instant) -> Vec<ChildKind> {
        let of_workload = self.workloads.get(uid).into_iter().flatten();
        let held = |fought: &Fought| {
            fought.generation == generation && fought.resume_at().is_some_and(|resume_at| resume_at > now)
        };
        of_workload.filter(|(_, fought)| held(fought)).map(|(child, _)| *child).collect()
    }

    /// The fights about a Workload's children, in the order of the children and paths. Those that are over are forgotten.
    pub fn fights(&mut self, uid: &str, now: Instant) -> Vec<Contested> {
        let Some(children) = self.workloads.get_mut(uid) else { return Vec::new() };
        forget_what_is_over(children, now);
        let of_child = |(child, fought): (&ChildKind, &Fought)| {
            let contested = |(path, rounds): (&String, &Rounds)| Contested {
                child: *child,
                path: path.clone(),
                manager: if rounds.manager.is_empty() { SOMEBODY.to_owned() } else { rounds.manager.clone() },
                count: rounds.count,
                pause: rounds.pause(),
            };
            fought.fights().map(contested).collect::<Vec<_>>()
        };
        children.iter().flat_map(of_child).collect()
    }

    /// Forgets, now and then, what is over of every Workload, also of those that nobody asks for any more.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < MEMORY) {
            return;
        }
        self.swept = Some(now);
        self.workloads.retain(|_, children| {
            forget_what_is_over(children, now);
            !children.is_empty()
        });
    }

    /// When the Workload has to be looked at again after a pass that `begun` then: a child's pause ends, or a fight may be over.
    /// It may be past already: what ended while the pass was under way did so without the pass.
    pub fn next_look(&self, uid: &str, begun: Instant) -> Option<Instant> {
        let moments =
            self.workloads.get(uid)?.values().flat_map(|fought| {
                fought.fights().map(|(_, rounds)| rounds.over_at()).chain(fought.resume_at())
            });
        moments.filter(|moment| *moment > begun).min()
    }
}

fn forget_what_is_over(children: &mut BTreeMap<ChildKind, Fought>, now: Instant) {
    children.retain(|_, fought| {
        fought.fields.retain(|_, rounds| rounds.over_at() > now);
        !fought.fields.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: ChildKind = ChildKind::Deployment;
    const IMAGE: &str = ".spec.template.spec.containers[name=\"app\"].image";

    /// Lets a rogue take the image whenever it is Baton's, and Baton take it back as soon as it may; returns when.
    fn fight(
        contention: &mut Contention,
        start: Instant,
        lasts: Duration,
        rogue_takes_after: Duration,
    ) -> Vec<Duration> {
        let (mut takes, mut now) = (Vec::new(), start);
        while now < start + lasts {
            contention.wrote("u", CHILD, 1, [(IMAGE, Some("rogue"))], now);
            takes.push(now - start);
            now += rogue_takes_after;
            if contention.held_back("u", 1, now).contains(&CHILD) {
                now = contention.next_look("u", now).unwrap();
            }
        }
        takes
    }

    #[test]
    fn writes_in_a_fight_are_bounded_however_fast_the_other_side_is() {
        let mut contention = Contention::default();
        let takes = fight(&mut contention, Instant::now(), Duration::from_mins(1), Duration::from_millis(1));
        let seconds: Vec<u64> = takes.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [0, 0, 0, 1, 3, 7, 15, 31]);
    }

    #[test]
    fn the_pause_ends_at_its_cap() {
        let mut contention = Contention::default();
        let takes = fight(&mut contention, Instant::now(), Duration::from_hours(5), Duration::from_millis(1));
        let longest = takes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap();
        assert_eq!(longest, LONGEST_PAUSE);
        assert!(takes.len() < 75, "{}", takes.len());
    }

    #[test]
    fn a_fight_names_the_field_and_the_manager_and_ends_by_itself() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        let takes = fight(&mut contention, start, Duration::from_secs(20), Duration::from_millis(100));
        let last = start + *takes.last().unwrap();
        let fights = contention.fights("u", last);
        assert_eq!(fights.len(), 1);
        let Contested { child, path, manager, count, .. } = &fights[0];
        assert_eq!((*child, path.as_str(), manager.as_str()), (CHILD, IMAGE, "rogue"));
        assert_eq!(*count as usize, takes.len());

        let mut now = last;
        while !contention.fights("u", now).is_empty() {
            now = contention.next_look("u", now).expect("somebody looks when it may be over");
            assert!(now < last + Duration::from_mins(1), "it never ends");
        }
        assert_eq!(contention.next_look("u", now), None);
    }

    #[test]
    fn a_pause_that_ends_while_a_pass_is_under_way_is_followed_by_another_pass() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        let takes = fight(&mut contention, start, Duration::from_secs(2), Duration::from_millis(1));
        let begun = start + *takes.last().unwrap() + Duration::from_secs(1);
        assert_eq!(contention.held_back("u", 1, begun), [CHILD]);
        let next = contention.next_look("u", begun).unwrap();
        assert!(next > begun + Duration::from_millis(500));
        assert_eq!(contention.next_look("u", begun + Duration::from_millis(500)), Some(next));
        assert!(contention.held_back("u", 1, next).is_empty(), "the next pass writes it");
    }

    #[test]
    fn two_takes_are_no_fight_and_neither_are_takes_far_apart() {
        let (mut contention, mut now) = (Contention::default(), Instant::now());
        for _ in 0..10 {
            contention.wrote("u", CHILD, 1, [(IMAGE, Some("rogue"))], now);
            assert!(contention.fights("u", now).is_empty());
            assert!(contention.held_back("u", 1, now).is_empty());
            now += MEMORY + Duration::from_secs(1);
        }
    }

    #[test]
    fn a_field_that_several_managers_hold_is_taken_once() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        for _ in 1..FIGHT {
            contention.wrote(
                "u",
                CHILD,
                1,
                ["one", "another", "third"].map(|manager| (IMAGE, Some(manager))),
                now,
            );
        }
        assert_eq!(contention.fights("u", now), []);
        contention.wrote("u", CHILD, 1, [(IMAGE, Some("one"))], now);
        assert_eq!(contention.fights("u", now)[0].count, FIGHT);
    }

    #[test]
    fn a_slow_opponent_is_one_too_and_the_fight_isnt_over_between_its_takes() {
        let (mut contention, mut now) = (Contention::default(), Instant::now());
        for round in 1..10 {
            contention.wrote("u", CHILD, 1, [(IMAGE, Some("gitops"))], now);
            let just_before = now + Duration::from_secs(179);
            assert_eq!(contention.fights("u", just_before).len(), usize::from(round >= FIGHT));
            now += Duration::from_mins(3);
        }
    }

    #[test]
    fn an_edit_of_the_spec_is_written_at_once() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        let takes = fight(&mut contention, start, Duration::from_secs(20), Duration::from_millis(100));
        let now = start + *takes.last().unwrap();
        assert_eq!(contention.held_back("u", 1, now), [CHILD]);
        assert_eq!(contention.held_back("u", 2, now), []);
        contention.wrote("u", CHILD, 2, [(IMAGE, Some("rogue"))], now);
        assert_eq!(contention.held_back("u", 2, now), [CHILD], "but not again and again");
    }

    #[test]
    fn a_field_that_is_removed_again_and_again_is_fought_about_too_and_edits_are_not() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        for generation in 1..10 {
            contention.wrote("u", CHILD, generation, [(".metadata.labels.team", None)], now);
            assert!(contention.fights("u", now).is_empty(), "somebody edits the Workload {generation} times");
        }
        for _ in 0..2 {
            contention.wrote("u", CHILD, 9, [(".metadata.labels.team", None)], now);
        }
        assert_eq!(contention.fights("u", now)[0].manager, SOMEBODY);
    }

    #[test]
    fn other_children_are_not_held_back() {
        let (mut contention, start) = (Contention::default(), Instant::now());
        fight(&mut contention, start, Duration::from_secs(20), Duration::from_millis(100));
        contention.wrote("u", ChildKind::Service, 1, [(".spec.type", Some("rogue"))], start);
        assert!(!contention.held_back("u", 1, start).contains(&ChildKind::Service));
        assert!(contention.held_back("other", 1, start).is_empty());
    }

    #[test]
    fn what_an_earlier_process_saw_is_taken_up_again() {
        let (mut contention, now) = (Contention::default(), Instant::now());
        contention.recall("u", CHILD, 1, (IMAGE, "rogue"), 8, now);
        assert_eq!(contention.held_back("u", 1, now), [CHILD]);
        assert_eq!(contention.fights("u", now)[0].count, 8);
    }
}
