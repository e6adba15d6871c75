//! The carrier of a group over datagrams: one association with each member, and with whoever asks;
//! and, where it is used and members hear each other so, one with the group's multicast address.

mod reach;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, GroupKind, GroupNotice,
    GroupOrder, GroupProperties, GroupView, Groups, GroupsIndication, GroupsRequest,
    MessageProperties, Outsider, Rank,
};
use stackwright_contract::{
    Arrivals, Context, Duration, Facts, Guarantees, Handle, IndicationTo, Instant, Names, Outlet,
    Participant, PathLimits, Protocol, RequestTo,
};
use stackwright_wire::{Header, Message};

use crate::wire;
use reach::Reach;

const NAME: &str = "group";

/// Associations with members, of which there is one in each direction, and with strangers, at most:
/// a stranger gives way.
const ASSOCIATIONS_MOST: usize = 3 * wire::MEMBERS_MOST;

/// Names that wait for arrivals.
const AWAITED: usize = 8;

/// What the mesh is told.
#[derive(Clone, Debug, Default)]
pub struct MeshConfig {
    /// Whom the group's address reaches: where members may be.
    pub peers: Vec<Participant>,
}

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct MeshHeader {
    /// 1.
    #[bits(4)]
    #[fixed(1)]
    pub version: (),
    /// 0: a message of a member in a view; 1: of somebody, in none; 2: a bit for each rank, from the
    /// highest of the first octet on, that a member of the view hears by multicast.
    #[bits(4)]
    pub kind: u8,
    /// The mark of the layers above: members with others do not understand each other.
    pub mark: u8,
    /// The sender's rank; in no view, the port at which it listens: what it sends leaves from
    /// another.
    pub rank: u16,
    /// The view's mark, or the low half of the group's.
    pub tag: u32,
}

/// What follows in a packet of somebody in no view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OutsideHeader {
    /// The sender's incarnation.
    pub incarnation: u64,
    /// The hash of the group's name.
    pub group: u64,
}

const IN_VIEW: u8 = 0;
const OUTSIDE: u8 = 1;
const PROBE: u8 = 2;

/// The protocol: groups over datagrams.
pub struct Mesh<M> {
    config: MeshConfig,
    /// How often members say whom they hear by multicast; `None`: it is not used.
    often: Option<Duration>,
    group: Option<Open<M>>,
    below: Arrivals<(), Peer, Names<()>>,
    /// Associations by participant; apart from these, those on which its multicasts arrive.
    peers: BTreeMap<(bool, Participant), Handle>,
    turns: u64,
}

struct Open<M> {
    name: Handle,
    /// The group's address, and the hash of it.
    remote: Participant,
    hash: u64,
    local: Participant,
    /// The mark of the layers above; packets carry the low octet of it.
    mark: u64,
    listener: Handle,
    /// The view, and its mark.
    view: Option<(Arc<GroupView>, u32)>,
    /// Where multicast is used.
    reach: Option<Reach>,
    message: core::marker::PhantomData<fn() -> M>,
}

struct Peer {
    remote: Participant,
    down: Credit,
    heard: u64,
    /// What arrives was sent to the group's address.
    by_all: bool,
}

type Out<'a, M> = &'a mut dyn Outlet<Mesh<M>>;

impl<M: Message> Mesh<M> {
    /// Makes the carrier.
    pub fn new(config: MeshConfig) -> Self {
        let (below, peers) = (Arrivals::default(), BTreeMap::new());
        Mesh { config, often: None, group: None, below, peers, turns: 0 }
    }

    /// Uses multicast where the group's address is one of that: casts leave once for all members
    /// that hear it, which they say this often. Those that do not are sent copies.
    #[must_use]
    pub fn multicasting(self, often: Duration) -> Self {
        Mesh { often: Some(often.max(Duration::from_millis(1))), ..self }
    }

    fn open(&mut self, name: Handle, remote: Participant, local: Participant, out: Out<'_, M>) {
        let listener = self.below.listen(());
        let (hash, view, message) = (wire::group(remote), None, core::marker::PhantomData);
        out.request(DatagramsRequest::Listen { listener, local });
        self.expect(listener, out);
        let is_multicast = remote.internet().is_some_and(|group| group.ip().is_multicast());
        let reach = self.often.filter(|_| is_multicast).map(|often| {
            let credit = Credit::ROOM;
            let peer = Peer { remote, down: Credit::NONE, heard: 0, by_all: false };
            let (all, listener) = (self.below.open(|_| peer), self.below.listen(()));
            let (association, local) = (all, Some(local));
            out.request(DatagramsRequest::Open { association, remote, local, credit });
            out.request(DatagramsRequest::Listen { listener, local: remote });
            self.expect(listener, out);
            Reach::new(often, all, listener)
        });
        let mark = 0;
        self.group = Some(Open { name, remote, hash, local, mark, listener, view, reach, message });
    }

