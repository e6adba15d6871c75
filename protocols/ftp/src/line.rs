//! Octets of a control association → lines.
//!
//! The control association uses Telnet (RFC 959 §3.1), whose commands may come anywhere, also
//! inside a line; they are taken out here. A line ends with CR LF; a bare LF is accepted too,
//! because people type into sockets.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

/// Telnet's "interpret as command" (RFC 854).
const IAC: u8 = 0xFF;
const WILL: u8 = 0xFB;
const WONT: u8 = 0xFC;
const DO: u8 = 0xFD;
const DONT: u8 = 0xFE;
/// The first of Telnet's commands (RFC 854).
const SE: u8 = 0xF0;
const DM: u8 = 0xF2;
const IP: u8 = 0xF4;

/// Gathers lines of a bounded length.
#[derive(Debug)]
pub struct Lines {
    partial: Vec<u8>,
    most: usize,
    /// Whether the line is longer than allowed: its rest is skipped.
    overlong: bool,
    /// Whether what is not UTF-8 is replaced, and the line counts.
    lenient: bool,
    telnet: Telnet,
}

/// The position in a Telnet command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Telnet {
    Text,
    /// After IAC.
    Command,
    /// After IAC and WILL, WONT, DO or DONT.
    Option(u8),
}

/// A line, or what comes in place of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineEvent {
    /// A line, without its end.
    Line(String),
    /// A line longer than allowed, which was skipped.
    TooLong,
    /// A line that is not UTF-8 (RFC 2640), which was skipped.
    NotText,
    /// A Telnet option that the peer proposes; these octets decline it, as RFC 1123 §4.1.2.12
    /// demands.
    Decline([u8; 3]),
}

impl LineEvent {
    /// Returns how many octets of memory the line holds.
    pub(crate) fn length(&self) -> usize {
        if let LineEvent::Line(line) = self { line.len() } else { 0 }
    }
}

impl Lines {
    /// Creates an empty buffer for lines of at most `most` octets, without their end.
    pub fn new(most: usize) -> Self {
        Lines { partial: Vec::new(), most, overlong: false, lenient: false, telnet: Telnet::Text }
    }

    /// Creates an empty buffer for lines in which octets that are not UTF-8 are replaced (U+FFFD):
    /// they are text for people.
    pub fn lenient(most: usize) -> Self {
        Lines { lenient: true, ..Self::new(most) }
    }

    /// Returns whether the line that is being gathered is longer than allowed already.
    pub fn is_overlong(&self) -> bool {
        self.overlong
    }

    /// Forgets the line that is being gathered.
    pub(crate) fn forget(&mut self) {
        *self = Lines::new(self.most);
    }

    /// Takes `octets` up to the end of one line, and returns the event and how many octets it took.
    /// Where nothing is complete, it takes all of them.
    pub fn feed(&mut self, octets: &[u8]) -> (Option<LineEvent>, usize) {
        for (index, &octet) in octets.iter().enumerate() {
            let event = match (self.telnet, octet) {
                (Telnet::Text, IAC) => {
                    self.telnet = Telnet::Command;
                    None
                }
                (Telnet::Text | Telnet::Command, b'\n') => {
                    self.telnet = Telnet::Text;
                    Some(self.complete())
                }
                (Telnet::Text, octet) => {
                    self.text(octet);
                    None
                }
                (Telnet::Command, WILL | WONT | DO | DONT) => {
                    self.telnet = Telnet::Option(octet);
                    None
                }
                (Telnet::Command, octet) => {
                    self.telnet = Telnet::Text;
                    // Doubled, it stands for itself; and where no command follows, for nothing.
                    if octet == IAC || octet < SE {
                        self.text(octet);
                    }
                    None // IP, DM and the like: ABOR follows as a line of its own
                }
                (Telnet::Option(verb), option) => {
                    self.telnet = Telnet::Text;
                    match verb {
                        WILL => Some(LineEvent::Decline([IAC, DONT, option])),
                        DO => Some(LineEvent::Decline([IAC, WONT, option])),
                        _ => None,
                    }
                }
            };
            if event.is_some() {
                return (event, index + 1);
            }
        }
        (None, octets.len())
    }

    fn text(&mut self, octet: u8) {
        // One more than allowed, for the CR that may be the line's end.
        if self.partial.len() <= self.most {
            self.partial.push(octet);
        } else {
            self.overlong = true;
        }
    }

    fn complete(&mut self) -> LineEvent {
        let mut line = mem::take(&mut self.partial);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if mem::take(&mut self.overlong) || line.len() > self.most {
            return LineEvent::TooLong;
        }
        // Signals whose IAC was sent as the urgent octet, behind them.
        let signals = line.iter().take_while(|octet| matches!(**octet, IP | DM)).count();
        let signals = if self.lenient { 0 } else { signals };
        match String::from_utf8(line) {
            Ok(line) => LineEvent::Line(line),
            Err(wrong) if signals > 0 => {
                match String::from_utf8(wrong.into_bytes().split_off(signals)) {
                    Ok(line) => LineEvent::Line(line),
                    Err(_) => LineEvent::NotText,
                }
            }
            Err(wrong) if self.lenient => {
                LineEvent::Line(String::from_utf8_lossy(wrong.as_bytes()).into_owned())
            }
            Err(_) => LineEvent::NotText,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn all(octets: &[u8], piece: usize) -> Vec<LineEvent> {
        let mut lines = Lines::new(8);
        let mut event = vec![];
        for mut rest in octets.chunks(piece) {
            while !rest.is_empty() {
                let (one, taken) = lines.feed(rest);
                event.extend(one);
                rest = &rest[taken..];
            }
        }
        event
    }

    fn line(text: &str) -> LineEvent {
        LineEvent::Line(text.into())
    }

    #[test]
    fn lines_do_not_depend_on_how_they_are_cut() {
        let octets = b"USER a\r\nNOOP\n\xff\xf4\xff\xf2ABOR\r\nQU\xff\xfb\x01IT\r\na\xff\xffb\r\n123456789\r\n12345678\r\n";
        let expected = [
            line("USER a"),
            line("NOOP"),
            line("ABOR"),
            LineEvent::Decline([IAC, DONT, 1]),
            line("QUIT"),
            LineEvent::NotText,
            LineEvent::TooLong,
            line("12345678"),
        ];
        for piece in 1..octets.len() {
            assert_eq!(all(octets, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn signals_in_a_different_order_are_removed() {
        for octets in [&b"\xf4\xffabor\r\n"[..], b"\xff\xf4\xf2abor\r\n", b"\xff\xf4\xffabor\r\n"] {
            assert_eq!(all(octets, 3), [line("abor")], "{octets:x?}");
        }
        assert_eq!(all("\u{101234}\n\u{85555}\n".as_bytes(), 1).len(), 2);
        assert_eq!(all(b"\xff\nabor\n", 2), [line(""), line("abor")]);
    }

    #[test]
    fn a_line_without_end_holds_no_memory() {
        let mut lines = Lines::new(512);
        for _ in 0..1000 {
            assert_eq!(lines.feed(&[b'x'; 1000]), (None, 1000));
        }
        assert!(lines.partial.capacity() < 2048);
        assert_eq!(lines.feed(b"\r\n").0, Some(LineEvent::TooLong));
    }
}
