//! The words of a line, quoted as in a shell: `'…'`, `"…"` and `\`.
//!
//! A pattern is made by `*`, `?` and `[` that are not quoted. Those that are stand for themselves:
//! in a word they are written as `[*]`, as a pattern has them.

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Without quotes.
    pub(super) text: String,
    /// Where it begins in the line, in octets.
    pub(super) start: usize,
}

/// A line that was split.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    /// The quote that is open at the end.
    pub(super) open: Option<char>,
    /// Whether the end is not within a word.
    pub(super) is_between: bool,
}

/// What makes a word a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Splits a line.
pub(super) fn split(line: &str) -> Words {
    let mut words = Words { is_between: true, ..Words::default() };
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        if words.open.is_none() && letter.is_whitespace() {
            words.is_between = true;
            continue;
        }
        if std::mem::take(&mut words.is_between) {
            if letter == '#' {
                // The rest is a comment.
                words.is_between = true;
                break;
            }
            words.words.push(Word { text: String::new(), start: at });
        }
        let Some(word) = words.words.last_mut() else { break };
        match (words.open, letter) {
            (Some(open), letter) if letter == open => words.open = None,
            (None, '\'' | '"') => words.open = Some(letter),
            (None | Some('"'), '\\') => match letters.next() {
                Some((_, letter)) => push_literal(&mut word.text, letter),
                None => words.open = Some('\\'),
            },
            (None, letter) => word.text.push(letter),
            (Some(_), letter) => push_literal(&mut word.text, letter),
        }
    }
    words
}

fn push_literal(text: &mut String, letter: char) {
    if PATTERN.contains(&letter) {
        text.extend(['[', letter, ']']);
    } else {
        text.push(letter);
    }
}

/// The name that a word stands for, where patterns are none: `[*]` is `*` again.
pub(super) fn literal(word: &str) -> String {
    let mut name = word.to_owned();
    for letter in PATTERN {
        name = name.replace(&format!("[{letter}]"), &letter.to_string());
    }
    name
}

/// Writes a name so that [`split`] reads it as one word, behind a quote that may be open.
pub(super) fn quoted(name: &str, open: Option<char>) -> String {
    let mut word = String::with_capacity(name.len());
    for letter in name.chars() {
        let special = match open {
            Some('"') => matches!(letter, '"' | '\\'),
            Some(_) => false,
            None => !letter.is_alphanumeric() && !"/._-+,:=@%".contains(letter),
        };
        match open {
            // Nothing is escaped there: the quote ends, and begins again.
            Some('\'') if letter == '\'' => word.push_str("'\\''"),
            _ if special => word.extend(['\\', letter]),
            _ => word.push(letter),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        split(line).words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_split_and_unquoted() {
        assert_eq!(
            texts("get  a\\ b 'c d' \"e\\\"f\" g'h'i"),
            ["get", "a b", "c d", "e\"f", "ghi"]
        );
        assert_eq!(texts("ls '' # all"), ["ls", ""]);
        assert_eq!(texts("  "), [""; 0]);
        assert_eq!(texts("a#b"), ["a#b"]);
        for (line, open) in
            [("get 'a", Some('\'')), ("get \"a\\\"", Some('"')), ("a\\", Some('\\')), ("a", None)]
        {
            assert_eq!(split(line).open, open, "{line}");
        }
        assert!(split("get ").is_between && !split("get").is_between);
    }

    #[test]
    fn only_what_is_not_quoted_is_a_pattern() {
        assert_eq!(texts("get *.txt '*.txt' a\\?"), ["get", "*.txt", "[*].txt", "a[?]"]);
        assert_eq!(literal("[*].txt[?][[]"), "*.txt?[");
        assert_eq!(literal("a[bc]"), "a[bc]");
    }

    #[test]
    fn what_is_quoted_is_read_again() {
        for name in ["plain.txt", "a b", "it's", "q\"\\x", "*?[", "\u{e4} #!$&", "-x"] {
            for open in [None, Some('\''), Some('"')] {
                let quote = open.map(String::from).unwrap_or_default();
                let line = format!("get {quote}{}{quote}", quoted(name, open));
                let words = texts(&line);
                let read: Vec<_> = words.iter().map(|word| literal(word)).collect();
                assert_eq!(read, ["get", name], "{line}");
            }
        }
    }
}
