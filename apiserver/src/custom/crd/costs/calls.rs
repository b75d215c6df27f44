//! The highest cost of a call, and the size of its result.

use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::super::super::rules::{MAP_INSERT, NEW_LIST, PER_PATTERN, PER_TEXT, SORT_BY_KEYS, scaled};
use super::estimate::{Estimate, Size, Type, united};

/// A call; the first of all arguments is its target.
pub(super) struct Call<'c, 'd> {
    pub(super) name: &'c str,
    pub(super) is_method: bool,
    pub(super) all: &'c [&'c Estimate<'d>],
    pub(super) args: &'c [IdedExpr],
}

/// A cost, and the size of the result unless its type has one.
type Cost = (u64, Option<Size>);

impl<'d> Call<'_, 'd> {
    /// The estimate of the call without its arguments.
    pub(super) fn estimate(&self) -> Estimate<'d> {
        let cost = self.operator().or_else(|| self.of_text()).or_else(|| self.of_list());
        let (cost, size) = cost.unwrap_or((1, None));
        let mut made = Estimate { size, ..Estimate::new(cost, result_type(self.name, self.all)) };
        if let (operators::ADD, [left, right]) = (self.name, self.all) {
            made.entries = united(left, right);
        }
        made
    }

    fn operator(&self) -> Option<Cost> {
        let cost = match (self.name, self.all) {
            (operators::IN, [_, range]) if matches!(range.type_, Type::List(_)) => range.max(),
            (operators::EQUALS, [left, right])
                if matches!((&left.type_, &right.type_), (Type::Other, Type::Other)) =>
            {
                1
            }
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                scaled(left.max().min(right.max()), PER_TEXT)
            }
            (
                operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
                [left, right],
            ) if may_be_text(left, right) => {
                let cost = scaled(left.max().min(right.max()), PER_TEXT);
                // Comparing other types costs one.
                cost.max(u64::from(!left.type_.is_text() && !right.type_.is_text()))
            }
            (operators::ADD, [left, right]) if !left.type_.is_scalar() && !right.type_.is_scalar() => {
                let size = left.size_or_unknown().plus(right.size_or_unknown());
                let is_list = [left, right].iter().any(|each| matches!(each.type_, Type::List(_)));
                return Some((if is_list { 1 } else { scaled(size.max, PER_TEXT) }, Some(size)));
            }
            _ => return None,
        };
        Some((cost, None))
    }

    fn of_text(&self) -> Option<Cost> {
        let read_besides = |other: &Estimate<'d>| if other.type_.is_text() { other.read(1.0) } else { 0 };
        let cost = match (self.name, self.all) {
            (
                "url" | "jsonpatch.escapeKey" | "lowerAscii" | "upperAscii" | "substring" | "trim",
                [text, ..],
            ) => return Some((text.read(1.0), Some(text.size_or_unknown()))),
            ("replace", [text, part, by, ..]) => {
                let size = replaced(text.size_or_unknown(), part.size_or_unknown(), by.size_or_unknown());
                return Some((text.read(2.0), Some(size)));
            }
            ("split", [text, ..]) => {
                let most = self.literal(1).unwrap_or_else(|| text.max());
                return Some((text.read(2.0), Some(Size { min: 0, max: most })));
            }
            ("find" | "findAll", [text, pattern, ..]) => {
                return Some((matched(text, pattern), Some(Size { min: 0, max: text.max() })));
            }
            ("bytes", [text]) => {
                let size = text.size_or_unknown();
                return Some((text.read(1.0), Some(Size { max: size.max.saturating_mul(4), ..size })));
            }
            ("string", [bytes]) if matches!(bytes.type_, Type::Bytes) => {
                let size = bytes.size_or_unknown();
                return Some((bytes.read(1.0), Some(Size { min: size.min / 4, ..size })));
            }
            ("strings.quote", [text]) => {
                let size = text.size_or_unknown();
                let size = size.plus(Size { min: 0, max: size.max }).plus(Size::exactly(2));
                return Some((text.read(1.0), Some(size)));
            }
            ("matches", [text, pattern]) => matched(text, pattern),
            (
                "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" | "format",
                [text, ..],
            ) => text.read(1.0),
            ("ip", [text]) if !self.is_method => text.read(1.0),
            ("ip.isCanonical", [text]) => text.read(2.0),
            // Two addresses of 16 bytes.
            ("containsIP", [_, other]) => scaled(32, PER_TEXT).saturating_add(read_besides(other)),
            ("containsCIDR", [_, other]) => {
                let compared = scaled(32, PER_TEXT) + scaled(16, PER_TEXT) + 1;
                compared.saturating_add(read_besides(other))
            }
            // The longest pattern of a format has 128 characters.
            ("validate", [_, text]) => scaled(text.read(1.0), 128.0 * PER_PATTERN),
            ("startsWith" | "endsWith", [_, part]) => part.read(1.0),
            ("contains", [text, part]) => text.read(1.0).saturating_mul(part.read(1.0)),
            _ => return None,
        };
        Some((cost, None))
    }

    fn of_list(&self) -> Option<Cost> {
        let new_list = |cost: u64, size: Size| Some((cost.saturating_add(NEW_LIST + 1), Some(size)));
        match (self.name, self.all) {
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", [target, ..])
                if self.is_method =>
            {
                let cost = match &target.type_ {
                    Type::List(item) => {
                        let read = if item.is_text() { scaled(target.max_of_items(), PER_TEXT) } else { 0 };
                        target.max().saturating_mul(read.saturating_add(1))
                    }
                    _ => target.read(1.0),
                };
                Some((cost, None))
            }
            ("join", [list, separator @ ..]) => {
                let mut size = Size { min: 0, max: list.max().saturating_mul(list.max_of_items()) };
                if let Some(separator) = separator.first() {
                    let between = Size { min: 0, max: list.max().saturating_sub(1) };
                    size = size.plus(separator.size_or_unknown().times(between));
                }
                Some((scaled(size.max, PER_TEXT), Some(size)))
            }
            ("sets.contains" | "sets.intersects" | "sets.equivalent", [left, right]) => {
                let factor = if self.name == "sets.equivalent" { 2 } else { 1 };
                let pairs = left.max().saturating_mul(right.max()).saturating_mul(factor);
                Some((pairs.saturating_add(1), None))
            }
            ("slice", [list, _, _]) => {
                let end = self.literal(1).unwrap_or_else(|| list.max());
                // Upstream doesn't check whether the end is before the start, either.
                let size = end.wrapping_sub(self.literal(0).unwrap_or(0));
                new_list(size, Size::exactly(size))
            }
            ("lists.range", [_]) => {
                let size = self.literal(0).unwrap_or(u64::MAX);
                new_list(size, Size::exactly(size))
            }
            ("reverse", [list]) => new_list(list.max(), list.size_or_unknown()),
            ("flatten", [list, ..]) => {
                let depth = if self.args.is_empty() { 1 } else { self.literal(0).unwrap_or(u64::MAX) };
                new_list(list.max().saturating_mul(depth), list.size_or_unknown())
            }
            ("distinct" | "sort", [list]) | (SORT_BY_KEYS, [_, list]) => {
                let size = list.size_or_unknown().times(list.size_or_unknown());
                let is_text = self.name != "distinct" && list.type_.inner().is_text();
                new_list(scaled(size.max, if is_text { 2.0 + PER_TEXT } else { 2.0 }), size)
            }
            _ => None,
        }
    }

    /// An argument that is an integer literal.
    fn literal(&self, index: usize) -> Option<u64> {
        match &self.args.get(index)?.expr {
            Expr::Literal(LiteralValue::Int(number)) => u64::try_from(*number.inner()).ok(),
            _ => None,
        }
    }
}

