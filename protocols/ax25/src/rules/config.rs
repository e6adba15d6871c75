//! The configuration of the rules of the air.

use alloc::vec::Vec;

use stackwright_contract::services::Credit;
use stackwright_contract::{CallSign, Duration};
use stackwright_wire::Message;

use crate::header::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Unnumbered, pid,
};

/// The most text of an identification, and of a beacon, in octets.
const TEXT_MOST: usize = 128;
const BEACON_MOST: usize = 256;

/// The configuration of the rules of the air.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AirRulesConfig {
    /// The call signs of the station, at least one. The first is that of its identification.
    pub calls: Vec<CallSign>,
    /// Whether anything is transmitted; otherwise it is told what would be.
    pub transmit: bool,
    /// How the station says whose it is; `None`: its frames do.
    pub identification: Option<Identification>,
    /// What it says of itself regularly.
    pub beacons: Vec<Beacon>,
    /// How much of the time the station may transmit, in percent: 1 to 99; `None`: all. It accrues,
    /// up to that share of ten minutes, with which it begins.
    pub duty: Option<u8>,
    /// The rate on the air, in bit/s. At least 1.
    pub rate: u32,
    /// Whether frames are transmitted that are recognised as encrypted: TLS and SSH where they
    /// begin, ESP always. Amateur radio forbids it (ITU Radio Regulations, article 25.2A).
    pub encryption: bool,
}

/// A UI frame to `ID`, on each port on which the station has transmitted: in time, and a few
/// seconds after a link has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identification {
    /// How long the station transmits without it.
    pub every: Duration,
    /// Its text, at most 128 octets.
    pub text: Vec<u8>,
}

/// A UI frame that is sent regularly while the TNC is there, whatever else is transmitted. The
/// first one leaves within `every`, and within a minute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beacon {
    /// The port on which it is sent.
    pub port: u8,
    /// The time between two of them, at least a second.
    pub every: Duration,
    /// To whom it is, such as `BEACON`.
    pub to: CallSign,
    /// The digipeaters.
    pub via: DigipeaterPath,
    /// Its text, at most 256 octets.
    pub text: Vec<u8>,
}

impl AirRulesConfig {
    /// Returns the usual rules for a station: it identifies every ten minutes.
    pub fn of(call: CallSign) -> Self {
        let identification = Identification {
            every: Duration::from_secs(600),
            text: b"Stackwright station".to_vec(),
        };
        AirRulesConfig {
            calls: Vec::from([call]),
            transmit: true,
            identification: Some(identification),
            beacons: Vec::new(),
            duty: None,
            rate: 1200,
            encryption: false,
        }
    }

    /// # Panics
    /// Where a value is out of its range.
    pub(super) fn check(&self) {
        assert!(!self.calls.is_empty() && self.rate > 0, "a station has a call sign and a rate");
        assert!(self.duty.is_none_or(|duty| (1..100).contains(&duty)), "the duty is 1 to 99 %");
        let length = self.identification.as_ref().map_or(0, |there| there.text.len());
        assert!(length <= TEXT_MOST, "an identification has at most {TEXT_MOST} octets of text");
        for Beacon { every, text, .. } in &self.beacons {
            assert!(text.len() <= BEACON_MOST, "a beacon has at most {BEACON_MOST} octets of text");
            assert!(*every >= Duration::from_secs(1), "a beacon leaves the channel to others");
        }
    }

    /// Returns the identification, if anything is transmitted.
    pub(super) fn identification(&self) -> Option<&Identification> {
        self.identification.as_ref().filter(|_| self.transmit)
    }

    /// Returns the head and the text of a frame that says whose the station is, or one of its
    /// beacons.
    fn head(&self, of: Announcement) -> Option<(Head, &[u8])> {
        let (destination, path, text) = match of {
            Announcement::Identification => {
                ("ID".parse().ok()?, DigipeaterPath::DIRECT, &self.identification()?.text)
            }
            Announcement::Beacon(nth) => {
                let Beacon { to, via, text, .. } =
                    self.beacons.get(nth).filter(|_| self.transmit)?;
                (*to, *via, text)
            }
        };
        let source = *self.calls.first()?;
        let addresses = Addresses { destination, source, role: Role::Command, path };
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        Some((Head::new(&addresses, control, Modulus::Eight, Some(pid::NONE)), text))
    }

    /// Returns what it costs; nothing where there is none.
    pub(super) fn cost(&self, of: Announcement) -> Credit {
        self.head(of).map_or(Credit::NONE, |(head, text)| Credit {
            octets: head.as_octets().len() + text.len(),
            messages: 1,
        })
    }

    /// Returns what the longest announcement on a port costs.
    pub(super) fn dearest(&self, port: u8) -> Credit {
        let beacons = self.beacons.iter().enumerate().filter(|(_, beacon)| beacon.port == port);
        let all = beacons.map(|(nth, _)| Announcement::Beacon(nth));
        let all = all.chain([Announcement::Identification]).map(|of| self.cost(of));
        all.max_by_key(|cost| cost.octets).unwrap_or(Credit::NONE)
    }

    pub(super) fn frame<M: Message>(&self, of: Announcement) -> Option<M> {
        let (head, text) = self.head(of)?;
        let octets = head.as_octets();
        let mut frame = M::with_headroom(octets.len(), text);
        frame.push_front(octets.len()).copy_from_slice(octets);
        Some(frame)
    }
}

/// A frame that the station sends of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Announcement {
    Identification,
    /// The beacon of this number.
    Beacon(usize),
}
