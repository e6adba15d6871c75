//! Replies: a code of three digits and text, on one line or on many (RFC 959 §4.2).

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use crate::line::{LineEvent, Lines};

/// A reply that the client received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The code, 100 to 599.
    pub code: u16,
    /// The text after the code; lines are separated by `\n`.
    pub text: String,
}

impl Reply {
    /// Returns the meaning of the first digit.
    pub fn kind(&self) -> ReplyKind {
        match self.code / 100 {
            1 => ReplyKind::Preliminary,
            2 => ReplyKind::Completion,
            3 => ReplyKind::Intermediate,
            4 => ReplyKind::Transient,
            _ => ReplyKind::Permanent,
        }
    }
}

/// The first digit of a reply (RFC 959 §4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyKind {
    /// 1: the action has begun, and another reply follows.
    Preliminary,
    /// 2: the action is done.
    Completion,
    /// 3: another command is needed.
    Intermediate,
    /// 4: the action failed for now.
    Transient,
    /// 5: the action failed for good.
    Permanent,
}

/// The reason for which lines of a peer are no reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAReply {
    /// A line is longer than [`Replies::LINE_MOST`].
    #[error("a reply has a line that is too long")]
    LineTooLong,
    /// All lines together are longer than [`Replies::TEXT_MOST`].
    #[error("a reply does not come to an end")]
    Endless,
    /// More than [`Replies::FOREIGN_MOST`] lines do not begin with a code.
    #[error("a reply does not begin with a code")]
    NoCode,
}

/// Gathers replies from the octets of a control association.
#[derive(Debug)]
pub struct Replies {
    lines: Lines,
    /// The code and text of a reply of several lines that is not complete.
    open: Option<Reply>,
    /// The code of the last line of that reply, where it looks like the end of another one.
    other: Option<u16>,
    /// How many lines without a code came since the last reply.
    foreign: usize,
}

impl Default for Replies {
    fn default() -> Self {
        Replies { lines: Lines::lenient(Self::LINE_MOST), open: None, other: None, foreign: 0 }
    }
}

impl Replies {
    /// The longest line that is accepted, in octets.
    pub const LINE_MOST: usize = 4096;
    /// The longest text of several lines that is accepted, in octets.
    pub const TEXT_MOST: usize = 64 << 10;
    /// The most lines between two replies that are skipped because they have no code: banners of a
    /// loader, empty lines.
    pub const FOREIGN_MOST: usize = 16;

    /// Takes `octets` up to the end of one reply, and returns it and how many octets it took.
    ///
    /// # Errors
    /// Where the peer does not speak FTP; nothing that follows can be understood.
    pub fn feed(&mut self, octets: &[u8]) -> (Result<Option<Reply>, NotAReply>, usize) {
        let mut taken = 0;
        while taken < octets.len() {
            let (event, length) = self.lines.feed(&octets[taken..]);
            taken += length;
            let line = match event {
                // The end of such a line is not waited for: it may have none.
                None if self.lines.is_overlong() => return (Err(NotAReply::LineTooLong), taken),
                // A client need not answer a server's Telnet options.
                None | Some(LineEvent::Decline(_)) => continue,
                Some(LineEvent::Line(line)) => line,
                Some(LineEvent::TooLong | LineEvent::NotText) => {
                    return (Err(NotAReply::LineTooLong), taken);
                }
            };
            match self.line(&line) {
                Ok(None) => {}
                done => return (done, taken),
            }
        }
        (Ok(None), taken)
    }

    /// Returns whether the last line of an incomplete reply begins with another code and a space.
    pub fn has_other_end(&self) -> bool {
        self.other.is_some()
    }

    /// Takes an incomplete reply whose last line begins with another code and a space, with that
    /// code. It is to be asked for when nothing follows: RFC 959 §4.2 allows such lines in the
    /// middle, and some servers end with one.
    pub fn take_other_end(&mut self) -> Option<Reply> {
        let code = self.other.take()?;
        self.open.take().map(|open| Reply { code, ..open })
    }

    fn line(&mut self, line: &str) -> Result<Option<Reply>, NotAReply> {
        let code = code(line);
        let rest = line.get(4..).unwrap_or("");
        if let Some(open) = &mut self.open {
            // It ends only with the same code and a space: inner lines may begin with any digits.
            let last = code == Some(open.code)
                && line.as_bytes().get(3).is_none_or(|octet| *octet == b' ');
            let other = code.filter(|_| !last && line.as_bytes().get(3) == Some(&b' '));
            self.other = other;
            open.text.push('\n');
            open.text.push_str(if last { rest } else { line });
            if last {
                return Ok(self.open.take());
            }
            if open.text.len() > Self::TEXT_MOST {
                return Err(NotAReply::Endless);
            }
            return Ok(None);
        }
        let Some(code) = code else {
            self.foreign += 1;
            let few = self.foreign <= Self::FOREIGN_MOST;
            return if few { Ok(None) } else { Err(NotAReply::NoCode) };
        };
        self.foreign = 0;
        let reply = Reply { code, text: rest.into() };
        if line.as_bytes().get(3) == Some(&b'-') {
            self.open = Some(reply);
            return Ok(None);
        }
        Ok(Some(reply))
    }
}

