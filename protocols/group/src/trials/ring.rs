//! Members in one view that ask each other on a ring.

use std::sync::Arc;
use std::vec::Vec;

use stackwright_compose::{Over, stack};
use stackwright_contract::services::{
    Ballot, Credit, GroupMember, GroupNotice, GroupOrder, GroupView, GroupsIndication,
    GroupsRequest, Rank,
};
use stackwright_contract::{Context, Duration, Handle, IndicationOf};
use stackwright_simulator::{Application, Asks, CheckedDatagrams, Conditions, StationId, World};
use stackwright_wire::Message;

use super::seeds::{Casts, M, at, host, open};
use crate::{Mesh, MeshConfig, MicroLayer, Nak, NakConfig, RingDetector};

stack! {
    Ring = Casts over MicroLayer<M, RingDetector> over Mesh<M> over CheckedDatagrams<M>
}

const NAME: Handle = Handle { index: 0, generation: 0 };
const MILLISECOND: Duration = Duration::from_millis(1);
const SILENCE: Duration = Duration::from_millis(500);

/// Who is suspected, as a member was told.
#[derive(Default)]
struct Told {
    suspected: Vec<Rank>,
    suspicions: usize,
    casts: usize,
    /// It takes nothing.
    is_stopped: bool,
}

impl Application<Ring> for Told {
    fn hear(&mut self, _: &Context, told: IndicationOf<Ring>, asks: &mut Asks<Ring>) {
        match told {
            GroupsIndication::Told { notice: GroupNotice::Suspected(member), .. } => {
                self.suspected.push(member);
                self.suspicions += 1;
            }
            GroupsIndication::Told { notice: GroupNotice::Heard(member), .. } => {
                self.suspected.retain(|suspected| *suspected != member);
            }
            GroupsIndication::Delivered { association, batch, .. } => {
                self.casts += 1;
                let credit = batch.cost();
                if !self.is_stopped {
                    asks.push_back(GroupsRequest::Credit { association, credit });
                }
            }
            _ => {}
        }
    }
}

struct Circle {
    world: World<M>,
    members: Vec<StationId<Ring, Told>>,
}

impl Circle {
    /// Returns members of one view, which nothing will change.
    fn new(count: usize, seed: u64, loss: f64) -> Self {
        let mut world = World::new(seed);
        let conditions = Conditions { delay: MILLISECOND, ..Conditions::IDEAL };
        let conditions = Conditions { loss: loss.into(), ..conditions };
        world.network_mut().set_conditions(conditions);
        let peers: Vec<_> = (0..count).map(at).collect();
        let member = |rank| GroupMember { participant: at(rank), incarnation: 1, votes: true };
        let view = GroupView {
            number: 1,
            ballot: Ballot::default(),
            members: (0..count).map(member).collect(),
            me: None,
            primary: true,
            parts: Vec::new(),
        };
        let members = (0..count).map(|station| {
            let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
            let mesh = Over::new(Mesh::new(MeshConfig { peers: peers.clone() }), udp);
            let ring = Over::new(MicroLayer::new(RingDetector::new(SILENCE)), mesh);
            let idle = Some(Duration::from_secs(300));
            let nak = Nak::new(NakConfig { idle, ..NakConfig::default() });
            let stack = Ring::new(MicroLayer::new(nak), ring);
            world.add(host(station), stack, Told::default())
        });
        let members: Vec<_> = members.collect();
        for (station, member) in members.iter().enumerate() {
            world.ask(*member, open(NAME, station));
            let view = GroupView { me: Some(Rank(station as u16)), ..view.clone() };
            let order = GroupOrder::Install(Arc::new(view));
            world.ask(*member, GroupsRequest::Tell { association: NAME, order });
        }
        Circle { world, members }
    }

    fn runs(&mut self, seconds: f64) {
        self.world.run_for(Duration::from_secs_f64(seconds));
    }

    fn cast(&mut self, station: usize) {
        let batch = M::with_headroom(64, &[0; 1000]).into();
        let properties = Default::default();
        let request = GroupsRequest::Send { association: NAME, batch, properties };
        self.world.ask(self.members[station], request);
    }

    fn dies(&mut self, station: usize) {
        let request = GroupsRequest::Abort { association: NAME, code: 0 };
        self.world.ask(self.members[station], request);
    }

