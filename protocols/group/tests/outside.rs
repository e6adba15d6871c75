//! A layer that is written outside of the crate: who casts too much in a view is left out of the
//! next.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::{Over, stack};
use stackwright_contract::services::{
    Batch, Credit, GroupNotice, GroupOrder, GroupProperties, GroupsIndication, GroupsRequest, Rank,
};
use stackwright_contract::{Context, Duration, Facts, Guarantees, Handle};
use stackwright_group::{
    Detector, GroupHooks, GroupPlace, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, Views,
    ViewsConfig,
};
use stackwright_simulator::{Application, Asks, CheckedDatagrams, World};
use stackwright_wire::{Message, SingleBuffer};

type M = SingleBuffer;

/// The layer.
struct Quota {
    most: u32,
    me: Option<Rank>,
    counts: Vec<u32>,
}

impl GroupHooks<M> for Quota {
    const FACTS: Facts = Facts {
        needs: Guarantees::VIEWS,
        passes: Guarantees::RELIABLE.and(Guarantees::VIEWS).and(Guarantees::SYNCHRONY),
        ..Facts::named("quota")
    };

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let count = &mut self.counts[usize::from(from.member.0)];
        *count += 1;
        if *count > self.most && self.me != Some(from.member) {
            at.order(GroupOrder::Suspect(from.member));
        }
        at.deliver(batch, from);
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        if let GroupNotice::View(view) = &notice {
            (self.me, self.counts) = (view.me, vec![0; view.members.len()]);
        }
        at.notice(notice);
    }
}

stack! {
    /// A member.
    pub Stack = MicroLayer<M, Quota>
        over MicroLayer<M, Views<M>>
        over MicroLayer<M, Detector>
        over MicroLayer<M, Nak<M>>
        over Mesh<M>
        over CheckedDatagrams<M>
}

const NAME: Handle = Handle { index: 0, generation: 0 };

fn host(station: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, station + 1).into()
}

fn stack(station: u8) -> Stack {
    let peers = (0..3).map(|station| SocketAddr::new(host(station), 4370).into()).collect();
    let founding = (station == 0).then_some(Duration::from_millis(100));
    let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
    let mesh = Over::new(Mesh::new(MeshConfig { peers }), udp);
    let casts = Over::new(MicroLayer::new(Nak::new(NakConfig::default())), mesh);
    let silence = Over::new(MicroLayer::new(Detector::new(Duration::from_millis(200))), casts);
    let views = Views::new(ViewsConfig { founding, ..ViewsConfig::default() });
    let quota = Quota { most: 20, me: None, counts: Vec::new() };
    Stack::new(MicroLayer::new(quota), Over::new(MicroLayer::new(views), silence))
}

/// An application that remembers how many members there were in each view; 0: it was in none.
#[derive(Default)]
struct Watcher(Vec<usize>);

impl Application<Stack> for Watcher {
    fn hear(&mut self, _: &Context, told: GroupsIndication<M>, asks: &mut Asks<Stack>) {
        match told {
            GroupsIndication::Told { notice: GroupNotice::View(view), .. } => {
                self.0.push(view.me.map_or(0, |_| view.members.len()));
            }
            GroupsIndication::Told { association, notice: GroupNotice::Block } => {
                asks.push_back(GroupsRequest::Tell { association, order: GroupOrder::Blocked });
            }
            _ => {}
        }
    }
}

#[test]
fn who_casts_too_much_is_left_out() {
    for (casts, is_left_out) in [(20, false), (21, true)] {
        let mut world = World::<M>::new(1);
        let members =
            [0, 1, 2].map(|station| world.add(host(station), stack(station), Watcher::default()));
        for (station, member) in (0..3).zip(members) {
            let local = Some(SocketAddr::new(host(station), 4370).into());
            let (remote, credit) = (SocketAddr::from(([239, 77, 3, 1], 4370)).into(), Credit::ROOM);
            world.ask(member, GroupsRequest::Open { association: NAME, remote, local, credit });
        }
        world.run_for(Duration::from_secs(2));
        let seen = members.map(|member| world.application(member).0.clone());
        assert!(seen.iter().all(|seen| seen.last() == Some(&3)), "{seen:?}");
        for _ in 0..casts {
            let (batch, properties) = (M::with_headroom(64, b"talk").into(), Default::default());
            world.ask(members[1], GroupsRequest::Send { association: NAME, batch, properties });
        }
        world.run_for(Duration::from_secs(2));
        let new = [0, 1, 2].map(|at| world.application(members[at]).0[seen[at].len()..].to_vec());
        assert_eq!(new[1].first() == Some(&0), is_left_out, "{new:?}");
        assert_eq!(new[2].first() == Some(&2), is_left_out, "{new:?}");
        assert_eq!(new[0], new[2], "both others are told the same");
    }
}
