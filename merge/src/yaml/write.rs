//! Converts nodes to JSON: follows aliases, merges merge keys, and converts keys to text.

use std::{collections::HashMap, ops::Range};

use serde_json::json;

use super::{
    Document, Error, MAX_DEPTH,
    nodes::{Content, NodeId, Nodes},
    scalar::{Scalar, resolve},
};

/// The value of a document.
pub(super) fn document(nodes: &Nodes) -> Result<Document, Error> {
    let mut writer = Writer {
        nodes,
        json: String::new(),
        duplicates: Vec::new(),
        aliases: Vec::new(),
        depth: 0,
        visits: 0,
        copies: 0,
    };
    writer.value(Nodes::ROOT)?;
    let Writer { json, duplicates, .. } = writer;
    Ok(Document { json, duplicates })
}

struct Writer<'a> {
    nodes: &'a Nodes,
    json: String,
    duplicates: Vec<String>,
    /// The aliases being followed.
    aliases: Vec<NodeId>,
    depth: usize,
    /// The visited nodes, and those of them that are copies, below an alias.
    visits: u32,
    copies: u32,
}

/// The positions of a map's members in the text, in order.
#[derive(Default)]
struct Members {
    all: Vec<Range<usize>>,
    by_key: HashMap<String, usize>,
    /// Whether a later member replaced one with the same key.
    has_replaced: bool,
}

