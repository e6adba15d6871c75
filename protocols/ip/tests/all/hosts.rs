//! Hosts in one process: each is [`Ip`] with a link of its own kind below it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{
    Address, Context, Duration, Handle, IndicationOf, Instant, Listener, Names, Outlet,
    Participant, PathLimits, Protocol as _, RequestOf, Trouble,
};
use stackwright_ip::{Config, Ip};
use stackwright_wire::{BufferTree, Message as _};

pub(crate) type M = BufferTree;

pub(crate) const AMPLE: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };

/// What the layer above was told of one name.
#[derive(Default, Debug)]
pub(crate) struct Told {
    pub(crate) opened: Option<(IpAddr, IpAddr, PathLimits)>,
    /// Messages, and the properties of each.
    pub(crate) messages: Vec<(Vec<u8>, MessageProperties)>,
    pub(crate) batches: Vec<usize>,
    pub(crate) credit: Credit,
    pub(crate) reports: Vec<(IpAddr, Trouble, [u8; 8])>,
    pub(crate) changes: Vec<PathLimits>,
    pub(crate) ended: Option<Ended>,
}

/// What one host says, in both directions.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) told: HashMap<Handle, Told>,
    /// What leaves, with the interface and the next hop.
    pub(crate) packets: VecDeque<(u16, IpAddr, Batch<M>)>,
    pub(crate) requests: VecDeque<DatagramsRequest<M>>,
    pub(crate) hops: HashMap<Handle, (u16, IpAddr)>,
    /// Credit that was given back below.
    pub(crate) given_back: Credit,
}

pub(crate) fn ip(host: &str) -> IpAddr {
    host.parse().expect("an address")
}

pub(crate) fn at(host: &str, protocol: u8) -> Participant {
    Address::InternetProtocol { host: ip(host), protocol }.into()
}

fn host_of(participant: Participant) -> IpAddr {
    match participant.address {
        Address::InternetProtocol { host, .. } => host,
        other => panic!("no host: {other}"),
    }
}

/// Two hosts of one link, of each version.
pub(crate) const ENDS: [[&str; 2]; 2] = [["10.0.0.1", "10.0.0.2"], ["2001:db8::1", "2001:db8::2"]];

/// Returns a host on a link with others of its prefix.
pub(crate) fn host(own: &str) -> Host {
    Host::new(Config::host(ip(own), if ip(own).is_ipv4() { 24 } else { 64 }))
}

