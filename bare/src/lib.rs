//! Nothing here is run. It names a stack, so that all of it is compiled for a machine that has memory and nothing else.
#![no_std]
#![forbid(unsafe_code)]

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{Files, Streams};
use stackwright_contract::{Context, Outlet, Protocol, RequestTo};
use stackwright_copy::Copy;
use stackwright_ftp::{Client, Server, client, server};
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
