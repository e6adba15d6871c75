//! A layer alone, and members that say to it what no member does.

use std::sync::Arc;
use std::vec::Vec;

use stackwright_contract::services::{
    Ballot, Credit, GroupMember, GroupNotice, GroupOrder, GroupView, GroupsIndication,
    GroupsRequest, Outsider,
};
use stackwright_contract::{Handle, PathLimits};
use stackwright_simulator::LoneStack;
use stackwright_wire::Message;

use super::seeds::{M, at, group};
use crate::layer::GroupHooks;
use crate::nak::{FetchHeader, NakHeader, RepeatHeader};
use crate::{MicroLayer, Nak, NakConfig, Views, ViewsConfig, wire};

const NAME: Handle = Handle { index: 0, generation: 0 };

type Lone<H> = LoneStack<MicroLayer<M, H>>;

fn opened<H: GroupHooks<M>>(hooks: H) -> Lone<H> {
    let mut lone = Lone::new(MicroLayer::new(hooks), 1);
    let (association, remote, local, credit) = (NAME, group(), at(0), Credit::ROOM);
    lone.ask(GroupsRequest::Open { association, remote, local: Some(local), credit });
    let path = PathLimits::UNBOUNDED;
    lone.tell(GroupsIndication::Opened { association, local, remote, credit, path });
    lone
}

/// Lets it hear a message of a process outside of the view.
fn hears<H: GroupHooks<M>>(lone: &mut Lone<H>, from: usize, message: M) {
    let (participant, incarnation) = (at(from), from as u64);
    let outsider = Outsider { participant, incarnation, message };
    let notice = GroupNotice::Outside(outsider.into());
    lone.tell(GroupsIndication::Told { association: NAME, notice });
}

/// Takes its orders downward.
fn orders<H: GroupHooks<M>>(lone: &mut Lone<H>) -> Vec<GroupOrder<M>> {
    let order = |word| match word {
        GroupsRequest::Tell { order, .. } => Some(order),
        _ => None,
    };
    lone.said.down.drain(..).filter_map(order).collect()
}

/// The log of the first of three members, and the mark of their view.
fn log() -> (Lone<Nak<M>>, u32) {
    let mut lone = opened(Nak::new(NakConfig::default()));
    let member = |at: usize| GroupMember {
        participant: super::seeds::at(at),
        incarnation: at as u64,
        votes: true,
    };
    let view = GroupView {
        number: 2,
        ballot: Ballot::default(),
        members: (0..3).map(member).collect(),
        me: Some(Default::default()),
        primary: true,
        parts: Vec::new(),
    };
    let tag = wire::tag(0, &view);
    let order = GroupOrder::Install(Arc::new(view));
    lone.ask(GroupsRequest::Tell { association: NAME, order });
    (lone, tag)
}

/// Another target may be agreed, that names less.
#[test]
fn what_is_fetched_is_delivered_when_it_is_agreed() {
    let (mut lone, tag) = log();
    let order = |lone: &mut Lone<Nak<M>>, order| {
        lone.ask(GroupsRequest::Tell { association: NAME, order });
    };
    // Of three numbers: how many casts were delivered, what the log has, whether all is there.
    let told = |lone: &mut Lone<Nak<M>>| {
        let (mut casts, mut have, mut filled) = (0, 0, false);
        for told in lone.told(Some) {
            match told {
                GroupsIndication::Delivered { .. } => casts += 1,
                GroupsIndication::Told { notice: GroupNotice::Frozen(of), .. } => have = of[1],
                GroupsIndication::Told { notice: GroupNotice::Filled, .. } => filled = true,
                _ => {}
            }
        }
        (casts, have, filled)
    };
    told(&mut lone);
    order(&mut lone, GroupOrder::Freeze);
    order(&mut lone, GroupOrder::Fetch([0, 5, 0].into()));
    for number in 1..=6 {
        let mut message = M::with_headroom(64, b"cast");
        message.push(&RepeatHeader { tag, member: 0 });
        message.push(&NakHeader { kind: 4, detail: 0, origin: 1, number });
        hears(&mut lone, 1, message);
    }
    assert_eq!(told(&mut lone), (0, 0, true));
    order(&mut lone, GroupOrder::Freeze);
    assert_eq!(told(&mut lone), (0, 5, false), "the next promise says that it is here");
    order(&mut lone, GroupOrder::Fill([0, 4, 0].into()));
    assert_eq!(told(&mut lone), (4, 0, true));
}

