//! `group`: processes that know who of them is there, and tell all of them.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use stackwright::compose::{Over, stack};
use stackwright::contract::services::{
    Credit, Ended, GroupNotice, GroupOrder, GroupView, GroupsIndication, GroupsRequest, Rank,
};
use stackwright::contract::{Handle, IndicationOf, Outlet, RequestOf};
use stackwright::group::{
    Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, Views, ViewsConfig,
};
use stackwright::wire::Message as _;
use stackwright_drivers::udp::Udp;
use stackwright_drivers::{Driver, Waker};

use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::quantity::patience;
use crate::report::say;
use crate::stacks::{self, Message};

#[derive(Subcommand)]
pub(crate) enum Group {
    /// Talk with all members: lines go to all of them, in the order in which each said them, and it
    /// is shown who comes and goes.
    Talk(Talk),
}

#[derive(Args)]
#[command(after_help = "\
Examples, each in a terminal of its own:
  stackwright group talk --at 127.0.0.1:4370 --with 127.0.0.1:4371,127.0.0.1:4372
  stackwright group talk --at 127.0.0.1:4371 --with 127.0.0.1:4370,127.0.0.1:4372
  stackwright group talk --at 127.0.0.1:4372 --with 127.0.0.1:4370,127.0.0.1:4371")]
pub(crate) struct Talk {
    /// The own address, as the other members reach it.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) at: SocketAddr,
    /// Where the other members may be.
    #[arg(long, value_name = "ADDR:PORT,...", value_delimiter = ',', required = true)]
    pub(crate) with: Vec<SocketAddr>,
    /// The group's name: groups of different names do not mix.
    #[arg(long, value_name = "ADDR:PORT", default_value = "239.77.3.1:4370")]
    pub(crate) group: SocketAddr,
    /// Wait for a group, however long that takes, and never begin one.
    #[arg(long)]
    pub(crate) join: bool,
    /// A member that is silent for this long is excluded, as soon as most of the others agree.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = patience)]
    pub(crate) detect: Duration,
    /// Print one JSON object for each line and each view.
    #[arg(long)]
    pub(crate) json: bool,
}

stack! {
    /// A group of processes over UDP.
    pub(crate) GroupStack =
        MicroLayer<Message, Views<Message>>
            over MicroLayer<Message, Detector>
            over MicroLayer<Message, Nak<Message>>
            over Mesh<Message> over Udp<Message>
}

const NAME: Handle = Handle { index: 0, generation: 0 };
/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(250);
/// The longest message: one packet takes it. A longer line is several.
const LINE_MOST: usize = 1200;
/// The shortest silence that is taken for the end of a member.
const DETECT_LEAST: Duration = Duration::from_millis(50);
/// How long nobody is heard of before a group is begun.
const FOUNDING: Duration = Duration::from_secs(1);

pub(crate) fn run(group: &Group) -> Result<(), Problem> {
    match group {
        Group::Talk(talk) => talk.run(),
    }
}

impl Group {
    pub(crate) fn json(&self) -> bool {
        let Group::Talk(talk) = self;
        talk.json
    }
}

impl Talk {
    fn run(&self) -> Result<(), Problem> {
        if self.at.ip().is_unspecified() || self.at.port() == 0 {
            let why = "the others have to reach it: name one address and its port";
            return Err(Problem::Unfit { what: "--at".into(), why });
        }
        if self.detect < DETECT_LEAST {
            let why = "members report six times in it, so 50ms is the least";
            return Err(Problem::Unfit { what: "--detect".into(), why });
        }
        let mut driver = Driver::new(fastrand::u64(..))?;
        let mut stack = self.stack(&driver);
        let interrupted = interrupts()?;
        let mut ear = Ear::default();
        let (remote, local, credit) = (self.group.into(), Some(self.at.into()), Credit::ROOM);
        let open = GroupsRequest::Open { association: NAME, remote, local, credit };
        driver.request(&mut stack, open, &mut ear);
        let typed = lines(driver.waker()?);
        let mut leaves = false;
        loop {
            while let Some(heard) = ear.heard.pop_front() {
                if let Some(request) = self.show(heard, &mut ear) {
                    driver.request(&mut stack, request, &mut ear);
                }
            }
            if let Some(why) = ear.ended {
                return match why {
                    Ended::Finished => Ok(()),
                    Ended::Unavailable => Err(Problem::Unfit {
                        what: format!("--at {}", self.at),
                        why: "another program is there, or the address is not of this machine",
                    }),
                    _ => Err(Problem::Interrupted),
                };
            }
            let over = if ear.view.is_some() && ear.credit.messages > 0 {
                match typed.try_recv() {
                    Ok(line) => {
                        let batch = Message::with_headroom(64, line.as_bytes()).into();
                        let properties = Default::default();
                        let request = GroupsRequest::Send { association: NAME, batch, properties };
                        ear.credit.messages -= 1;
                        driver.request(&mut stack, request, &mut ear);
                        continue;
                    }
                    Err(TryRecvError::Empty) => false,
                    Err(TryRecvError::Disconnected) => true,
                }
            } else {
                false
            };
            if !leaves && (over || interrupted.load(Relaxed)) {
                leaves = true;
                driver.request(&mut stack, GroupsRequest::Close { name: NAME }, &mut ear);
                continue;
            }
            driver.turn(&mut stack, &mut ear, Some(LOOK))?;
        }
    }

