//! Patterns of names, as a shell has them: `*`, `?`, and `[a-z]` or `[!a-z]`. They match one part
//! of a path: there is no `**`, and names that begin with a dot are matched by patterns that do.

use alloc::vec::Vec;

/// The longest pattern, in octets; no name is longer.
const LONGEST: usize = 255;
/// The most stars of a pattern. The work for a name is the product of both lengths at most, so that
/// no pattern is a bomb; more stars than this say that it was meant as one.
const STARS: usize = 8;

/// A pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Exactly(char),
    /// `?`
    Any,
    /// `*`
    Star,
    /// `[…]`: whether it is negated, and the ranges.
    Class(bool, Vec<(char, char)>),
}

/// The reason for which text is no pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPattern {
    /// It is a name.
    Name,
    /// It would be too much work.
    TooMuch,
}

impl Pattern {
    /// Parses the last part of a path.
    pub fn parse(text: &str) -> Result<Self, NoPattern> {
        if !text.contains(['*', '?', '[']) {
            return Err(NoPattern::Name);
        }
        if text.len() > LONGEST {
            return Err(NoPattern::TooMuch);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let piece = match c {
                '*' if pieces.last() == Some(&Piece::Star) => continue,
                '*' => Piece::Star,
                '?' => Piece::Any,
                '[' => match class(rest) {
                    Some((class, after)) => {
                        rest = after;
                        class
                    }
                    None => Piece::Exactly('['), // it is not closed
                },
                '\\' => {
                    let next = rest.chars().next().unwrap_or(c);
                    rest = rest.get(next.len_utf8()..).unwrap_or_default();
                    Piece::Exactly(next)
                }
                c => Piece::Exactly(c),
            };
            pieces.push(piece);
        }
        let stars = pieces.iter().filter(|piece| **piece == Piece::Star).count();
        if stars > STARS { Err(NoPattern::TooMuch) } else { Ok(Pattern(pieces)) }
    }

    /// Returns whether `name` is of this pattern. Only the last star is tried again: what an
    /// earlier one could take more of, a later one can, too.
    pub fn matches(&self, name: &str) -> bool {
        if name.starts_with('.') && self.0.first() != Some(&Piece::Exactly('.')) {
            return false;
        }
        let (mut at, mut rest) = (0, name);
        let mut again: Option<(usize, &str)> = None;
        loop {
            match (self.0.get(at), rest.chars().next()) {
                (Some(Piece::Star), _) => {
                    at += 1;
                    again = Some((at, rest));
                    continue;
                }
                (Some(piece), Some(c)) if piece.is(c) => {
                    at += 1;
                    rest = &rest[c.len_utf8()..];
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((star, from)) = again else { return false };
            let Some(c) = from.chars().next() else { return false };
            let from = &from[c.len_utf8()..];
            again = Some((star, from));
            (at, rest) = (star, from);
        }
    }
}

impl Piece {
    fn is(&self, c: char) -> bool {
        match self {
            Piece::Exactly(exactly) => *exactly == c,
            Piece::Any => true,
            Piece::Star => false,
            Piece::Class(negated, ranges) => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
            }
        }
    }
}

/// Parses a class behind its `[`; returns what follows it, too.
fn class(text: &str) -> Option<(Piece, &str)> {
    let (negated, text) = match text.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // A `]` at the beginning stands for itself.
    let first = text.chars().next()?.len_utf8();
    let end = first + text[first..].find(']')?;
    let (mut inner, after) = (text[..end].chars().peekable(), &text[end + 1..]);
    let mut ranges = Vec::new();
    while let Some(from) = inner.next() {
        let mut ahead = inner.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) => {
                inner = ahead;
                to
            }
            _ => from,
        };
        ranges.push((from, to));
    }
    Some((Piece::Class(negated, ranges), after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(name)
    }

    #[test]
    fn stars_marks_and_classes() {
        for (pattern, name) in [
            ("*", "a"),
            ("*.bin", "a.b.bin"),
            ("a*b*c", "a__b_b__c"),
            ("?", "é"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[]a]", "]"),
            ("[a-]", "-"),
            ("[ab", "[ab"),
            (".*", ".a"),
            ("**", "a"),
            ("*[0-9]", "thr1"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        assert!(matches("x\\**", "x*y"));
        for (pattern, name) in [
            ("*.bin", "a.bi"),
            ("a*b*c", "acb"),
            ("?", ""),
            ("?", "ab"),
            ("[a-c]x", "dx"),
            ("[!a-c]x", "ax"),
            ("*", ".hidden"),
            ("?a", ".a"),
            ("a?", "a"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn names_are_no_patterns_and_bombs_are_refused() {
        assert_eq!(Pattern::parse("a b"), Err(NoPattern::Name));
        assert_eq!(Pattern::parse(&"*a".repeat(9)), Err(NoPattern::TooMuch));
        assert_eq!(Pattern::parse(&"?".repeat(256)), Err(NoPattern::TooMuch));
        let worst = Pattern::parse(&format!("{}b", "*a".repeat(8))).unwrap();
        assert!(!worst.matches(&"a".repeat(255)), "and it comes to an end");
    }
}