/// 64 casts in 20 ms, however often it asks.
#[test]
fn a_member_that_asks_for_everything_gets_so_many_casts_a_turn() {
    let (mut lone, tag) = log();
    for _ in 0..64 {
        let (batch, properties) = (M::with_headroom(64, b"cast").into(), Default::default());
        lone.ask(GroupsRequest::Send { association: NAME, batch, properties });
    }
    let question = |lone: &mut Lone<Nak<M>>, from: usize, first: u32| {
        let mut message = M::with_headroom(64, &[]);
        message.push(&FetchHeader { tag, count: 64 });
        message.push(&NakHeader { kind: 3, detail: 0, origin: 0, number: first });
        hears(lone, from, message);
    };
    let repeats = |lone: &mut Lone<Nak<M>>| {
        let orders = orders(lone).into_iter();
        orders.filter(|order| matches!(order, GroupOrder::Outside(_))).count()
    };
    repeats(&mut lone);
    (0..50).for_each(|_| question(&mut lone, 1, 1));
    assert_eq!(repeats(&mut lone), 1024, "of one member");
    question(&mut lone, 2, 1);
    assert_eq!(repeats(&mut lone), 64, "another is answered, too");
    question(&mut lone, 7, 1);
    assert_eq!(repeats(&mut lone), 0, "a stranger is not");
    lone.wait(20);
    repeats(&mut lone);
    question(&mut lone, 1, 1);
    assert_eq!(repeats(&mut lone), 64, "in the next turn");
}

/// Does what the log below would, and returns what was said to others.
fn serve(lone: &mut Lone<Views<M>>) -> Vec<(usize, Vec<u8>)> {
    let mut said = Vec::new();
    loop {
        let orders = orders(lone);
        if orders.is_empty() {
            return said;
        }
        for order in orders {
            let notice = match order {
                GroupOrder::Freeze => {
                    let view = lone.stack.hooks().views().0.next().map(|view| view.members.len());
                    GroupNotice::Frozen(std::vec![0; view.unwrap_or(0)].into())
                }
                GroupOrder::Fetch(_) => GroupNotice::Filled,
                // What it only offered is not to be delivered.
                GroupOrder::Fill(_) => {
                    assert!(said.iter().any(|(_, said): &(_, Vec<u8>)| said[0] == INSTALL));
                    GroupNotice::Filled
                }
                GroupOrder::Outside(outsider) => {
                    let to = (1..9).find(|to| at(*to) == outsider.participant).unwrap_or(0);
                    said.push((to, outsider.message.octets().to_vec()));
                    continue;
                }
                _ => continue,
            };
            lone.tell(GroupsIndication::Told { association: NAME, notice });
        }
    }
}

/// Lets a quarter of a second pass; the layer above stops where it has to.
fn pass(lone: &mut Lone<Views<M>>) -> Vec<(usize, Vec<u8>)> {
    let mut said = Vec::new();
    for _ in 0..10 {
        lone.wait(25);
        let stops =
            |told: &_| matches!(told, GroupsIndication::Told { notice: GroupNotice::Block, .. });
        if lone.told(Some).iter().any(stops) {
            let order = GroupOrder::Blocked;
            lone.ask(GroupsRequest::Tell { association: NAME, order });
        }
        said.extend(serve(lone));
    }
    said
}

const HEAD: usize = 2 + 4 + 12 + 12;
const PREPARE: u8 = 0;
const ACCEPT: u8 = 3;
const INSTALL: u8 = 5;

/// JOIN to the view of this member.
fn join(lone: &Lone<Views<M>>) -> M {
    let hooks = lone.stack.hooks();
    let view = hooks.views().0.next().unwrap();
    let mut octets = [&[6, 0][..], &view.number.to_be_bytes()].concat();
    wire::push_ballot(&mut octets, view.ballot);
    octets.extend([0; 12]);
    M::with_headroom(64, &octets)
}

/// A member promises that it has casts that nobody can have cast.
fn promises(most: u32) -> (bool, usize) {
    let founding = Some(stackwright_contract::Duration::from_millis(100));
    let mut lone = opened(Views::new(ViewsConfig { founding, ..ViewsConfig::default() }));
    pass(&mut lone);
    let asks = join(&lone);
    hears(&mut lone, 1, asks);
    pass(&mut lone);
    let members = |lone: &Lone<Views<M>>| {
        lone.stack.hooks().views().0.next().map_or(0, |view| view.members.len())
    };
    assert_eq!(members(&lone), 2);
    let asks = join(&lone);
    hears(&mut lone, 2, asks);
    lone.wait(50);
    let said = serve(&mut lone);
    let order = GroupOrder::Blocked;
    lone.ask(GroupsRequest::Tell { association: NAME, order });
    serve(&mut lone);
    let (_, prepare) = said.iter().find(|(to, said)| *to == 1 && said[0] == PREPARE).unwrap();
    let counts = [&2_u16.to_be_bytes()[..], &most.to_be_bytes(), &0_u32.to_be_bytes()].concat();
    let promise = [&[1, 0][..], &prepare[2..HEAD], &counts].concat();
    hears(&mut lone, 1, M::with_headroom(64, &promise));
    let said = serve(&mut lone);
    let offers = said.iter().any(|(_, said)| said[0] == ACCEPT);
    pass(&mut lone);
    (offers, members(&lone))
}

#[test]
fn a_promise_of_casts_that_cannot_exist_is_not_believed() {
    assert!(promises(100).0, "what may have been cast is offered as the target");
    let (offers, members) = promises(u32::MAX);
    assert!(!offers, "what cannot exist is not");
    assert!(members < 3, "who said it is not in the next view: {members}");
}
