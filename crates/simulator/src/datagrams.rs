//! [`Datagrams`] over a link that loses, duplicates, reorders and alters them: what UDP is to a
//! stack, with its checksum or without.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::ask::{Ask, Longest, Peer, Question};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ecn, Ended, MessageProperties,
};
use stackwright_contract::{
    Address, Arrivals, Context, Facts, Guarantees, Handle, Outlet, Participant, PathLimits,
    Protocol,
};
use stackwright_wire::Message;

use crate::ledger::Ledger;
use crate::network::LONGEST;
use crate::segments::assert_octets_only;
use crate::{AdapterAddress, Segment, SegmentWord, Segments};

const NAME: &str = "simulated datagrams";

/// The first of the ephemeral ports.
const FRESH_FIRST: u16 = 49_152;

/// The datagram adapter of one station.
///
/// An arrival at a listener gets the next name that waits; without one, and without credit, a
/// datagram is dropped and counted, as the kernel does it. A closed association ends as `Finished`.
///
/// A multicast address is one peer, no matter which member sends: what is sent to it reaches the
/// other members of the [group](crate::Network::group), and whatever one of them sends arrives from
/// it. A listener at that address has one arrival. Both ends use the port of the group. Where the
/// association with it names a local address, members are told apart: each arrives, by its own
/// address, at a listener at the group's.
#[derive(Debug)]
pub struct SimulatedDatagrams<M, const CHECKED: bool = false> {
    address: AdapterAddress,
    credit: Credit,
    ledger: Ledger,
    /// Listeners by their port and group.
    names: Arrivals<(u16, Option<IpAddr>), Open>,
    /// The peers of each of the adapter's ports.
    peers: BTreeMap<(u16, SocketAddr), Handle>,
    /// What is known of the paths to peers. `None`: the network is not asked, as UDP does not ask
    /// it.
    paths: Option<BTreeMap<IpAddr, PathLimits>>,
    /// What left in this batch: its credit is returned when the batch is done.
    left: BTreeMap<Handle, Credit>,
    message: std::marker::PhantomData<M>,
}

/// [`SimulatedDatagrams`] with a check: what UDP with its checksum is to a stack, except that it
/// detects every alteration.
pub type CheckedDatagrams<M> = SimulatedDatagrams<M, true>;

#[derive(Debug)]
struct Open {
    port: u16,
    remote: SocketAddr,
    /// The route over which a radio station is reached; 0 elsewhere.
    route: u16,
    down: Credit,
    up: Credit,
    /// Whether it is with a group whose members are told apart.
    apart: bool,
}

impl<M: Message> SimulatedDatagrams<M> {
    /// Makes the adapter of the station at `address`, without a check: altered datagrams are
    /// delivered. Each association may send `credit` in one batch.
    ///
    /// # Panics
    /// If `credit` lets nothing through.
    pub fn new(address: impl Into<AdapterAddress>, credit: Credit) -> Self {
        Self::at(address.into(), credit)
    }
}

impl<M: Message> CheckedDatagrams<M> {
    /// Makes the same with a check that detects every alteration: altered datagrams are dropped,
    /// and counted.
    ///
    /// # Panics
    /// If `credit` lets nothing through.
    pub fn checked(address: impl Into<AdapterAddress>, credit: Credit) -> Self {
        Self::at(address.into(), credit)
    }
}

impl<M: Message, const CHECKED: bool> SimulatedDatagrams<M, CHECKED> {
    fn at(address: AdapterAddress, credit: Credit) -> Self {
        assert!(credit.octets > 0 && credit.messages > 0, "an adapter without room moves nothing");
        SimulatedDatagrams {
            address,
            credit,
            ledger: Ledger::new(NAME),
            names: Arrivals::new(),
            peers: BTreeMap::new(),
            paths: None,
            left: BTreeMap::new(),
            message: std::marker::PhantomData,
        }
    }