    fn expect(&mut self, listener: Handle, out: Out<'_, M>) {
        let credit = Credit::ROOM;
        while self.below.awaited(listener) < AWAITED {
            let Some(association) = self.below.expect(listener, credit) else { return };
            out.request(DatagramsRequest::Await { listener, association, credit });
        }
    }

    /// Sends a packet to a participant: as everything here, it may be lost.
    fn transmit(&mut self, cx: &Context, to: Participant, message: M, out: Out<'_, M>) {
        let Some(local) = self.group.as_ref().map(|open| open.local) else { return };
        if to == local {
            return;
        }
        let name = self.peers.get(&(false, to)).copied().unwrap_or_else(|| {
            self.make_room(out);
            let down = Credit::NONE;
            let (credit, heard, by_all) = (Credit::ROOM, self.turns, false);
            let association = self.below.open(|_| Peer { remote: to, down, heard, by_all });
            self.peers.insert((false, to), association);
            let (remote, local) = (to, None);
            out.request(DatagramsRequest::Open { association, remote, local, credit });
            association
        });
        self.send(cx, name, message, out);
    }

    fn send(&mut self, cx: &Context, name: Handle, message: M, out: Out<'_, M>) {
        let batch: Batch<M> = message.into();
        match self.below.get_mut(name) {
            Some(peer) if peer.down.covers(batch.cost()) => {
                peer.down -= batch.cost();
                let properties = MessageProperties::default();
                out.request(DatagramsRequest::Send { association: name, batch, properties });
            }
            _ => cx.dropped(NAME, "there is no room for it below"),
        }
    }

    /// Ends the association with the stranger that was silent for longest, where there are many.
    fn make_room(&mut self, out: Out<'_, M>) {
        let members = self.group.as_ref().and_then(|open| open.view.as_ref());
        let is_member = |to: &Participant| {
            members.is_some_and(|(view, _)| view.members.iter().any(|m| m.participant == *to))
                || self.config.peers.contains(to)
        };
        if self.peers.len() < ASSOCIATIONS_MOST {
            return;
        }
        let silent = self.peers.iter().filter(|((_, to), _)| !is_member(to));
        let heard = |name: Handle| self.below.get(name).map(|peer| peer.heard);
        if let Some((to, name)) = silent.min_by_key(|(_, name)| heard(**name)) {
            let (to, name) = (*to, *name);
            self.peers.remove(&to);
            out.request(DatagramsRequest::Close { name });
        }
    }

    fn cast(
        &mut self,
        cx: &Context,
        batch: Batch<M>,
        properties: GroupProperties,
        out: Out<'_, M>,
    ) {
        let Some(Open { view: Some((view, tag)), mark, reach, .. }) = &self.group else { return };
        let (view, tag, mark) = (view.clone(), *tag, *mark as u8);
        let Some(me) = view.me else { return };
        let mut message = batch.into_single();
        message.push(&MeshHeader { version: (), kind: IN_VIEW, mark, rank: me.0, tag });
        let is_cast = properties.kind == GroupKind::Cast;
        let reach = reach.as_ref().filter(|reach| is_cast && reach.pays(cx.now()));
        let all = reach.map(|reach| reach.all);
        if let Some(all) = all {
            self.send(cx, all, message.share(), out);
        }
        let members = view.members.iter().enumerate().filter(|(rank, _)| {
            let is_meant = is_cast || *rank == usize::from(properties.member.0);
            is_meant && *rank != usize::from(me.0)
        });
        for (rank, member) in members {
            let reach = self.group.as_ref().and_then(|open| open.reach.as_ref());
            let has_it = reach.is_some_and(|reach| reach.is_reached(rank, cx.now()));
            if all.is_none() || !has_it {
                self.transmit(cx, member.participant, message.share(), out);
            }
        }
    }

