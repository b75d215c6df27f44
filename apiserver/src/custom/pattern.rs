//! Go's regular expressions, `regexp/syntax` with its Perl flags, translated for the crate `regex`: classes such as `\d`
//! are ASCII, and `{`, `[` and `&&` are literals where they are in Go.

use std::collections::HashSet;

use regex::{Regex, RegexBuilder};

/// Go's limit of repetitions, also of nested ones.
const MOST_REPEATS: u32 = 1000;
/// The memory limit of a compiled pattern. Go's limit of 1,000 repetitions applies first to nearly all patterns.
const MAX_SIZE: usize = 64 << 20;
/// Go's limit of nested groups.
const MAX_DEPTH: u32 = 1000;

const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Compiles a pattern of Go.
///
/// # Errors
/// The message of Go or the crate.
pub(super) fn compile(source: &str) -> Result<Regex, String> {
    let pattern = from_go(source)?;
    let mut builder = RegexBuilder::new(&pattern);
    builder.size_limit(MAX_SIZE).nest_limit(MAX_DEPTH).build().map_err(|why| why.to_string())
}

/// Translates a pattern of Go to the crate's syntax.
///
/// # Errors
/// Go's message. Errors that both report are left to the crate.
pub(super) fn from_go(source: &str) -> Result<String, String> {
    let pattern = String::with_capacity(source.len());
    let mut reader = Reader { rest: source, pattern, names: HashSet::new() };
    reader.read().map_err(|why| format!("error parsing regexp: {why}"))?;
    Ok(reader.pattern)
}

struct Reader<'s> {
    rest: &'s str,
    pattern: String,
    names: HashSet<&'s str>,
}

/// The repetitions of the last item's innermost part.
#[derive(Clone, Copy)]
struct Repeats {
    last: u32,
    most: u32,
}

impl Repeats {
    const NONE: Self = Self { last: 1, most: 1 };

