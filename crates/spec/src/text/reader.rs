//! A cursor over tokens. Behind a mistake it goes on at the next statement or declaration, so one
//! run tells of several.

use super::lex::{Lexed, Token, tokens};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, similar};
use crate::tree::{Ident, Param, TypeName};

/// Words of the language, which cannot be names.
pub(crate) const KEYWORDS: &[&str] = &[
    "abort",
    "accepts",
    "adu",
    "await",
    "binding",
    "bool",
    "bytes",
    "call",
    "case",
    "drained",
    "else",
    "emit",
    "ended",
    "enum",
    "every",
    "exit",
    "false",
    "fence",
    "halt",
    "hold",
    "host",
    "idle",
    "if",
    "immediate",
    "in",
    "input",
    "local",
    "loop",
    "nothing",
    "on",
    "output",
    "phase",
    "present",
    "protocol",
    "pure",
    "receives",
    "restart",
    "role",
    "room",
    "send",
    "sends",
    "suspend",
    "then",
    "together",
    "trap",
    "true",
    "var",
    "weak",
    "where",
];

/// Blocks and expressions are nested at most so deep.
const DEPTH_MOST: usize = 32;

/// A mistake was told; the reader goes on behind it.
pub(super) struct Skip;

pub(super) type Read<T> = Result<T, Skip>;

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Lexed>,
    pub(super) at: usize,
    depth: usize,
    /// How many operators the expression has that is read; `None`: none is.
    pub(super) operators: Option<usize>,
    pub(super) told: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut told = Vec::new();
        let tokens = tokens(text, &mut told).tokens;
        Reader { text, tokens, at: 0, depth: 0, operators: None, told }
    }

    fn peek(&self, ahead: usize) -> Lexed {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn here(&self) -> Span {
        self.peek(0).at
    }

    pub(super) fn token(&self) -> Token {
        self.peek(0).token
    }

    /// Returns the place of the token before.
    pub(super) fn before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].at
    }

    pub(super) fn said(&self, at: Span) -> &'a str {
        &self.text[at.start as usize..at.end as usize]
    }

    pub(super) fn is_end(&self) -> bool {
        self.token() == Token::End
    }

    pub(super) fn step(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn sees(&self, word: &str) -> bool {
        self.sees_ahead(0, word)
    }

    pub(super) fn sees_ahead(&self, ahead: usize, word: &str) -> bool {
        let Lexed { token, at } = self.peek(ahead);
        match token {
            Token::Name => self.said(at) == word,
            Token::Sign(sign) => sign == word,
            Token::Number(_) | Token::Word | Token::Octets | Token::End => false,
        }
    }

    pub(super) fn takes(&mut self, word: &str) -> bool {
        let sees = self.sees(word);
        if sees {
            self.step();
        }
        sees
    }

    pub(super) fn tell<T>(&mut self, flaw: Diagnostic) -> Read<T> {
        self.told.push(flaw);
        Err(Skip)
    }

    /// Tells that something else should stand here.
    pub(super) fn expected<T>(&mut self, what: &str) -> Read<T> {
        let here = self.here();
        let stands = match self.token() {
            Token::End => String::from("the text ends"),
            _ => format!("`{}` stands", self.said(here)),
        };
        let says = format!("{what} is expected, and {stands} here");
        self.tell(Diagnostic::new(DiagnosticCode::Syntax, here, says).label(format!("{what} here")))
    }

    pub(super) fn want(&mut self, word: &'static str) -> Read<()> {
        if self.takes(word) {
            return Ok(());
        }
        let (here, before) = (self.here(), self.before());
        // What ends a statement is missing behind the last token, not in front of the next.
        if word == ";" && self.at > 0 {
            let behind = Span { start: before.end, end: before.end };
            let says = "`;` is missing at the end of this statement or declaration";
            let flaw = Diagnostic::new(DiagnosticCode::Syntax, before, says);
            return self.tell(flaw.instead(behind, ";").help("end it with `;`"));
        }
        // Behind a mistake the end says nothing new.
        if self.is_end() && !self.told.is_empty() {
            return Err(Skip);
        }
        if self.is_end() && word == "}" {
            let flaw = Diagnostic::new(DiagnosticCode::Syntax, here, "a block is not closed");
            return self.tell(flaw.help("a `}` is missing at the end"));
        }
        self.expected(&format!("`{word}`"))
    }

    /// Reads a word that is a name already or shall be one.
    pub(super) fn name(&mut self, what: &str) -> Read<Ident> {
        let at = self.here();
        let name = self.said(at);
        if self.token() != Token::Name {
            return self.expected(what);
        }
        if KEYWORDS.contains(&name) {
            let says = format!("{what} is expected, and `{name}` is a word of the language");
            let flaw = Diagnostic::new(DiagnosticCode::Syntax, at, says);
            return self.tell(flaw.help(format!("another name, such as `{name}_`")));
        }
        self.step();
        Ok(Ident { name: name.to_owned(), at })
    }

    pub(super) fn names(&mut self, what: &str) -> Read<Vec<Ident>> {
        let mut all = vec![self.name(what)?];
        while self.takes(",") {
            all.push(self.name(what)?);
        }
        Ok(all)
    }

    pub(super) fn number(&mut self, what: &str) -> Read<(u64, Span)> {
        let Token::Number(number) = self.token() else { return self.expected(what) };
        let at = self.here();
        self.step();
        Ok((number, at))
    }

    /// Tells that none of `words` stands here, and which of them is probably meant.
    pub(super) fn unknown_word<T>(&mut self, what: &str, words: &[&str]) -> Read<T> {
        let here = self.here();
        if self.token() != Token::Name {
            return self.expected(what);
        }
        let word = self.said(here);
        let says = format!("{what} is expected, and `{word}` begins none");
        let flaw = Diagnostic::new(DiagnosticCode::Syntax, here, says);
        let flaw = match similar(word, words.iter().copied()) {
            Some(meant) => flaw.help("a similar word exists").instead(here, meant),
            None => flaw.help(format!("one of {}", words.join(", "))),
        };
        self.tell(flaw)
    }

    /// Reads something nested, unless it is nested too deep.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == DEPTH_MOST {
            return self.too_deep(format!("this is nested more than {DEPTH_MOST} deep"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Tells that a tree would be deeper than recursion goes.
    pub(super) fn too_deep<T>(&mut self, says: String) -> Read<T> {
        let at = self.here();
        // What follows would only repeat it.
        self.at = self.tokens.len() - 1;
        self.tell(Diagnostic::new(DiagnosticCode::Depth, at, says))
    }

    /// Goes on behind the next `;` or `}` of this block.
    pub(super) fn recover(&mut self) {
        let mut open = 0_usize;
        while !self.is_end() {
            match self.token() {
                Token::Sign("{") => open += 1,
                Token::Sign("}") if open == 0 => return,
                Token::Sign("}") => {
                    open -= 1;
                    if open == 0 && !self.sees_ahead(1, "||") && !self.sees_ahead(1, ";") {
                        return self.step();
                    }
                }
                Token::Sign(";") if open == 0 => return self.step(),
                _ => {}
            }
            self.step();
        }
    }

    /// Reads what stands between braces, one thing after the other, and goes on behind mistakes.
    pub(super) fn braced(&mut self, mut one: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.want("{")?;
        while !self.sees("}") && !self.is_end() {
            let begun = self.at;
            if one(self).is_err() {
                self.recover();
                if self.at == begun {
                    self.step();
                }
            }
        }
        self.want("}")
    }

    /// Reads `name: type, …` up to the closing parenthesis.
    pub(super) fn params(&mut self) -> Read<Vec<Param>> {
        let mut all = Vec::new();
        self.want("(")?;
        while !self.takes(")") {
            if !all.is_empty() {
                self.want(",")?;
            }
            all.push(self.param()?);
        }
        Ok(all)
    }

    /// Reads `name: type`, or a type alone, as of `set(Table)`.
    fn param(&mut self) -> Read<Param> {
        let at = self.here();
        if self.sees_ahead(1, ":") {
            let name = self.name("the name of a parameter")?;
            self.step();
            let kind = self.kind()?;
            return Ok(Param { name, kind, at: at.to(self.before()) });
        }
        let kind = self.kind()?;
        let name = Ident { name: self.said(at).to_lowercase(), at };
        Ok(Param { name, kind, at: at.to(self.before()) })
    }

    pub(super) fn kind(&mut self) -> Read<TypeName> {
        let at = self.here();
        if self.token() != Token::Name {
            return self.expected("a type");
        }
        let word = self.said(at);
        let fixed = match word {
            "bool" => Some(TypeName::Bool),
            "u8" => Some(TypeName::Uint(8)),
            "u16" => Some(TypeName::Uint(16)),
            "u32" => Some(TypeName::Uint(32)),
            "u64" => Some(TypeName::Uint(64)),
            _ => None,
        };
        if let Some(kind) = fixed {
            self.step();
            return Ok(kind);
        }
        match word {
            "bits" | "octets" if self.sees_ahead(1, "<") => {
                self.step();
                self.step();
                let (length, place) = self.number("a number")?;
                self.want(">")?;
                if word == "octets" {
                    return Ok(TypeName::Octets(length));
                }
                match u32::try_from(length) {
                    Ok(bits @ 1..=64) => Ok(TypeName::Uint(bits)),
                    _ => self.tell(Diagnostic::new(
                        DiagnosticCode::FieldWidth,
                        place,
                        format!("a field has 1 to 64 bits, and not {length}"),
                    )),
                }
            }
            "bytes" => {
                self.step();
                if !self.takes("<=") {
                    return Ok(TypeName::Bytes(None));
                }
                Ok(TypeName::Bytes(Some(self.number("the most octets")?.0)))
            }
            _ => Ok(TypeName::Named(self.name("a type")?)),
        }
    }
}
