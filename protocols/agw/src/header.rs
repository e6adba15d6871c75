//! The header of a frame, which is the same in both directions, and what may follow.

use stackwright_contract::CallSign;
use stackwright_wire::syntax::{Layout, Step};
use stackwright_wire::{Header, Malformed};

/// The longest data of a frame, in octets. One that claims more ends its program's connection.
pub const DATA_MOST: usize = 64 << 10;

/// The header of a frame. Unlike all that is on the air, its numbers are little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
#[header(little_endian)]
pub struct AgwHeader {
    /// The port of the TNC, counted from 0.
    pub port: u8,
    /// Zero; ignored.
    pub reserved: [u8; 3],
    /// What it is: a letter.
    pub kind: u8,
    /// Zero; ignored.
    pub reserved_kind: u8,
    /// The protocol identifier of AX.25.
    pub pid: u8,
    /// Zero; ignored.
    pub reserved_pid: u8,
    /// The call sign of the sender: text with a zero octet behind it.
    pub from: [u8; 10],
    /// The call sign of the receiver.
    pub to: [u8; 10],
    /// How many octets of data follow.
    pub length: u32,
    /// Of no use here.
    pub user: u32,
}

/// A digipeater in the data of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct AgwCall {
    /// Text with a zero octet behind it.
    pub text: [u8; 10],
}

/// The syntax of a frame, for programs that display packets.
pub const SYNTAX: &[Step] = &[Step::Header(Layout::of::<AgwHeader>())];

impl AgwHeader {
    /// Returns a header without call signs and data.
    pub const fn of(kind: u8) -> Self {
        AgwHeader {
            port: 0,
            reserved: [0; 3],
            kind,
            reserved_kind: 0,
            pid: 0,
            reserved_pid: 0,
            from: [0; 10],
            to: [0; 10],
            length: 0,
            user: 0,
        }
    }
}

/// Reads a call sign in ten octets.
pub(crate) fn call(octets: &[u8; 10]) -> Option<CallSign> {
    let text = octets.split(|octet| *octet == 0).next().unwrap_or_default();
    core::str::from_utf8(text).ok()?.trim_end().parse().ok()
}

/// Writes a call sign, which has at most nine characters.
pub(crate) fn written(call: CallSign) -> [u8; 10] {
    let mut octets = [0; 10];
    let mut rest = &mut octets[..9];
    // An error says that there is no room, and there is.
    let _ = core::fmt::Write::write_fmt(&mut Slice(&mut rest), format_args!("{call}"));
    octets
}

/// Takes the digipeaters apart at the front of the data of `v` and `V`; returns what is behind
/// them, too.
///
/// # Errors
/// The data is shorter than it says, or names more than eight or what is no call sign.
pub(crate) fn digipeaters(data: &[u8]) -> Result<(alloc::vec::Vec<CallSign>, &[u8]), Malformed> {
    let (count, mut rest) = data.split_first().ok_or(Malformed::TooShort)?;
    if *count > 8 {
        return Err(Malformed::Field("digipeaters"));
    }
    let mut calls = alloc::vec::Vec::new();
    for _ in 0..*count {
        let AgwCall { text } = AgwCall::decode(rest)?;
        calls.push(call(&text).ok_or(Malformed::Field("text"))?);
        rest = &rest[AgwCall::LENGTH..];
    }
    Ok((calls, rest))
}

/// Text into octets.
struct Slice<'a, 'b>(&'a mut &'b mut [u8]);

impl core::fmt::Write for Slice<'_, '_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let octets = core::mem::take(self.0);
        if text.len() > octets.len() {
            return Err(core::fmt::Error);
        }
        let (now, later) = octets.split_at_mut(text.len());
        now.copy_from_slice(text.as_bytes());
        *self.0 = later;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Direwolf 1.6 sends it.
    #[test]
    fn the_header_is_that_of_direwolf() {
        let header = AgwHeader {
            pid: 0xf0,
            from: written("N0AAA".parse().expect("a call sign")),
            to: written("N0BBB-15".parse().expect("a call sign")),
            length: 0x0102,
            ..AgwHeader::of(b'D')
        };
        let mut octets = [0; AgwHeader::LENGTH];
        header.encode(&mut octets);
        let expected = b"\0\0\0\0D\0\xf0\0N0AAA\0\0\0\0\0N0BBB-15\0\0\x02\x01\0\0\0\0\0\0";
        assert_eq!(&octets, expected);
        assert_eq!(AgwHeader::decode(&octets), Ok(header));
    }

    #[test]
    fn a_call_sign_is_read_as_it_is_written() {
        for text in ["A", "N0AAA", "OE1XYZ-15"] {
            let sign: CallSign = text.parse().expect("a call sign");
            assert_eq!(call(&written(sign)), Some(sign));
        }
        assert_eq!(call(b"n0aaa-1   "), "N0AAA-1".parse().ok());
        assert_eq!(call(b"N0AAA\0\xff\xff\xff\xff"), "N0AAA".parse().ok(), "what is behind");
        for octets in [b"\0\0\0\0\0\0\0\0\0\0", b"N0AAA-16\0\0", b"\xff\0\0\0\0\0\0\0\0\0"] {
            assert_eq!(call(octets), None);
        }
    }

    #[test]
    fn digipeaters_are_as_many_as_they_say() {
        let one = [&[1][..], &written("RELAY-1".parse().expect("a call sign")), b"text"].concat();
        let relay = "RELAY-1".parse().expect("a call sign");
        assert_eq!(digipeaters(&one), Ok(([relay].to_vec(), &b"text"[..])));
        assert_eq!(digipeaters(b"\0"), Ok((alloc::vec![], &b""[..])));
        for data in [&b""[..], b"\x01", &one[..10], b"\x01\0\0\0\0\0\0\0\0\0\0", b"\x09", b"\xff"] {
            assert!(digipeaters(data).is_err(), "{data:?}");
        }
    }
}
