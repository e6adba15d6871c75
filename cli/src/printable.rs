//! What a stranger wrote, as a terminal may see it.

use std::fmt::{self, Display, Formatter, Write};

/// A text of which a terminal does nothing but show it: what would move the cursor, change colours
/// or the direction of writing is shown as `\x1b` or `\u{202e}`.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '\0'..='\x1f' | '\x7f' => write!(f, "\\x{:02x}", u32::from(letter))?,
                // C1 (ISO 6429), marks of direction (UAX #9), separators of lines and paragraphs,
                // and what is invisible anywhere.
                '\u{80}'..='\u{9f}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}' => write!(f, "\\u{{{:x}}}", u32::from(letter))?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_text_reaches_a_terminal() {
        let text = "a\x1b[2J\x07b\r\u{9b}31m\u{202e}gpj.exe\u{2066}\u{feff}\t\u{7f}\n";
        let shown = Printable(text).to_string();
        assert_eq!(
            shown,
            "a\\x1b[2J\\x07b\\x0d\\u{9b}31m\\u{202e}gpj.exe\\u{2066}\\u{feff}\\x09\\x7f\\x0a"
        );
        assert!(!shown.contains(|letter: char| letter.is_control()));
        assert_eq!(
            Printable("Gr\u{fc}\u{df}e \u{20ac} \u{65e5}").to_string(),
            "Gr\u{fc}\u{df}e \u{20ac} \u{65e5}"
        );
    }
}
