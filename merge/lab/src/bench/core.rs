//! The rows in Rust.

use std::{fmt::Display, hint::black_box, time::Duration};

use anyhow::{Context as _, Error, Result, anyhow};
use baton_merge::{
    Arena, Release,
    fieldpath::FieldSet,
    predict::Apply,
    server::{Live, Resource, Resources, Spelling, Stored, Write},
    typed::{Duplicates, Typed, ValueComparison},
    value::Value,
};
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};

use super::{Row, objects::Subject};

/// Runs work and measures it.
pub type Meter<'m> = dyn FnMut(&mut dyn FnMut()) + 'm;

/// Runs work and counts its allocations and their bytes. The program supplies it, since counting is up to its allocator.
pub type CountAllocations = fn(&mut dyn FnMut()) -> (u64, u64);

/// The most results in an arena before it is reset, for rows whose reset drops the input as well.
const RESULTS: usize = 8;
/// The target duration of a batch between two reads of the clock: long against a read, short against a run.
const BATCH: Duration = Duration::from_millis(1);

/// An object, prepared for all rows.
pub struct Core<'s> {
    subject: &'s Subject,
    resources: &'s Resources,
    resource: Resource<'s>,
    now: Timestamp,
    /// The live object as JSON text.
    text: String,
    /// The field sets of its managers, as text and parsed.
    texts: Vec<String>,
    sets: Vec<FieldSet<'s>>,
    /// The fields of the whole live object, and of the intent.
    whole: FieldSet<'s>,
    owned: FieldSet<'s>,
}

/// Memory that is reused from op to op.
#[derive(Default)]
struct Memory {
    arena: Arena,
    /// For text.
    out: String,
}

