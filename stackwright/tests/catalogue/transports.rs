//! Every transport of the catalogue between two stations, whatever it offers: the client sends so
//! many octets and closes, the server takes them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright::base::Layer;
use stackwright::compose::Over;
use stackwright::contract::services::{
    AssociationIndication, AssociationRequest, Batch, Credit, Datagrams, Ended, Transfer,
};
use stackwright::contract::{Context, Handle, IndicationOf, Participant, Protocol};
use stackwright::policies::profile::PolicyValues;
use stackwright::tailored::configurations::{
    AnyOrder, BestEffort, DedicatedLine, InOrder, LatestOnly, Selective, WholeWindow,
};
use stackwright::tailored::{self, Named};
use stackwright::wire::Message;
use stackwright::xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram,
};
use stackwright::{artp, ordered, stop_and_wait, udp, xtp};
use stackwright_simulator::{
    Application, Asks, Lanes, SimulatedDatagrams, SimulatedHosts, StationId, World,
};

use super::M;

pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// Where the server listens.
pub(crate) fn place() -> Participant {
    SocketAddr::from((SERVER, 7)).into()
}

/// The adapter of a station.
pub(crate) type Lowest = SimulatedDatagrams<M>;

pub(crate) fn lowest(address: IpAddr) -> Lowest {
    SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 1024 })
}

/// What the layer above takes at once.
const ROOM: Credit = Credit { octets: 8 << 20, messages: 64 };

const LISTENER: Handle = Handle { index: 0, generation: 0 };

/// The application of either end.
#[derive(Default)]
pub(crate) struct Side {
    /// What the client has still to send, how much in a message, and which octet it consists of.
    pub(crate) octets: usize,
    pub(crate) message: usize,
    pub(crate) mark: u8,
    /// The longest message that may be sent, as it was told.
    pub(crate) longest: u32,
    /// The credit, and all of it.
    room: Credit,
    first: Credit,
    closed: bool,
    /// How many names of the server wait for arrivals at a time; the last one that was given.
    given: u32,
    /// What came.
    pub(crate) heard: Vec<u8>,
    pub(crate) opened: usize,
    pub(crate) ended: Vec<Ended>,
}

impl Side {
    pub(crate) fn sends(octets: usize, message: usize, mark: u8) -> Self {
        Side { octets, message, mark, ..Side::default() }
    }

    /// Sends what there is room for, and closes behind the last.
    fn go_on<T: Transfer<Message = M>, P>(&mut self, association: Handle, asks: &mut Asks<P>)
    where
        P: Protocol<Provides = T>,
    {
        while self.octets > 0 {
            let octets = self.octets.min(self.message);
            let batch = Batch::from(M::with_headroom(128, &vec![self.mark; octets]));
            let cost = T::cost(&batch);
            // One that is longer than all of the credit leaves alone.
            let is_alone = octets > self.first.octets && self.room.covers(self.first);
            if !self.room.covers(cost) && !is_alone {
                return;
            }
            self.room -= Credit { octets: cost.octets.min(self.room.octets), ..cost };
            self.octets -= octets;
            let properties = T::Properties::default();
            asks.push_back(AssociationRequest::Send { association, batch, properties });
        }
        if self.message > 0 && !std::mem::replace(&mut self.closed, true) {
            asks.push_back(AssociationRequest::Close { name: association });
        }
    }

    fn expect<T: Transfer<Message = M>, P>(&mut self, asks: &mut Asks<P>)
    where
        P: Protocol<Provides = T>,
    {
        self.given += 1;
        let association = Handle { index: self.given, generation: 0 };
        asks.push_back(AssociationRequest::Await { listener: LISTENER, association, credit: ROOM });
    }
}

impl<T: Transfer<Message = M>, P: Protocol<Provides = T>> Application<P> for Side {
    fn hear(&mut self, _: &Context, indication: IndicationOf<P>, asks: &mut Asks<P>) {
        let indication: AssociationIndication<T> = indication;
        match indication {
            AssociationIndication::Opened { association, credit, path, .. } => {
                self.opened += 1;
                self.longest = path.longest;
                if self.given == 0 {
                    (self.room, self.first) = (credit, credit);
                    self.go_on::<T, P>(association, asks);
                }
            }
            AssociationIndication::Credit { association, credit } if self.given == 0 => {
                self.room += credit;
                self.go_on::<T, P>(association, asks);
            }
            AssociationIndication::Delivered { association, batch, .. } => {
                let credit = T::cost(&batch);
                let mut octets = batch.into_octets();
                let all = octets.len();
                self.heard.extend_from_slice(octets.front(all).unwrap_or_default());
                asks.push_back(AssociationRequest::Credit { association, credit });
            }
            AssociationIndication::Finished { association } => {
                asks.push_back(AssociationRequest::Close { name: association });
            }
            AssociationIndication::Ended { why, name } => {
                self.ended.push(why);
                if self.given > 0 && name != LISTENER {
                    self.expect::<T, P>(asks);
                }
            }
            _ => {}
        }
    }
}