fn code(line: &str) -> Option<u16> {
    let digits = line.get(..3)?;
    let follows = line.as_bytes().get(3);
    let ends = follows.is_none_or(|octet| matches!(octet, b' ' | b'-'));
    let code =
        digits.bytes().all(|octet| octet.is_ascii_digit()).then(|| digits.parse().ok())??;
    (ends && (100..600).contains(&code)).then_some(code)
}

/// Formats a reply on one line. What would end the line early is removed: the text may repeat what
/// a peer sent.
pub fn line(code: u16, text: &str) -> String {
    let mut reply = String::with_capacity("000 \r\n".len() + text.len());
    let _never_fails = write!(reply, "{code} ");
    reply.extend(text.split(['\r', '\n', '\0']));
    reply.push_str("\r\n");
    reply
}

/// Formats a reply on several lines, each of which begins with a space, as RFC 2389 asks for FEAT.
pub fn lines(code: u16, first: &str, inner: impl Iterator<Item = String>, last: &str) -> String {
    let mut reply = format!("{code}-{first}\r\n");
    for inner in inner {
        reply.push_str(&inner);
        reply.push_str("\r\n");
    }
    reply + &line(code, last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn all(octets: &[u8], piece: usize) -> Vec<Result<Reply, NotAReply>> {
        let mut replies = Replies::default();
        let mut event = vec![];
        for mut rest in octets.chunks(piece) {
            while !rest.is_empty() {
                let (one, taken) = replies.feed(rest);
                event.extend(one.transpose());
                rest = &rest[taken..];
            }
        }
        event
    }

    #[test]
    fn one_line_and_many() {
        let octets =
            b"220 hello\r\n211-Features:\r\n SIZE\r\n220 not the end\r\n211x\r\n211 End\r\n226\r\n";
        for piece in 1..octets.len() {
            let event = all(octets, piece);
            assert_eq!(event.len(), 3);
            assert_eq!(event[0], Ok(Reply { code: 220, text: "hello".into() }));
            assert_eq!(
                event[1],
                Ok(Reply {
                    code: 211,
                    text: "Features:\n SIZE\n220 not the end\n211x\nEnd".into()
                })
            );
            assert_eq!(event[2], Ok(Reply { code: 226, text: "".into() }));
        }
    }

    /// A server that means the second of these (https://github.com/veeso/suppaftp/pull/168).
    #[test]
    fn a_reply_may_seem_to_end_with_another_code() {
        let mut replies = Replies::default();
        for (lines, seems) in [
            ("553-a\r\n", false),
            ("150 b\r\n", true),
            ("150-c\r\n", false),
            ("150", false),
            (" d\r\n", true),
            (" 150 e\r\n", false),
            ("150 f\r\n", true),
        ] {
            assert_eq!(replies.feed(lines.as_bytes()), (Ok(None), lines.len()));
            assert_eq!(replies.has_other_end(), seems, "{lines:?}");
        }
        let text = "a\n150 b\n150-c\n150 d\n 150 e\n150 f".into();
        assert_eq!(replies.take_other_end(), Some(Reply { code: 150, text }));
        assert_eq!(replies.take_other_end(), None);
        let (reply, _) = replies.feed(b"226 g\r\n");
        assert_eq!(reply.map(|reply| reply.map(|reply| reply.code)), Ok(Some(226)));
    }

    #[test]
    fn the_code_counts_whatever_the_text_is_written_in() {
        let octets = b"220-f\xfcr\r\n\xfc\r\n220 r\xe4k\r\n331\xfc\r\n226 \xdc\r\n";
        for piece in 1..octets.len() {
            let replies = all(octets, piece);
            let text = "f\u{fffd}r\n\u{fffd}\nr\u{fffd}k".into();
            assert_eq!(replies[0], Ok(Reply { code: 220, text }));
            assert_eq!(replies[1], Ok(Reply { code: 226, text: "\u{fffd}".into() }));
            assert_eq!(replies.len(), 2, "331 and no blank is no code");
        }
    }

    #[test]
    fn a_few_lines_without_a_code_are_skipped() {
        for foreign in ["hello\r\n", "\r\n", "099 x\r\n", "é1 x\r\n", "2200 x\r\n"] {
            let few = foreign.repeat(Replies::FOREIGN_MOST);
            let reply = Ok(Reply { code: 220, text: "x".into() });
            let lines = format!("{few}220 x\r\n{few}220 x\r\n");
            assert_eq!(all(lines.as_bytes(), 1000), [reply.clone(), reply]);
            let many = format!("{few}{foreign}");
            assert_eq!(all(many.as_bytes(), 1000), [Err(NotAReply::NoCode)]);
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        assert_eq!(
            all(&[b'2'; 5000], 6000),
            [Err(NotAReply::LineTooLong)],
            "and its end is not waited for"
        );
        let endless: Vec<u8> = b"211-x\r\n".iter().copied().cycle().take(100_000).collect();
        assert_eq!(all(&endless, 200_000)[0], Err(NotAReply::Endless));
    }

    #[test]
    fn a_reply_never_holds_what_would_end_its_line() {
        assert_eq!(line(550, "a\r\n226 b"), "550 a226 b\r\n");
    }
}