    /// Says to all, and to those who may not hear that, who is heard here.
    fn probe(&mut self, cx: &Context, out: Out<'_, M>) {
        let Some(Open { view: Some((view, tag)), mark, reach, .. }) = &mut self.group else {
            return;
        };
        let (Some(reach), Some(me)) = (reach, view.me) else { return };
        if reach.next_deadline().is_none_or(|due| due > cx.now()) {
            return;
        }
        let (octets, others) = reach.probe(me, cx.now());
        let mut message = M::with_headroom(64, &octets);
        let (all, mark, tag) = (reach.all, *mark as u8, *tag);
        message.push(&MeshHeader { version: (), kind: PROBE, mark, rank: me.0, tag });
        self.send(cx, all, message.share(), out);
        for to in others {
            self.transmit(cx, to, message.share(), out);
        }
    }

    fn order(&mut self, cx: &Context, order: GroupOrder<M>, out: Out<'_, M>) {
        let Some(open) = &mut self.group else { return };
        match order {
            GroupOrder::Layer(layer) => open.mark = wire::mark(open.mark, layer.name),
            GroupOrder::Install(view) => {
                if let Some(reach) = open.reach.as_mut().filter(|_| view.me.is_some()) {
                    reach.install(&view, cx.now());
                }
                open.view = view.me.map(|_| (view.clone(), wire::tag(open.hash, &view)));
            }
            GroupOrder::Outside(outsider) => {
                let Outsider { participant, incarnation, mut message } = *outsider;
                message.push(&OutsideHeader { incarnation, group: open.hash });
                let port = open.local.internet().map_or(0, |local| local.port());
                let (kind, mark, rank, tag) = (OUTSIDE, open.mark as u8, port, open.hash as u32);
                message.push(&MeshHeader { version: (), kind, mark, rank, tag });
                if participant != open.remote {
                    return self.transmit(cx, participant, message, out);
                }
                let mut peers: BTreeSet<_> = self.config.peers.iter().copied().collect();
                let reach = open.reach.as_ref().inspect(|reach| peers.extend(reach.members()));
                if let Some(all) = reach.map(|reach| reach.all) {
                    self.send(cx, all, message.share(), out);
                }
                for peer in peers {
                    self.transmit(cx, peer, message.share(), out);
                }
            }
            // What the layers above had to say of casts, they have said.
            _ => {}
        }
    }

    fn delivered(&mut self, cx: &Context, from: Handle, mut message: M, out: Out<'_, M>) {
        self.turns += 1;
        let Some(open) = &mut self.group else { return };
        let Some(peer) = self.below.get_mut(from) else { return };
        peer.heard = self.turns;
        let by_all = peer.by_all;
        let Some(from) = peer.remote.internet() else { return };
        let Ok(header) = message.pull::<MeshHeader>() else {
            return cx.dropped(NAME, "no header of a group");
        };
        if header.mark != open.mark as u8 {
            return cx.dropped(NAME, "of another stack");
        }
        match (header.kind, &open.view) {
            (IN_VIEW | PROBE, Some((view, tag))) if *tag == header.tag => {
                let member = view.members.get(usize::from(header.rank));
                let host = member.and_then(|member| member.participant.internet());
                if host.is_none_or(|host| host.ip() != from.ip()) {
                    return cx.dropped(NAME, "not from the member of that rank");
                }
                let member = Rank(header.rank);
                // What was sent to all comes back.
                if by_all && view.me == Some(member) {
                    return;
                }
                if by_all && let Some(reach) = &mut open.reach {
                    reach.hear(member, cx.now());
                }
                if header.kind == PROBE {
                    let length = message.len();
                    let told = open.reach.as_mut().zip(view.me).zip(message.front(length));
                    let is_whole = told.is_some_and(|((reach, me), octets)| {
                        reach.told(member, me, octets, cx.now())
                    });
                    if !is_whole {
                        cx.dropped(NAME, "a probe that is of no use here");
                    }
                    return;
                }
                let properties = GroupProperties { member, ..GroupProperties::default() };
                let (association, batch) = (open.name, message.into());
                out.indicate(GroupsIndication::Delivered { association, batch, properties });
            }
            (OUTSIDE, _) => {
                let outside = message.pull::<OutsideHeader>().ok();
                let is_its = |outside: &OutsideHeader| outside.group == open.hash;
                let Some(OutsideHeader { incarnation, .. }) = outside.filter(is_its) else {
                    return cx.dropped(NAME, "of another group");
                };
                let participant = SocketAddr::new(from.ip(), header.rank).into();
                if participant == open.local {
                    return;
                }
                let outsider = Box::new(Outsider { participant, incarnation, message });
                let (association, notice) = (open.name, GroupNotice::Outside(outsider));
                out.indicate(GroupsIndication::Told { association, notice });
            }
            _ => cx.dropped(NAME, "of another view"),
        }
    }

