//! The order in which objects are reconciled: a pure queue, fair between namespaces.
//!
//! Objects that are due wait in a line of their namespace, and the lines take turns. So neither many objects of one namespace nor slow
//! ones delay another's, which kube's `Controller` doesn't promise. A pass that waits for a response for long gives its slot back. It
//! still counts among the passes of its namespace, which may have fewer then, and among all passes.
//!
//! An object is in the queue once, and never has two passes at the same time. One that becomes due during its pass has another
//! afterwards.
//!
//! ```
//! use std::{num::NonZeroU16, sync::Arc, time::Instant};
//!
//! use baton_runtime::pace::Queue;
//!
//! let (mut queue, now) = (Queue::new(NonZeroU16::MIN), Instant::now());
//! for (namespace, name) in [("a", "one"), ("a", "two"), ("b", "three")] {
//!     queue.add(Arc::new((namespace.to_owned(), name.to_owned())), now);
//! }
//! let mut order = Vec::new();
//! while let Some(object) = queue.next(now) {
//!     order.push(object.1.clone());
//!     queue.ended(&object, None); // or when the next pass is due
//! }
//! assert_eq!(order, ["one", "three", "two"]);
//! ```

use std::{
    collections::{BTreeSet, HashMap, VecDeque, hash_map::Entry},
    num::NonZeroU16,
    sync::Arc,
    time::{Duration, Instant},
};

/// The namespace and name of an object.
pub type ObjectKey = (String, String);

/// How many passes there may be for each slot, with those that wait for a slow response. Beyond that, each namespace may have one.
const WITH_SLOW: usize = 4;
/// How long an object that comes last waits at most for a moment without another pass.
const LAST_WAITS_FOR: Duration = Duration::from_mins(1);

/// The objects that are due, will be, or are being reconciled.
#[derive(Debug)]
pub struct Queue {
    slots: usize,
    places: HashMap<Arc<ObjectKey>, Place>,
    /// The objects that are due later, by time.
    later: BTreeSet<(Instant, Arc<ObjectKey>)>,
    /// For each namespace, the objects that are due, in the order in which they became so.
    lines: HashMap<String, VecDeque<Arc<ObjectKey>>>,
    /// The namespaces with a line, in the order of their turns.
    turns: VecDeque<String>,
    /// The passes of each namespace that has some, and of all.
    passes: HashMap<String, Count>,
    all: Count,
    last: Option<Last>,
}

/// A count of passes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    running: usize,
    /// The part of them without a slot.
    slow: usize,
}

/// The state of an object in the queue.
#[derive(Debug)]
enum Place {
    Later(Instant),
    Due,
    Running {
        slow: bool,
        /// When it is due again; none if it isn't.
        again: Option<Instant>,
    },
}

/// The object that comes after all others.
#[derive(Debug)]
struct Last {
    key: ObjectKey,
    not_before: Instant,
}

impl Queue {
    /// An empty queue, for so many passes at the same time.
    pub fn new(slots: NonZeroU16) -> Self {
        Self {
            slots: usize::from(slots.get()),
            places: HashMap::new(),
            later: BTreeSet::new(),
            lines: HashMap::new(),
            turns: VecDeque::new(),
            passes: HashMap::new(),
            all: Count::default(),
            last: None,
        }
    }

    /// Puts an object last for its next pass: after all others that are due, and not before this moment. There is one such object;
    /// the one before it takes its place in line.
    pub fn put_last(&mut self, key: ObjectKey, not_before: Instant) {
        if let Some(line) = self.lines.get_mut(&key.0) {
            line.retain(|other| **other != key);
            if line.is_empty() {
                self.lines.remove(&key.0);
                self.turns.retain(|namespace| *namespace != key.0);
            }
        }
        let Some(before) = self.last.replace(Last { key, not_before }) else { return };
        if let Some((before, Place::Due)) = self.places.get_key_value(&before.key) {
            self.line_up(before.clone());
        }
    }

