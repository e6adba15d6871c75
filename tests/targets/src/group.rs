//! A member of a group: it hears anything from members and strangers, casts, and time passes.

use std::collections::{BTreeMap, VecDeque};

use stackwright::group::header::{
    FetchHeader, MeshHeader, NakHeader, OutsideHeader, RepeatHeader, RingHeader, ViewsHeader,
    reencoded,
};
use stackwright::group::{
    Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, SafeDelivery, StateTransfer,
    TotalOrder, Views, ViewsConfig,
};
use stackwright_compose::{Over, stack};
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, GroupNotice, GroupOrder,
    GroupsIndication, GroupsRequest,
};
use stackwright_contract::{Duration, Handle, Participant, PathLimits};
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Header as _, Message as _};

use crate::Input;
use crate::headers::check;

type M = BufferTree;

stack! {
    /// A member.
    Member = MicroLayer<M, StateTransfer<M>>
        over MicroLayer<M, TotalOrder<M>>
        over MicroLayer<M, SafeDelivery<M>>
        over MicroLayer<M, Views<M>>
        over MicroLayer<M, Detector>
        over MicroLayer<M, Nak<M>>
        over Mesh<M>
}

const NAME: Handle = Handle { index: 0, generation: 0 };
const PORT: u16 = 4370;

/// Credit of an association below.
const BELOW: Credit = Credit { octets: 1 << 16, messages: 64 };
/// Associations below, at most: what the mesh says, and names that wait.
const ASSOCIATIONS_MOST: usize = 1024 + 16;
/// Packets that one arriving packet is answered with at once: what is repeated in a turn, then for
/// each member a report, an order, and a word about views.
const REPEATED: usize = 64;
const OF_EACH: usize = 6;

fn at(last: u8) -> Participant {
    ([10, 0, 0, last], PORT).into()
}

/// Every header and message about views: what is read is written as it was.
pub fn group_headers(octets: &[u8]) {
    check::<MeshHeader>(octets);
    check::<OutsideHeader>(octets);
    check::<NakHeader>(octets);
    check::<FetchHeader>(octets);
    check::<RepeatHeader>(octets);
    check::<RingHeader>(octets);
    check::<ViewsHeader>(octets);
    if let Some(written) = reencoded(octets) {
        assert!(written.len() <= octets.len(), "nothing is added");
        assert_eq!(reencoded(&written).as_ref(), Some(&written), "what is written is read");
        // But for flags, which a later version may add.
        let same = written.iter().zip(octets).filter(|(one, other)| one == other).count();
        let flags = written.len() - same;
        assert!(flags <= 1 + written.len() / 16, "{flags} octets are others");
    }
}

/// What is below, and what came of it.
struct Lower {
    lone: LoneStack<Member>,
    awaited: VecDeque<Handle>,
    /// The associations that live, with the credit that is left of each.
    open: BTreeMap<Handle, Credit>,
    /// The associations on which strangers and members arrive.
    arrived: BTreeMap<u8, Handle>,
    /// The last packets that it sent, in a view, in none, and of who hears whom.
    sent: [Option<Vec<u8>>; 3],
    packets: usize,
    members: usize,
    ended: bool,
}

impl Lower {
    fn opened(&mut self, association: Handle, remote: Participant) {
        self.open.insert(association, BELOW);
        assert!(self.open.len() <= ASSOCIATIONS_MOST, "{} associations", self.open.len());
        let (local, credit, path) = (at(1), BELOW, PathLimits::UNBOUNDED);
        self.lone.tell(DatagramsIndication::Opened { association, local, remote, credit, path });
    }

    /// Does what it asks for, below and above.
    fn serve(&mut self) {
        while !self.lone.said.down.is_empty() || !self.lone.said.up.is_empty() {
            for word in std::mem::take(&mut self.lone.said.down) {
                self.below(word);
            }
            for word in std::mem::take(&mut self.lone.said.up) {
                self.above(word);
            }
        }
    }

    fn below(&mut self, word: DatagramsRequest<M>) {
        match word {
            DatagramsRequest::Listen { listener, local } => {
                self.lone.tell(DatagramsIndication::Listening { listener, local });
            }
            DatagramsRequest::Await { association, .. } => self.awaited.push_back(association),
            DatagramsRequest::Open { association, remote, .. } => self.opened(association, remote),
            DatagramsRequest::Send { association, batch, .. } => {
                let credit = self.open.get_mut(&association).expect("only what is open sends");
                let cost = batch.cost();
                assert!(credit.covers(cost), "within its credit");
                self.packets += 1;
                let mut octets = Vec::new();
                batch.into_single().append_to(&mut octets);
                let header = MeshHeader::decode(&octets).expect("its header");
                self.sent[usize::from(header.kind)] = Some(octets);
                let credit = cost;
                self.lone.tell(DatagramsIndication::Credit { association, credit });
            }
            DatagramsRequest::Close { name }
            | DatagramsRequest::Abort { association: name, .. } => {
                self.awaited.retain(|awaited| *awaited != name);
                self.arrived.retain(|_, arrived| *arrived != name);
                self.open.remove(&name);
                self.lone.tell(DatagramsIndication::Ended { name, why: Ended::Finished });
            }
            _ => {}
        }
    }

