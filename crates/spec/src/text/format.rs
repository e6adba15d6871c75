//! Tokens and comments become text again: the author's lines, with the indentation and the spaces
//! of the style.

use super::lex::{Lexed, Token, tokens};
use super::reader::KEYWORDS;
use crate::diagnostic::{Diagnostic, Span};

/// Formats a text: lines stay as the author cut them, two blank lines become one.
///
/// # Errors
/// Returns what is wrong with the form of the text.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (_, told) = super::read(text);
    if !told.is_empty() {
        return Err(told);
    }
    let read = tokens(text, &mut Vec::new());
    let mut pieces: Vec<(Span, Option<Token>)> = read
        .tokens
        .iter()
        .filter(|lexed| lexed.token != Token::End)
        .map(|Lexed { token, at }| (*at, Some(*token)))
        .chain(read.comments.iter().map(|at| (*at, None)))
        .collect();
    pieces.sort_by_key(|(at, _)| at.start);
    let pieces = with_widths(text, pieces);

    let mut written = String::new();
    let (mut depth, mut last): (usize, Option<(Span, Option<Token>)>) = (0, None);
    for (at, token) in pieces {
        let said: String = match token {
            Some(Token::Octets) => text[at.start as usize..at.end as usize].to_owned(),
            Some(_) => text[at.start as usize..at.end as usize].split_whitespace().collect(),
            None => text[at.start as usize..at.end as usize].trim_end().to_owned(),
        };
        let said = said.as_str();
        if token == Some(Token::Sign("}")) {
            depth = depth.saturating_sub(1);
        }
        if let Some((before, last)) = last {
            let between = &text[before.end as usize..at.start as usize];
            match between.matches('\n').count() {
                0 if token.is_none() => written.push(' '),
                0 => {
                    let left = &text[before.start as usize..before.end as usize];
                    written.push_str(if apart((left, last), (said, token)) { " " } else { "" });
                }
                lines => {
                    written.push_str(if lines == 1 { "\n" } else { "\n\n" });
                    // `||` stands in front of its branch, whose brace is under that of the first.
                    let outdent = if said == "||" { "|| ".len() } else { 0 };
                    written.push_str(&" ".repeat((4 * depth).saturating_sub(outdent)));
                }
            }
        }
        written.push_str(said);
        if token == Some(Token::Sign("{")) {
            depth += 1;
        }
        last = Some((at, token));
    }
    written.push('\n');
    Ok(written)
}

/// A piece of a text: a token, or a comment.
type Piece = (Span, Option<Token>);

/// Joins `bits<4>` and `octets<16>`: each is one piece, without spaces.
fn with_widths(text: &str, pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for (at, token) in pieces {
        joined.push((at, token));
        let [.., (first, Some(Token::Name)), (_, Some(Token::Sign("<"))), _, (last, _)] =
            joined[..]
        else {
            continue;
        };
        let is_width = matches!(&text[first.start as usize..first.end as usize], "bits" | "octets");
        if is_width && token == Some(Token::Sign(">")) {
            joined.truncate(joined.len() - 4);
            joined.push((first.to(last), Some(Token::Name)));
        }
    }
    joined
}

/// Whether a space stands between two tokens of a line.
fn apart((left, last): (&str, Option<Token>), (right, token): (&str, Option<Token>)) -> bool {
    if last.is_none() || token.is_none() {
        return true;
    }
    if matches!(right, "," | ";" | ")" | ":" | "." | "..") || matches!(left, "(" | "." | ".." | "!")
    {
        return false;
    }
    match right {
        // A call or declaration, and not a condition in parentheses.
        "(" if last == Some(Token::Name) => KEYWORDS.contains(&left),
        _ => true,
    }
}