    /// Goes on without multicast where there is none; unless nobody is found without it.
    fn end_multicast(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        let Some(open) = &mut self.group else { return };
        let is_its = |reach: &mut Reach| name == reach.all || name == reach.listener;
        let Some(reach) = open.reach.take_if(is_its) else { return };
        let other = if name == reach.all { reach.listener } else { reach.all };
        out.request(DatagramsRequest::Close { name: other });
        if self.config.peers.is_empty() {
            self.end(why, out);
        }
    }

    fn end(&mut self, why: Ended, out: Out<'_, M>) {
        let Some(open) = self.group.take() else { return };
        out.request(DatagramsRequest::Close { name: open.listener });
        let reach = open.reach.iter().flat_map(|reach| [reach.listener, reach.all]);
        for name in reach.chain(core::mem::take(&mut self.peers).into_values()) {
            out.request(DatagramsRequest::Close { name });
        }
        out.indicate(GroupsIndication::Ended { name: open.name, why });
    }
}

impl<M: Message> Protocol for Mesh<M> {
    const FACTS: Facts = Facts {
        passes: Guarantees::CHECKED,
        header_room: MeshHeader::LENGTH + OutsideHeader::LENGTH,
        ..Facts::named(NAME)
    };
    type Provides = Groups<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            GroupsRequest::Send { batch, properties, .. } => self.cast(cx, batch, properties, out),
            GroupsRequest::Tell { order, .. } => self.order(cx, order, out),
            GroupsRequest::Open { association, remote, local: Some(local), .. }
                if self.group.is_none() && local.internet().is_some() =>
            {
                self.open(association, remote, local, out);
            }
            GroupsRequest::Open { association: name, .. }
            | GroupsRequest::Listen { listener: name, .. }
            | GroupsRequest::Await { association: name, .. } => {
                out.indicate(GroupsIndication::Ended { name, why: Ended::Unavailable });
            }
            GroupsRequest::Close { .. } => self.end(Ended::Finished, out),
            GroupsRequest::Abort { .. } => self.end(Ended::Aborted, out),
            GroupsRequest::Control { association, .. } => {
                out.indicate(GroupsIndication::unknown_command(association));
            }
            GroupsRequest::Credit { .. } | GroupsRequest::Finish { .. } => {}
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                self.delivered(cx, association, batch.into_single(), out);
                out.request(DatagramsRequest::Credit { association, credit });
            }
            DatagramsIndication::Credit { association, credit } => {
                if let Some(peer) = self.below.get_mut(association) {
                    peer.down += credit;
                }
            }
            DatagramsIndication::Listening { listener, .. } => {
                let open = self.group.as_ref().filter(|open| open.listener == listener);
                let Some(Open { name: association, remote, local, .. }) = open else { return };
                let (association, remote, local) = (*association, *remote, *local);
                let path = PathLimits::UNBOUNDED.behind_header(Self::FACTS.header_room as u32);
                let credit = Credit::ROOM;
                let word = GroupsIndication::Opened { association, local, remote, credit, path };
                out.indicate(word);
            }
            DatagramsIndication::Opened { association, remote, credit, .. } => {
                let (heard, waits_at) = (self.turns, self.below.waits_at(association));
                let reach = self.group.as_ref().and_then(|open| open.reach.as_ref());
                let by_all = reach.is_some_and(|reach| waits_at == Some(reach.listener));
                let peer = || Peer { remote, down: Credit::NONE, heard, by_all };
                if let Some(listener) = self.below.arrived(association, peer) {
                    self.make_room(out);
                    self.peers.insert((by_all, remote), association);
                    self.expect(listener, out);
                }
                if let Some(peer) = self.below.get_mut(association) {
                    peer.down += credit;
                }
            }
            DatagramsIndication::Ended { name, why } => {
                self.peers.retain(|_, peer| *peer != name);
                self.below.forget(name);
                self.end_multicast(name, why, out);
                if self.group.as_ref().is_some_and(|open| open.listener == name) {
                    self.end(why, out);
                }
            }
            DatagramsIndication::Changed { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Ending { .. }
            | DatagramsIndication::Finished { .. } => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.probe(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let open = self.group.as_ref().filter(|open| open.view.is_some())?;
        open.reach.as_ref()?.next_deadline()
    }

    fn ask(&self, _about: Handle, question: &mut Question<'_>, below: &dyn Ask<Datagrams<M>>) {
        if let Some(peer) = self.peers.values().next() {
            below.ask(*peer, question);
        }
    }
}