    fn add(&mut self, last: u32) {
        *self = Self { last, most: self.most.max(last) };
    }
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), String> {
        let mut outer = Vec::new();
        let mut here = Repeats::NONE;
        // The start of a repetition that was just read.
        let mut repetition: Option<&str> = None;
        while let Some(first) = self.rest.chars().next() {
            let before = self.rest;
            if let Some(times) = self.repetition(first)? {
                if let Some(start) = repetition {
                    let operators = &start[..start.len() - self.rest.len()];
                    return Err(format!("invalid nested repetition operator: `{operators}`"));
                }
                let repeats = times.saturating_mul(here.last);
                if repeats > MOST_REPEATS {
                    let operator = &before[..before.len() - self.rest.len()];
                    return Err(format!("invalid repeat count: `{operator}`"));
                }
                here.add(repeats);
                repetition = Some(before);
                continue;
            }
            repetition = None;
            match first {
                '(' => {
                    if self.group()? {
                        outer.push(here);
                        here = Repeats::NONE;
                    }
                }
                ')' => {
                    self.copy(")");
                    let inner = here.most;
                    here = outer.pop().unwrap_or(Repeats::NONE);
                    here.add(inner);
                }
                _ => {
                    self.atom(first)?;
                    here.add(1);
                }
            }
        }
        Ok(())
    }

    fn atom(&mut self, first: char) -> Result<(), String> {
        match first {
            '[' => self.class(),
            '\\' => self.escape(),
            '.' | '^' | '$' | '|' => {
                self.take();
                self.pattern.push(first);
                Ok(())
            }
            _ => {
                self.take();
                self.literal(first);
                Ok(())
            }
        }
    }

    /// Reads a repetition and returns its count towards Go's limit: one, unless it has a number. None if there is no
    /// repetition.
    fn repetition(&mut self, first: char) -> Result<Option<u32>, String> {
        let length = match first {
            '*' | '+' | '?' => 1,
            '{' => match self.rest.find('}') {
                Some(end) if bounds(&self.rest[1..end]).is_some() => end + 1,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let operator = &self.rest[..length];
        let mut times = 1;
        if let Some((least, most)) = bounds(operator.trim_start_matches('{').trim_end_matches('}')) {
            let is_allowed = |bound: u32| bound <= MOST_REPEATS;
            if !is_allowed(least) || !most.is_none_or(|most| is_allowed(most) && least <= most) {
                return Err(format!("invalid repeat count: `{operator}`"));
            }
            times = most.unwrap_or(least).max(1);
        }
        let lazy = usize::from(self.rest[length..].starts_with('?'));
        self.copy(&self.rest[..length + lazy]);
        Ok(Some(times))
    }

    /// Reads the start of a group. Returns false for flags alone.
    fn group(&mut self) -> Result<bool, String> {
        let Some(inside) = self.rest.strip_prefix("(?") else {
            self.copy("(");
            return Ok(true);
        };
        if let Some(named) = inside.strip_prefix("P<").or_else(|| inside.strip_prefix('<')) {
            let end = named.find('>').ok_or_else(|| format!("invalid named capture: `{}`", self.rest))?;
            let (name, rest) = (&named[..end], &named[end + 1..]);
            let is_plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(format!("invalid named capture: `(?P<{name}>`"));
            }
            if !self.names.insert(name) {
                return Err(format!("duplicate capture group name: `{name}`"));
            }
            self.rest = rest;
            self.pattern.push('(');
            return Ok(true);
        }
        let end = inside.find(|flag| !"imsU-".contains(flag)).unwrap_or(inside.len());
        let after = inside[end..].chars().next();
        let length = 2 + end + after.map_or(0, char::len_utf8);
        if !matches!(after, Some(':' | ')')) {
            return Err(format!("invalid or unsupported Perl syntax: `{}`", &self.rest[..length]));
        }
        self.copy(&self.rest[..length]);
        Ok(after == Some(':'))
    }

    /// Reads a bracket class.
    fn class(&mut self) -> Result<(), String> {
        let start = self.rest;
        self.copy("[");
        if self.rest.starts_with('^') {
            self.copy("^");
        }
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            is_first = false;
            let posix = self.rest.strip_prefix("[:").and_then(|rest| Some(&rest[..rest.find(":]")?]));
            if let Some(name) = posix {
                let whole = &self.rest[..name.len() + 4];
                if !CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
                    return Err(format!("invalid character class range: `{whole}`"));
                }
                self.copy(whole);
                continue;
            }
            if self.named_class(true) {
                continue;
            }
            let from = self.rest;
            let low = self.class_char(start)?;
            let mut high = low;
            if let Some(rest) = self.rest.strip_prefix('-')
                && !rest.is_empty()
                && !rest.starts_with(']')
            {
                self.rest = rest;
                high = self.class_char(start)?;
                if high < low {
                    let range = &from[..from.len() - self.rest.len()];
                    return Err(format!("invalid character class range: `{range}`"));
                }
            }
            self.literal(low);
            if low != high {
                self.pattern.push('-');
                self.literal(high);
            }
        }
        self.copy("]");
        Ok(())
    }

    fn class_char(&mut self, class: &str) -> Result<char, String> {
        match self.rest.chars().next() {
            None => Err(format!("missing closing ]: `{class}`")),
            Some('\\') => self.escaped(),
            Some(plain) => {
                self.take();
                Ok(plain)
            }
        }
    }

    /// Reads an escape outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        if let Some(quoted) = self.rest.strip_prefix(r"\Q") {
            let (text, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            // A repetition after it applies to the last character.
            text.chars().for_each(|each| self.literal(each));
            self.rest = rest;
            return Ok(());
        }
        // Word boundaries are ASCII.
        for (go, own) in [(r"\b", r"(?-u:\b)"), (r"\A", r"\A"), (r"\B", r"(?-u:\B)"), (r"\z", r"\z")] {
            if let Some(rest) = self.rest.strip_prefix(go) {
                self.rest = rest;
                self.pattern.push_str(own);
                return Ok(());
            }
        }
        if !self.named_class(false) {
            let escaped = self.escaped()?;
            self.literal(escaped);
        }
        Ok(())
    }

    /// Reads a named class, such as `\d` or `\pL`. Returns whether there is one.
    fn named_class(&mut self, is_inside: bool) -> bool {
        for (go, own, is_negated) in [
            (r"\d", "0-9", false),
            (r"\D", "0-9", true),
            (r"\s", r"\t\n\f\r ", false),
            (r"\S", r"\t\n\f\r ", true),
            (r"\w", "0-9A-Za-z_", false),
            (r"\W", "0-9A-Za-z_", true),
        ] {
            if let Some(rest) = self.rest.strip_prefix(go) {
                self.rest = rest;
                let own = match (is_inside, is_negated) {
                    (true, false) => own.to_owned(),
                    (_, true) => format!("[^{own}]"),
                    (false, false) => format!("[{own}]"),
                };
                self.pattern.push_str(&own);
                return true;
            }
        }
        let Some(named) = self.rest.strip_prefix(r"\p").or_else(|| self.rest.strip_prefix(r"\P")) else {
            return false;
        };
        let name = match named.strip_prefix('{') {
            Some(braced) => braced.split_once('}').map(|(name, _)| name),
            None => named.chars().next().map(|first| &named[..first.len_utf8()]),
        };
        let Some(name) = name else { return false };
        let length = 2 + name.len() + 2 * usize::from(named.starts_with('{'));
        let is_negated = self.rest.starts_with(r"\P") != name.starts_with('^');
        let name = name.trim_start_matches('^');
        if !name.chars().all(|each| each.is_ascii_alphanumeric() || "_ -".contains(each)) {
            return false;
        }
        self.rest = &self.rest[length..];
        self.pattern.push_str(if is_negated { r"\P{" } else { r"\p{" });
        self.pattern.push_str(name);
        self.pattern.push('}');
        true
    }

    /// Reads an escaped character.
    fn escaped(&mut self) -> Result<char, String> {
        let start = self.rest;
        self.take();
        let Some(escaped) = self.take() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let invalid =
            |rest: &str| Err(format!("invalid escape sequence: `{}`", &start[..start.len() - rest.len()]));
        let read = match escaped {
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            // A digit alone is a backreference.
            '1'..='7' if !self.rest.starts_with(|next: char| next.is_digit(8)) => None,
            '0'..='7' => {
                let more = self.rest.chars().take(2).take_while(|next| next.is_digit(8)).count();
                let digits = &start[1..2 + more];
                self.rest = &self.rest[more..];
                u32::from_str_radix(digits, 8).ok().and_then(char::from_u32)
            }
            'x' => {
                let (digits, rest) = match self.rest.strip_prefix('{') {
                    Some(braced) => braced.split_once('}').unwrap_or_default(),
                    None => self.rest.split_at_checked(2).unwrap_or_default(),
                };
                let is_hex = !digits.is_empty() && digits.chars().all(|each| each.is_ascii_hexdigit());
                self.rest = rest;
                u32::from_str_radix(digits, 16).ok().filter(|_| is_hex).and_then(char::from_u32)
            }
            mark if mark.is_ascii() && !mark.is_ascii_alphanumeric() => Some(mark),
            _ => None,
        };
        read.map_or_else(|| invalid(self.rest), Ok)
    }

    fn literal(&mut self, each: char) {
        self.pattern.push_str(&regex::escape(each.encode_utf8(&mut [0; 4])));
    }

    fn take(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let first = rest.next();
        self.rest = rest.as_str();
        first
    }

    /// Copies text as it is.
    fn copy(&mut self, text: &str) {
        self.pattern.push_str(text);
        self.rest = &self.rest[text.len()..];
    }
}