impl Writer<'_> {
    fn value(&mut self, id: NodeId) -> Result<(), Error> {
        self.visit()?;
        self.below(|writer| writer.content(id))
    }

    fn content(&mut self, id: NodeId) -> Result<(), Error> {
        let node = self.nodes.get(id);
        match &node.content {
            Content::Scalar { text, plain } => {
                let scalar = resolve(node.tag.as_deref(), text, *plain)?;
                self.json.push_str(&in_json(&scalar)?);
            }
            Content::Alias(anchor, of) => self.behind(id, anchor, |writer| writer.value(*of))?,
            Content::Sequence(items) => {
                self.json.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        self.json.push(',');
                    }
                    self.value(*item)?;
                }
                self.json.push(']');
            }
            Content::Mapping(_) => self.map(id)?,
        }
        Ok(())
    }

    fn map(&mut self, id: NodeId) -> Result<(), Error> {
        self.json.push('{');
        let start = self.json.len();
        let mut members = Members::default();
        self.members(id, &mut members)?;
        if members.has_replaced {
            let written = self.json.split_off(start);
            let mut kept: Vec<_> = members.by_key.into_values().collect();
            kept.sort_unstable();
            self.json.extend(kept.into_iter().map(|position| {
                let Range { start: from, end } = members.all[position];
                &written[from - start..end - start]
            }));
        }
        // The comma after the last member.
        if self.json.len() > start {
            self.json.pop();
        }
        self.json.push('}');
        Ok(())
    }

    /// Runs `act` a level deeper. Aliases can make a document deeper than its text.
    fn below(&mut self, act: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        if self.depth > MAX_DEPTH {
            return Err(Error::Yaml(format!("exceeded max depth of {MAX_DEPTH}")));
        }
        self.depth += 1;
        act(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Runs `act` on the target of an alias.
    fn behind(
        &mut self,
        alias: NodeId,
        anchor: &str,
        act: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.aliases.contains(&alias) {
            return Err(Error::yaml(format!("anchor '{anchor}' value contains itself")));
        }
        self.aliases.push(alias);
        act(self)?;
        self.aliases.pop();
        Ok(())
    }

    /// Counts a node, and stops a document whose aliases expand beyond Go's limit.
    fn visit(&mut self) -> Result<(), Error> {
        /// The node counts up to which nearly all may be copies, and from which on only a tenth.
        const RANGE: (f64, f64) = (400_000.0, 4_000_000.0);
        self.visits += 1;
        self.copies += u32::from(!self.aliases.is_empty());
        let (visits, copies) = (f64::from(self.visits), f64::from(self.copies));
        let beyond = ((visits - RANGE.0) / (RANGE.1 - RANGE.0)).clamp(0.0, 1.0);
        if self.copies > 100 && self.visits > 1_000 && copies / visits > 0.99 - 0.89 * beyond {
            return Err(Error::yaml("document contains excessive aliasing"));
        }
        Ok(())
    }

    /// Writes the members of a mapping. A merge key adds those of others, before the map's own.
    fn members(&mut self, id: NodeId, members: &mut Members) -> Result<(), Error> {
        let Content::Mapping(children) = &self.nodes.get(id).content else {
            return Err(Error::yaml("map merge requires map or sequence of maps as the value"));
        };
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge(key) {
                // Of several, the first has precedence, so it comes last.
                match &self.nodes.get(value).content {
                    Content::Sequence(sources) => {
                        sources.iter().rev().try_for_each(|source| self.merge(*source, members))?;
                    }
                    _ => self.merge(value, members)?,
                }
                continue;
            }
            let (key, shown) = self.key(key)?;
            let start = self.json.len();
            self.json.push_str(&json!(key).to_string());
            self.json.push(':');
            self.value(value)?;
            self.json.push(',');
            let replaced = members.by_key.insert(key, members.all.len());
            members.all.push(start..self.json.len());
            if replaced.is_some() {
                members.has_replaced = true;
                let line = self.nodes.get(value).line;
                self.duplicates.push(format!("line {line}: key {shown} already set in map"));
            }
        }
        Ok(())
    }

    fn merge(&mut self, source: NodeId, members: &mut Members) -> Result<(), Error> {
        self.visit()?;
        self.below(|writer| match &writer.nodes.get(source).content {
            Content::Alias(anchor, of) => {
                writer.behind(source, anchor, |writer| writer.members(*of, members))
            }
            _ => writer.members(source, members),
        })
    }

    fn is_merge(&self, key: NodeId) -> bool {
        let key = self.nodes.get(key);
        matches!(&key.content, Content::Scalar { text, plain }
            if text == "<<" && (*plain || key.tag.as_deref() == Some("tag:yaml.org,2002:merge")))
    }

    /// A key as JSON text, and as Go shows it.
    fn key(&mut self, id: NodeId) -> Result<(String, String), Error> {
        self.visit()?;
        let node = self.nodes.get(id);
        match &node.content {
            Content::Scalar { text, plain } => {
                let scalar = resolve(node.tag.as_deref(), text, *plain)?;
                let key = match &scalar {
                    Scalar::Text(text) => return Ok((text.clone(), json!(text).to_string())),
                    Scalar::Bool(value) => value.to_string(),
                    Scalar::Int(number) => number.to_string(),
                    Scalar::Float(number) => float_key(*number),
                    Scalar::Null => return Err(Error::yaml("a key of a map is null: quote it")),
                };
                Ok((key.clone(), key))
            }
            Content::Alias(_, of) if matches!(self.nodes.get(*of).content, Content::Scalar { .. }) => {
                self.key(*of)
            }
            _ => Err(Error::yaml("a key of a map is a list or a map: only text can be one")),
        }
    }
}

fn in_json(scalar: &Scalar) -> Result<String, Error> {
    Ok(match scalar {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Text(text) => json!(text).to_string(),
        Scalar::Float(number) if !number.is_finite() => {
            let shown = if number.is_nan() {
                "NaN"
            } else if *number > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(Error::Number(shown));
        }
        // As Go writes them: the shortest digits; an integral number is an integer for its reader.
        Scalar::Float(number) if number.fract() == 0.0 && number.abs() < 1e21 => number.to_string(),
        Scalar::Float(number) => json!(number).to_string(),
    })
}

/// A float as a key, with the digits of single precision.
#[expect(clippy::cast_possible_truncation, reason = "single precision is what the Go library writes")]
fn float_key(number: f64) -> String {
    let number = number as f32;
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    // Such as `1e6` or `1.5e-7`: the shortest digits, and the exponent.
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    number.to_string()
}
