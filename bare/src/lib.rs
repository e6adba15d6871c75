//! Nothing here is run. It names a stack, so that all of it is compiled for a machine that has
//! memory and nothing else.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::sync::Arc;

use stackwright_agw::Agw;
use stackwright_artp::{
    BoxedLayer, Cipher, Config, Layer, Protection, Sealing, Secret, boxed_layer, layer_sharing,
};
use stackwright_ax25::{AirRules, AirRulesConfig, Ax25};
use stackwright_axudp::Axudp;
use stackwright_base::{Base, Features, Subject, opening, session};
use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{Datagrams, Files, MessageProperties, Octets, Streams};
use stackwright_contract::{Context, Outlet, Participant, Protocol, RequestTo};
use stackwright_copy::Copy;
use stackwright_framed::Framed;
use stackwright_ftp::{Client, Server, client, server};
use stackwright_kiss::{Hub, HubConfig, Kiss};
use stackwright_ordered::Ordered;
use stackwright_policies::{congestion, recovery};
use stackwright_proxy::Proxy;
use stackwright_relay::{Arrival, Direction, Relay};
use stackwright_role::{RoleLayer, RoleRequest};
use stackwright_stop_and_wait::{Rules, StopAndWait};
use stackwright_transport::IntoPart;
use stackwright_wire::{BufferTree, Header, Message, Pool, SingleBuffer};
use stackwright_xtp::multicast::{GroupConfig, GroupLayer, ReliableMulticast};
use stackwright_xtp::services::{Connection, Stream};

/// A server on whatever streams and files the machine has.
pub type ServerStack<T, D, M> = Over<Server<M>, Beside<T, D>>;

/// A hub on whatever streams the machine has, in front of the TNC at its serial line.
pub type HubStack<T, L, M> = Over<Hub<M>, Beside<T, Over<Kiss<M>, L>>>;

/// A packet radio station, for programs on whatever streams the machine has.
pub type StationStack<T, L, M> =
    Over<Agw<M>, Beside<T, Over<Ax25<M>, Over<AirRules<M>, Over<Kiss<M>, L>>>>>;

/// A copy between a server and the machine's files.
pub type CopyStack<T, D, M> = Over<Copy<M>, Beside<Over<Client<M>, T>, D>>;

