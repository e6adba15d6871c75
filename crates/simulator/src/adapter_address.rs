//! The address of an adapter: one of the Internet, or the call sign of a radio station.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use stackwright_contract::{Address, CallSign, Participant};

/// The address of an adapter, and so the kind of participants between which it carries datagrams.
///
/// Between radio stations, an association is what two call signs exchange with one protocol
/// identifier: the opener has no port to choose, and there is one for each peer and identifier. The
/// route is the opener's: it is kept, and never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdapterAddress {
    /// An Internet address, with ports.
    Internet(IpAddr),
    /// A call sign, with protocol identifiers.
    Station(CallSign),
}

impl From<IpAddr> for AdapterAddress {
    fn from(address: IpAddr) -> Self {
        AdapterAddress::Internet(address)
    }
}

impl From<CallSign> for AdapterAddress {
    fn from(call: CallSign) -> Self {
        AdapterAddress::Station(call)
    }
}

impl AdapterAddress {
    /// Returns the address of the adapter on the network. That of a radio station is in fd00::/8
    /// (RFC 4193 §3.1) and ends with the seven octets of its call sign.
    pub fn on_network(self) -> IpAddr {
        match self {
            AdapterAddress::Internet(address) => address,
            AdapterAddress::Station(call) => {
                let mut octets = [0; 16];
                octets[0] = 0xfd;
                octets[9..].copy_from_slice(&call.octets());
                Ipv6Addr::from(octets).into()
            }
        }
    }

    /// Returns the network address of a participant of this kind; `None` if it is of another kind.
    pub(crate) fn place(self, participant: Participant) -> Option<SocketAddr> {
        match (self, participant.address) {
            (AdapterAddress::Internet(_), _) => participant.internet(),
            (AdapterAddress::Station(_), Address::Station { call, pid, .. }) => {
                Some(SocketAddr::new(AdapterAddress::Station(call).on_network(), pid.into()))
            }
            (AdapterAddress::Station(_), _) => None,
        }
    }

    /// Returns the participant of this kind at a network address, reached over `route`.
    pub(crate) fn participant(self, place: SocketAddr, route: u16) -> Participant {
        match (self, place.ip()) {
            (AdapterAddress::Station(_), IpAddr::V6(address)) => {
                let [.., a, b, c, d, e, f, g] = address.octets();
                let call = CallSign::from_octets([a, b, c, d, e, f, g])
                    .expect("the address of a radio station");
                let pid = u8::try_from(place.port())
                    .expect("the port of a radio station is an identifier");
                Address::Station { call, pid, route }.into()
            }
            _ => place.into(),
        }
    }

    /// Whether a network address is this adapter's own.
    pub(crate) fn is_own(self, place: SocketAddr) -> bool {
        let is_any = matches!(self, AdapterAddress::Internet(_)) && place.ip().is_unspecified();
        is_any || place.ip() == self.on_network()
    }
}