    /// Returns whom each of the members suspects.
    fn suspected(&self) -> Vec<Vec<Rank>> {
        let all = self.members.iter();
        all.map(|member| self.world.application(*member).suspected.clone()).collect()
    }

    fn packets(&self) -> u64 {
        let all = || 0..self.members.len();
        let pairs = all().flat_map(|from| all().map(move |to| (from, to)));
        let offered = |(from, to)| self.world.network().counts(host(from), host(to)).offered;
        pairs.map(offered).sum()
    }
}

#[test]
fn idle_members_of_a_large_group_send_eight_packets_a_second() {
    let mut circle = Circle::new(100, 1, 0.0);
    circle.runs(10.0);
    circle.cast(7);
    circle.runs(110.0);
    let before = circle.packets();
    circle.runs(30.0);
    let each = (circle.packets() - before) as f64 / 30.0 / 100.0;
    assert!((4.0..=8.0).contains(&each), "{each} packets a member and second");
    assert!(circle.suspected().iter().all(Vec::is_empty));
}

#[test]
fn all_are_told_of_a_member_that_ends() {
    for (seed, count) in (0..).zip([2, 3, 4, 5, 8, 16, 40]) {
        let mut circle = Circle::new(count, seed, 0.0);
        circle.runs(3.1);
        circle.dies(1);
        circle.runs(1.3);
        let all = circle.suspected();
        assert!((0..count).all(|one| one == 1 || all[one] == [Rank(1)]), "{count}: {all:?}");
    }
}

#[test]
fn a_member_that_lives_is_asked_again_through_others() {
    // Of 5 000 questions 200 get no answer at first, as a packet in fifty is lost; a suspicion is
    // told to nine.
    let mut circle = Circle::new(10, 1, 0.02);
    circle.runs(180.0);
    let all = circle.members.iter();
    let suspicions = all.map(|member| circle.world.application(*member).suspicions);
    assert!(suspicions.sum::<usize>() < 30);
    let mut circle = Circle::new(4, 1, 0.0);
    let lost = Conditions { loss: 1.0.into(), ..Conditions::IDEAL };
    circle.world.network_mut().set_link(host(1), host(0), lost);
    for _ in 0..20 {
        circle.runs(1.0);
        assert!(circle.suspected().iter().all(Vec::is_empty), "the others hear it");
    }
}

#[test]
fn a_member_that_is_cut_off_for_a_while_is_heard_again() {
    let mut circle = Circle::new(8, 1, 0.0);
    circle.runs(1.0);
    for lives in [false, true] {
        let loss = if lives { 0.0 } else { 1.0 };
        let link = || Conditions { loss: loss.into(), ..Conditions::IDEAL };
        for other in 1..8 {
            circle.world.network_mut().set_link(host(0), host(other), link());
            circle.world.network_mut().set_link(host(other), host(0), link());
        }
        circle.runs(3.0);
        let all = circle.suspected();
        assert!(all[1..].iter().all(|one| one.is_empty() == lives), "{all:?}");
        assert_eq!(all[0].is_empty(), lives, "{all:?}");
    }
}

#[test]
fn a_member_whose_application_takes_nothing_is_suspected() {
    let mut circle = Circle::new(4, 1, 0.0);
    let stopped = circle.members[2];
    circle.world.application_mut(stopped).is_stopped = true;
    circle.runs(1.0);
    for _ in 0..40 {
        (0..100).for_each(|_| circle.cast(0));
        circle.runs(0.1);
    }
    let all = circle.suspected();
    assert!(all[0].contains(&Rank(2)) && !all[0].contains(&Rank(1)), "{all:?}");
}

/// In the time in which the others cast a window each, or they would have to wait for it.
#[test]
fn a_member_catches_up_with_what_it_missed() {
    let mut circle = Circle::new(3, 1, 0.0);
    circle.runs(1.0);
    for loss in [1.0, 0.0] {
        let link = Conditions { loss: loss.into(), delay: MILLISECOND, ..Conditions::IDEAL };
        circle.world.network_mut().set_link(host(1), host(2), link);
        if loss == 1.0 {
            (0..900).for_each(|_| circle.cast(1));
        } else {
            circle.cast(1);
        }
        circle.runs(0.001);
    }
    circle.runs(0.06);
    let [all, behind] = [0, 2].map(|at| circle.world.application(circle.members[at]).casts);
    assert_eq!((all, behind), (901, 901));
}