    /// Indicates the limits of the path to a peer, and their changes, as the adapter of a link
    /// does: the longest message is the link's MTU without the headers, and the frame time that of
    /// the MTU at the link's rate. Without it, as over UDP, the limit is that of UDP, and longer
    /// packets vanish.
    #[must_use]
    pub fn telling_paths(self) -> Self {
        SimulatedDatagrams { paths: Some(BTreeMap::new()), ..self }
    }

    /// Returns the limits of the path to a peer, as far as they are known.
    fn path(&self, remote: IpAddr) -> PathLimits {
        let known = self.paths.as_ref().and_then(|paths| paths.get(&remote));
        known.copied().unwrap_or(PathLimits::of_longest(LONGEST))
    }

    /// Handles the network's report of the path to a peer.
    fn path_told(&mut self, remote: IpAddr, path: PathLimits, out: &mut dyn Outlet<Self>) {
        let before = self.path(remote);
        let Some(paths) = &mut self.paths else { return };
        paths.insert(remote, path);
        if path == before {
            return;
        }
        for (association, _) in self.names.iter().filter(|(_, open)| open.remote.ip() == remote) {
            out.indicate(DatagramsIndication::Changed { association, path });
        }
    }

    fn refuse(&mut self, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        self.last_word(DatagramsIndication::Ended { name, why }, out);
    }

    fn last_word(&mut self, word: DatagramsIndication<M>, out: &mut dyn Outlet<Self>) {
        self.ledger.ended(word.name());
        out.indicate(word);
    }

    fn listen(
        &mut self,
        cx: &Context,
        listener: Handle,
        local: Participant,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(listener);
        let takes = |local: &SocketAddr| self.address.is_own(*local) || local.ip().is_multicast();
        let place = self.address.place(local).filter(takes);
        let group = place.map(|place| place.ip()).filter(IpAddr::is_multicast);
        let port = match place.map(|place| place.port()) {
            Some(0) if matches!(self.address, AdapterAddress::Internet(_)) => self.fresh_port(cx),
            Some(port) if self.listener_at(port, group).is_none() => Some(port),
            _ => None,
        };
        match place.zip(port) {
            Some((place, port)) => {
                self.names.listen(listener, (port, group));
                let local = self.address.participant(SocketAddr::new(place.ip(), port), 0);
                out.indicate(DatagramsIndication::Listening { listener, local });
            }
            None => self.refuse(listener, Ended::Unavailable, out),
        }
    }

    fn expect(
        &mut self,
        listener: Handle,
        association: Handle,
        credit: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(association);
        let refused = self.names.expect(listener, association, credit);
        assert!(
            refused.is_none() || !self.ledger.lives(listener),
            "{NAME}: an Await at {listener:?}, which is not a listener"
        );
        refused.into_iter().for_each(|word| self.last_word(word, out));
    }

    fn start(
        &mut self,
        name: Handle,
        port: u16,
        (remote, route): (SocketAddr, u16),
        up: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        let down = self.credit;
        self.names.open(name, Open { port, remote, route, down, up, apart: false });
        self.peers.insert((port, remote), name);
        out.indicate(DatagramsIndication::Opened {
            association: name,
            local: self.address.participant(SocketAddr::new(self.address.on_network(), port), 0),
            remote: self.address.participant(remote, route),
            credit: self.credit,
            path: self.path(remote.ip()),
        });
        // For a new peer, the network's answer follows this indication.
        if self.paths.as_ref().is_some_and(|paths| !paths.contains_key(&remote.ip())) {
            let [local, remote] =
                [self.address.on_network(), remote.ip()].map(|address| SocketAddr::new(address, 0));
            out.request(Segment::new(local, remote, 0, SegmentWord::AskPath));
        }
    }

    fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        (local, remote): (Option<Participant>, Participant),
        up: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(name);
        let Some(place) = self.address.place(remote) else {
            return self.refuse(name, Ended::Unreachable, out);
        };
        let route = if let Address::Station { route, .. } = remote.address { route } else { 0 };
        match self.own_port(cx, local, place) {
            Some(port) => self.start(name, port, (place, route), up, out),
            None => return self.refuse(name, Ended::Unavailable, out),
        }
        if let Some(open) = self.names.get_mut(name) {
            open.apart = local.is_some();
        }
    }

    /// Returns the local port of an association that is opened; `None` if it cannot have the
    /// requested one.
    fn own_port(
        &self,
        cx: &Context,
        local: Option<Participant>,
        remote: SocketAddr,
    ) -> Option<u16> {
        match self.address {
            // Every association has a port of its own, unless it is one with a group.
            AdapterAddress::Internet(_) => {
                if remote.ip().is_multicast() {
                    let is_free = !self.peers.contains_key(&(remote.port(), remote));
                    return is_free.then_some(remote.port());
                }
                let chosen = local.and_then(Participant::internet).map_or(0, |local| local.port());
                if chosen == 0 { self.fresh_port(cx) } else { None }
            }
            // Both sides use the peer's identifier.
            AdapterAddress::Station(_) => {
                let port = remote.port();
                let fits = |local| {
                    let place = self.address.place(local);
                    place.is_some_and(|place| self.address.is_own(place) && place.port() == port)
                };
                let is_free = !self.peers.contains_key(&(port, remote));
                (is_free && local.is_none_or(fits)).then_some(port)
            }
        }
    }

    /// Returns the open association `name`, if a request for it is valid.
    fn association(&mut self, cx: &Context, name: Handle) -> Option<&mut Open> {
        if !self.ledger.lives(name) {
            cx.dropped(NAME, "a word for an association that is over");
            return None;
        }
        let open = self.names.get_mut(name);
        assert!(open.is_some(), "{NAME}: a word for {name:?}, which is not open");
        open
    }

    fn send(
        &mut self,
        cx: &Context,
        name: Handle,
        message: M,
        ecn: Ecn,
        out: &mut dyn Outlet<Self>,
    ) {
        assert!(message.len() <= LONGEST, "{NAME}: a datagram has at most {LONGEST} octets");
        assert_octets_only(&message);
        let address = self.address;
        let Some(open) = self.association(cx, name) else { return };
        let (octets, credit) = (message.len(), open.down);
        assert!(
            octets <= credit.octets && credit.messages > 0,
            "{NAME}: a Send keeps within the room: {octets} octets came, for {credit:?}"
        );
        open.down = Credit { octets: credit.octets - octets, messages: credit.messages - 1 };
        let from = SocketAddr::new(address.on_network(), open.port);
        let segment =
            Segment { ecn, ..Segment::new(from, open.remote, 0, SegmentWord::Datagram(message)) };
        let left = self.left.entry(name).or_default();
        *left += Credit { octets, messages: 1 };
        out.request(segment);
    }

    fn close(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        if !self.ledger.lives(name) {
            return cx.dropped(NAME, "a word for a name that is over");
        }
        self.left.remove(&name);
        if let Some(open) = self.names.get(name) {
            self.peers.remove(&(open.port, open.remote));
        }
        for word in self.names.end(name, Ended::Finished) {
            self.last_word(word, out);
        }
    }

    /// Returns the association that a datagram belongs to; an unknown peer takes the next name that
    /// waits.
    fn recipient(
        &mut self,
        port: u16,
        (from, group): (SocketAddr, Option<IpAddr>),
        out: &mut dyn Outlet<Self>,
    ) -> Result<Handle, &'static str> {
        let all = group.map(|group| SocketAddr::new(group, port));
        let with_all = all.and_then(|all| self.peers.get(&(port, all)));
        let apart = with_all.and_then(|name| self.names.get(*name)).is_some_and(|open| open.apart);
        let remote = all.filter(|_| !apart).unwrap_or(from);
        if let Some(name) = self.peers.get(&(port, remote)) {
            return Ok(*name);
        }
        let listener =
            self.listener_at(port, group).ok_or("a datagram for a port where nobody listens")?;
        let arrival = self.names.arrive(listener);
        let (name, credit) = arrival.ok_or("a datagram of somebody for whom no name waits")?;
        self.start(name, port, (remote, 0), credit, out);
        Ok(name)
    }

    fn listener_at(&self, wanted: u16, joined: Option<IpAddr>) -> Option<Handle> {
        let is_it = |at: &(u16, Option<IpAddr>)| *at == (wanted, joined);
        self.names.listeners().find(|(_, at)| is_it(at)).map(|(name, _)| name)
    }

    fn fresh_port(&self, cx: &Context) -> Option<u16> {
        let ports = u32::from(u16::MAX - FRESH_FIRST) + 1;
        let first = cx.random(u64::from(ports)) as u32;
        (0..ports).map(|step| FRESH_FIRST + ((first + step) % ports) as u16).find(|port| {
            self.listener_at(*port, None).is_none()
                && self.peers.keys().all(|(used, _)| used != port)
        })
    }
}