/// The cost of matching a text with a regular expression.
fn matched(text: &Estimate<'_>, pattern: &Estimate<'_>) -> u64 {
    let text = scaled(text.max().saturating_add(1), PER_TEXT);
    text.saturating_mul(scaled(pattern.max(), PER_PATTERN))
}

fn may_be_text(left: &Estimate<'_>, right: &Estimate<'_>) -> bool {
    let may_be = |each: &Estimate<'_>| each.type_.is_text() || matches!(each.type_, Type::Any);
    may_be(left) && may_be(right)
}

/// The size of a text after all occurrences of a part are replaced.
fn replaced(text: Size, part: Size, by: Size) -> Size {
    let (most, kept) = if part.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if by.max <= part.min {
        (0, text.max)
    } else {
        (text.max.div_ceil(part.min), 0)
    };
    let (least, least_kept) = if part.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if part.max <= by.min {
        (0, text.min)
    } else {
        (text.min.div_ceil(part.max), 0)
    };
    by.times(Size { min: least, max: most }).plus(Size { min: least_kept, max: kept })
}

/// The type of a call's result.
fn result_type<'d>(name: &str, all: &[&Estimate<'d>]) -> Type<'d> {
    let first = || all.first().map_or(Type::Any, |first| first.type_.clone());
    match name {
        operators::EQUALS
        | operators::NOT_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::IN
        | operators::LOGICAL_NOT
        | operators::NOT_STRICTLY_FALSE
        | "bool"
        | "contains"
        | "endsWith"
        | "hasValue"
        | "matches"
        | "startsWith"
        | "containsIP"
        | "containsCIDR"
        | "sets.contains"
        | "sets.equivalent"
        | "sets.intersects" => Type::Bool,
        "size" | "int" | "uint" | "double" | "timestamp" | "duration" | "indexOf" | "lastIndexOf"
        | "compareTo" | "asInteger" | "asApproximateFloat" | "sign" | "family" | "prefixLength" | "major"
        | "minor" | "patch" | "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate"
        | "getDayOfWeek" | "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => Type::Scalar,
        "string"
        | "lowerAscii"
        | "upperAscii"
        | "replace"
        | "substring"
        | "trim"
        | "join"
        | "charAt"
        | "format"
        | "find"
        | "strings.quote"
        | "getScheme"
        | "getHost"
        | "getHostname"
        | "getPort"
        | "getEscapedPath"
        | "jsonpatch.escapeKey" => Type::Text,
        "bytes" => Type::Bytes,
        "split" | "findAll" => Type::List(Box::new(Type::Text)),
        "lists.range" => Type::List(Box::new(Type::Scalar)),
        "flatten" => match first().inner() {
            list @ Type::List(_) => list,
            inner => Type::List(Box::new(inner)),
        },
        "getQuery" => Type::Map(Box::new(Type::List(Box::new(Type::Text)))),
        "validate" => Type::List(Box::new(Type::Text)).optional(),
        "optional.of" | "optional.ofNonZeroValue" => first().optional(),
        "first" | "last" => first().inner().optional(),
        "sum" | "max" | "min" | "value" => first().inner(),
        "orValue" => match (first().inner(), all.get(1)) {
            (Type::Any, Some(other)) => other.type_.clone(),
            (inner, _) => inner,
        },
        operators::OPT_INDEX => match first() {
            Type::Optional(inner) => inner.inner().optional(),
            other => other.inner().optional(),
        },
        operators::INDEX => match first() {
            Type::Optional(inner) => inner.inner().optional(),
            _ => Type::Any,
        },
        operators::ADD => match (all, first()) {
            ([_, right], Type::Any) => right.type_.clone(),
            ([_, right], Type::List(inner)) if matches!(*inner, Type::Any) => right.type_.clone(),
            (_, left) => left,
        },
        MAP_INSERT => Type::Map(Box::new(all.get(2).map_or(Type::Any, |value| value.type_.clone()))),
        "or"
        | "sort"
        | "distinct"
        | "slice"
        | "reverse"
        | SORT_BY_KEYS
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE => first(),
        name if name.starts_with("is") || name == "ip.isCanonical" => Type::Bool,
        _ => Type::Other,
    }
}
