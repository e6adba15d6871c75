//! TCP at user level, by smoltcp, over a TUN device: the lowest protocol of a client that brings
//! its transport with it, as the tailored one does.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::{io, mem};

use mio::Interest;
use mio::unix::SourceFd;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant as SmolInstant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use stackwright::contract::services::{Credit, Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright::contract::{
    Context, Facts, Guarantees, Handle, Instant, Outlet, Participant, PathLimits, Protocol,
};
use stackwright::drivers::{Driver, Readiness, Ready, token};
use stackwright::wire::Message;

use super::Picture;

const NAME: &str = "smoltcp";
const DEVICE: Handle = Handle { index: 0, generation: 0 };
/// What may arrive and wait, and what may be sent and wait, in octets.
const ROOM_UP: usize = 1 << 20;
const ROOM_DOWN: usize = 64 << 10;

/// One association over a device.
pub struct SmolTcp {
    device: TunTapInterface,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    local: Ipv4Addr,
    remote: Option<SocketAddr>,
    association: Option<Handle>,
    stage: Stage,
    /// What the socket has no room for yet.
    waiting: Vec<u8>,
    /// Credit upward, in octets.
    credit: usize,
    due: bool,
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Open,
    /// The peer has finished, which was told.
    Finished,
    /// It was closed here: what arrives is discarded.
    Closing,
}

impl SmolTcp {
    /// Makes one on the device `name`, whose other end is the kernel; `local` is the own address.
    ///
    /// # Errors
    /// If there is no such device, or no right to use it.
    pub fn new(driver: &Driver, name: &str, local: IpCidr) -> io::Result<Self> {
        let IpCidr::Ipv4(own) = local;
        let mut device = TunTapInterface::new(name, Medium::Ip)?;
        let descriptor = device.as_raw_fd();
        let device_token = token(0, DEVICE);
        let registry = driver.registry();
        registry.register(&mut SourceFd(&descriptor), device_token, Interest::READABLE)?;
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = fastrand::u64(..);
        let mut interface = Interface::new(config, &mut device, SmolInstant::ZERO);
        let mut added = Ok(());
        interface.update_ip_addrs(|addresses| added = addresses.push(local));
        added.map_err(|_| io::Error::other("no room for an address"))?;
        let buffer = |octets| SocketBuffer::new(vec![0; octets]);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(Socket::new(buffer(ROOM_UP), buffer(ROOM_DOWN)));
        Ok(SmolTcp {
            device,
            interface,
            sockets,
            socket,
            local: own.address(),
            remote: None,
            association: None,
            stage: Stage::Opening,
            waiting: Vec::new(),
            credit: 0,
            due: false,
            deadline: None,
        })
    }

    fn connect(&mut self, remote: Participant) -> Result<(), Ended> {
        let Some(SocketAddr::V4(remote)) = remote.internet() else {
            return Err(Ended::Unavailable);
        };
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        socket.set_nagle_enabled(false);
        socket
            .connect(self.interface.context(), remote, fastrand::u16(49_152..))
            .map_err(|_| Ended::Unavailable)?;
        self.remote = Some(remote.into());
        Ok(())
    }

    /// Passes packets and octets until nothing moves any more.
    fn work(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let now = SmolInstant::from_micros((cx.now().nanoseconds() / 1000) as i64);
        loop {
            self.interface.poll(now, &mut self.device, &mut self.sockets);
            if !self.exchange(out) {
                break;
            }
        }
        let at = self.interface.poll_at(now, &self.sockets);
        self.deadline =
            at.map(|at| Instant::from_nanoseconds(1000 * at.total_micros().max(0) as u64));
    }

    /// Exchanges octets with the socket; returns whether it has something to send then.
    fn exchange(&mut self, out: &mut impl Outlet<Self>) -> bool {
        let Some(association) = self.association else { return false };
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        if self.stage == Stage::Opening
            && socket.may_send()
            && let (Some(local), Some(remote)) = (socket.local_endpoint(), self.remote)
        {
            self.stage = Stage::Open;
            out.indicate(StreamsIndication::Opened {
                association,
                local: SocketAddr::new(IpAddr::V4(self.local), local.port).into(),
                remote: remote.into(),
                credit: Credit::of_octets(ROOM_DOWN),
                path: PathLimits::UNBOUNDED,
            });
        }
        let mut moved = false;
        if let Ok(octets @ 1..) = socket.send_slice(&self.waiting) {
            self.waiting.drain(..octets);
            let credit = Credit::of_octets(octets);
            out.indicate(StreamsIndication::Credit { association, credit });
            moved = true;
        }
        while socket.can_recv() && (self.credit > 0 || self.stage == Stage::Closing) {
            let most = if self.stage == Stage::Closing { ROOM_UP } else { self.credit };
            let took = socket.recv(|octets| {
                let octets = &octets[..octets.len().min(most)];
                (octets.len(), Picture::with_headroom(0, octets))
            });
            let Ok(message) = took else { break };
            moved = true; // the window may grow
            if self.stage != Stage::Closing {
                self.credit -= message.len();
                let (batch, properties) = (message.into(), Default::default());
                out.indicate(StreamsIndication::Delivered { association, batch, properties });
            }
        }
        if self.stage == Stage::Open && !socket.may_recv() && !socket.can_recv() {
            self.stage = Stage::Finished;
            out.indicate(StreamsIndication::Finished { association });
        }
        if let Some(why) = ended(self.stage, socket.state()) {
            self.association = None;
            out.indicate(StreamsIndication::Ended { name: association, why });
        }
        moved
    }
}

/// Returns how an association is over, if it is.
fn ended(stage: Stage, state: State) -> Option<Ended> {
    match (stage, state) {
        (Stage::Opening, State::Closed) => Some(Ended::Unreachable),
        (Stage::Closing, State::Closed | State::TimeWait) => Some(Ended::Finished),
        (_, State::Closed) => Some(Ended::Reset(0)),
        _ => None,
    }
}

impl Protocol for SmolTcp {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        ..Facts::named(NAME)
    };
    type Provides = Streams<Picture>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        _: &Context,
        request: StreamsRequest<Picture>,
        out: &mut impl Outlet<Self>,
    ) {
        self.due = true;
        match request {
            StreamsRequest::Open { association, remote, credit, .. } => {
                match self.connect(remote) {
                    Ok(()) => (self.association, self.credit) = (Some(association), credit.octets),
                    Err(why) => out.indicate(StreamsIndication::Ended { name: association, why }),
                }
            }
            // A client listens to nobody.
            StreamsRequest::Listen { listener: name, .. }
            | StreamsRequest::Await { association: name, .. } => {
                out.indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
            }
            StreamsRequest::Send { batch, .. } => {
                let message = batch.into_octets();
                let begin = self.waiting.len();
                self.waiting.resize(begin + message.len(), 0);
                message.copy_to(&mut self.waiting[begin..]);
            }
            StreamsRequest::Credit { credit, .. } => self.credit += credit.octets,
            StreamsRequest::Control { association, .. } => {
                out.indicate(StreamsIndication::unknown_command(association));
            }
            StreamsRequest::Finish { .. } => self.sockets.get_mut::<Socket>(self.socket).close(),
            StreamsRequest::Abort { association, .. } => {
                self.sockets.get_mut::<Socket>(self.socket).abort();
                self.association = None;
                out.indicate(StreamsIndication::Ended { name: association, why: Ended::Aborted });
            }
            StreamsRequest::Close { .. } => {
                self.stage = Stage::Closing;
                self.sockets.get_mut::<Socket>(self.socket).close();
            }
        }
    }

    fn handle_indication(&mut self, cx: &Context, _: Ready, out: &mut impl Outlet<Self>) {
        self.work(cx, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.work(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if mem::take(&mut self.due) {
            self.work(cx, out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.due
    }
}
