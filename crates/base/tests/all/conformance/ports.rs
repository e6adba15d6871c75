//! The protocol with which bases are tried: ports above datagrams, and nothing else. It works on
//! all 48.

use std::marker::PhantomData;
use std::net::SocketAddr;

use stackwright_base::{Below, Configuration, Hooks, MessageOf, Origin, Place};
use stackwright_contract::services::{Credit, Datagrams, Ended, MessageProperties};
use stackwright_contract::{Context, Facts, Handle, Participant};
use stackwright_wire::Header;

/// Where all of them meet below.
pub(crate) const BELOW: u16 = 7;

/// From whom to whom.
#[derive(Clone, Copy, Header, PartialEq, Debug)]
pub(crate) struct Label {
    /// The sender's port.
    pub(crate) source: u16,
    /// The receiver's port.
    pub(crate) destination: u16,
}

/// The protocol on the base of `C`.
pub(crate) struct Ports<C> {
    next: u16,
    configuration: PhantomData<fn() -> C>,
}

impl<C> Default for Ports<C> {
    fn default() -> Self {
        Ports { next: 1024, configuration: PhantomData }
    }
}

/// Theirs and ours.
type Pair = (u16, u16);

impl<C: Configuration + 'static> Hooks for Ports<C> {
    type Features = C;
    type Provides = Datagrams<MessageOf<Self>>;
    type Uses = Datagrams<MessageOf<Self>>;
    type Header = Label;
    type Key = Pair;
    type PassiveKey = u16;
    type Association = Pair;
    type Timer = ();

    const FACTS: Facts = Facts { header_room: Label::LENGTH, ..Facts::named("ports") };

    fn open(
        &mut self,
        _cx: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<Pair>, Ended> {
        let remote = remote.internet().ok_or(Ended::Unreachable)?;
        self.next += 1;
        let below = SocketAddr::new(remote.ip(), BELOW).into();
        Below::with(local, below, (remote.port(), self.next))
    }

    fn listen(
        &mut self,
        _cx: &Context,
        local: Participant,
        _: impl Fn(Participant, &u16) -> bool,
    ) -> Result<(Participant, u16), Ended> {
        let local = local.internet().ok_or(Ended::Unavailable)?;
        Ok((SocketAddr::new(local.ip(), BELOW).into(), local.port()))
    }

    fn key(label: &Label) -> Pair {
        (label.source, label.destination)
    }

    fn passive_key(label: &Label) -> u16 {
        label.destination
    }

    fn create(
        &mut self,
        _cx: &Context,
        _name: Handle,
        key: &Pair,
        _remote: Participant,
        _origin: Origin,
        _: Credit,
    ) -> Pair {
        *key
    }

    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<Self>,
        _quality: MessageProperties,
    ) {
        let (theirs, ours) = *at.association();
        at.forward(&Label { source: ours, destination: theirs }, message);
    }
}
