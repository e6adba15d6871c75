//! How the links of others count: a frame does not say it, those that opened its link do.

use alloc::collections::VecDeque;

use super::{Addresses, ControlField, Modulus, Unnumbered};
use crate::CallSign;

/// Pairs of stations that are remembered; the one that was silent longest is forgotten first.
const PAIRS_MOST: usize = 256;

/// The links between stations that are heard on the ports of a TNC, as far as it matters to read
/// their frames.
#[derive(Clone, Debug, Default)]
pub struct LinksHeard {
    pairs: VecDeque<(Pair, Modulus)>,
}

/// A port, and two stations on it, the lesser call sign first.
type Pair = (u8, CallSign, CallSign);

impl LinksHeard {
    /// Takes a frame from its control field on, and returns how its link counts; `None`: its
    /// opening was not heard, and the frame does not tell. U frames are the same on all links.
    pub fn hear(
        &mut self,
        port: u8,
        addresses: &Addresses,
        from_control: &[u8],
    ) -> Option<Modulus> {
        let Addresses { destination, source, .. } = *addresses;
        let pair = (port, source.min(destination), source.max(destination));
        let place = self.pairs.iter().position(|(there, _)| *there == pair);
        let known = place.and_then(|place| self.pairs.remove(place)).map(|(_, modulus)| modulus);
        let now = match ControlField::decode(from_control, Modulus::Eight) {
            Ok((ControlField::Unnumbered { kind, .. }, _)) => match kind {
                Unnumbered::Sabm => Some(Modulus::Eight),
                Unnumbered::Sabme => Some(Modulus::Extended),
                Unnumbered::Disc | Unnumbered::Dm | Unnumbered::Frmr => None,
                Unnumbered::Ua | Unnumbered::Ui | Unnumbered::Xid | Unnumbered::Test => known,
            },
            // RR and its like end with their control field.
            Ok((ControlField::Supervisory { .. }, _)) => match from_control {
                [_] => Some(Modulus::Eight),
                [0x01 | 0x05 | 0x09, _] => Some(Modulus::Extended),
                _ => known,
            },
            _ => known,
        };
        if let Some(modulus) = now {
            if self.pairs.len() >= PAIRS_MOST {
                self.pairs.pop_front();
            }
            self.pairs.push_back((pair, modulus));
        }
        let is_unnumbered = from_control.first().is_some_and(|control| control & 0b11 == 0b11);
        if is_unnumbered { Some(Modulus::Eight) } else { now }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DigipeaterPath, Role};
    use super::*;

    fn ends(source: &str, destination: &str) -> Addresses {
        let [source, destination] =
            [source, destination].map(|call| call.parse().expect("a call sign"));
        Addresses { destination, source, role: Role::Command, path: DigipeaterPath::DIRECT }
    }

    const I: &[u8] = &[0x12, 0x06, 0xf0, 1];

    #[test]
    fn a_link_counts_as_it_was_opened() {
        let (there, back) = (ends("A", "B"), ends("B", "A"));
        for (opens, modulus) in [(0x3f, Modulus::Eight), (0x7f, Modulus::Extended)] {
            for ends_it in [0x53, 0x0f, 0x87] {
                let mut links = LinksHeard::default();
                assert_eq!(links.hear(0, &there, I), None, "its opening was not heard");
                links.hear(0, &there, &[opens]);
                links.hear(0, &back, &[0x73]); // UA
                links.hear(0, &back, &[0x03, 0xf0]); // UI
                assert_eq!(links.hear(0, &there, I), Some(modulus));
                assert_eq!(links.hear(0, &back, I), Some(modulus));
                assert_eq!(links.hear(1, &there, I), None, "of another port");
                assert_eq!(links.hear(0, &ends("A", "C"), I), None, "of another pair");
                assert_eq!(links.hear(0, &back, &[ends_it]), Some(Modulus::Eight));
                assert_eq!(links.hear(0, &there, I), None, "it has ended");
            }
        }
        // 2.2 was not understood, and 2.0 is asked for.
        let mut links = LinksHeard::default();
        for (ends, control) in [(&there, 0x7f), (&back, 0x97), (&there, 0x3f), (&back, 0x73)] {
            links.hear(0, ends, &[control]);
        }
        assert_eq!(links.hear(0, &back, I), Some(Modulus::Eight));
    }

    /// RR of one octet or of two.
    #[test]
    fn a_supervisory_frame_tells() {
        let mut links = LinksHeard::default();
        let (there, back) = (ends("A", "B"), ends("B", "A"));
        assert_eq!(links.hear(0, &there, &[0x01, 0x07]), Some(Modulus::Extended));
        assert_eq!(links.hear(0, &back, I), Some(Modulus::Extended));
        assert_eq!(links.hear(0, &there, &[0x51]), Some(Modulus::Eight));
        assert_eq!(links.hear(0, &back, I), Some(Modulus::Eight));
        for malformed in [&[][..], &[0x01, 0x02, 0x03], &[0xff]] {
            links.hear(0, &there, malformed);
            assert_eq!(links.hear(0, &back, I), Some(Modulus::Eight), "{malformed:?}");
        }
    }

    #[test]
    fn they_are_bounded_and_those_that_speak_stay() {
        let mut links = LinksHeard::default();
        let there = ends("A", "B");
        links.hear(0, &there, &[0x7f]);
        for nth in 0..10_000 {
            links.hear(0, &ends(&alloc::format!("X{nth}"), "B"), &[0x7f]);
            assert_eq!(links.hear(0, &there, I), Some(Modulus::Extended));
            assert!(links.pairs.len() <= PAIRS_MOST);
        }
    }
}
