//! What a frame says: its octets, understood and written.

use core::ops::Range;

use stackwright_wire::{Header, Leaf, Message};

use crate::check::{CRC_OCTETS, is_flexnet, is_smack, xkiss};
use crate::escape::Framer;
use crate::header::{
    ACKNOWLEDGED, DATA, FULL_DUPLEX, KissAcknowledgement, KissParameter, KissType, SET_HARDWARE,
    TX_DELAY,
};

/// The most octets of a frame beside its data: its type, the number of ACKMODE, a check.
pub(crate) const OVERHEAD: usize = KissType::LENGTH + KissAcknowledgement::LENGTH + CRC_OCTETS;

/// What a frame says. A range is that of its data among its octets, which are at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    Data {
        port: u8,
        data: Range<usize>,
    },
    /// Data to be acknowledged: it comes from a host.
    Numbered {
        port: u8,
        id: u16,
        data: Range<usize>,
    },
    /// Such data was transmitted: it comes from a TNC.
    Transmitted {
        port: u8,
        id: u16,
    },
    Hardware {
        port: u8,
        setting: Range<usize>,
    },
    /// How the TNC is to access the channel: it comes from a host.
    Parameter {
        port: u8,
        command: u8,
        value: u8,
    },
    /// An end of KISS, or what no specification knows.
    Other,
}

pub(crate) const EMPTY: &str = "a frame without data";
const WRONG_CHECK: &str = "a frame whose check does not agree";

/// Understands a frame of at least its type. With `checked`, data has the check octet of XKISS
/// behind it.
///
/// The flags of SMACK and FlexNet are bits of the port, so they count only where the check agrees:
/// Linux' `mkiss` tries them with its first frames.
pub(crate) fn understand(frame: &[u8], checked: bool) -> Result<Said, &'static str> {
    let [kind, ..] = *frame else { return Err(EMPTY) };
    let (port, command) = (kind >> 4, kind & 0xF);
    let first = KissType::LENGTH;
    let end = |first: usize| {
        let end = if checked { frame.len().saturating_sub(1) } else { frame.len() };
        match end {
            _ if checked && xkiss(frame) != 0 => Err(WRONG_CHECK),
            end if end <= first => Err(EMPTY),
            end => Ok(end),
        }
    };
    match command {
        DATA if kind & SMACK > 0 && is_smack(frame) => {
            let (port, data) = ((kind & !SMACK) >> 4, first..frame.len() - CRC_OCTETS);
            if data.is_empty() { Err(EMPTY) } else { Ok(Said::Data { port, data }) }
        }
        DATA if kind & SMACK == 0 && kind & FLEXNET > 0 && is_flexnet(frame) => {
            let (port, data) = ((kind & !FLEXNET) >> 4, first..frame.len() - CRC_OCTETS);
            if data.is_empty() { Err(EMPTY) } else { Ok(Said::Data { port, data }) }
        }
        DATA => Ok(Said::Data { port, data: first..end(first)? }),
        ACKNOWLEDGED => {
            let Ok(KissAcknowledgement { id }) = KissAcknowledgement::decode(&frame[first..])
            else {
                return Err(EMPTY);
            };
            let first = first + KissAcknowledgement::LENGTH;
            // What a TNC returns may have the check octet or not: it has no data to be checked.
            let only = frame.len() - first;
            if only == 0 || checked && only == 1 && xkiss(frame) == 0 {
                return Ok(Said::Transmitted { port, id });
            }
            Ok(Said::Numbered { port, id, data: first..end(first)? })
        }
        SET_HARDWARE => Ok(Said::Hardware { port, setting: first..frame.len() }),
        TX_DELAY..=FULL_DUPLEX => match KissParameter::decode(&frame[first..]) {
            Ok(KissParameter { value }) => Ok(Said::Parameter { port, command, value }),
            Err(_) => Err(EMPTY),
        },
        _ => Ok(Said::Other),
    }
}

/// The flag of SMACK in the type.
const SMACK: u8 = 0x80;
/// The flag of FlexNet in the type.
const FLEXNET: u8 = 0x20;

