//! Hosts without ports, over datagrams with ports: what an IP layer is to a transport.

use core::marker::PhantomData;
use core::net::IpAddr;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{
    Address, Batches, Context, Facts, Guarantees, Handle, Outlet, Participant, Protocol, Word,
};
use stackwright_wire::Message;

/// Stands over [`SimulatedDatagrams`](crate::SimulatedDatagrams) and names hosts and a protocol, as
/// IP does: the port below is the protocol's number. A station has one address here: what listens
/// at any address is apart, and hears nothing.
#[derive(Debug)]
pub struct SimulatedHosts<M> {
    own: IpAddr,
    protocol: u8,
    message: PhantomData<fn() -> M>,
}

impl<M> SimulatedHosts<M> {
    /// Makes those of an IP protocol (6 is TCP) at a station.
    pub const fn new(own: IpAddr, protocol: u8) -> Self {
        SimulatedHosts { own, protocol, message: PhantomData }
    }
}

/// Ports from here on are no protocols'.
const ANY: u16 = 256;

fn rename(word: &mut impl Word, name: impl Fn(Address) -> Option<Address>) {
    for participant in word.participants_mut().into_iter().flatten() {
        if let Some(address) = name(participant.address) {
            *participant = Participant { address, ..*participant };
        }
    }
}

impl<M: Message> Protocol for SimulatedHosts<M> {
    const FACTS: Facts = Facts { passes: Guarantees::ALL, ..Facts::named("simulated hosts") };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _: &Context,
        mut request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let own = self.own;
        rename(&mut request, |address| match address {
            Address::InternetProtocol { host, protocol } if host.is_unspecified() => {
                Some(Address::Internet { host: own, port: ANY + u16::from(protocol), zone: 0 })
            }
            Address::InternetProtocol { host, protocol } => {
                Some(Address::Internet { host, port: protocol.into(), zone: 0 })
            }
            _ => None,
        });
        out.request(request);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        mut indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let protocol = self.protocol;
        rename(&mut indication, |address| match address {
            Address::Internet { host, .. } => Some(Address::InternetProtocol { host, protocol }),
            _ => None,
        });
        out.indicate(indication);
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Datagrams<M>>) {
        below.ask(about, question);
    }
}
