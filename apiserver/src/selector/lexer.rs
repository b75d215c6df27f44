//! The words of a label selector in a query string.

/// A word of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// One of `( ) , ! = == != < >`.
    Symbol(&'t str),
    /// A key, a value, or one of the operators `in` and `notin`, which are values too where a value is expected.
    Word(&'t str),
    /// There is no more.
    End,
}

impl<'t> Token<'t> {
    /// The text that it was read from; empty at the end.
    pub(super) fn text(self) -> &'t str {
        match self {
            Self::Symbol(text) | Self::Word(text) => text,
            Self::End => "",
        }
    }
}

/// The words of a selector, which can be looked at before they are taken.
pub(super) struct Lexer<'t>(&'t str);

impl<'t> Lexer<'t> {
    pub(super) fn new(selector: &'t str) -> Self {
        // A NUL ends a selector upstream, like the end of the text.
        Self(selector.split('\0').next().unwrap_or_default())
    }

    /// The next word, which stays.
    pub(super) fn peek(&self) -> Token<'t> {
        self.split().0
    }

    /// Takes the next word.
    pub(super) fn take(&mut self) -> Token<'t> {
        let (token, rest) = self.split();
        self.0 = rest;
        token
    }

    fn split(&self) -> (Token<'t>, &'t str) {
        let is_space = |c| matches!(c, ' ' | '\t' | '\r' | '\n');
        let is_symbol = |c| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
        let text = self.0.trim_start_matches(is_space);
        if text.is_empty() {
            return (Token::End, text);
        }
        if text.starts_with(is_symbol) {
            let (symbol, rest) =
                text.split_at(if text.starts_with("==") || text.starts_with("!=") { 2 } else { 1 });
            return (Token::Symbol(symbol), rest);
        }
        let end = text.find(|c| is_space(c) || is_symbol(c)).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        (Token::Word(word), rest)
    }
}