/// Adds a station with the layer that is to be tried.
pub(crate) fn add<T, P>(
    world: &mut World<M>,
    address: IpAddr,
    layer: P,
    side: Side,
) -> StationId<Over<P, Lowest>, Side>
where
    T: Transfer<Message = M>,
    P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
    Over<P, Lowest>: Protocol<Provides = T, Uses: Lanes<M>>,
{
    world.add(address, Over::new(layer, lowest(address)), side)
}

/// Has the server listen, with names for so many peers at a time.
pub(crate) fn listen<T, P>(world: &mut World<M>, server: StationId<P, Side>, places: u32)
where
    T: Transfer<Message = M>,
    P: Protocol<Provides = T, Uses: Lanes<M>> + 'static,
{
    world.ask(server, AssociationRequest::Listen { listener: LISTENER, local: place() });
    for _ in 0..places {
        let mut asks = Asks::<P>::new();
        world.application_mut(server).expect::<T, P>(&mut asks);
        asks.into_iter().for_each(|request| world.ask(server, request));
    }
}

/// Has the client open its association.
pub(crate) fn open<T, P>(world: &mut World<M>, client: StationId<P, Side>)
where
    T: Transfer<Message = M>,
    P: Protocol<Provides = T, Uses: Lanes<M>> + 'static,
{
    let association = Handle { index: 0, generation: 0 };
    let (remote, local) = (place(), None);
    world.ask(client, AssociationRequest::Open { association, remote, local, credit: ROOM });
}

/// What is done with each transport.
pub(crate) trait Visit {
    /// Is given a transport by name, how to make its layer of a seed, and whether it sends what is
    /// lost again.
    fn visit<T, P>(&mut self, name: &str, layer: impl Fn(u8) -> P, reliable: bool)
    where
        T: Transfer<Message = M>,
        P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
        Over<P, Lowest>: Protocol<Provides = T, Uses = <Lowest as Protocol>::Uses>;
}

fn of_tailored<C>(nth: u8) -> tailored::Layer<Named<C>>
where
    Named<C>: tailored::Tailoring,
    C: stackwright::transport::Configuration<Integrity: stackwright::policies::profile::FromValues>,
{
    let config = tailored::Config::new([nth; 16]);
    tailored::layer(Named::<C>::new(PolicyValues::RELIABLE), config, nth.into())
}

fn of_xtp<S: xtp::XtpService>(nth: u8) -> xtp::Layer<M, S> {
    xtp::layer(xtp::Config::new([nth; 16]), nth.into())
}

/// Visits each transport.
pub(crate) fn each(visit: &mut impl Visit) {
    let of_artp = |nth| artp::layer::<M>(artp::Config::new([nth; 16]), nth.into());
    visit.visit("artp", of_artp, true);
    visit.visit(
        "ordered over artp",
        |nth| Over::new(ordered::Ordered::<M>::default(), of_artp(nth)),
        true,
    );
    visit.visit("tailored any order", of_tailored::<AnyOrder<M>>, true);
    visit.visit("tailored in order", of_tailored::<InOrder<M>>, true);
    visit.visit("tailored selective", of_tailored::<Selective<M>>, true);
    visit.visit("tailored dedicated", of_tailored::<DedicatedLine<M>>, true);
    visit.visit("tailored whole window", of_tailored::<WholeWindow<M>>, true);
    visit.visit("tailored latest only", of_tailored::<LatestOnly<M>>, false);
    visit.visit("tailored best effort", of_tailored::<BestEffort<M>>, false);
    visit.visit("xtp connection", of_xtp::<Connection>, true);
    visit.visit("xtp stream", of_xtp::<Stream>, true);
    visit.visit("xtp transaction", of_xtp::<Transaction>, true);
    visit.visit("xtp acknowledged", of_xtp::<AcknowledgedDatagram>, true);
    visit.visit("xtp bulk", of_xtp::<BulkData>, true);
    visit.visit("xtp isochronous", of_xtp::<IsochronousStream>, false);
    visit.visit("xtp unacknowledged", of_xtp::<UnacknowledgedDatagram>, false);
    let of_stop_and_wait = |nth: u8| Layer::new(stop_and_wait::Rules::<M>::default(), nth.into());
    visit.visit("stop-and-wait", of_stop_and_wait, true);
}

/// Visits each transport on UDP of our own, which is on the hosts of the network. The server is the
/// first, the client the second.
pub(crate) struct OverUdp<'a, V>(pub(crate) &'a mut V);

impl<V: Visit> Visit for OverUdp<'_, V> {
    fn visit<T, P>(&mut self, name: &str, layer: impl Fn(u8) -> P, reliable: bool)
    where
        T: Transfer<Message = M>,
        P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
        Over<P, Lowest>: Protocol<Provides = T, Uses = <Lowest as Protocol>::Uses>,
    {
        let over = |nth: u8| {
            let hosts = SimulatedHosts::new([SERVER, CLIENT][usize::from(nth) - 1], 17);
            Over::new(layer(nth), Over::new(udp::layer::<M>(nth.into()), hosts))
        };
        self.0.visit::<T, Over<P, Over<udp::Udp<M>, SimulatedHosts<M>>>>(name, over, reliable);
    }
}
