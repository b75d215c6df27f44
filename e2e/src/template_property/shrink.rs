//! Shrinks a failure: leaves out what it doesn't need, as long as it fails in the same way.

use baton_testbed::Error;
use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::{
    findings::Example,
    installation::Installation,
    reference::by_hand,
    round::{Breach, Depth, Turn, UNREST, clear, play},
};
use crate::templates::smaller::{Cut, Pair, cuts, without};

/// How many are tried side by side.
const AT_ONCE: usize = 24;

/// Deeper than any edit.
const DEEPEST: usize = 12;

/// An edit that fails, and a description for people.
type Failing = (Pair, String);

/// Shrinks an example of a sort of failure, from the largest parts to the smallest. If its last edit alone doesn't fail, it stays
/// as it is.
pub(super) async fn shrink<S: Installation>(
    installation: &mut S,
    sort: &str,
    example: &mut Example,
) -> Result<(), Error> {
    let whole = (example.before.clone(), example.after.clone());
    // A failure that doesn't need the spec before is smaller without it.
    let mut tries = Tries { installation, sort, count: 0 };
    let Some(mut smallest) = tries.smallest(&[(None, whole.1.clone()), whole]).await? else { return Ok(()) };
    for depth in 1..=DEEPEST {
        let cuts = cuts(&smallest.0, depth);
        let singles: Vec<Pair> = cuts.iter().map(|cut| without(&smallest.0, [cut])).collect();
        let mut good: Vec<&Cut> = Vec::new();
        let mut found: Vec<Failing> = Vec::new();
        for (cuts, pairs) in cuts.chunks(AT_ONCE).zip(singles.chunks(AT_ONCE)) {
            for (pair, shown) in tries.failing(pairs).await? {
                good.extend(pairs.iter().position(|one| *one == pair).map(|at| &cuts[at]));
                found.push((pair, shown));
            }
        }
        // Most parts that can go one by one can go together, or all but one.
        let mut together = vec![without(&smallest.0, good.iter().copied())];
        together.extend((0..good.len()).map(|but| {
            let others = good.iter().enumerate().filter(|(at, _)| *at != but);
            without(&smallest.0, others.map(|(_, cut)| *cut))
        }));
        if good.len() > 1 {
            found.extend(tries.smallest(&together[..together.len().min(AT_ONCE)]).await?);
        }
        found.push(smallest);
        smallest = found.into_iter().min_by_key(size).unwrap_or_default();
    }
    let ((before, after), shown) = smallest;
    *example = Example { before, after, shown, is_small: true, ..example.clone() };
    Ok(())
}

fn size(((before, after), _): &Failing) -> usize {
    before.as_ref().map_or(0, |before| before.to_string().len()) + after.to_string().len()
}

/// Tries edits.
struct Tries<'a, S> {
    installation: &'a mut S,
    sort: &'a str,
    count: usize,
}

impl<S: Installation> Tries<'_, S> {
    async fn smallest(&mut self, pairs: &[Pair]) -> Result<Option<Failing>, Error> {
        Ok(self.failing(pairs).await?.into_iter().min_by_key(size))
    }

    /// The candidates that fail in this way.
    async fn failing(&mut self, pairs: &[Pair]) -> Result<Vec<Failing>, Error> {
        self.count += 1;
        try_all(self.installation, self.sort, pairs, &format!("small-{}", self.count)).await
    }
}

async fn try_all<S: Installation>(
    installation: &mut S,
    sort: &str,
    pairs: &[Pair],
    name: &str,
) -> Result<Vec<Failing>, Error> {
    let previewed = sort.starts_with("the plan") || sort.starts_with("the dry run");
    let depth = match sort {
        sort if sort.starts_with(UNREST) => Depth::Pass,
        sort if sort.starts_with("a restart") => Depth::Restart,
        _ => Depth::Child,
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut tried = Vec::new();
    {
        let installation = &*installation;
        let turn = async |name: &str, spec: &Value, previewed: bool| {
            let by_hand = by_hand(installation, name, spec).await.ok()?;
            Some(Turn { name: name.to_owned(), spec: spec.clone(), by_hand, previewed })
        };
        let turns = async |(number, pair): (usize, &Pair)| {
            let name = format!("{name}-{number}");
            let before = match &pair.0 {
                Some(before) => Some(turn(&name, before, false).await?),
                None => None,
            };
            Some((pair.clone(), before, turn(&name, &pair.1, previewed).await?))
        };
        let all: Vec<_> = stream::iter(pairs.iter().enumerate()).map(turns).buffered(8).collect().await;
        for (pair, before, after) in all.into_iter().flatten() {
            first.extend(before);
            second.push(after);
            tried.push(pair);
        }
    }
    play(installation, &first, Depth::Child).await?;
    let outcomes = play(installation, &second, depth).await?;
    let names: Vec<String> = second.into_iter().map(|turn| turn.name).collect();
    clear(installation, &names).await?;
    let same = |(pair, breaches): (Pair, Vec<Breach>)| {
        let breach = breaches.into_iter().find(|breach| breach.sort == sort)?;
        Some((pair, breach.shown))
    };
    Ok(tried.into_iter().zip(outcomes).filter_map(same).collect())
}
