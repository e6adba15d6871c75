//! A line to a device that may come and go, as [`Octets`]: a serial line, a pseudo terminal, or a
//! TCP connection to a device server.
//!
//! | file | what |
//! | --- | --- |
//! | `serial.rs` | a serial line |
//! | `pty.rs` | a pseudo terminal for a program that wants a serial device |
//! | `calls.rs` | a line as streams |
//! | `delay.rs` | how long to wait before a line is tried again |
//!
//! The line is down while the device is not there, or is not reached. It is tried again after 1, 2,
//! 4 … seconds: up to 30 where it is a host elsewhere, and up to 2 on this machine, where a try
//! costs nothing.

mod calls;
mod delay;
mod pty;
mod serial;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mio::Interest;
use mio::net::TcpStream;
use mio::unix::SourceFd;
use rustix::net::sockopt::set_tcp_keepcnt;
use stackwright_contract::services::{Octets, OctetsIndication, OctetsRequest};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Instant, Outlet, Protocol};
use stackwright_wire::{Message, Pool};

use crate::flow::{Flow, HungUp, SEND_ROOM};
use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;
use crate::tcp::connect;
pub use calls::LineCalls;
use delay::Delay;
use pty::Pty;
use serial::Serial;
pub(crate) use serial::device;

const NAME: &str = "line";

/// The longest delay before a host elsewhere is tried again.
const FAR: Duration = Duration::from_secs(30);
/// The longest delay before what is on this machine is tried again.
const NEAR: Duration = Duration::from_secs(2);
/// How often it is checked whether a program has opened a pseudo terminal.
const LOOK: Duration = Duration::from_millis(250);
/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(10);
/// After how long a silence a host is probed, and how often before it is given up.
const KEEPALIVE: Duration = Duration::from_secs(30);
const PROBES: u32 = 3;

/// The line adapter.
pub struct Line<M: Message> {
    registry: Arc<Registry>,
    lane: usize,
    far_end: FarEnd,
    delay: Delay,
    /// Its generation is that of the descriptor: events of one that is closed are ignored.
    name: Handle,
    state: State,
    /// What the layer above was told.
    told: Option<bool>,
    flow: Flow<M>,
    due: bool,
}

/// What is at the other end.
enum FarEnd {
    Serial(Serial),
    Pty(Pty),
    /// The addresses of a host, of which one is tried after the other.
    Tcp {
        addresses: Vec<SocketAddr>,
        next: usize,
    },
}

enum State {
    /// It is tried at that time.
    Closed {
        again: Instant,
    },
    /// A connection attempt, which is given up at that time.
    Connecting {
        stream: TcpStream,
        until: Instant,
    },
    Open {
        descriptor: File,
    },
}