    fn stack(&self, driver: &Driver) -> GroupStack {
        let founding = (!self.join).then_some(FOUNDING);
        let membership = ViewsConfig { founding, ..ViewsConfig::default() };
        let nak = NakConfig { report: self.detect / 6, ..NakConfig::default() };
        let peers = self.with.iter().map(|peer| (*peer).into()).collect();
        let udp = Udp::new(driver.registry(), 0, stacks::pool());
        let mesh = Over::new(Mesh::new(MeshConfig { peers }), udp);
        let casts = Over::new(MicroLayer::new(Nak::new(nak)), mesh);
        let silence = Over::new(MicroLayer::new(Detector::new(self.detect)), casts);
        Over::new(MicroLayer::new(Views::new(membership)), silence)
    }

    /// Shows what was heard; returns what is answered.
    fn show(&self, heard: Heard, ear: &mut Ear) -> Option<GroupsRequest<Message>> {
        match heard {
            Heard::Line(Rank(from), octets) => {
                let credit = Credit { octets: octets.len(), messages: 1 };
                let view = ear.view.as_ref();
                let from = view.and_then(|view| view.members.get(usize::from(from)))?;
                let from = from.participant.internet().unwrap_or(self.at);
                let line = String::from_utf8_lossy(&octets);
                if self.json {
                    say!("{}", json!({ "from": from.to_string(), "line": line }));
                } else {
                    say!("{from}: {line}");
                }
                Some(GroupsRequest::Credit { association: NAME, credit })
            }
            Heard::Block => {
                let order = GroupOrder::Blocked;
                Some(GroupsRequest::Tell { association: NAME, order })
            }
            Heard::View(view) => {
                let is_member = view.me.is_some();
                let members: Vec<String> = view
                    .members
                    .iter()
                    .filter_map(|member| member.participant.internet())
                    .map(|address| address.to_string())
                    .collect();
                if self.json {
                    let number = view.number;
                    say!("{}", json!({ "view": number, "members": members }));
                } else if is_member {
                    eprintln!("-- {} here: {}", members.len(), members.join(", "));
                } else {
                    eprintln!("-- the others went on without this member; it joins again");
                }
                ear.view = is_member.then_some(view);
                None
            }
        }
    }
}

/// Reads lines on a thread of its own.
fn lines(waker: Waker) -> Receiver<String> {
    let (sender, typed) = sync_channel(16);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(mut rest) = line else { break };
            loop {
                let next = rest.split_off(rest.floor_char_boundary(LINE_MOST));
                if sender.send(rest).is_err() {
                    return;
                }
                rest = next;
                if rest.is_empty() {
                    break;
                }
            }
            // What is not woken up now looks after its next deadline.
            let _ = waker.wake();
        }
        drop(sender);
        let _ = waker.wake();
    });
    typed
}

enum Heard {
    Line(Rank, Vec<u8>),
    View(Arc<GroupView>),
    Block,
}

/// What was told, and was not handled yet.
#[derive(Default)]
struct Ear {
    heard: VecDeque<Heard>,
    /// The view of what is shown.
    view: Option<Arc<GroupView>>,
    credit: Credit,
    ended: Option<Ended>,
}

impl Outlet<GroupStack> for Ear {
    fn indicate(&mut self, told: IndicationOf<GroupStack>) {
        match told {
            GroupsIndication::Delivered { batch, properties, .. } => {
                let mut octets = Vec::new();
                batch.as_octets().append_to(&mut octets);
                self.heard.push_back(Heard::Line(properties.member, octets));
            }
            GroupsIndication::Told { notice: GroupNotice::View(view), .. } => {
                self.heard.push_back(Heard::View(view));
            }
            GroupsIndication::Told { notice: GroupNotice::Block, .. } => {
                self.heard.push_back(Heard::Block);
            }
            GroupsIndication::Opened { credit, .. } | GroupsIndication::Credit { credit, .. } => {
                self.credit += credit;
            }
            GroupsIndication::Ended { why, .. } => self.ended = Some(why),
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<GroupStack>) {
        match request {}
    }
}
