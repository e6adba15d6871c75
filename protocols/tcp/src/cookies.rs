//! SYN cookies (RFC 4987 §3.6): where too many connections are half open, a SYN is answered and
//! forgotten. The first number of the answer holds what the SYN offered, and a check that nobody
//! else can make: the acknowledgement that returns it proves that its sender received the answer.

use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;
use stackwright_contract::{Instant, Participant};
use stackwright_transport::words::SECOND;
use stackwright_wire::internet::Tcp as Header;

use crate::key::TcpKey;
use crate::options::TcpTimestamps;

/// How long one key is used: an answer is believed for as long, and at most twice as long.
const TURN: u64 = 64 * SECOND;

/// The sizes of segments that are told apart; the next smaller one is used.
const SIZES: [u16; 8] = [64, 536, 1220, 1300, 1360, 1440, 1460, 8940];

/// What a SYN offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offers {
    pub(crate) takes: u16,
    pub(crate) shift: Option<u8>,
    pub(crate) sack: bool,
    pub(crate) times: Option<TcpTimestamps>,
}

impl Offers {
    /// Returns them as an octet, without the timestamps: those return with any segment.
    fn octet(&self) -> u8 {
        let size = SIZES.iter().rposition(|size| *size <= self.takes).unwrap_or(0) as u8;
        size << 5 | u8::from(self.sack) << 4 | self.shift.unwrap_or(15)
    }

    fn of_octet(octet: u8, times: Option<TcpTimestamps>) -> Self {
        let shift = Some(octet & 15).filter(|shift| *shift < 15);
        let takes = SIZES[usize::from(octet >> 5)];
        Offers { takes, shift, sack: octet & 16 > 0, times }
    }
}

/// What has proved that its sender received our answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    /// Our first number, and the peer's.
    pub(crate) own: u32,
    pub(crate) theirs: u32,
    pub(crate) offers: Offers,
}

/// The cookies of a station.
#[derive(Debug)]
pub(crate) struct Cookies {
    secret: [u8; 16],
    /// Until when an acknowledgement may prove something: some time after the last answer.
    until: Instant,
}

impl Cookies {
    /// Creates those of a station, of a `secret` that is used for nothing else.
    pub(crate) const fn new(secret: [u8; 16]) -> Self {
        Cookies { secret, until: Instant::START }
    }

    fn number(
        &self,
        turn: u64,
        ends: (Participant, Participant),
        (key, theirs): (&TcpKey, u32),
        octet: u8,
    ) -> u32 {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        (turn, ends, key, theirs, octet).hash(&mut hasher);
        (hasher.finish() as u32) << 8 | u32::from(octet)
    }

    /// Returns the first number of the answer to a SYN of number `theirs`.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        ends: (Participant, Participant),
        syn: (&TcpKey, u32),
        offers: &Offers,
    ) -> u32 {
        self.until = now.later(2 * TURN);
        self.number(now.nanoseconds() / TURN, ends, syn, offers.octet())
    }

    /// Returns what a segment with these timestamps proves, if it does.
    pub(crate) fn proof(
        &self,
        now: Instant,
        ends: (Participant, Participant),
        (key, header): (&TcpKey, &Header),
        times: Option<TcpTimestamps>,
    ) -> Option<Proof> {
        if !header.ack || header.syn || header.rst || now >= self.until {
            return None;
        }
        let [own, theirs] =
            [header.acknowledgment_number, header.sequence_number].map(|next| next.wrapping_sub(1));
        let turn = now.nanoseconds() / TURN;
        let is_ours = [turn, turn.wrapping_sub(1)]
            .into_iter()
            .any(|turn| own == self.number(turn, ends, (key, theirs), own as u8));
        let offers = Offers::of_octet(own as u8, times);
        is_ours.then_some(Proof { own, theirs, offers })
    }
}
