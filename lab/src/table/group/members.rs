//! Many members of a group in the simulator, in a process of their own: it may take much memory.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use stackwright::catalogue;
use stackwright::compose::graph::{Description, Erased, Flaw, Graph};
use stackwright_contract::services::{
    Credit, GroupNotice, GroupOrder, GroupView, Groups, GroupsIndication, GroupsRequest,
};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_results::{Problem, say};
use stackwright_simulator::{
    Application, Asks, CheckedDatagrams, Conditions, Segments, StationId, World,
};

use crate::transport::M;

type Stack = Graph<M, Segments<M>, Groups<M>>;

const PORT: u16 = 4370;
const STEP: Duration = Duration::from_millis(10);
/// What has not come about after this long never will.
const LONG: Duration = Duration::from_secs(60);

/// So many members are known to all before they join, and begin the group.
const KNOWN: u16 = 3;

/// The stack of `group talk`, whose layers between are put in.
const STACK: &str = r#"
top = "membership"

[membership]
protocol = "group membership"
over = "next"
FOUNDING

LAYERS

[group]
over = "udp"
with = "MEMBERS"

[udp]
"#;
const HEARTBEATS: &str = r#"
[next]
protocol = "group detector"
over = "nak"
silence = 500

[nak]
protocol = "group nak"
over = "group"
report = 83
"#;
const RING: &str = r#"
[next]
protocol = "group nak"
over = "ring"
report = 83
idle = 300000

[ring]
protocol = "group ring"
over = "group"
silence = 500
"#;

/// How members find out who is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum ScaleDetector {
    /// Each hears the reports of all.
    Heartbeats,
    /// Each asks a few others.
    Ring,
}

impl ScaleDetector {
    /// Returns its name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }

    /// Returns whether there is its layer.
    pub(super) fn is_there(self) -> bool {
        self == ScaleDetector::Heartbeats || catalogue::find("group ring").is_some()
    }

    /// Returns how long nobody says anything before packets are counted, and how long then: with
    /// the ring, reports grow rare.
    fn idle(self) -> [Duration; 2] {
        match self {
            ScaleDetector::Heartbeats => [0, 2].map(Duration::from_secs),
            ScaleDetector::Ring => [60, 60].map(Duration::from_secs),
        }
    }

    /// Returns with how many members it is tried, at most.
    pub(super) fn most(self) -> u16 {
        match self {
            ScaleDetector::Heartbeats => 100,
            ScaleDetector::Ring => u16::MAX,
        }
    }

    fn layers(self) -> &'static str {
        match self {
            ScaleDetector::Heartbeats => HEARTBEATS,
            ScaleDetector::Ring => RING,
        }
    }
}

/// Simulates many members of a group, for the table `group-scale`.
#[derive(Args, Debug)]
pub(crate) struct GroupScale {
    members: u16,
    detector: ScaleDetector,
    seed: u64,
}

/// What came of a run, as far as it got.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub(super) struct Figures {
    /// Until all were in one view, in seconds.
    pub(super) together: Option<f64>,
    /// Packets that a member sends in a second in which nobody says anything.
    pub(super) idle: Option<f64>,
    /// From the crash until all others were in a view without the crashed, in seconds.
    pub(super) without: Option<f64>,
}

/// A process, and the view that it is in.
struct Member {
    name: Handle,
    view: Option<Arc<GroupView>>,
}

impl Application<Stack> for Member {
    fn hear(&mut self, _: &Context, told: GroupsIndication<M>, asks: &mut Asks<Stack>) {
        let GroupsIndication::Told { association, notice } = told else { return };
        match notice {
            GroupNotice::View(view) => self.view = view.me.is_some().then_some(view),
            GroupNotice::Block => {
                asks.push_back(GroupsRequest::Tell { association, order: GroupOrder::Blocked });
            }
            _ => {}
        }
    }
}

fn host(place: u16) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0001 + u32::from(place)).into()
}

fn at(place: u16) -> Participant {
    SocketAddr::new(host(place), PORT).into()
}

struct Scene {
    world: World<M>,
    members: Vec<StationId<Stack, Member>>,
}

