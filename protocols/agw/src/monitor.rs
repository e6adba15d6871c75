//! The text of frames that are monitored, as AGWPE writes it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::ax25::{Addresses, ControlField, Modulus, Role, Unnumbered};

/// A frame that is monitored.
#[derive(Clone, Copy)]
pub(crate) struct Monitored<'a> {
    /// `None`: of no kind that there is.
    control: Option<ControlField>,
    /// Whether it is read as one of a link that may count otherwise.
    is_doubtful: bool,
    pub(crate) pid: u8,
    /// Of I and UI frames.
    information: Option<&'a [u8]>,
}

impl<'a> Monitored<'a> {
    /// Reads a frame from its control field on. `modulus`: how its link counts, if that is known.
    pub(crate) fn of(from_control: &'a [u8], modulus: Option<Modulus>) -> Option<Self> {
        from_control.first()?;
        let decoded = ControlField::decode(from_control, modulus.unwrap_or(Modulus::Eight)).ok();
        let has_information = decoded.is_some_and(|(control, _)| control.has_pid());
        let behind = decoded.and_then(|(_, length)| from_control.get(length..)?.split_first());
        let (pid, information) = match behind {
            Some((pid, information)) if has_information => (*pid, Some(information)),
            _ if has_information => return None,
            _ => (0, None),
        };
        let control = decoded.map(|(control, _)| control);
        Some(Monitored { control, is_doubtful: modulus.is_none(), pid, information })
    }

    /// Returns the kind of the frame that tells it.
    pub(crate) const fn kind(&self, is_own: bool) -> u8 {
        match self.control {
            Some(ControlField::Unnumbered { kind: Unnumbered::Ui, .. }) if is_own => b'T',
            Some(ControlField::Unnumbered { kind: Unnumbered::Ui, .. }) => b'U',
            Some(ControlField::Information { .. }) => b'I',
            _ => b'S',
        }
    }

    /// Returns the data of the frame that tells it, heard `time` seconds after midnight.
    pub(crate) fn text(&self, port: u8, addresses: &Addresses, time: u64) -> Vec<u8> {
        let Addresses { destination, source, role, path } = addresses;
        let mut text = format!(" {}:Fm {source} To {destination}", u16::from(port) + 1);
        for (place, (call, _)) in path.iter().enumerate() {
            let before = if place == 0 { " Via " } else { "," };
            text += &format!("{before}{call}");
        }
        let (poll, numbers) = match self.control {
            Some(ControlField::Information { sent, received, poll }) => {
                (poll, format!(" R{received} S{sent}"))
            }
            Some(ControlField::Supervisory { received, poll, .. }) => {
                (poll, format!(" R{received}"))
            }
            // UI frames are written without P.
            Some(ControlField::Unnumbered { kind, poll }) => {
                (poll && kind != Unnumbered::Ui, String::new())
            }
            None => (false, String::new()),
        };
        let name = self.control.map_or("?", ControlField::name);
        text += &format!(" <{name}");
        if poll {
            text += if *role == Role::Response { " F" } else { " P" };
        }
        text += &numbers;
        if let Some(information) = self.information {
            text += &format!(" pid={:02X} Len={}", self.pid, information.len());
        }
        if self.is_doubtful {
            text += " modulo 8?";
        }
        text += &format!(" >{}\r", clock(time));
        let mut data = text.into_bytes();
        if let Some(information) = self.information {
            data.extend_from_slice(information);
            data.extend_from_slice(b"\r\r");
        }
        data.push(0);
        data
    }
}

/// Writes seconds since midnight.
fn clock(time: u64) -> String {
    format!("[{:02}:{:02}:{:02}]", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_in(frame: &[u8], modulus: Option<Modulus>) -> Option<(u8, String)> {
        let (addresses, at) = Addresses::decode(frame).ok()?;
        let monitored = Monitored::of(&frame[at..], modulus)?;
        let data = monitored.text(0, &addresses, 45_296);
        Some((monitored.kind(false), String::from_utf8_lossy(&data).into_owned()))
    }

    fn text(frame: &[u8]) -> Option<(u8, String)> {
        text_in(frame, Some(Modulus::Eight))
    }

    /// N0AAA to CQ, a command.
    const HEAD: &[u8] = b"\x86\xa2\x40\x40\x40\x40\xe0\x9c\x60\x82\x82\x82\x40\x61";

    #[test]
    fn the_text_of_ui_is_that_of_direwolf() {
        let ui = [HEAD, b"\x03\xf0hello"].concat();
        let expected = " 1:Fm N0AAA To CQ <UI pid=F0 Len=5 >[12:34:56]\rhello\r\r\0";
        assert_eq!(text(&ui), Some((b'U', expected.into())));
        let via = b"\x86\xa2\x40\x40\x40\x40\xe0\x9c\x60\x82\x82\x82\x40\x60\
                    \xa4\x8a\x98\x82\xb2\x40\xe2\xa4\x8a\x98\x82\xb2\x40\x65\x03\xf0x";
        let expected =
            " 1:Fm N0AAA To CQ Via RELAY-1,RELAY-2 <UI pid=F0 Len=1 >[12:34:56]\rx\r\r\0";
        assert_eq!(text(via), Some((b'U', expected.into())));
    }

    #[test]
    fn what_a_link_sends_has_its_numbers() {
        for (behind, kind, shown) in [
            (&b"\x74\xf0data"[..], b'I', "<I P R3 S2 pid=F0 Len=4 >[12:34:56]\rdata\r\r\0"),
            (b"\x24\xf0", b'I', "<I R1 S2 pid=F0 Len=0 >[12:34:56]\r\r\r\0"),
            (b"\x31", b'S', "<RR P R1 >[12:34:56]\r\0"),
            (b"\xe9", b'S', "<REJ R7 >[12:34:56]\r\0"),
            (b"\x3f", b'S', "<SABM P >[12:34:56]\r\0"),
            (b"\xff", b'S', "<? >[12:34:56]\r\0"),
        ] {
            let (told, text) = text(&[HEAD, behind].concat()).expect("a frame");
            assert_eq!((told, text), (kind, format!(" 1:Fm N0AAA To CQ {shown}")));
        }
    }

    #[test]
    fn numbers_are_those_of_the_link_or_marked() {
        let i = [HEAD, b"\x12\x07\xf0data"].concat();
        for (modulus, shown) in [
            (Some(Modulus::Extended), "<I P R3 S9 pid=F0 Len=4 >[12:34:56]\rdata\r\r\0"),
            (None, "<I P R0 S1 pid=07 Len=5 modulo 8? >[12:34:56]\r\u{fffd}data\r\r\0"),
        ] {
            let expected = (b'I', format!(" 1:Fm N0AAA To CQ {shown}"));
            assert_eq!(text_in(&i, modulus), Some(expected));
        }
    }

    #[test]
    fn what_is_no_frame_has_no_text() {
        for frame in [&b""[..], HEAD, &HEAD[..13], &[HEAD, b"\x03"].concat(), &[0xff; 100]] {
            assert_eq!(text(frame), None, "{frame:x?}");
        }
    }
}