/// Writes data as it is on the line, numbered for ACKMODE where there is an `id`; with `checked`,
/// the check octet of XKISS is behind it. Returns how many octets it wrote.
pub(crate) fn write<M: Message>(
    block: &mut [u8],
    port: u8,
    id: Option<u16>,
    data: &M,
    checked: bool,
) -> usize {
    let mut framer = Framer::new(block);
    let mut head = [0; KissType::LENGTH + KissAcknowledgement::LENGTH];
    let (command, length) = match id {
        Some(id) => {
            KissAcknowledgement { id }.encode(&mut head[KissType::LENGTH..]);
            (ACKNOWLEDGED, head.len())
        }
        None => (DATA, KissType::LENGTH),
    };
    KissType { port, command }.encode(&mut head);
    let head = &head[..length];
    framer.end();
    framer.add(head);
    let mut check = xkiss(head);
    for leaf in data.leaves() {
        if let Leaf::Octets(octets) = leaf {
            framer.add(octets);
            check ^= xkiss(octets);
        }
    }
    if checked {
        framer.add(&[check]);
    }
    framer.end();
    framer.length()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::{UI, typed, with_flexnet, with_smack};

    fn data(frame: &[u8], checked: bool) -> (u8, &[u8]) {
        match understand(frame, checked) {
            Ok(Said::Data { port, data }) => (port, &frame[data]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn data_is_that_of_its_port() {
        for port in 0..16 {
            assert_eq!(data(&typed(port << 4), false), (port, &UI[..]));
        }
    }

    #[test]
    fn smack_and_flexnet_count_only_with_a_correct_check() {
        assert_eq!(data(&with_smack(0x80), false), (0, &UI[..]));
        assert_eq!(data(&with_smack(0xF0), false), (7, &UI[..]));
        assert_eq!(data(&with_flexnet(0x20), false), (0, &UI[..]));
        assert_eq!(data(&with_flexnet(0x70), false), (5, &UI[..]));
        // Else the flags are bits of the port.
        for (mut frame, port) in [(with_smack(0x80), 8), (with_flexnet(0x20), 2)] {
            frame[7] ^= 4;
            let (there, octets) = data(&frame, false);
            assert_eq!((there, octets.len()), (port, UI.len() + 2));
        }
        // FlexNet's flag in a frame that SMACK's rules out: port 10.
        assert_eq!(data(&with_flexnet(0xA0), false).0, 10);
    }

    #[test]
    fn the_check_octet_is_taken_off_and_must_agree() {
        let mut frame = typed(0);
        frame.push(0x81);
        assert_eq!(data(&frame, true), (0, &UI[..]));
        frame[3] ^= 1;
        assert_eq!(understand(&frame, true), Err(WRONG_CHECK));
        for short in [&[0][..], &[0, 0]] {
            assert_eq!(understand(short, true), Err(EMPTY), "{short:?}");
        }
        assert_eq!(understand(&[0], false), Err(EMPTY));
    }

    #[test]
    fn ackmode_goes_both_ways() {
        let echo = Said::Transmitted { port: 2, id: 0x0107 };
        assert_eq!(understand(&[0x2C, 1, 7], false), Ok(echo.clone()));
        assert_eq!(understand(&[0x2C, 1, 7], true), Ok(echo.clone()));
        assert_eq!(understand(&[0x2C, 1, 7, 0x2C ^ 1 ^ 7], true), Ok(echo));
        let numbered = Said::Numbered { port: 0, id: 0x0107, data: 3..4 };
        assert_eq!(understand(&[0x0C, 1, 7, 0x2C], false), Ok(numbered));
        assert_eq!(understand(&[0x0C, 1], false), Err(EMPTY));
        assert_eq!(understand(&[0x0C, 1, 7, 0x2C], true), Err(WRONG_CHECK));
    }

    #[test]
    fn all_else_is_told_apart() {
        let hardware = Said::Hardware { port: 1, setting: 1..9 };
        assert_eq!(understand(b"\x16TXBUF:10", false), Ok(hardware));
        for command in 1..=5 {
            let parameter = Said::Parameter { port: 3, command, value: 30 };
            assert_eq!(understand(&[0x30 | command, 30], false), Ok(parameter));
            assert_eq!(understand(&[command], false), Err(EMPTY));
        }
        for kind in [0xFF, 0x0E] {
            assert_eq!(understand(&[kind, 30], false), Ok(Said::Other));
        }
    }
}
