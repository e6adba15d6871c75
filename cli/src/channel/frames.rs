//! What frames say, in a few words, and which are sent again.

use std::collections::{BTreeMap, VecDeque};

use stackwright::ax25::header::{Addresses, ControlField, Modulus, Unnumbered};
use stackwright::contract::CallSign;

use crate::packets::kind;

/// How many links are remembered, and frames that may come again.
const REMEMBERED_MOST: usize = 64;

/// What a frame is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    /// Whither, with its digipeaters.
    pub(crate) to: String,
    /// Its kind, as the specification writes it.
    pub(crate) kind: String,
    /// Its information has been sent before.
    pub(crate) again: bool,
}

/// What is remembered of frames.
#[derive(Default)]
pub(crate) struct Frames {
    /// How the numbers of links count: their stations, the lesser first.
    moduli: BTreeMap<[CallSign; 2], Modulus>,
    /// I frames, the newest last: stations, number, information.
    sent: VecDeque<([CallSign; 2], u8, Vec<u8>)>,
}

impl Frames {
    /// Returns what a frame is.
    pub(crate) fn tell(&mut self, octets: &[u8]) -> Told {
        self.understand(octets).unwrap_or_else(|| Told {
            to: String::new(),
            kind: "not AX.25".into(),
            again: false,
        })
    }

    fn understand(&mut self, octets: &[u8]) -> Option<Told> {
        let (Addresses { destination, source, path, .. }, length) =
            Addresses::decode(octets).ok()?;
        let ends = [source.min(destination), source.max(destination)];
        let known = self.moduli.get(&ends).copied().unwrap_or(Modulus::Eight);
        let (control, width) = ControlField::decode(&octets[length..], known).ok()?;
        let modulus = match control {
            ControlField::Unnumbered { kind: Unnumbered::Sabm, .. } => Some(Modulus::Eight),
            ControlField::Unnumbered { kind: Unnumbered::Sabme, .. } => Some(Modulus::Extended),
            _ => None,
        };
        if let Some(modulus) = modulus {
            if self.moduli.len() >= REMEMBERED_MOST {
                self.moduli.clear();
            }
            self.moduli.insert(ends, modulus);
            // A link that is opened anew sends other things under the same numbers.
            self.sent
                .retain(|(of, ..)| *of != [source, destination] && *of != [destination, source]);
        }
        let again = match control {
            ControlField::Information { sent, .. } => {
                let frame = ([source, destination], sent, octets[length + width..].to_vec());
                let again = self.sent.contains(&frame);
                if !again {
                    self.sent.drain(..usize::from(self.sent.len() == REMEMBERED_MOST));
                    self.sent.push_back(frame);
                }
                again
            }
            _ => false,
        };
        let via = path.iter().map(|(call, done)| format!(",{call}{}", if done { "*" } else { "" }));
        let to = format!("{destination}{}", via.collect::<String>());
        Some(Told { to, kind: kind(control), again })
    }
}
