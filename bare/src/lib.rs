//! Nothing here is run. It names a stack, so that all of it is compiled for a machine that has memory and nothing else.
#![no_std]
#![forbid(unsafe_code)]

use stackwright_base::{Base, Features, Subject, opening, session};
use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{Datagrams, Files, Streams};
use stackwright_contract::{Context, Outlet, Protocol, RequestTo};
use stackwright_copy::Copy;
use stackwright_ftp::{Client, Server, client, server};
use stackwright_ordered::Ordered;
use stackwright_stop_and_wait::{Rules, StopAndWait};
use stackwright_wire::{BufferTree, Header, Message, SingleBuffer};

/// A server on whatever streams and files the machine has.
pub type ServerStack<T, D, M> = Over<Server<M>, Beside<T, D>>;

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
    Features<BufferTree, session::Present, stackwright_base::events::TimingWheel, opening::ActivePassive>,
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