impl GroupScale {
    /// Runs it, and prints what is known after each part.
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let mut scene = Scene::new(self).map_err(|flaw| Problem::new(flaw.says()))?;
        let mut figures = Figures::default();
        let tell = |figures: &Figures| {
            say!("{}", serde_json::to_string(figures).unwrap_or_default());
        };
        figures.together = scene.comes_together();
        tell(&figures);
        if figures.together.is_none() {
            return Ok(());
        }
        figures.idle = Some(scene.idles(self.detector.idle()));
        tell(&figures);
        scene.crash((self.members / 100).max(1));
        figures.without = scene.comes_together();
        tell(&figures);
        Ok(())
    }
}

impl Scene {
    fn new(asked: &GroupScale) -> Result<Self, Flaw> {
        let known = (0..asked.members.min(KNOWN)).map(|place| format!("{}:{PORT}", host(place)));
        let text = STACK.replace("LAYERS", asked.detector.layers());
        let text = text.replace("MEMBERS", &known.collect::<Vec<_>>().join(" "));
        let description = |founding| Description::read(&text.replace("FOUNDING", founding));
        let [founds, joins] = [description("founding = 1000")?, description("")?];
        let mut world = World::new(asked.seed);
        let delay = Duration::from_millis(1);
        world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
        let mut members = Vec::new();
        for place in 0..asked.members {
            let (host, seed) = (host(place), asked.seed + u64::from(place));
            let udp = move || CheckedDatagrams::<M>::checked(host, Credit::ROOM);
            let registry =
                catalogue::registry(move || seed)
                    .with("udp", "simulated", &[], move |_| Ok(Box::new(Erased(udp()))));
            let description = if place < KNOWN { &founds } else { &joins };
            let stack: Stack = description.build(&registry)?;
            let name = Handle { index: 0, generation: 0 };
            members.push(world.add(host, stack, Member { name, view: None }));
        }
        let mut scene = Scene { world, members };
        (0..asked.members).for_each(|place| scene.open(place));
        Ok(scene)
    }

    fn open(&mut self, place: u16) {
        let member = self.members[usize::from(place)];
        let association = self.world.application(member).name;
        let remote = SocketAddr::from(([239, 77, 3, 1], PORT)).into();
        let (local, credit) = (Some(at(place)), Credit::ROOM);
        let open = GroupsRequest::Open { association, remote, local, credit };
        self.world.ask(member, open);
    }

    /// The last members crash, and nobody is told.
    fn crash(&mut self, count: u16) {
        for _ in 0..count {
            let Some(member) = self.members.pop() else { return };
            let association = self.world.application(member).name;
            self.world.ask(member, GroupsRequest::Abort { association, code: 0 });
        }
    }

    fn are_together(&self) -> bool {
        let view =
            |member: &StationId<Stack, Member>| self.world.application(*member).view.as_ref();
        let number = self.members.first().and_then(view).map(|view| view.number);
        self.members.iter().all(|member| {
            view(member).is_some_and(|view| {
                view.members.len() == self.members.len() && Some(view.number) == number
            })
        })
    }

    /// Returns after how many seconds all are in one view of them alone.
    fn comes_together(&mut self) -> Option<f64> {
        let began = self.world.now();
        while !self.are_together() {
            if self.world.now().since(began) > LONG {
                return None;
            }
            self.world.run_for(STEP);
        }
        Some(self.world.now().since(began).as_secs_f64())
    }

    /// Returns how many packets a member sends in a second.
    fn idles(&mut self, [before, time]: [Duration; 2]) -> f64 {
        self.world.run_for(before);
        let before = self.sent();
        self.world.run_for(time);
        let sent = (self.sent() - before) as f64;
        sent / self.members.len() as f64 / time.as_secs_f64()
    }

    /// Returns how many packets all have sent.
    fn sent(&self) -> u64 {
        let network = self.world.network();
        let count = self.members.len() as u16;
        let links = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        links.map(|(from, to)| network.counts(host(from), host(to)).offered).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_together_and_go_on_without_one() {
        let asked = GroupScale { members: 5, detector: ScaleDetector::Heartbeats, seed: 1 };
        let mut scene = Scene::new(&asked).expect("the stack is one");
        let together = scene.comes_together().expect("they come together");
        assert!((1.0..10.0).contains(&together), "{together}: not before the first founds");
        assert!(scene.idles(asked.detector.idle()) > 0.0, "they report");
        scene.crash(1);
        let without = scene.comes_together().expect("four of five go on");
        assert!((0.5..2.5).contains(&without), "{without}: not before it is missed");
    }
}
