//! Which peer a frame goes to: the table of stations and peers, as ax25ipd's `route`.

use stackwright_contract::ax25::{Addresses, HEAD_MOST, Unnumbered};
use stackwright_contract::{CallSign, Participant};
use stackwright_wire::Message;

use crate::Config;

/// A peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AxudpPeer {
    /// Its address.
    pub remote: Participant,
    /// The station behind it, as the next digipeater of a frame or its destination; without an
    /// SSID, any SSID that has no peer of its own. `None`: a default route, for all other stations.
    pub call: Option<CallSign>,
}

impl<P: Into<Participant>> From<P> for AxudpPeer {
    fn from(remote: P) -> Self {
        AxudpPeer { remote: remote.into(), call: None }
    }
}

/// Where a frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// As on the air: UI frames that are for no station of the table, such as beacons.
    All,
    /// By the default routes.
    Default,
    /// To the peer of this number.
    Peer(usize),
}

impl Config {
    pub(crate) fn route<M: Message>(&self, frame: &M) -> Route {
        let mut octets = [0; HEAD_MOST];
        let length = frame.copy_to(&mut octets);
        let Ok((addresses, at)) = Addresses::decode(&octets[..length]) else { return Route::All };
        let next = addresses.path.next().unwrap_or(addresses.destination);
        let find = |is: fn(CallSign, CallSign) -> bool| {
            self.peers.iter().position(|peer| peer.call.is_some_and(|call| is(call, next)))
        };
        let is_ui =
            octets[..length].get(at).is_some_and(|octet| octet & !0x10 == Unnumbered::Ui as u8);
        match find(|call, next| call == next).or_else(|| find(is_any_ssid_of)) {
            Some(number) => Route::Peer(number),
            None if is_ui => Route::All,
            None => Route::Default,
        }
    }

    pub(crate) fn takes(&self, number: usize, route: Route) -> bool {
        match route {
            Route::All => true,
            Route::Default => self.peers[number].call.is_none(),
            Route::Peer(its) => its == number,
        }
    }
}

fn is_any_ssid_of(call: CallSign, next: CallSign) -> bool {
    call.ssid() == 0 && call.octets()[..6] == next.octets()[..6]
}