impl<M: Message, const CHECKED: bool> Protocol for SimulatedDatagrams<M, CHECKED> {
    const FACTS: Facts = Facts {
        gives: if CHECKED { Guarantees::CHECKED } else { Guarantees::ABSENT },
        ..Facts::named(NAME)
    };
    type Provides = Datagrams<M>;
    type Uses = Segments<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Listen { listener, local } => self.listen(cx, listener, local, out),
            DatagramsRequest::Await { listener, association, credit } => {
                self.expect(listener, association, credit, out);
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.open(cx, association, (local, remote), credit, out);
            }
            DatagramsRequest::Send { association, batch: messages, properties } => {
                self.send(cx, association, messages.into_single(), properties.ecn, out);
            }
            DatagramsRequest::Credit { association, credit } => {
                assert!(credit != Credit::default(), "{NAME}: credit is never zero");
                if let Some(open) = self.association(cx, association) {
                    open.up += credit;
                }
            }
            // Datagrams have no half close.
            DatagramsRequest::Finish { .. } => {}
            DatagramsRequest::Control { association, .. } => {
                if self.association(cx, association).is_some() {
                    out.indicate(DatagramsIndication::unknown_command(association));
                }
            }
            DatagramsRequest::Abort { association: name, .. }
            | DatagramsRequest::Close { name } => {
                self.close(cx, name, out);
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        segment: Segment<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let message = match segment.word {
            SegmentWord::Datagram(message) => message,
            SegmentWord::Path(path) => return self.path_told(segment.from.ip(), path, out),
            _ => return cx.dropped(NAME, "a segment that is not a datagram"),
        };
        if CHECKED && segment.altered {
            return cx.dropped(NAME, "a datagram whose check does not agree");
        }
        let sender = (segment.from, segment.group);
        let association = match self.recipient(segment.to.port(), sender, out) {
            Ok(association) => association,
            Err(reason) => return cx.dropped(NAME, reason),
        };
        let Some(open) = self.association(cx, association) else { return };
        if message.len() > open.up.octets || open.up.messages == 0 {
            return cx.dropped(NAME, "a datagram for which there is no room");
        }
        open.up = Credit { octets: open.up.octets - message.len(), messages: open.up.messages - 1 };
        let properties = MessageProperties { ecn: segment.ecn, ..MessageProperties::default() };
        out.indicate(DatagramsIndication::Delivered {
            association,
            batch: message.into(),
            properties,
        });
    }

    fn flush(&mut self, _cx: &Context, out: &mut impl Outlet<Self>) {
        for (association, credit) in std::mem::take(&mut self.left) {
            if let Some(open) = self.names.get_mut(association) {
                open.down += credit;
                out.indicate(DatagramsIndication::Credit { association, credit });
            }
        }
    }

    fn wants_flush(&self) -> bool {
        !self.left.is_empty()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Segments<M>>) {
        if let Some(open) = self.names.get(about) {
            let longest = self.path(open.remote.ip()).longest as usize;
            let peer = self.address.participant(open.remote, open.route);
            question.answer::<Longest>(|_| Some(longest)).answer::<Peer>(|_| Some(peer));
            below.ask((self.address.on_network(), open.remote.ip()), question);
        }
    }
}
