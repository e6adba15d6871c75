//! The branches of `||` run side by side, and the text that stands left says nothing: they are put
//! into an order of their own, so that all that is made of a protocol is the same for each order in
//! which it is written.
//!
//! What reaches the wire comes first in it (codes, places of fields, values of enums, numbers), and
//! names only where the rest is equal.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use super::lex::{Lexed, Token};
use super::reader::KEYWORDS;
use crate::tree::{Branch, File, Statement, StatementKind};

/// What a name stands for on the wire: an ADU and its code, a field and its place, a value.
type Meaning = (u8, u64, u64);

/// Puts the branches of each `||` into their order, the innermost first.
pub(super) fn arrange(file: &mut File, text: &str, tokens: Vec<Lexed>) {
    let mut arranging = Arranging { text, tokens, meanings: HashMap::new() };
    for (nth, adu) in file.adus.iter().enumerate() {
        let code = adu.code.map_or(nth as u64, |(code, _)| code);
        arranging.means(&adu.name.name, (0, code, 0));
        for (place, field) in adu.fields.iter().enumerate() {
            arranging.means(&field.name.name, (1, code, place as u64));
        }
    }
    for (name, value) in file.enums.iter().flat_map(|one| &one.values) {
        arranging.means(&name.name, (2, *value, 0));
    }
    arranging.meanings.values_mut().for_each(|all| all.sort_unstable());
    for role in &mut file.roles {
        role.body.iter_mut().for_each(|one| arranging.statement(one));
    }
}

struct Arranging<'a> {
    text: &'a str,
    tokens: Vec<Lexed>,
    meanings: HashMap<String, Vec<Meaning>>,
}

impl Arranging<'_> {
    fn means(&mut self, name: &str, meaning: Meaning) {
        self.meanings.entry(name.to_owned()).or_default().push(meaning);
    }

    fn statement(&mut self, statement: &mut Statement) {
        for block in statement.is.blocks() {
            block.iter_mut().for_each(|one| self.statement(one));
        }
        let StatementKind::Parallel(branches) = &mut statement.is else { return };
        let [first, .., last] = &branches[..] else { return };
        let all = first.tokens.start..last.tokens.end;
        let bar = self.tokens[first.tokens.end];
        branches.sort_by(|one, other| self.compare(one, other));
        // Whoever compares the statement around reads them in this order, too.
        let arranged: Vec<&[Lexed]> =
            branches.iter().map(|one| &self.tokens[one.tokens.clone()]).collect();
        let arranged = arranged.join(&bar);
        self.tokens[all].copy_from_slice(&arranged);
    }

    fn compare(&self, one: &Branch, other: &Branch) -> Ordering {
        let pieces = |range: &Range<usize>| self.tokens[range.clone()].iter();
        let wire = pieces(&one.tokens)
            .map(|one| self.wire(one))
            .cmp(pieces(&other.tokens).map(|one| self.wire(one)));
        let names = || {
            let said = |one: &Lexed| &self.text[one.at.start as usize..one.at.end as usize];
            pieces(&one.tokens).map(said).cmp(pieces(&other.tokens).map(said))
        };
        wire.then_with(names)
    }

    /// A token without its name.
    fn wire(&self, one: &Lexed) -> (&str, u64, &[Meaning]) {
        let said = &self.text[one.at.start as usize..one.at.end as usize];
        match one.token {
            Token::Number(number) => ("", number, &[]),
            Token::Name if !KEYWORDS.contains(&said) => {
                ("_", 0, self.meanings.get(said).map_or(&[], |all| all))
            }
            _ => (said, 0, &[]),
        }
    }
}
