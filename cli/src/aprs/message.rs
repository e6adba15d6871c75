//! A message of APRS, in the information of a UI frame (APRS101, chapter 14).

use std::fmt;

use stackwright::ax25::header::{Addresses, ControlField, DigipeaterPath, Head, Modulus, Role};
use stackwright::ax25::header::{Unnumbered, pid};
use stackwright::contract::CallSign;

/// The most octets of a text.
pub(super) const TEXT_MOST: usize = 67;
/// The most characters of a message's number.
const ID_MOST: usize = 5;
/// The destination of all frames: a program that is not registered (APRS101, chapter 4).
const PROGRAM: &str = "APZSTK";

/// What a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Body {
    /// A text; with a number, it is to be acknowledged.
    Text { text: String, id: Option<String> },
    /// The message of this number has arrived.
    Acknowledged { id: String },
    /// The message of this number is not accepted.
    Rejected { id: String },
}

/// A message to a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AprsMessage {
    pub(super) to: CallSign,
    pub(super) body: Body,
}

impl fmt::Display for AprsMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{:<9}:", self.to.to_string())?;
        match &self.body {
            Body::Text { text, id: Some(id) } => write!(f, "{text}{{{id}"),
            Body::Text { text, id: None } => f.write_str(text),
            Body::Acknowledged { id } => write!(f, "ack{id}"),
            Body::Rejected { id } => write!(f, "rej{id}"),
        }
    }
}

/// Returns what a text must not be; `None`: it can be sent.
pub(super) fn objection(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() || text.len() > TEXT_MOST {
        return Some("a message has 1 to 67 octets");
    }
    let is_bad = |letter: char| letter.is_control() || "|~{".contains(letter);
    text.contains(is_bad).then_some("a message has no |, ~ or {, and one line")
}

impl AprsMessage {
    /// Reads a frame. Returns who sent the message, and the digipeaters that repeated it; `None`: it
    /// is something else.
    pub(super) fn of_frame(frame: &[u8]) -> Option<(CallSign, DigipeaterPath, Self)> {
        let (addresses, at) = Addresses::decode(frame).ok()?;
        let (control, _) = ControlField::decode(frame.get(at..)?, Modulus::Eight).ok()?;
        if control != ControlField::unnumbered(Unnumbered::Ui, false)
            && control != ControlField::unnumbered(Unnumbered::Ui, true)
        {
            return None;
        }
        let [pid::NONE, information @ ..] = frame.get(at + 1..)? else { return None };
        let text = String::from_utf8_lossy(information);
        let Addresses { source, path, .. } = addresses;
        // What a gateway passes on is behind the header of its sender (chapter 17).
        let Some(passed_on) = text.strip_prefix('}') else {
            return Some((source, path, Self::parse(&text)?));
        };
        let (head, text) = passed_on.split_once(':')?;
        Some((head.split('>').next()?.parse().ok()?, path, Self::parse(text)?))
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches(['\r', '\n']).strip_prefix(':')?;
        let (to, text) = (text.get(..9)?, text.get(9..)?.strip_prefix(':')?);
        let to = to.trim_end().parse().ok()?;
        let number = |text: &str| {
            let is_number = (1..=ID_MOST).contains(&text.len())
                && text.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'}');
            is_number.then(|| text.to_owned())
        };
        // Behind the brace is what is acknowledged with a reply (APRS 1.1).
        let settled = |text| number(text).map(|id| id.split('}').next().unwrap_or_default().into());
        let body = if let Some(id) = text.strip_prefix("ack").and_then(settled) {
            Body::Acknowledged { id }
        } else if let Some(id) = text.strip_prefix("rej").and_then(settled) {
            Body::Rejected { id }
        } else {
            match text.rsplit_once('{').map(|(text, id)| (text, number(id))) {
                Some((text, id @ Some(_))) => Body::Text { text: text.into(), id },
                _ => Body::Text { text: text.into(), id: None },
            }
        };
        Some(AprsMessage { to, body })
    }

    /// Returns the frame of a station that sends it.
    pub(super) fn frame(&self, source: CallSign, path: DigipeaterPath) -> Vec<u8> {
        let destination = PROGRAM.parse().unwrap_or(source);
        let addresses = Addresses { destination, source, role: Role::Command, path };
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        let head = Head::new(&addresses, control, Modulus::Eight, Some(pid::NONE));
        [head.as_octets(), self.to_string().as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> CallSign {
        text.parse().expect("a call sign")
    }

    /// The messages of chapter 14.
    #[test]
    fn messages_are_read_and_written() {
        let text =
            |text: &str, id: Option<&str>| Body::Text { text: text.into(), id: id.map(Into::into) };
        for (information, to, body) in [
            (":WU2Z     :Testing", "WU2Z", text("Testing", None)),
            (":WU2Z     :Testing{003", "WU2Z", text("Testing", Some("003"))),
            (":EMAIL-2  :to@example.org hi", "EMAIL-2", text("to@example.org hi", None)),
            (":KB2ICI-14:ack003", "KB2ICI-14", Body::Acknowledged { id: "003".into() }),
            (":KB2ICI-14:rej003", "KB2ICI-14", Body::Rejected { id: "003".into() }),
            (":N0AAA    :acknowledged", "N0AAA", text("acknowledged", None)),
            (":N0AAA    :a {b} c", "N0AAA", text("a {b} c", None)),
            (":N0AAA    :{7", "N0AAA", text("", Some("7"))),
        ] {
            let message = AprsMessage { to: call(to), body };
            assert_eq!(message.to_string(), information);
            let frame = message.frame(call("N0BBB"), DigipeaterPath::DIRECT);
            let read = AprsMessage::of_frame(&frame);
            assert_eq!(read, Some((call("N0BBB"), DigipeaterPath::DIRECT, message)));
        }
        let read = |text: &str| AprsMessage::parse(text).map(|message| message.body);
        assert_eq!(read(":N0AAA    :hi{MM}AA\r"), Some(text("hi", Some("MM}AA"))));
        assert_eq!(read(":N0AAA    :ackMM}AA"), Some(Body::Acknowledged { id: "MM".into() }));
        for other in ["", ":", "!4903.50N/07201.75W-", ":N0AAA:short", ":N0AAA    ", ":\u{e4}"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_gateway_passes_on_is_from_its_sender() {
        let mut frame =
            AprsMessage { to: call("N0AAA"), body: Body::Acknowledged { id: "1".into() } }
                .frame(call("GATE-1"), DigipeaterPath::DIRECT);
        let at = frame.iter().position(|octet| *octet == b':').expect("its information");
        frame.splice(at..at, *b"}N0CCC-7>APRS,TCPIP,GATE-1*:");
        let (from, _, message) = AprsMessage::of_frame(&frame).expect("a message");
        assert_eq!((from, message.to), (call("N0CCC-7"), call("N0AAA")));
    }

    #[test]
    fn some_texts_cannot_be_sent() {
        assert_eq!(objection(&"x".repeat(TEXT_MOST)), None);
        for text in ["", " ", "a{1", "a|b", "a~b", "a\nb", &"x".repeat(TEXT_MOST + 1)] {
            assert!(objection(text).is_some(), "{text}");
        }
    }
}
