//! Tokens of a label selector in a query.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// One of `( ) , ! = == != < >`.
    Symbol(&'t str),
    /// A key, a value, or one of the operators `in` and `notin`, which are values where a value is expected.
    Word(&'t str),
    /// The end of the text.
    End,
}

impl<'t> Token<'t> {
    /// The text of the token; empty at the end.
    pub(super) fn text(self) -> &'t str {
        match self {
            Self::Symbol(text) | Self::Word(text) => text,
            Self::End => "",
        }
    }
}

/// The tokens of a selector, with lookahead.
pub(super) struct Lexer<'t>(&'t str);

impl<'t> Lexer<'t> {
    pub(super) fn new(selector: &'t str) -> Self {
        Self(selector)
    }

    /// The next token, without taking it.
    pub(super) fn peek(&self) -> Token<'t> {
        self.split().0
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token<'t> {
        let (token, rest) = self.split();
        self.0 = rest;
        token
    }

    fn split(&self) -> (Token<'t>, &'t str) {
        let text = self.0.trim_start_matches(is_space);
        // Upstream a NUL ends the text, except right after a word, where it is skipped.
        if text.is_empty() || text.starts_with('\0') {
            return (Token::End, text);
        }
        let is_symbol_next = text.starts_with(is_symbol);
        let end = if text.starts_with("==") || text.starts_with("!=") {
            2
        } else if is_symbol_next {
            1
        } else {
            text.find(|c| c == '\0' || is_space(c) || is_symbol(c)).unwrap_or(text.len())
        };
        let (token, rest) = text.split_at(end);
        let token = if is_symbol_next { Token::Symbol(token) } else { Token::Word(token) };
        (token, rest.strip_prefix('\0').unwrap_or(rest))
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(character: char) -> bool {
    matches!(character, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
