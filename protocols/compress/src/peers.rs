//! What is believed of other stations: which of them have the same rules.
//!
//! All of it is forgotten in time, or given up where something contradicts it, so that neither a
//! lost beacon nor a restart of either side, with other rules or with none, lasts.

use alloc::collections::BTreeMap;

use stackwright_contract::{CallSign, Duration, Instant};

/// How long a station is believed to have the same rules after it showed that.
const BELIEVED: Duration = Duration::from_secs(15 * 60);
/// Plain packets behind a beacon after which its station is no longer believed: it sends bursts
/// before it hears that it is believed.
const PLAIN_MOST: u32 = 64;
/// Stations that are known at most: the one that was heard or spoken to least recently gives way.
const PEERS_MOST: usize = 64;

#[derive(Default)]
pub(crate) struct Peers {
    peers: BTreeMap<CallSign, Peer>,
}

struct Peer {
    /// When it showed last that it has the same rules.
    shown: Option<Instant>,
    /// Plain packets that it may send before that is no longer believed.
    plain: u32,
    /// Packets that were sent to it since it was not known to have them.
    sent: u32,
    used: Instant,
}

impl Peers {
    fn peer(&mut self, call: CallSign, now: Instant) -> &mut Peer {
        if self.peers.len() >= PEERS_MOST && !self.peers.contains_key(&call) {
            let oldest = self.peers.iter().min_by_key(|(_, peer)| peer.used);
            if let Some(oldest) = oldest.map(|(call, _)| *call) {
                self.peers.remove(&oldest);
            }
        }
        let peer =
            self.peers.entry(call).or_insert(Peer { shown: None, plain: 0, sent: 0, used: now });
        peer.used = now;
        peer
    }

    /// Returns whether a station has the same rules.
    pub(crate) fn understands(&self, call: CallSign, now: Instant) -> bool {
        let shown = self.peers.get(&call).and_then(|peer| peer.shown);
        shown.is_some_and(|shown| now < shown + BELIEVED)
    }

    /// A station has said that it has the same rules. It does not know yet that we have them.
    pub(crate) fn on_beacon(&mut self, call: CallSign, now: Instant) {
        let peer = self.peer(call, now);
        (peer.shown, peer.plain, peer.sent) = (Some(now), PLAIN_MOST, 0);
    }

    /// A station has sent a short packet: it knows that we have the same rules.
    pub(crate) fn on_compressed(&mut self, call: CallSign, now: Instant) {
        let peer = self.peer(call, now);
        (peer.shown, peer.plain, peer.sent) = (Some(now), 0, 0);
    }

    /// A station has sent a packet as it is, that would have been short if it knew: it was started
    /// anew, unless it has only said a beacon so far.
    pub(crate) fn on_plain(&mut self, call: CallSign) {
        if let Some(peer) = self.peers.get_mut(&call) {
            match peer.plain.checked_sub(1) {
                Some(left) => peer.plain = left,
                None => peer.shown = None,
            }
        }
    }

    /// A station has other rules.
    pub(crate) fn on_other(&mut self, call: CallSign) {
        if let Some(peer) = self.peers.get_mut(&call) {
            peer.shown = None;
        }
    }

    /// A packet is sent as it is. Returns whether a beacon goes with it: with the first, the
    /// second, the fourth and so on, since beacons are lost, and most stations know none.
    pub(crate) fn tells(&mut self, call: CallSign, now: Instant) -> bool {
        let peer = self.peer(call, now);
        peer.sent = peer.sent.saturating_add(1);
        peer.sent.is_power_of_two()
    }
}