/// The result of an op.
enum Outcome<'a> {
    Stored(Stored<'a>),
    Comparison(ValueComparison<'a>),
    Set(FieldSet<'a>),
    /// Field sets, which went to the black box.
    Sets,
    /// Text, which went to the output.
    Text,
    /// Whether the apply is a no-op.
    Noop(bool),
}

impl<'s> Core<'s> {
    /// Prepares an object, in an arena that isn't used for anything else.
    pub fn new(subject: &'s Subject, resources: &'s Resources, arena: &'s Arena) -> Result<Self> {
        let resource = resources
            .get(&subject.gvk)
            .with_context(|| format!("the kind of {} isn't in the document", subject.name))?;
        let entries = subject.live["metadata"]["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
        let sets: Result<Vec<_>, _> =
            entries.iter().map(|entry| FieldSet::from_fields_v1(arena, &entry["fieldsV1"])).collect();
        let sets = sets.map_err(|error| anyhow!("{}: {error}", subject.name))?;
        let mut core = Self {
            subject,
            resources,
            resource,
            now: Timestamp::now(),
            text: subject.live.to_string(),
            texts: sets.iter().map(FieldSet::to_fields_v1_text).collect(),
            sets,
            whole: FieldSet::default(),
            owned: FieldSet::default(),
        };
        let to_set =
            |object| core.typed(arena, object)?.to_set().map_err(|error| core.refused(Row::ToSet, error));
        let (whole, owned) = (to_set(&subject.bare_live)?, to_set(&subject.intent)?);
        (core.whole, core.owned) = (whole, owned);
        Ok(core)
    }

    /// The size of the live object, for people.
    pub fn describe(&self) -> String {
        let managers: Vec<_> = self.sets.iter().map(|set| set.len().to_string()).collect();
        let (bytes, paths) = (self.text.len(), self.whole.len());
        format!("{bytes} bytes of JSON, {paths} paths, of which its managers own {}", managers.join(" + "))
    }

    /// The result of a row for the object: the object after a write, or field sets.
    pub fn check(&self, row: Row) -> Result<Json> {
        let arena = Arena::new();
        let mut out = String::new();
        Ok(match self.op(row, &arena, &mut out)? {
            Outcome::Stored(stored) => stored.to_json(),
            Outcome::Comparison(sets) => {
                json!([sets.added, sets.modified, sets.removed].map(|set| set.to_fields_v1_text()))
            }
            Outcome::Set(set) => json!([set.to_fields_v1_text()]),
            Outcome::Sets => {
                let again =
                    |text| FieldSet::from_fields_v1_text(&arena, text).map(|set| set.to_fields_v1_text());
                let texts: Result<Vec<_>, _> = self.texts.iter().map(|text| again(text)).collect();
                json!(texts.map_err(|error| self.refused(row, error))?)
            }
            Outcome::Text => json!([out]),
            // A no-op keeps the object; a check that calls everything a no-op is wrong.
            Outcome::Noop(true) if !self.is_noop(row, &arena, &self.subject.next)? => {
                self.subject.live.clone()
            }
            Outcome::Noop(_) => {
                return Err(self.refused(row, "the check can't distinguish what changes from what doesn't"));
            }
        })
    }

    /// Repeats a row for about this long, and returns the nanoseconds of an op.
    pub fn time(&self, row: Row, duration: Duration) -> Result<f64> {
        let mut memory = Memory::default();
        time(duration, |ops, meter| self.repeat(row, &mut memory, ops, meter))
    }

    /// The allocations of a row and their bytes, once its arena has grown.
    pub fn count(&self, row: Row, count: CountAllocations) -> Result<(u64, u64)> {
        let mut memory = Memory::default();
        self.repeat(row, &mut memory, 2 * RESULTS, &mut |work| work())?;
        let mut counted = (0, 0);
        self.repeat(row, &mut memory, 1, &mut |work| counted = count(work))?;
        Ok(counted)
    }

    /// The nanoseconds for parsing the live object's JSON into a tree, without freeing it.
    pub fn time_parsing(&self, duration: Duration) -> Result<f64> {
        let mut parsed = Vec::new();
        time(duration, |ops, meter| {
            for start in (0..ops).step_by(RESULTS) {
                let parse = |_| serde_json::from_str::<Json>(&self.text);
                meter(&mut || parsed.extend((start..ops.min(start + RESULTS)).map(parse)));
                for json in parsed.drain(..) {
                    black_box(json?);
                }
            }
            Ok(())
        })
    }

    /// Runs a row `ops` times. Only work inside the meter counts.
    fn repeat(&self, row: Row, memory: &mut Memory, ops: usize, meter: &mut Meter<'_>) -> Result<()> {
        let Memory { arena, out } = memory;
        let mut failed = None;
        let mut end = |outcome: Result<Outcome<'_>>| match outcome {
            Ok(outcome) => drop(black_box(outcome)),
            Err(error) => failed = Some(error),
        };
        if matches!(row, Row::Compare | Row::ToSet) {
            for start in (0..ops).step_by(RESULTS) {
                arena.reset();
                let typed = self.typed_pair(arena)?;
                meter(&mut || {
                    (start..ops.min(start + RESULTS)).for_each(|_| end(self.typed_op(row, &typed)));
                });
            }
        } else {
            meter(&mut || {
                for _ in 0..ops {
                    arena.reset();
                    end(self.op(row, arena, out));
                }
            });
        }
        failed.map_or(Ok(()), Err)
    }

    /// Runs a row once. `out` is for text.
    fn op<'a>(&'a self, row: Row, arena: &'a Arena, out: &mut String) -> Result<Outcome<'a>> {
        let subject = self.subject;
        Ok(match row {
            Row::Create => self.apply(row, arena, None, &subject.intent, out)?,
            Row::Apply => self.apply(row, arena, Some(&subject.live), &subject.next, out)?,
            Row::ApplyAgain => self.apply(row, arena, Some(&subject.live), &subject.intent, out)?,
            Row::Update => {
                let live = Some(self.live(row, arena, &subject.live)?);
                let object = self.value(row, arena, &subject.updated)?;
                let stored = self.resource.update(arena, live, object, self.write(&subject.updater));
                self.written(row, stored, out)?
            }
            Row::Compare | Row::ToSet => self.typed_op(row, &self.typed_pair(arena)?)?,
            Row::Read => {
                for text in &self.texts {
                    let set = FieldSet::from_fields_v1_text(arena, text);
                    black_box(set.map_err(|error| self.refused(row, error))?);
                }
                Outcome::Sets
            }
            Row::Write => {
                out.clear();
                self.sets.iter().for_each(|set| set.write_fields_v1(out));
                Outcome::Text
            }
            Row::Union => Outcome::Set(self.whole.union(arena, self.owned)),
            Row::Difference => Outcome::Set(self.whole.difference(arena, self.owned)),
            Row::PredictNoop => Outcome::Noop(self.is_noop(row, arena, &subject.intent)?),
        })
    }

    /// Runs a row on the live object and the one after the update, both typed.
    fn typed_op<'a>(&self, row: Row, [live, updated]: &[Typed<'a>; 2]) -> Result<Outcome<'a>> {
        match row {
            Row::Compare => live.compare(updated).map(Outcome::Comparison),
            _ => live.to_set().map(Outcome::Set),
        }
        .map_err(|error| self.refused(row, error))
    }

    fn apply<'a>(
        &'a self,
        row: Row,
        arena: &'a Arena,
        live: Option<&'a Json>,
        intent: &'a Json,
        out: &mut String,
    ) -> Result<Outcome<'a>> {
        let live = live.map(|live| self.live(row, arena, live)).transpose()?;
        let intent = self.value(row, arena, intent)?;
        let stored = self.resource.apply(arena, live, intent, self.write(&self.subject.applier), false);
        self.written(row, stored, out)
    }

    /// Ends a write as a server does: with the text of the field sets.
    fn written<'a>(
        &self,
        row: Row,
        stored: Result<Stored<'a>, impl Display>,
        out: &mut String,
    ) -> Result<Outcome<'a>> {
        let stored = stored.map_err(|error| self.refused(row, error))?;
        out.clear();
        stored.managed_fields.iter().for_each(|entry| entry.fields.write_fields_v1(out));
        Ok(Outcome::Stored(stored))
    }

    fn is_noop(&self, row: Row, arena: &Arena, intent: &Json) -> Result<bool> {
        let (manager, now) = (&self.subject.applier, self.now);
        let apply = Apply { manager, force: false, subresource: "", now, release: RELEASE };
        let live = self.value(row, arena, &self.subject.live)?;
        Ok(self.resource.is_noop(live, self.value(row, arena, intent)?, apply))
    }

    fn write(&self, manager: &'s str) -> Write<'s> {
        Write { manager, subresource: "", now: self.now, release: RELEASE }
    }

    fn live<'a>(&self, row: Row, arena: &'a Arena, object: &'a Json) -> Result<Live<'a>> {
        Ok(Live { object: self.value(row, arena, object)?, spelling: Spelling::UNKNOWN })
    }

    fn value<'a>(&self, row: Row, arena: &'a Arena, object: &'a Json) -> Result<Value<'a>> {
        Value::from_json(arena, object).map_err(|error| self.refused(row, error))
    }

    fn typed_pair<'a>(&'a self, arena: &'a Arena) -> Result<[Typed<'a>; 2]> {
        Ok([self.typed(arena, &self.subject.bare_live)?, self.typed(arena, &self.subject.bare_updated)?])
    }

    fn typed<'a>(&self, arena: &'a Arena, object: &'a Json) -> Result<Typed<'a>>
    where
        's: 'a,
    {
        let value = self.value(Row::ToSet, arena, object)?;
        let (schema, id) = (self.resources.schema(), self.resource.type_id());
        Typed::for_release(RELEASE, arena, schema, id, value, Duplicates::Allowed)
            .map_err(|error| self.refused(Row::ToSet, error))
    }

    fn refused(&self, row: Row, problem: impl Display) -> Error {
        anyhow!("the merge core refuses {row} of {}: {problem}", self.subject.name)
    }
}

/// The release of the Go libraries.
const RELEASE: Release = Release::new(36, 3);

/// The nanoseconds of an op, repeated for about this long after a warm-up.
fn time(duration: Duration, mut repeat: impl FnMut(usize, &mut Meter<'_>) -> Result<()>) -> Result<f64> {
    let mut run = |ops| {
        let mut elapsed = Duration::ZERO;
        repeat(ops, &mut |work| {
            let start = processor_time();
            work();
            elapsed += processor_time().saturating_sub(start);
        })?;
        Ok::<_, Error>(elapsed)
    };
    let mut batch = 1;
    while run(batch)? < BATCH / 2 {
        batch *= 2;
    }
    let (mut ops, mut elapsed) = (0, Duration::ZERO);
    while elapsed < duration {
        elapsed += run(batch)?;
        ops += batch;
    }
    #[expect(clippy::cast_precision_loss, reason = "no run has so many ops")]
    Ok(elapsed.as_secs_f64() * 1e9 / ops as f64)
}

/// The CPU time of this thread. Other work of the machine costs both sides time, but not on this clock.
fn processor_time() -> Duration {
    // A time that isn't negative fits.
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}