    /// Adds an object that is due at this moment, or earlier if it was already.
    pub fn add(&mut self, key: Arc<ObjectKey>, at: Instant) {
        match self.places.entry(key) {
            Entry::Vacant(entry) => {
                self.later.insert((at, entry.key().clone()));
                entry.insert(Place::Later(at));
            }
            Entry::Occupied(mut entry) => {
                let key = entry.key().clone();
                match entry.get_mut() {
                    Place::Later(before) if at < *before => {
                        self.later.remove(&(*before, key.clone()));
                        self.later.insert((at, key));
                        *before = at;
                    }
                    Place::Running { again, .. } => *again = Some(again.map_or(at, |before| before.min(at))),
                    Place::Later(_) | Place::Due => {}
                }
            }
        }
    }

    /// The next object, whose pass begins now; none while nothing is due, or there is no slot.
    pub fn next(&mut self, now: Instant) -> Option<Arc<ObjectKey>> {
        self.collect(now);
        if !self.has_slot() {
            return None;
        }
        for _ in 0..self.turns.len() {
            let namespace = self.turns.pop_front()?;
            let is_full = self.is_full(&namespace);
            let line = self.lines.get_mut(&namespace)?;
            let next = if is_full { None } else { line.pop_front() };
            if line.is_empty() {
                self.lines.remove(&namespace);
            } else {
                self.turns.push_back(namespace);
            }
            if let Some(key) = next {
                self.begin(&key);
                return Some(key);
            }
        }
        self.next_last(now)
    }

    /// Whether an object is due that has no pass yet, besides the one that comes last.
    pub fn has_due(&self, now: Instant) -> bool {
        !self.turns.is_empty() || self.later.first().is_some_and(|(at, _)| *at <= now)
    }

    /// When [`next`](Self::next) may return another object, if nothing is added and no pass ends before.
    pub fn wake(&self) -> Option<Instant> {
        let later = self.later.first().map(|(at, _)| *at);
        let last = self.last.as_ref().filter(|last| matches!(self.places.get(&last.key), Some(Place::Due)));
        // Without a slot, the end of a pass comes first.
        let last = last.filter(|_| self.has_slot());
        let last = last.map(|last| if self.all.running == 0 { last.not_before } else { last.latest() });
        later.into_iter().chain(last).min()
    }

    /// Takes the slot back from a pass that waits for a response for long.
    pub fn slows_down(&mut self, key: &ObjectKey) {
        if let Some(Place::Running { slow: slow @ false, .. }) = self.places.get_mut(key) {
            *slow = true;
            self.count(&key.0, |passes| passes.slow += 1);
        }
    }

    /// Ends that: the response has come.
    pub fn goes_on(&mut self, key: &ObjectKey) {
        if let Some(Place::Running { slow: slow @ true, .. }) = self.places.get_mut(key) {
            *slow = false;
            self.count(&key.0, |passes| passes.slow -= 1);
        }
    }

    /// Ends a pass. `next` is when the object is due again; none if it isn't.
    pub fn ended(&mut self, key: &Arc<ObjectKey>, next: Option<Instant>) {
        let Some(Place::Running { slow, again }) = self.places.remove(key) else { return };
        self.count(&key.0, |passes| {
            passes.running -= 1;
            passes.slow -= usize::from(slow);
        });
        if let Some(at) = again.into_iter().chain(next).min() {
            self.add(key.clone(), at);
        }
    }