/// Makes a server, and asks it for something: with that, every handler below it is compiled.
pub fn serve<M, T, D>(
    config: server::Config,
    streams: T,
    files: D,
    request: RequestTo<Server<M>>,
    out: &mut impl Outlet<ServerStack<T, D, M>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
    D: Protocol<Provides = Files<M>>,
{
    let mut stack = Over::new(Server::new(config), Beside::new(streams, files));
    stack.handle_request(&Context::new(0), request, out);
}

/// The same for a hub.
pub fn share<M, T, L>(
    (config, kiss): (HubConfig, stackwright_kiss::Config),
    streams: T,
    line: L,
    pool: Arc<Pool<M>>,
    request: RequestTo<Hub<M>>,
    out: &mut impl Outlet<HubStack<T, L, M>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
    L: Protocol<Provides = Octets<M>>,
{
    let tnc = Over::new(Kiss::sharing(kiss, Arc::clone(&pool)), line);
    let mut stack = Over::new(Hub::new(config, pool), Beside::new(streams, tnc));
    stack.handle_request(&Context::new(0), request, out);
}

/// The same for a station, which listens with its first flush.
pub fn station<M, T, L>(
    (agw, links): (stackwright_agw::Config, stackwright_ax25::Config),
    (rules, kiss): (AirRulesConfig, stackwright_kiss::Config),
    streams: T,
    line: L,
    pool: Arc<Pool<M>>,
    out: &mut impl Outlet<StationStack<T, L, M>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
    L: Protocol<Provides = Octets<M>>,
{
    let tnc = Over::new(Kiss::sharing(kiss, Arc::clone(&pool)), line);
    let links = Over::new(Ax25::sharing(links, pool), Over::new(AirRules::new(rules), tnc));
    Over::new(Agw::new(agw), Beside::new(streams, links)).flush(&Context::new(0), out);
}

/// Roles that were generated from a specification.
pub use stackwright_generated::contract::stop_and_wait as generated;

/// The functions of a sender's application, which keeps the message in flight.
pub struct Kept<M>(Option<M>);

impl<M: Message> generated::sender::Functions<M> for Kept<M> {
    fn keep(&mut self, body: &M) {
        self.0 = Some(body.share());
    }

    fn kept(&self) -> M {
        self.0.as_ref().map_or_else(|| M::with_headroom(0, &[]), Message::share)
    }
}

/// A generated role over whatever datagrams the machine has.
pub type RoleStack<D, M> = Over<RoleLayer<M, Sender<M>, fn() -> Sender<M>>, D>;

/// A sender on the contract.
pub type Sender<M> = generated::sender::Part<Kept<M>>;

/// The same for a generated role.
pub fn role<M, D>(
    datagrams: D,
    request: RoleRequest<generated::sender::Input<M>>,
    out: &mut impl Outlet<RoleStack<D, M>>,
) where
    M: Message,
    D: Protocol<Provides = Datagrams<M>>,
{
    let make: fn() -> _ = || generated::sender::Part::new(Kept(None));
    Over::new(RoleLayer::new(make), datagrams).handle_request(&Context::new(0), request, out);
}

/// The same for a copy.
pub fn copy<M, T, D>(
    config: client::Config,
    streams: T,
    files: D,
    request: RequestTo<Copy<M>>,
    out: &mut impl Outlet<CopyStack<T, D, M>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
    D: Protocol<Provides = Files<M>>,
{
    let far = Over::new(Client::new(config), streams);
    let mut stack = Over::new(Copy::default(), Beside::new(far, files));
    stack.handle_request(&Context::new(0), request, out);
}

/// A protocol on a generated base, over whatever datagrams the machine has.
pub fn wait<M, T>(
    datagrams: T,
    seed: u64,
    request: RequestTo<StopAndWait<M>>,
    out: &mut impl Outlet<Over<StopAndWait<M>, T>>,
) where
    M: Message,
    T: Protocol<Provides = Datagrams<M>>,
{
    let mut stack = Over::new(StopAndWait::new(Rules::default(), seed), datagrams);
    stack.handle_request(&Context::new(seed), request, out);
}

/// Streams over the same.
pub fn order<M, T>(
    datagrams: T,
    request: RequestTo<Ordered<M>>,
    out: &mut impl Outlet<Over<Ordered<M>, T>>,
) where
    M: Message,
    T: Protocol<Provides = Datagrams<M>>,
{
    let mut stack = Over::new(Ordered::default(), datagrams);
    stack.handle_request(&Context::new(0), request, out);
}

/// Streams over sealed, reliable datagrams, over whatever datagrams the machine has.
pub type SealedStack<T, M> = Over<Ordered<M>, Over<Layer<M>, T>>;

/// Makes them. The epoch and the secret of `config` are the machine's, and so are the blocks of
/// `pool`.
pub fn seal<M, T>(
    datagrams: T,
    (config, secret, seed): (Config, Secret, u64),
    pool: Arc<Pool<M>>,
    request: RequestTo<Ordered<M>>,
    out: &mut impl Outlet<SealedStack<T, M>>,
) where
    M: Message,
    T: Protocol<Provides = Datagrams<M>>,
{
    let protection = Protection::Sealed(Sealing::new(Cipher::ChaCha20Poly1305, secret));
    let artp = layer_sharing(Config { protection, ..config }, seed, pool);
    let mut stack = Over::new(Ordered::default(), Over::new(artp, datagrams));
    stack.handle_request(&Context::new(seed), request, out);
}

/// The same transport with its policies in boxes, over messages on a stream.
pub fn boxed<M, T>(
    streams: T,
    config: Config,
    request: RequestTo<Layer<M>>,
    out: &mut impl Outlet<Over<BoxedLayer<M>, Over<Framed<M>, T>>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
{
    let mut stack = Over::new(boxed_layer(config, 1), Over::new(Framed::default(), streams));
    stack.handle_request(&Context::new(1), request, out);
}

/// A station whose radio is a peer of AXUDP, on whatever datagrams the machine has.
pub fn axudp<M, T, D>(
    (agw, links): (stackwright_agw::Config, stackwright_ax25::Config),
    frames: stackwright_axudp::Config,
    streams: T,
    datagrams: D,
    out: &mut impl Outlet<Over<Agw<M>, Beside<T, Over<Ax25<M>, Over<Axudp<M>, D>>>>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
    D: Protocol<Provides = Datagrams<M>>,
{
    let links = Over::new(Ax25::new(links), Over::new(Axudp::new(frames), datagrams));
    Over::new(Agw::new(agw), Beside::new(streams, links)).flush(&Context::new(0), out);
}

/// A client through a proxy, on whatever streams the machine has.
pub fn through<M, T>(
    (config, proxy): (client::Config, stackwright_proxy::Config),
    streams: T,
    request: RequestTo<Client<M>>,
    out: &mut impl Outlet<Over<Client<M>, Over<Proxy<M>, T>>>,
) where
    M: Message,
    T: Protocol<Provides = Streams<M>>,
{
    let mut stack = Over::new(Client::new(config), Over::new(Proxy::new(proxy), streams));
    stack.handle_request(&Context::new(0), request, out);
}

/// XTP over whatever datagrams the machine has: a server on streams, and messages.
pub fn xtp<M, T, D>(
    (server, config): (server::Config, stackwright_xtp::Config),
    datagrams: [T; 2],
    files: D,
    request: RequestTo<stackwright_xtp::Layer<M, Connection>>,
    out: &mut impl Outlet<Over<stackwright_xtp::Layer<M, Connection>, T>>,
    serving: &mut impl Outlet<ServerStack<Over<stackwright_xtp::Layer<M, Stream>, T>, D, M>>,
) where
    M: Message,
    T: Protocol<Provides = Datagrams<M>>,
    D: Protocol<Provides = Files<M>>,
{
    let [one, other] = datagrams;
    let streams = Over::new(stackwright_xtp::layer::<M, Stream>(config, 1), one);
    Over::new(Server::new(server), Beside::new(streams, files)).flush(&Context::new(1), serving);
    let messages = stackwright_xtp::layer::<M, Connection>(config, 2);
    Over::new(messages, other).handle_request(&Context::new(2), request, out);
}

/// XTP to a group.
pub fn group<M, T>(
    datagrams: T,
    config: GroupConfig,
    request: RequestTo<GroupLayer<M, ReliableMulticast>>,
    out: &mut impl Outlet<Over<GroupLayer<M, ReliableMulticast>, T>>,
) where
    M: Message,
    T: Protocol<Provides = Datagrams<M>>,
{
    let upper = stackwright_xtp::multicast::layer::<M, ReliableMulticast>(config, 1);
    Over::new(upper, datagrams).handle_request(&Context::new(1), request, out);
}

/// Policies that ARTP does not select.
pub fn policies() -> [&'static str; 2] {
    let (congestion, recovery) = (congestion::Bbr::new(500).part(), recovery::GoBackN.part());
    [congestion.facts().name, recovery.facts().name]
}

/// Passes datagrams on as they are.
pub type Passing<M> = Relay<
    M,
    fn(Arrival) -> Option<Participant>,
    fn(Direction, M, MessageProperties) -> Option<(M, MessageProperties)>,
>;

/// A relay between whatever datagrams the machine has.
pub fn relay<M, T>(
    datagrams: T,
    whither: fn(Arrival) -> Option<Participant>,
    request: RequestTo<Passing<M>>,
    out: &mut impl Outlet<Over<Passing<M>, T>>,
) where
    M: Message,
    T: Protocol<Provides = Datagrams<M>>,
{
    let relay = Passing::new(Default::default(), whither, |_, message, properties| {
        Some((message, properties))
    });
    let mut stack = Over::new(relay, datagrams);
    stack.handle_request(&Context::new(0), request, out);
}

/// What the base below is filled with.
pub struct Numbers;

impl Subject for Numbers {
    type Key = u32;
    type PassiveKey = u32;
    type Association = u32;
    type Enabled = ();
    type Timer = ();
}

/// The largest base there is, alone.
pub type Everything = Base<
    Features<
        BufferTree,
        session::Present,
        stackwright_base::events::TimingWheel,
        opening::ActivePassive,
    >,
    Numbers,
>;

/// Makes it.
pub fn everything(seed: u64) -> Everything {
    let mut base = Everything::new(seed);
    if let Ok(name) = base.open(1, 2) {
        base.schedule(name, (), stackwright_contract::Instant::START);
    }
    base
}

/// A layout, as a protocol would write it.
#[derive(Header)]
pub struct Label {
    /// Which way.
    pub way: u16,
    /// How far.
    #[bits(24)]
    pub hops: u32,
}

/// Machines without generics, for both kinds of message.
pub fn machines(config: [server::Config; 2], far: [client::Config; 2]) {
    let [one, other] = config;
    let [near, distant] = far;
    let _ = (Server::<BufferTree>::new(one), Server::<SingleBuffer>::new(other));
    let _ = (Client::<BufferTree>::new(near), Client::<SingleBuffer>::new(distant));
    let mut message = SingleBuffer::with_headroom(Label::LENGTH, b"octets");
    message.push(&Label { way: 1, hops: 2 });
}