impl<M: Message> Line<M> {
    /// Makes a line to the serial device at `path`, of `baud` bit/s. It need not be there yet.
    pub fn serial(
        path: impl Into<PathBuf>,
        baud: u32,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> Self {
        let serial = Serial { path: path.into(), baud };
        Self::to(FarEnd::Serial(serial), Delay::up_to(NEAR), registry, lane, pool)
    }

    /// Makes a pseudo terminal, and a symbolic link to it at `link`, which goes with the line. The
    /// line is up while a program has it open.
    ///
    /// # Errors
    /// If the system has none to give, or `link` is something else than a link to such a terminal.
    pub fn pty(
        link: impl Into<PathBuf>,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        let pty = FarEnd::Pty(Pty::new(link.into())?);
        Ok(Self::to(pty, Delay::up_to(NEAR), registry, lane, pool))
    }

    /// Makes a line over TCP to a host with these addresses. It need not listen yet.
    pub fn tcp(
        addresses: Vec<SocketAddr>,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> Self {
        let is_near = addresses.iter().all(|address| address.ip().to_canonical().is_loopback());
        let delay = Delay::up_to(if is_near { NEAR } else { FAR });
        Self::to(FarEnd::Tcp { addresses, next: 0 }, delay, registry, lane, pool)
    }

    fn to(
        far_end: FarEnd,
        delay: Delay,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> Self {
        Line {
            registry,
            lane,
            far_end,
            delay,
            name: Handle { index: 0, generation: 0 },
            state: State::Closed { again: Instant::START },
            told: None,
            flow: Flow::new(pool),
            due: false,
        }
    }

    /// Tries to open it.
    fn attempt(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let opened = match &self.far_end {
            FarEnd::Serial(serial) => serial.open(&self.registry).map(Some),
            FarEnd::Pty(pty) => pty.open(),
            FarEnd::Tcp { addresses, next } => match addresses.get(*next) {
                Some(address) => {
                    let address = *address;
                    return self.connect(cx, address, out);
                }
                None => Err(ErrorKind::AddrNotAvailable.into()),
            },
        };
        match opened {
            Ok(Some(descriptor)) => match self.register(descriptor.as_raw_fd()) {
                Ok(()) => self.open(cx, descriptor, out),
                Err(why) => self.fail(cx, &why, out),
            },
            Ok(None) => {
                self.state = State::Closed { again: cx.now() + LOOK };
                self.tell(false, out);
            }
            Err(why) => self.fail(cx, &why, out),
        }
    }

    fn connect(&mut self, cx: &Context, address: SocketAddr, out: &mut impl Outlet<Self>) {
        let options = connect::SocketOptions { keepalive: Some(KEEPALIVE), ..Default::default() };
        let begun = connect::attempt(address.into(), None)
            .map_err(|_| io::Error::from(ErrorKind::HostUnreachable))
            .and_then(|stream| {
                connect::set_options(&stream, options)?;
                set_tcp_keepcnt(&stream, PROBES)?;
                self.register(stream.as_raw_fd())?;
                Ok(stream)
            });
        match begun {
            Ok(stream) => self.state = State::Connecting { stream, until: cx.now() + CONNECT },
            Err(why) => self.refused(cx, &why, out),
        }
    }

    /// The other addresses of the host are tried at once.
    fn refused(&mut self, cx: &Context, why: &io::Error, out: &mut impl Outlet<Self>) {
        if let FarEnd::Tcp { addresses, next } = &mut self.far_end {
            *next += 1;
            if *next < addresses.len() {
                self.state = State::Closed { again: cx.now() };
                return;
            }
            *next = 0;
        }
        self.fail(cx, why, out);
    }

    fn fail(&mut self, cx: &Context, why: &io::Error, out: &mut impl Outlet<Self>) {
        let again = self.delay.on_failure(cx);
        if self.told != Some(false) {
            cx.event(NAME, format_args!("down: {why}"));
        }
        self.state = State::Closed { again };
        self.tell(false, out);
    }

    fn register(&mut self, descriptor: i32) -> io::Result<()> {
        self.name.generation = self.name.generation.wrapping_add(1);
        let interest = Interest::READABLE.add(Interest::WRITABLE);
        self.registry.register(&mut SourceFd(&descriptor), token(self.lane, self.name), interest)
    }

    fn open(&mut self, cx: &Context, descriptor: File, out: &mut impl Outlet<Self>) {
        self.state = State::Open { descriptor };
        self.delay.on_up(cx);
        cx.event(NAME, format_args!("up"));
        self.tell(true, out);
        out.indicate(OctetsIndication::Credit { credit: SEND_ROOM });
    }

    /// Tells the layer above, if it does not know.
    fn tell(&mut self, up: bool, out: &mut impl Outlet<Self>) {
        if self.told.replace(up) != Some(up) {
            out.indicate(OctetsIndication::State { up });
        }
    }

    fn hang_up(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if let State::Open { descriptor } = &self.state {
            // A pseudo terminal stays, and must not be told of any more.
            let _ = self.registry.deregister(&mut SourceFd(&descriptor.as_raw_fd()));
        }
        self.flow.reset();
        self.fail(cx, &ErrorKind::ConnectionReset.into(), out);
    }

    fn send(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let State::Open { descriptor } = &self.state else { return };
        match self.flow.write(cx, NAME, descriptor) {
            Ok(0) => {}
            Ok(credit) => out.indicate(OctetsIndication::Credit { credit }),
            Err(HungUp) => self.hang_up(cx, out),
        }
    }

    fn receive(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let State::Open { descriptor } = &self.state else { return };
        let deliver = |message| out.indicate(OctetsIndication::Delivered { message });
        if let Err(HungUp) = self.flow.read(descriptor, deliver) {
            self.hang_up(cx, out);
        }
    }
}

impl<M: Message> Protocol for Line<M> {
    /// A serial line may lose octets, where the device is slow to read them.
    const FACTS: Facts =
        Facts { gives: Guarantees::ORDERED.and(Guarantees::ONCE), ..Facts::named(NAME) };
    type Provides = Octets<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: OctetsRequest<M>,
        _out: &mut impl Outlet<Self>,
    ) {
        match request {
            // It was said before it was known that the line is down.
            _ if self.told != Some(true) => return,
            OctetsRequest::Send { message } => self.flow.push(message),
            OctetsRequest::Credit { credit } => self.flow.credit += credit,
        }
        self.due = true;
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        if ready.name != self.name {
            return;
        }
        if let State::Connecting { stream, .. } = &self.state {
            if !ready.writable {
                return;
            }
            if let Err(why) = stream.take_error().and_then(|error| error.map_or(Ok(()), Err)) {
                return self.refused(cx, &why, out);
            }
            let again = State::Closed { again: cx.now() };
            if let State::Connecting { stream, .. } = std::mem::replace(&mut self.state, again) {
                self.open(cx, File::from(OwnedFd::from(stream)), out);
            }
        }
        self.flow.readable |= ready.readable;
        self.flow.writable |= ready.writable;
        self.receive(cx, out);
        self.due |= !self.flow.is_sent();
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        match &self.state {
            State::Closed { again } if *again <= cx.now() => self.attempt(cx, out),
            State::Connecting { until, .. } if *until <= cx.now() => {
                self.refused(cx, &ErrorKind::TimedOut.into(), out);
            }
            _ => {}
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        match self.state {
            State::Closed { again } => Some(again),
            State::Connecting { until, .. } => Some(until),
            State::Open { .. } => None,
        }
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if std::mem::take(&mut self.due) {
            self.send(cx, out);
            self.receive(cx, out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.due
    }

    fn may_exit(&self) -> bool {
        self.flow.is_sent()
    }
}