    /// Puts the objects that are due by now in line.
    fn collect(&mut self, now: Instant) {
        while self.later.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, key)) = self.later.pop_first()
        {
            self.places.insert(key.clone(), Place::Due);
            self.line_up(key);
        }
    }

    /// Puts an object that is due in line, unless it comes last.
    fn line_up(&mut self, key: Arc<ObjectKey>) {
        if self.last.as_ref().is_some_and(|last| last.key == *key) {
            return;
        }
        let line = self.lines.entry(key.0.clone()).or_default();
        if line.is_empty() {
            self.turns.push_back(key.0.clone());
        }
        line.push_back(key);
    }

    fn begin(&mut self, key: &Arc<ObjectKey>) {
        self.places.insert(key.clone(), Place::Running { slow: false, again: None });
        self.count(&key.0, |passes| passes.running += 1);
    }

    fn count(&mut self, namespace: &str, change: impl Fn(&mut Count)) {
        change(&mut self.all);
        let passes = self.passes.entry(namespace.to_owned()).or_default();
        change(passes);
        if passes.running == 0 {
            self.passes.remove(namespace);
        }
    }

    fn has_slot(&self) -> bool {
        let Count { running, slow } = self.all;
        running - slow < self.slots
    }

    /// Whether the namespace has to wait for its own passes. While there are very many slow ones, it may have one.
    fn is_full(&self, namespace: &str) -> bool {
        let Count { running, slow } = self.passes.get(namespace).copied().unwrap_or_default();
        let most = match slow {
            _ if self.all.running >= WITH_SLOW * self.slots => 1,
            0 => self.slots,
            _ => self.slots.div_ceil(2),
        };
        running >= most
    }

    /// The object that comes last, once no other pass is under way.
    fn next_last(&mut self, now: Instant) -> Option<Arc<ObjectKey>> {
        let is_its_turn = |last: &Last| {
            now >= last.latest() || (now >= last.not_before && self.all.running == 0 && self.turns.is_empty())
        };
        let last = self.last.as_ref().filter(|last| is_its_turn(last))?;
        let (key, Place::Due) = self.places.get_key_value(&last.key)? else { return None };
        let key = key.clone();
        self.last = None;
        self.begin(&key);
        Some(key)
    }
}

impl Last {
    fn latest(&self) -> Instant {
        self.not_before + LAST_WAITS_FOR
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn key(namespace: &str, name: impl fmt::Display) -> Arc<ObjectKey> {
        Arc::new((namespace.to_owned(), format!("{name:0>2}")))
    }

    /// A queue with four slots.
    fn queue() -> Queue {
        Queue::new(NonZeroU16::new(4).unwrap())
    }

    /// All passes that can begin now, as `namespace/name`.
    fn begun(queue: &mut Queue, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| queue.next(now)).map(|key| format!("{}/{}", key.0, key.1)).collect()
    }

    #[test]
    fn the_lines_of_namespaces_take_turns() {
        let (mut queue, now) = (queue(), Instant::now());
        for number in 0..9 {
            queue.add(key("a", number), now);
        }
        queue.add(key("b", 0), now);
        queue.add(key("c", 0), now);
        assert_eq!(begun(&mut queue, now), ["a/00", "b/00", "c/00", "a/01"]);
        queue.ended(&key("b", 0), None);
        queue.add(key("b", 1), now);
        assert_eq!(begun(&mut queue, now).len(), 1, "as many as there are slots");
    }

    #[test]
    fn a_workload_has_one_pass_at_a_time_and_another_if_it_becomes_due_meanwhile() {
        let (mut queue, now) = (queue(), Instant::now());
        let web = key("a", "web");
        queue.add(web.clone(), now);
        queue.add(web.clone(), now);
        assert_eq!(begun(&mut queue, now), ["a/web"]);
        queue.add(web.clone(), now);
        assert!(begun(&mut queue, now).is_empty());
        queue.ended(&web, Some(now + SECOND));
        assert_eq!(begun(&mut queue, now), ["a/web"], "the earlier one");
        queue.ended(&web, Some(now + SECOND));
        assert!(begun(&mut queue, now).is_empty());
        assert_eq!(queue.wake(), Some(now + SECOND));
        queue.add(web.clone(), now + 2 * SECOND);
        assert_eq!(queue.wake(), Some(now + SECOND), "it isn't put off");
        assert_eq!(begun(&mut queue, now + SECOND), ["a/web"]);
        queue.ended(&web, None);
        assert_eq!(queue.wake(), None);
        assert!(queue.places.is_empty() && queue.passes.is_empty() && queue.lines.is_empty());
    }