    fn above(&mut self, word: GroupsIndication<M>) {
        assert!(!self.ended, "nothing follows the last word");
        match word {
            GroupsIndication::Told { notice: GroupNotice::Block, .. } => {
                let order = GroupOrder::Blocked;
                self.lone.ask(GroupsRequest::Tell { association: NAME, order });
            }
            GroupsIndication::Told { notice: GroupNotice::View(view), .. } => {
                self.members = self.members.max(view.members.len());
            }
            GroupsIndication::Delivered { batch, .. } => {
                let credit = batch.cost();
                self.lone.ask(GroupsRequest::Credit { association: NAME, credit });
            }
            GroupsIndication::Ended { .. } => self.ended = true,
            _ => {}
        }
    }

    /// A packet arrives from a host.
    fn arrives(&mut self, host: u8, octets: &[u8]) {
        if !self.arrived.contains_key(&host) {
            let Some(name) = self.awaited.pop_front() else { return };
            self.arrived.insert(host, name);
            self.opened(name, ([10, 0, 0, host], 50_000).into());
            self.serve();
        }
        let Some(association) = self.arrived.get(&host).copied() else { return };
        let (before, batch) = (self.packets, M::with_headroom(0, octets).into());
        let properties = Default::default();
        self.lone.tell(DatagramsIndication::Delivered { association, batch, properties });
        self.serve();
        let answers = self.packets - before;
        let most = REPEATED + OF_EACH * (self.members + 8);
        assert!(answers <= most, "{answers} packets answer one");
    }

    /// The front of a packet outside of any view, up to the header of `nak`.
    fn outside(&self, host: u8) -> Vec<u8> {
        let sent = self.sent[1].as_deref().unwrap_or(&[0; 24]);
        let mut front = sent[..MeshHeader::LENGTH + OutsideHeader::LENGTH].to_vec();
        front[2..4].copy_from_slice(&PORT.to_be_bytes());
        front[8..16].copy_from_slice(&u64::from(host).to_be_bytes());
        front
    }

    /// The incarnation of the member itself, as it says it.
    fn own(&self) -> Vec<u8> {
        self.sent[1].as_deref().map_or(vec![0; 8], |sent| sent[8..16].to_vec())
    }
}

/// A view with the member and others.
fn view(lower: &Lower, input: &mut Input<'_>, number: u8, ballot: &[u8]) -> Vec<u8> {
    let others = input.octet() % 4;
    let mut view = [&[0, 0, 0, number][..], ballot, &[0, others + 1]].concat();
    for host in (1..=others + 1).rev() {
        view.push(input.octet() % 2);
        view.extend(if host == 1 { lower.own() } else { u64::from(host).to_be_bytes().to_vec() });
        view.extend([4, 10, 0, 0, host]);
        view.extend(PORT.to_be_bytes());
    }
    view
}

fn counts(input: &mut Input<'_>) -> Vec<u8> {
    let count = input.octet() % 6;
    let mut counts = vec![0, count];
    for _ in 0..count {
        counts.extend(match input.octet() {
            255 => [255; 4],
            upto => [0, 0, 0, upto % 32],
        });
    }
    counts
}

/// A word about views, of which the member may understand the view and the ballot.
fn word(lower: &Lower, input: &mut Input<'_>) -> Vec<u8> {
    let (kind, flags) = (input.octet() % 13, input.octet() % 4);
    let key = match (input.octet() % 4, &lower.sent[1]) {
        // As it spoke last, ballot and all.
        (0..3, Some(sent)) if sent.len() >= 32 + ViewsHeader::LENGTH => sent[34..62].to_vec(),
        _ => input.take(28).iter().copied().chain([0; 28]).take(28).collect(),
    };
    let mut octets = [&[kind, flags][..], &key].concat();
    let number = key[3].wrapping_add(1);
    let ballot = key[16..28].to_vec();
    match kind {
        1 => {
            octets.extend(counts(input));
            if flags & 2 != 0 {
                octets.extend(&ballot);
                octets.extend(view(lower, input, number, &ballot));
                octets.extend(counts(input));
            }
        }
        3 | 5 => {
            octets.extend(view(lower, input, number, &ballot));
            octets.extend(counts(input));
        }
        11 => octets.extend(counts(input)),
        10 => {
            let number = number.wrapping_add(input.octet() % 4);
            octets.extend(view(lower, input, number, &ballot));
        }
        _ => {}
    }
    octets
}

