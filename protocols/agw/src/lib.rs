//! AGW, the server side: programs share the links of a station over TCP, as with AGWPE and Direwolf
//! (G. Rossopoulos: SV2AGW's TCP/IP socket interface, 2000).
//!
//! ```text
//!    programs: Pat, Paracon, terminals
//!      │ │ │  frames of AGW over streams
//!      └─┴─┴──── agw ──────────┐
//!                  │ Streams   │ Datagrams
//!                  └── ax25 ───┘
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs` | the configuration |
//! | `header.rs` | the header of a frame, and what may follow |
//! | `program.rs` | one program: what it sends, and what waits for it |
//! | `calls.rs` | the call signs that programs have registered |
//! | `link.rs` | one link of a program |
//! | `unproto.rs` | UI frames of programs |
//! | `routing.rs` | routes that a program names |
//! | `raw.rs`, `monitor.rs` | raw frames, and those that are monitored; their text |
//! | `stations.rs`, `heard.rs` | which stations were heard, and how much |
//! | `receive.rs` | from below: the streams of programs, links, UI frames |
//! | `commands.rs` | what a program asks for |
//! | `send.rs` | what programs are told |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod calls;
mod commands;
mod config;
mod header;
mod heard;
mod link;
mod monitor;
mod program;
mod raw;
mod receive;
mod routing;
mod send;
mod stations;
mod unproto;

pub use config::{AgwRoute, Config, PortAccess};
pub use header::{AgwCall, AgwHeader, DATA_MOST, SYNTAX};
pub use stations::{StationHeard, StationsHeard};

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use core::convert::Infallible;
use stackwright_contract::services::{Datagrams, Ended, Streams};
use stackwright_contract::{
    Arrivals, Both, CallSign, Context, Either, Facts, Guarantees, Handle, IndicationTo, Instant,
    Names, Nothing, Outlet, Participant, Protocol,
};
use stackwright_wire::Message;

use calls::Registration;
use heard::Heard;
use link::Link;
use program::Program;
use routing::Routing;
use unproto::DatagramName;

const NAME: &str = "agw";

/// How many programs may be there at once.
pub const PROGRAMS_MOST: usize = 16;
/// How many links all programs may have together.
pub const LINKS_MOST: usize = 64;
/// Octets that may wait for one program; beyond, it is gone: it does not read.
pub const HELD_MOST: usize = 512 << 10;
/// Octets of one link that may wait for AX.25; beyond, their program is not read.
pub const LINK_ROOM: usize = 32 << 10;

type Out<'a, M> = &'a mut dyn Outlet<Agw<M>>;

/// The server.
pub struct Agw<M: Message> {
    config: Config,
    /// Names of the streams of programs.
    programs: Arrivals<(), Program<M>, Names<()>>,
    listener: Option<Handle>,
    listening: Option<Result<Participant, Ended>>,
    /// Names of AX.25's streams: listeners for calls to a registered call sign, and links.
    links: Arrivals<CallSign, Link<M>, Names<()>>,
    /// Names of AX.25's datagrams.
    datagrams: Names<DatagramName<M>>,
    calls: Vec<Registration>,
    heard: Heard,
    /// What waits for the number of its route.
    routings: VecDeque<Routing>,
    /// Whether it was started, and whether it was told to stop.
    begun: bool,
    stops: Stops,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stops {
    No,
    /// With the next flush.
    Due,
    Done,
}

impl<M: Message> Agw<M> {
    /// Makes a server, which listens from its first flush on.
    pub fn new(config: Config) -> Self {
        Agw {
            config,
            programs: Arrivals::default(),
            listener: None,
            listening: None,
            links: Arrivals::default(),
            datagrams: Names::new(),
            calls: Vec::new(),
            heard: Heard::default(),
            routings: VecDeque::new(),
            begun: false,
            stops: Stops::No,
        }
    }

    /// Ends all links in good order, with the next flush: programs are disconnected, and no more
    /// are accepted. Links that are left end within ten seconds.
    pub fn stop(&mut self) {
        if self.stops == Stops::No {
            self.stops = Stops::Due;
        }
    }

    /// Returns where it listens, or why it does not; `None`: it was not told yet.
    pub const fn listening(&self) -> Option<Result<Participant, Ended>> {
        self.listening
    }

    /// Returns how many programs are there.
    pub fn programs(&self) -> usize {
        self.programs.iter().filter(|(_, program)| !program.ends).count()
    }

    /// Returns how many links there are, those that are being opened or closed included.
    pub fn links(&self) -> usize {
        self.links.iter().count()
    }

    /// Returns how many octets are held, of all programs and in both directions.
    pub fn held(&self) -> usize {
        let programs = self.programs.iter().map(|(_, program)| program.held());
        let links = self.all_links().map(Link::waiting);
        let unproto = self.datagrams.iter().map(|(_, name)| name.waiting());
        programs.sum::<usize>() + links.sum::<usize>() + unproto.sum::<usize>()
    }
}

impl<M: Message> Protocol for Agw<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        reads_payload: true,
        ..Facts::named(NAME)
    };
    type Provides = Nothing;
    type Uses = Both<Streams<M>, Both<Streams<M>, Datagrams<M>>>;

    fn handle_request(&mut self, _cx: &Context, request: Infallible, _out: &mut impl Outlet<Self>) {
        match request {}
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            Either::Left(word) => self.on_programs(cx, word, out),
            Either::Right(Either::Left(word)) => self.on_links(cx, word, out),
            Either::Right(Either::Right(word)) => self.on_unproto(cx, word, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.expire(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.all_links().filter_map(|link| link.deadline).min()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if !core::mem::replace(&mut self.begun, true) {
            self.listen(out);
            self.hear_ports(out);
        }
        if self.stops == Stops::Due {
            self.stops = Stops::Done;
            self.end_all(cx, out);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.begun || self.stops == Stops::Due
    }
}