    #[test]
    fn a_namespace_whose_passes_are_all_slow_leaves_the_slots_to_others() {
        let (mut queue, now) = (queue(), Instant::now());
        for number in 0..64 {
            queue.add(key("slow", number), now);
        }
        let first = begun(&mut queue, now);
        assert_eq!(first.len(), 4);
        queue.add(key("other", 0), now);
        assert!(begun(&mut queue, now).is_empty(), "no slot");
        for number in 0..4 {
            queue.slows_down(&key("slow", number));
        }
        assert_eq!(begun(&mut queue, now), ["other/00"], "its own is full");
        for number in 0..3 {
            assert!(begun(&mut queue, now).is_empty(), "it has too many");
            queue.ended(&key("slow", number), None);
        }
        assert_eq!(begun(&mut queue, now), ["slow/04"]);
        // A response came: the pass that goes on has its slot again.
        queue.goes_on(&key("slow", 3));
        assert_eq!((queue.all.running, queue.all.slow), (3, 0));
        assert_eq!(begun(&mut queue, now), ["slow/05"], "no other has a slot to lose");
    }

    #[test]
    fn passes_are_limited_and_a_namespace_without_one_waits_for_no_slow_ones() {
        let (mut queue, now) = (queue(), Instant::now());
        for namespace in 0..20 {
            for name in 0..2 {
                queue.add(key(&namespace.to_string(), name), now);
            }
        }
        let mut passes = [0; 20];
        while let Some(slow) = queue.next(now) {
            queue.slows_down(&slow);
            passes[slow.0.parse::<usize>().unwrap()] += 1;
        }
        assert_eq!(passes, [1; 20], "beyond {} passes, each has one", 4 * WITH_SLOW);
    }

    #[test]
    fn the_one_that_is_put_last_begins_when_no_other_has_a_pass() {
        let (mut queue, now) = (queue(), Instant::now());
        queue.put_last((*key("a", "poison")).clone(), now + SECOND);
        for name in ["poison", "web"] {
            queue.add(key("a", name), now);
        }
        assert_eq!(begun(&mut queue, now), ["a/web"]);
        assert!(begun(&mut queue, now + SECOND).is_empty(), "another pass is under way");
        queue.ended(&key("a", "web"), None);
        assert!(begun(&mut queue, now).is_empty(), "not before its time");
        assert_eq!(queue.wake(), Some(now + SECOND));
        assert_eq!(begun(&mut queue, now + SECOND), ["a/poison"]);
        queue.ended(&key("a", "poison"), None);
        queue.add(key("a", "poison"), now);
        assert_eq!(begun(&mut queue, now), ["a/poison"], "only once");
    }

    #[test]
    fn the_one_that_is_put_last_does_not_wait_forever_among_many() {
        let (mut queue, now) = (queue(), Instant::now());
        queue.put_last((*key("a", "poison")).clone(), now);
        for name in ["poison", "web"] {
            queue.add(key("a", name), now);
        }
        assert_eq!(begun(&mut queue, now), ["a/web"]);
        assert_eq!(queue.wake(), Some(now + LAST_WAITS_FOR));
        assert_eq!(begun(&mut queue, now + LAST_WAITS_FOR), ["a/poison"]);
    }

    #[test]
    fn an_object_leaves_its_line_to_come_last_and_takes_its_place_again_when_another_does() {
        let (mut queue, now) = (Queue::new(NonZeroU16::MIN), Instant::now());
        for name in ["first", "poison", "web"] {
            queue.add(key("a", name), now);
        }
        assert_eq!(begun(&mut queue, now), ["a/first"]);
        queue.put_last((*key("a", "poison")).clone(), now);
        queue.put_last((*key("a", "poison")).clone(), now);
        queue.ended(&key("a", "first"), None);
        assert_eq!(begun(&mut queue, now), ["a/web"]);
        queue.put_last((*key("b", "other")).clone(), now);
        queue.ended(&key("a", "web"), None);
        assert_eq!(begun(&mut queue, now), ["a/poison"]);
        queue.ended(&key("a", "poison"), None);
        assert!(queue.places.is_empty() && queue.lines.is_empty() && queue.turns.is_empty());
    }
}
