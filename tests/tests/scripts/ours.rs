//! Our TCP over our IP, in simulated time.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use stackwright::compose::Over;
use stackwright::contract::services::{
    Credit, Ended, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright::contract::{
    Context, Handle, IndicationOf, Instant, Outlet, PathLimits, Protocol as _, RequestOf,
};
use stackwright::ip::{self, Ip, Point};
use stackwright::tcp::{self, TcpLayer};
use stackwright::wire::{BufferTree, Message as _};

use crate::host::{Call, Host, PORTS, Told, Why};
use crate::segment::HOSTS;

type M = BufferTree;
type Stack = Over<TcpLayer<M>, Over<Ip<M>, Point<M>>>;

const AMPLE: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const NAME: Handle = Handle { index: 1, generation: 0 };

#[derive(Default)]
struct Words {
    packets: VecDeque<Vec<u8>>,
    told: Told,
    /// What may be sent, what waits for that, and whether the half ends behind it.
    credit: usize,
    unsent: usize,
    /// What was read and is credit again; what is not read.
    read: usize,
    unread: usize,
    pauses: bool,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        if indication.name() != NAME {
            return;
        }
        match indication {
            StreamsIndication::Opened { credit, .. } => {
                (self.told.open, self.credit) = (true, self.credit + credit.octets);
            }
            StreamsIndication::Credit { credit, .. } => self.credit += credit.octets,
            StreamsIndication::Delivered { batch, .. } => {
                self.told.heard += batch.octets();
                *(if self.pauses { &mut self.unread } else { &mut self.read }) += batch.octets();
            }
            StreamsIndication::Finished { .. } => self.told.finished = true,
            StreamsIndication::Ended { why, .. } => {
                self.told.ended = Some(match why {
                    Ended::Refused(_) => Why::Refused,
                    Ended::Reset(_) => Why::Reset,
                    Ended::Finished | Ended::Aborted => Why::Over,
                    _ => Why::Silent,
                });
            }
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        let FramesRequest::Send { batch, .. } = request else { return };
        for packet in batch {
            let mut octets = Vec::new();
            packet.append_to(&mut octets);
            self.packets.push_back(octets);
        }
    }
}

/// The host.
pub(crate) struct Ours {
    own: usize,
    stack: Stack,
    cx: Context,
    words: Words,
    /// What is asked for when all that is sent has its credit.
    behind: Option<Call>,
}

impl Ours {
    /// Makes the host of that number.
    pub(crate) fn new(own: usize, config: tcp::Config) -> Self {
        let ip = Ip::new(ip::Config::host(IpAddr::from(HOSTS[own]), 24));
        let stack = Over::new(tcp::layer(config, own as u64), Over::new(ip, Point::default()));
        let (cx, words) = (Context::new(own as u64), Words::default());
        let mut host = Ours { own, stack, cx, words, behind: None };
        host.stack.flush(&host.cx, &mut host.words);
        host.tell(FramesIndication::State { port: 0, up: true });
        let path = PathLimits::of_longest(1500);
        host.tell(FramesIndication::Changed { port: 0, path });
        host.tell(FramesIndication::Credit { port: 0, credit: AMPLE });
        host
    }

    fn tell(&mut self, indication: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.words);
        self.settle();
    }

    fn ask(&mut self, request: StreamsRequest<M>) {
        self.stack.handle_request(&self.cx, request, &mut self.words);
    }

    /// Does what follows from what the application was told.
    fn settle(&mut self) {
        loop {
            let Words { credit, unsent, read, .. } = &mut self.words;
            let (association, octets) = (NAME, (*credit).min(*unsent));
            if *read > 0 {
                let credit = Credit::of_octets(std::mem::take(read));
                self.ask(StreamsRequest::Credit { association, credit });
            } else if octets > 0 {
                (*credit, *unsent) = (*credit - octets, *unsent - octets);
                let batch = M::with_headroom(64, &vec![b'x'; octets]).into();
                let properties = Default::default();
                self.ask(StreamsRequest::Send { association, batch, properties });
            } else if *unsent == 0
                && let Some(call) = self.behind.take()
            {
                self.call(call);
            } else if self.stack.wants_flush() {
                self.stack.flush(&self.cx, &mut self.words);
            } else {
                return;
            }
        }
    }
}

impl Host for Ours {
    fn call(&mut self, call: Call) {
        // Without credit nothing is handed over: who does not read has the least.
        let credit = Credit::of_octets(if self.words.pauses { 1 } else { 64 << 10 });
        let (listener, association) = (LISTENER, NAME);
        let [own, peer] = [HOSTS[self.own], HOSTS[1 - self.own]].map(IpAddr::from);
        if self.words.told.ended.is_some() {
            return;
        }
        match call {
            Call::Finish | Call::Close if self.words.unsent > 0 => self.behind = Some(call),
            Call::Listen => {
                let local = SocketAddr::new(own, PORTS[0]).into();
                self.ask(StreamsRequest::Listen { listener, local });
                self.ask(StreamsRequest::Await { listener, association, credit });
            }
            Call::Connect => {
                let local = Some(SocketAddr::new(own, PORTS[1]).into());
                let remote = SocketAddr::new(peer, PORTS[0]).into();
                self.ask(StreamsRequest::Open { association, remote, local, credit });
            }
            Call::Send(octets) => self.words.unsent += octets,
            Call::Finish => self.ask(StreamsRequest::Finish { association }),
            Call::Close => self.ask(StreamsRequest::Close { name: association }),
            Call::Abort => self.ask(StreamsRequest::Abort { association, code: 0 }),
            Call::Pause => self.words.pauses = true,
            Call::Read => {
                self.words.pauses = false;
                self.words.read += std::mem::take(&mut self.words.unread);
            }
        }
        self.settle();
    }

    fn arrives(&mut self, packet: &[u8]) {
        let batch = M::with_headroom(64, packet).into();
        self.tell(FramesIndication::Delivered { port: 0, batch });
    }

    fn leaves(&mut self, until: Duration) -> Option<Vec<u8>> {
        loop {
            if let Some(packet) = self.words.packets.pop_front() {
                return Some(packet);
            }
            let until = Instant::START + until;
            let due = self.stack.next_deadline().filter(|at| *at <= until);
            let now = self.cx.now();
            self.cx.set_now(due.unwrap_or(until).max(now));
            due?;
            self.stack.handle_timeout(&self.cx, &mut self.words);
            self.settle();
        }
    }

    fn now(&self) -> Duration {
        self.cx.now().since(Instant::START)
    }

    fn told(&self) -> Told {
        self.words.told
    }

    fn is_real(&self) -> bool {
        false
    }
}
