//! Octets become tokens.

use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};

/// The length that a text may have; spans have 32 bits, and a reader is bounded.
pub(crate) const LENGTH_MOST: usize = 256 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// Letters, digits and `_`, beginning with a letter or `_`.
    Name,
    Number(u64),
    /// Letters and digits that begin with a digit and are no number: a hash.
    Word,
    Sign(&'static str),
    /// Octets in quotation marks.
    Octets,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexed {
    pub(crate) token: Token,
    pub(crate) at: Span,
}

/// Longer signs stand before those that they begin with.
const SIGNS: &[&str] = &[
    "->", ":=", "==", "!=", "<=", ">=", "&&", "||", "..", "{", "}", "(", ")", ";", ":", ",", ".",
    "=", "<", ">", "+", "-", "*", "/", "%", "!",
];

pub(crate) struct Tokens {
    /// The last is the end.
    pub(crate) tokens: Vec<Lexed>,
    pub(crate) comments: Vec<Span>,
}

/// Reads all tokens; what is none is told and skipped.
pub(crate) fn tokens(text: &str, told: &mut Vec<Diagnostic>) -> Tokens {
    let (mut tokens, mut comments) = (Vec::new(), Vec::new());
    let span = |start: usize, end: usize| Span { start: start as u32, end: end as u32 };
    if text.len() > LENGTH_MOST {
        let says = format!("this text has {} octets", text.len());
        told.push(
            Diagnostic::new(DiagnosticCode::Length, span(0, 0), says)
                .help(format!("a text may have {LENGTH_MOST}: make two protocols of it")),
        );
        tokens.push(Lexed { token: Token::End, at: span(0, 0) });
        return Tokens { tokens, comments };
    }
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("//") {
            let end = at + rest.find('\n').unwrap_or(rest.len());
            comments.push(span(at, end));
            at = end;
        } else if is_word(first) {
            let end = at + rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let place = span(at, end);
            tokens.push(Lexed { token: word(&text[at..end], place, told), at: place });
            at = end;
        } else if first == '"' {
            let end = at + quoted(rest).unwrap_or(rest.find('\n').unwrap_or(rest.len()));
            tokens.push(Lexed { token: Token::Octets, at: span(at, end) });
            if octets(&text[at..end]).is_none() {
                let says = "these are no octets in quotation marks".to_owned();
                told.push(
                    Diagnostic::new(DiagnosticCode::Character, span(at, end), says).help(
                        "they end on their line; there are `\\r`, `\\n`, `\\0`, `\\\"`, `\\\\` and `\\x1f`",
                    ),
                );
            }
            at = end;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Lexed { token: Token::Sign(sign), at: span(at, at + sign.len()) });
            at += sign.len();
        } else {
            let (place, says) = (
                span(at, at + first.len_utf8()),
                format!("`{}` means nothing here", first.escape_debug()),
            );
            let flaw = Diagnostic::new(DiagnosticCode::Character, place, says);
            told.push(match first {
                '&' => flaw.help("`&&` is written of two").instead(place, "&&"),
                '|' => flaw.help("`||` is written of two").instead(place, "||"),
                '\'' => flaw.help("octets stand in `\"`"),
                '#' => flaw.help("a comment begins with `//`").instead(place, "//"),
                _ => flaw,
            });
            at += first.len_utf8();
        }
    }
    tokens.push(Lexed { token: Token::End, at: span(text.len(), text.len()) });
    Tokens { tokens, comments }
}

/// Returns how long octets in quotation marks are, if they end.
fn quoted(rest: &str) -> Option<usize> {
    let mut escaped = false;
    let end = rest.bytes().skip(1).take_while(|octet| *octet != b'\n').position(|octet| {
        let ends = octet == b'"' && !escaped;
        escaped = octet == b'\\' && !escaped;
        ends
    });
    end.map(|end| end + 2)
}

/// Reads octets in quotation marks; `None` where they do not end, or an escape is none.
pub(crate) fn octets(quoted: &str) -> Option<Vec<u8>> {
    let mut rest = quoted.strip_prefix('"')?.strip_suffix('"')?.bytes();
    let mut octets = Vec::new();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'\\' => match rest.next()? {
                b'r' => b'\r',
                b'n' => b'\n',
                b'0' => 0,
                same @ (b'"' | b'\\') => same,
                b'x' => {
                    let mut digit = || char::from(rest.next()?).to_digit(16);
                    (digit()? * 16 + digit()?) as u8
                }
                _ => return None,
            },
            octet => octet,
        });
    }
    Some(octets)
}

fn word(word: &str, at: Span, told: &mut Vec<Diagnostic>) -> Token {
    if !word.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Token::Name;
    }
    let digits: String = word.chars().filter(|letter| *letter != '_').collect();
    let read = match digits.strip_prefix("0x") {
        Some(digits) if digits.chars().all(|digit| digit.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16)
        }
        _ if digits.chars().all(|digit| digit.is_ascii_digit()) => digits.parse(),
        _ => return Token::Word,
    };
    match read {
        Ok(number) => Token::Number(number),
        // Sixteen digits may be a hash; more are none.
        Err(_) if word.len() == 16 => Token::Word,
        Err(_) => {
            let says = format!("`{word}` has more than 64 bits");
            told.push(Diagnostic::new(DiagnosticCode::Number, at, says));
            Token::Number(0)
        }
    }
}
