//! What came from a stranger, as a terminal may see it: the one escaping of this program.
//!
//! Every line for people or programs leaves through `say!` (`report.rs`) or `eprintln!`
//! (`main.rs`), which escape what they print: no message can forget it. A name within a line is
//! [`Printable`], so that it cannot begin a line of its own. What draws on a terminal (bars,
//! pictures, coloured listings) writes by itself, and names only as [`Printable`].

use std::fmt::{self, Display, Formatter, Write};

/// A text of which a terminal does nothing but show it, in one line: what would move the cursor,
/// change colours or the direction of writing is shown as `\x1b` or `\u202e`.
pub(crate) struct Printable<T>(pub(crate) T);

/// The same with ends of lines and tabs as they are. JSON stays the same JSON: what its writer did
/// not escape is escaped as JSON does.
pub(crate) struct PrintableLines<T>(pub(crate) T);

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping { f, lines: false }, "{}", self.0)
    }
}

impl<T: Display> Display for PrintableLines<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping { f, lines: true }, "{}", self.0)
    }
}

struct Escaping<'a, 'f> {
    f: &'a mut Formatter<'f>,
    lines: bool,
}

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (mut rest, mut shown) = (text, 0);
        while let Some((place, letter)) = rest[shown..].char_indices().find(|(_, one)| acts(*one)) {
            let (before, behind) = rest.split_at(shown + place);
            if self.lines && matches!(letter, '\n' | '\t') {
                shown += place + 1;
                continue;
            }
            self.f.write_str(before)?;
            match letter {
                '\0'..='\x1f' => write!(self.f, "\\x{:02x}", u32::from(letter))?,
                letter => write!(self.f, "\\u{:04x}", u32::from(letter))?,
            }
            (rest, shown) = (&behind[letter.len_utf8()..], 0);
        }
        self.f.write_str(rest)
    }
}

/// Whether a terminal does more with a character than to show it: C0 and C1 (ISO 6429), marks of
/// direction (UAX #9), separators of lines and paragraphs, and what is invisible anywhere.
fn acts(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\x1b[2J\x07b\r\u{9b}31m\u{202e}gpj.exe\u{2066}\u{feff}\t\u{7f}\n";

    #[test]
    fn nothing_but_text_reaches_a_terminal() {
        let shown = Printable(EVIL).to_string();
        assert_eq!(
            shown,
            "a\\x1b[2J\\x07b\\x0d\\u009b31m\\u202egpj.exe\\u2066\\ufeff\\x09\\u007f\\x0a"
        );
        assert!(!shown.contains(|letter: char| letter.is_control()));
        let plain = "Gr\u{fc}\u{df}e \u{20ac} \u{65e5}";
        assert_eq!(Printable(plain).to_string(), plain);
    }

    #[test]
    fn lines_end_where_the_program_ends_them() {
        let shown = PrintableLines(format_args!("one: {}\n\ttwo: {EVIL}", Printable("a\nb")));
        assert_eq!(
            shown.to_string(),
            "one: a\\x0ab\n\ttwo: a\\x1b[2J\\x07b\\x0d\\u009b31m\\u202egpj.exe\\u2066\\ufeff\t\\u007f\n"
        );
    }

    #[test]
    fn json_stays_the_same_json() {
        let told = serde_json::json!({ "file": EVIL });
        let shown = PrintableLines(&told).to_string();
        assert!(!shown.contains(acts), "{shown}");
        let read: serde_json::Value = serde_json::from_str(&shown).expect("it is JSON");
        assert_eq!(read, told);
    }
}