/// The bounds of a repetition, such as `2,3`; the upper one may be open.
fn bounds(text: &str) -> Option<(u32, Option<u32>)> {
    let number = |digits: &str| {
        let is_number = !digits.is_empty()
            && digits.chars().all(|digit| digit.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'));
        // A number that is too large exceeds the limit as well.
        is_number.then(|| digits.parse().unwrap_or(u32::MAX))
    };
    match text.split_once(',') {
        None => number(text).map(|times| (times, Some(times))),
        Some((least, "")) => Some((number(least)?, None)),
        Some((least, most)) => Some((number(least)?, Some(number(most)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, matched, other) in [
            (r"^\d+$", "34", "٣٤"),
            (r"^\w$", "e", "é"),
            (r"^\W$", "é", "e"),
            (r"^\s$", " ", "\u{a0}"),
            (r"^[\d\S]$", "é", " "),
            (r"^[[a-z]+$", "[a", "A"),
            (r"^\Qa.b\E$", "a.b", "axb"),
            (r"^a{,2}$", "a{,2}", "aa"),
            (r"^[\w-.]+$", "a-.", "é"),
            (r"^\101$", "A", "101"),
            (r"^{$", "{", "}"),
            (r"^a{$", "a{", "a"),
            (r"^{{.*}}$", "{{ x }}", "{x}"),
            (r"^[a-z&&b]$", "a", "-"),
            (r"^[a~~b]$", "~", "c"),
            (r"^\<a\>$", "<a>", "a"),
            (r"^(?P<1st>a)(?i)b\b$", "aB", "a"),
            (r"^\p{^Greek}\PL$", "a1", "α1"),
            (r"^(?:[[:word:]]{2,}?|[]-]){1,3}$", "ab]", "é"),
            (r"^[\x41-\x{43}\n]$", "B", "D"),
        ] {
            let compiled = compile(pattern).unwrap();
            assert!(compiled.is_match(matched) && !compiled.is_match(other), "{pattern} as {compiled}");
        }
    }

    #[test]
    fn patterns_that_go_refuses_are_refused() {
        for (pattern, why) in [
            ("x{1001}", "invalid repeat count: `{1001}`"),
            ("(a{1,100}){1,100}", "invalid repeat count: `{1,100}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("[a--b]", "invalid character class range: `a--`"),
            ("[[:letter:]]", "invalid character class range: `[:letter:]`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}+?", "invalid nested repetition operator: `{2}+?`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            (r"\Z", r"invalid escape sequence: `\Z`"),
            (r"\p{script=Greek}", r"invalid escape sequence: `\p`"),
            ("(?x)a b", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?<a>b)(?<a>c)", "duplicate capture group name: `a`"),
            ("[a", "missing closing ]: `[a`"),
        ] {
            assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {why}"), "{pattern}");
        }
        for pattern in ["*a", "(a", "a)", "a|*", r"[\pX]"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