/// A packet as a member or a stranger may send it.
fn packet(lower: &Lower, input: &mut Input<'_>, host: u8) -> Vec<u8> {
    let nak = |kind: u8, input: &mut Input<'_>| {
        let number = if input.octet() == 255 { u32::MAX } else { u32::from(input.octet() % 16) };
        let (detail, origin) = (input.octet() % 5, u16::from(input.octet() % 5));
        let mut octets = [0; NakHeader::LENGTH];
        NakHeader { kind, detail, origin, number }.encode(&mut octets);
        octets.to_vec()
    };
    match (input.octet() % 8, &lower.sent[0]) {
        (kind @ 0..=2, Some(sent)) => {
            let mut octets = sent[..MeshHeader::LENGTH].to_vec();
            octets[3] = input.octet() % 6;
            octets.extend(nak(u8::from(kind == 2), input));
            octets.extend(if kind == 2 { counts(input) } else { input.take(12).to_vec() });
            octets
        }
        (3, Some(sent)) => {
            let kind = 3 + input.octet() % 2;
            let mut octets = [lower.outside(host), nak(kind, input)].concat();
            octets.extend(&sent[4..8]);
            octets.extend([input.octet() % 2, input.octet()]);
            octets.extend(input.take(12));
            octets
        }
        (4, Some(sent)) => {
            // What it said itself, with other octets.
            let mut octets = sent.clone();
            let place = usize::from(input.octet()) % octets.len();
            octets[place] ^= input.octet();
            octets
        }
        (5, _) if lower.sent[2].is_some() && input.octet().is_multiple_of(2) => {
            let mut octets = lower.sent[2].clone().unwrap_or_default();
            octets[3] = input.octet() % 6;
            octets.truncate(MeshHeader::LENGTH);
            octets.extend(input.take(2));
            octets
        }
        (5, _) => input.take(40).to_vec(),
        _ => {
            let mut octets = [lower.outside(host), nak(2, input)].concat();
            octets.extend(word(lower, input));
            octets
        }
    }
}

/// Each step is a packet for a member, a cast of it, or time.
pub fn group_member(octets: &[u8]) {
    let mut input = Input(octets);
    let first = input.octet();
    let founding = (first % 2 == 0).then_some(Duration::from_millis(100));
    let config = ViewsConfig { founding, ..ViewsConfig::default() };
    let mut mesh = Mesh::new(MeshConfig { peers: (1..5).map(at).collect() });
    if first & 2 != 0 {
        mesh = mesh.multicasting(Duration::from_millis(50));
    }
    let casts = Over::new(MicroLayer::new(Nak::new(NakConfig::default())), mesh);
    let silence = Over::new(MicroLayer::new(Detector::new(Duration::from_millis(200))), casts);
    let views = Over::new(MicroLayer::new(Views::new(config)), silence);
    let safe = Over::new(MicroLayer::new(SafeDelivery::new()), views);
    let total = Over::new(MicroLayer::new(TotalOrder::new()), safe);
    let lone = LoneStack::new(Member::new(MicroLayer::new(StateTransfer::new()), total), 1);
    let mut lower = Lower {
        lone,
        awaited: VecDeque::new(),
        open: BTreeMap::new(),
        arrived: BTreeMap::new(),
        sent: [None, None, None],
        packets: 0,
        members: 0,
        ended: false,
    };
    let (remote, local, credit) = (([239, 77, 3, 1], PORT).into(), Some(at(1)), Credit::ROOM);
    lower.lone.ask(GroupsRequest::Open { association: NAME, remote, local, credit });
    lower.serve();
    lower.lone.wait(1);
    lower.serve();
    while !input.is_empty() && !lower.ended {
        match input.octet() {
            0..180 => {
                let host = 2 + input.octet() % 8;
                let octets = packet(&lower, &mut input, host);
                lower.arrives(host, &octets);
            }
            what @ 180..210 => {
                let (batch, properties) =
                    (M::with_headroom(64, b"cast").into(), Default::default());
                lower.lone.ask(GroupsRequest::Send { association: NAME, batch, properties });
                if what == 180 {
                    lower.lone.ask(GroupsRequest::Close { name: NAME });
                }
            }
            _ => {
                let until = u64::from(input.octet());
                for _ in 0..=until / 25 {
                    lower.lone.wait(25);
                    lower.serve();
                }
            }
        }
        lower.serve();
    }
    if !lower.ended {
        lower.lone.ask(GroupsRequest::Abort { association: NAME, code: 0 });
        lower.serve();
    }
    assert!(lower.ended, "it has its last word");
    assert!(lower.open.is_empty(), "and leaves nothing open below");
}