impl Outlet<Ip<M>> for Words {
    fn indicate(&mut self, indication: IndicationOf<Ip<M>>) {
        let told = self.told.entry(indication.name()).or_default();
        match indication {
            DatagramsIndication::Opened { local, remote, credit, path, .. } => {
                told.opened = Some((host_of(local), host_of(remote), path));
                told.credit += credit;
            }
            DatagramsIndication::Delivered { batch, properties, .. } => {
                told.batches.push(batch.count());
                for message in batch {
                    let mut octets = Vec::new();
                    message.append_to(&mut octets);
                    told.messages.push((octets, properties));
                }
            }
            DatagramsIndication::Credit { credit, .. } => told.credit += credit,
            DatagramsIndication::Changed { path, .. } => told.changes.push(path),
            DatagramsIndication::Reported { by, what, quoted, .. } => {
                told.reports.push((host_of(by), what, quoted));
            }
            DatagramsIndication::Ended { why, .. } => {
                assert_eq!(told.ended.replace(why), None, "the last word comes once");
            }
            DatagramsIndication::Listening { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    fn request(&mut self, request: RequestOf<Ip<M>>) {
        match request {
            DatagramsRequest::Send { association, batch, .. } => {
                let (interface, hop) = self.hops[&association];
                self.packets.push_back((interface, hop, batch));
            }
            DatagramsRequest::Credit { credit, .. } => self.given_back += credit,
            other => self.requests.push_back(other),
        }
    }
}

/// Why packets were dropped.
#[derive(Clone, Default)]
pub(crate) struct Reasons(Arc<Mutex<Vec<&'static str>>>);

impl Listener for Reasons {
    fn dropped(&mut self, _now: Instant, _protocol: &'static str, reason: &'static str) {
        self.0.lock().expect("one thread").push(reason);
    }

    fn event(&mut self, _: Instant, _: &'static str, _: std::fmt::Arguments<'_>) {}
}

/// A host or a router. Its links are up from the start.
pub(crate) struct Host {
    pub(crate) ip: Ip<M>,
    pub(crate) cx: Context,
    pub(crate) words: Words,
    pub(crate) names: Names<()>,
    pub(crate) path: PathLimits,
    pub(crate) reasons: Reasons,
    /// Where what arrives is delivered, by interface and version.
    arrivals: HashMap<(u16, bool), Handle>,
    listeners: HashMap<Handle, (u16, bool)>,
}

impl Host {
    pub(crate) fn new(config: Config) -> Self {
        Self::on(config, PathLimits::of_longest(1500))
    }

    pub(crate) fn on(config: Config, path: PathLimits) -> Self {
        let mut host = Self::down(config, path);
        host.settle();
        host
    }

    /// Its links are down until it [settles](Host::settle).
    pub(crate) fn down(config: Config, path: PathLimits) -> Self {
        let (cx, reasons) = (Context::new(1), Reasons::default());
        cx.listen(Box::new(reasons.clone()));
        Host {
            ip: Ip::new(config),
            cx,
            reasons,
            words: Words::default(),
            names: Names::new(),
            path,
            arrivals: HashMap::new(),
            listeners: HashMap::new(),
        }
    }

    /// Answers what it asked below.
    pub(crate) fn settle(&mut self) {
        loop {
            while self.ip.wants_flush() {
                self.ip.flush(&self.cx, &mut self.words);
            }
            let Some(request) = self.words.requests.pop_front() else { break };
            let credit = Credit { octets: 1 << 30, messages: 1 << 20 };
            let path = self.path;
            match request {
                DatagramsRequest::Listen { listener, local } => {
                    let interface = local.interface().unwrap_or(0);
                    self.listeners.insert(listener, (interface, host_of(local).is_ipv6()));
                    self.tell(DatagramsIndication::Listening { listener, local });
                }
                DatagramsRequest::Await { listener, association, .. } => {
                    let key = self.listeners[&listener];
                    if self.arrivals.contains_key(&key) {
                        continue;
                    }
                    self.arrivals.insert(key, association);
                    let [local, remote] = [Participant::OTHER_END; 2];
                    self.tell(DatagramsIndication::Opened {
                        association,
                        local,
                        remote,
                        credit,
                        path,
                    });
                }
                DatagramsRequest::Open { association, remote, .. } => {
                    let interface = remote.interface().unwrap_or(0);
                    self.words.hops.insert(association, (interface, host_of(remote)));
                    let local = Participant::OTHER_END;
                    self.tell(DatagramsIndication::Opened {
                        association,
                        local,
                        remote,
                        credit,
                        path,
                    });
                }
                DatagramsRequest::Close { name } => {
                    self.words.hops.remove(&name);
                    self.tell(DatagramsIndication::Ended { name, why: Ended::Finished });
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn tell(&mut self, indication: DatagramsIndication<M>) {
        self.ip.handle_indication(&self.cx, indication, &mut self.words);
    }

    /// Tells what an interface takes from now on.
    pub(crate) fn set_path(&mut self, interface: u16, path: PathLimits) {
        for is_v6 in [false, true] {
            let Some(association) = self.arrivals.get(&(interface, is_v6)).copied() else {
                continue;
            };
            self.tell(DatagramsIndication::Changed { association, path });
        }
    }

    pub(crate) fn set_longest(&mut self, interface: u16, longest: usize) {
        self.set_path(interface, PathLimits::of_longest(longest));
    }

    /// Ends what is open below: the link is down.
    pub(crate) fn set_down(&mut self, interface: u16) {
        let hops: Vec<_> = self.words.hops.drain().map(|(name, _)| name).collect();
        let arrivals = self.arrivals.remove(&(interface, false));
        for name in hops.into_iter().chain(arrivals) {
            self.tell(DatagramsIndication::Ended { name, why: Ended::Unreachable });
        }
    }

    /// Answers what was asked while the link was down.
    pub(crate) fn set_up(&mut self, _interface: u16) {
        self.settle();
    }

    pub(crate) fn ask(&mut self, request: DatagramsRequest<M>) {
        self.ip.handle_request(&self.cx, request, &mut self.words);
        self.settle();
    }

    pub(crate) fn listen(&mut self, local: Participant, names: usize) -> Vec<Handle> {
        let listener = self.names.name(());
        self.ask(DatagramsRequest::Listen { listener, local });
        let waits = |_| {
            let association = self.names.name(());
            let await_ = DatagramsRequest::Await { listener, association, credit: AMPLE };
            self.ip.handle_request(&self.cx, await_, &mut self.words);
            association
        };
        (0..names).map(waits).collect()
    }

    pub(crate) fn open(&mut self, remote: Participant) -> Handle {
        let association = self.names.name(());
        self.ask(DatagramsRequest::Open { association, remote, local: None, credit: AMPLE });
        association
    }

    pub(crate) fn send(&mut self, association: Handle, octets: &[u8]) {
        self.send_with(association, octets, MessageProperties::default());
    }

    pub(crate) fn send_with(
        &mut self,
        association: Handle,
        octets: &[u8],
        properties: MessageProperties,
    ) {
        let batch = M::with_headroom(64, octets).into();
        self.ask(DatagramsRequest::Send { association, batch, properties });
    }

    pub(crate) fn told(&self, name: Handle) -> &Told {
        static NOTHING: std::sync::OnceLock<Told> = std::sync::OnceLock::new();
        self.words.told.get(&name).unwrap_or_else(|| NOTHING.get_or_init(Told::default))
    }

    /// Has a packet arrive on an interface.
    pub(crate) fn arrive(&mut self, interface: u16, packet: &[u8]) {
        self.arrive_batch(interface, M::with_headroom(64, packet).into());
    }

    pub(crate) fn arrive_batch(&mut self, interface: u16, batch: Batch<M>) {
        let first = batch.pieces().next().and_then(|mut first| first.next().map(|first| first[0]));
        let is_v6 = first.is_some_and(|first| first >> 4 == 6);
        let association = self.arrivals[&(interface, is_v6)];
        let properties = MessageProperties::default();
        self.tell(DatagramsIndication::Delivered { association, batch, properties });
        self.settle();
    }

    /// Has all packets that have left come back: their next hops do not answer.
    pub(crate) fn come_back(&mut self) {
        let properties = MessageProperties { returned: true, ..MessageProperties::default() };
        for (_, hop, batch) in std::mem::take(&mut self.words.packets) {
            let is_it = |(name, at): (&Handle, &(u16, IpAddr))| (at.1 == hop).then_some(*name);
            let association = self.words.hops.iter().find_map(is_it).expect("a hop");
            self.tell(DatagramsIndication::Delivered { association, batch, properties });
        }
        self.settle();
    }

    /// Returns the packets that have left, with the interface and the next hop of each.
    pub(crate) fn left(&mut self) -> Vec<(u16, IpAddr, Vec<u8>)> {
        let mut left = Vec::new();
        for (interface, hop, batch) in self.words.packets.drain(..) {
            for packet in batch {
                let mut octets = Vec::new();
                packet.append_to(&mut octets);
                left.push((interface, hop, octets));
            }
        }
        left
    }

    /// Has time pass.
    pub(crate) fn pass(&mut self, duration: Duration) {
        self.cx.set_now(self.cx.now() + duration);
        if self.ip.next_deadline().is_some_and(|at| at <= self.cx.now()) {
            self.ip.handle_timeout(&self.cx, &mut self.words);
        }
        self.settle();
    }

    /// Returns why packets were dropped since this was asked last.
    pub(crate) fn dropped(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.reasons.0.lock().expect("one thread"))
    }
}

/// Carries what hosts have sent to where `wire` says: from a host and an interface to others.
pub(crate) fn carry(hosts: &mut [&mut Host], wire: impl Fn(usize, u16) -> (usize, u16)) {
    for _ in 0..1000 {
        let mut carried = 0;
        for from in 0..hosts.len() {
            for (interface, _, batch) in std::mem::take(&mut hosts[from].words.packets) {
                let (to, by) = wire(from, interface);
                hosts[to].arrive_batch(by, batch);
                carried += 1;
            }
        }
        if carried == 0 {
            return;
        }
    }
    panic!("it does not end");
}
