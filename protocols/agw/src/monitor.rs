//! The text of frames that are monitored, as AGWPE writes it. It reads frames as they are on the
//! air: which of them belong to a link whose numbers have seven bits, they do not say, so all are
//! read as of three.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::CallSign;

/// Octets of an address (AX.25 v2.2 §3.12).
const ADDRESS: usize = 7;
/// The most digipeaters.
const DIGIPEATERS_MOST: usize = 8;
/// No address follows.
const LAST: u8 = 0x01;
/// The C bit of destination and source, the H bit of a digipeater.
const MARK: u8 = 0x80;
/// The P/F bit.
const POLL: u8 = 0x10;
/// Unnumbered information.
const UI: u8 = 0x03;

/// The addresses of a frame.
pub(crate) struct FrameAddresses {
    pub(crate) destination: CallSign,
    pub(crate) source: CallSign,
    is_command: bool,
    /// A digipeater has repeated it.
    pub(crate) is_repeated: bool,
    path: Vec<(CallSign, bool)>,
    /// Where its control field is.
    control: usize,
}

impl FrameAddresses {
    pub(crate) fn of(frame: &[u8]) -> Option<Self> {
        let address = |place: usize| {
            let octets: [u8; ADDRESS] =
                frame.get(place * ADDRESS..(place + 1) * ADDRESS)?.try_into().ok()?;
            Some((CallSign::from_octets(octets).ok()?, octets[ADDRESS - 1]))
        };
        let (destination, first) = address(0)?;
        let (source, second) = address(1)?;
        if first & LAST != 0 {
            return None; // nobody sent it
        }
        let (mut path, mut last) = (Vec::new(), second);
        while last & LAST == 0 {
            if path.len() >= DIGIPEATERS_MOST {
                return None;
            }
            let (call, octet) = address(2 + path.len())?;
            path.push((call, octet & MARK != 0));
            last = octet;
        }
        Some(FrameAddresses {
            destination,
            source,
            is_command: first & MARK != 0,
            is_repeated: path.iter().any(|(_, repeated)| *repeated),
            control: (2 + path.len()) * ADDRESS,
            path,
        })
    }
}

/// A frame that is monitored.
#[derive(Clone, Copy)]
pub(crate) struct Monitored<'a> {
    control: u8,
    pub(crate) pid: u8,
    /// Of I and UI frames.
    information: Option<&'a [u8]>,
}

impl<'a> Monitored<'a> {
    pub(crate) fn of(frame: &'a [u8], addresses: &FrameAddresses) -> Option<Self> {
        let (control, behind) = frame.get(addresses.control..)?.split_first()?;
        let has_information = control & 1 == 0 || control & !POLL == UI;
        let (pid, information) = match behind.split_first() {
            Some((pid, information)) if has_information => (*pid, Some(information)),
            _ if has_information => return None,
            _ => (0, None),
        };
        Some(Monitored { control: *control, pid, information })
    }

    /// Returns the kind of the frame that tells it. Of this station's own, only UI is told: links
    /// are known to their programs.
    pub(crate) const fn kind(&self, is_own: bool) -> Option<u8> {
        match self.control {
            control if control & !POLL == UI => Some(if is_own { b'T' } else { b'U' }),
            _ if is_own => None,
            control if control & 1 == 0 => Some(b'I'),
            _ => Some(b'S'),
        }
    }

    fn name(&self) -> &'static str {
        match self.control & !POLL {
            control if control & 1 == 0 => "I",
            control if control & 3 == 1 => {
                ["RR", "RNR", "REJ", "SREJ"][usize::from(control >> 2 & 3)]
            }
            0x2f => "SABM",
            0x6f => "SABME",
            0x43 => "DISC",
            0x0f => "DM",
            0x63 => "UA",
            0x87 => "FRMR",
            UI => "UI",
            0xaf => "XID",
            0xe3 => "TEST",
            _ => "?",
        }
    }

    /// Returns the data of the frame that tells it, heard `time` seconds after midnight.
    pub(crate) fn text(&self, port: u8, addresses: &FrameAddresses, time: u64) -> Vec<u8> {
        let FrameAddresses { destination, source, path, is_command, .. } = addresses;
        let mut text = format!(" {}:Fm {source} To {destination}", u16::from(port) + 1);
        for (place, (call, _)) in path.iter().enumerate() {
            let before = if place == 0 { " Via " } else { "," };
            text += &format!("{before}{call}");
        }
        text += &format!(" <{}", self.name());
        // P or F: UI frames are written without.
        if self.control & POLL != 0 && self.control & !POLL != UI {
            text += if *is_command { " P" } else { " F" };
        }
        if self.control & 3 != 3 {
            text += &format!(" R{}", self.control >> 5);
        }
        if self.control & 1 == 0 {
            text += &format!(" S{}", self.control >> 1 & 7);
        }
        if let Some(information) = self.information {
            text += &format!(" pid={:02X} Len={}", self.pid, information.len());
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

    fn text(frame: &[u8]) -> Option<(u8, String)> {
        let addresses = FrameAddresses::of(frame)?;
        let monitored = Monitored::of(frame, &addresses)?;
        let data = monitored.text(0, &addresses, 45_296);
        Some((monitored.kind(false)?, String::from_utf8_lossy(&data).into_owned()))
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
            (b"\xff", b'S', "<? P >[12:34:56]\r\0"),
        ] {
            let (told, text) = text(&[HEAD, behind].concat()).expect("a frame");
            assert_eq!((told, text), (kind, format!(" 1:Fm N0AAA To CQ {shown}")));
        }
    }

    #[test]
    fn what_is_no_frame_has_no_text() {
        for frame in [&b""[..], HEAD, &HEAD[..13], &[HEAD, b"\x03"].concat(), &[0xff; 100]] {
            assert_eq!(text(frame), None, "{frame:x?}");
        }
    }
}
