//! `group talk`: lines to all.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use clap::Args;
use serde_json::json;
use stackwright::contract::services::{
    Credit, Ended, GroupNotice, GroupOrder, GroupView, Groups, GroupsIndication, GroupsRequest,
    Rank,
};
use stackwright::contract::{Facts, Guarantees, IndicationOf, Outlet, RequestOf};
use stackwright::wire::Message as _;
use stackwright_drivers::Waker;
use stackwright_parts::Stack;

use super::{Joining, LOOK, NAME, members};
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::Message;

#[derive(Args)]
#[command(after_help = "\
Examples, each in a terminal of its own:
  stackwright group talk --at 127.0.0.1:4370 --with 127.0.0.1:4371,127.0.0.1:4372
  stackwright group talk --at 127.0.0.1:4371 --with 127.0.0.1:4370,127.0.0.1:4372
  stackwright group talk --at 127.0.0.1:4372 --with 127.0.0.1:4370,127.0.0.1:4371
On one network, where 192.0.2.1 is the own address, without a list:
  stackwright group talk --at 192.0.2.1:4370 --multicast")]
pub(crate) struct Talk {
    #[command(flatten)]
    joining: Joining,
    /// Print one JSON object for each line and each view.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The longest message: one packet takes it. A longer line is several.
const LINE_MOST: usize = 1200;

/// What is shown of views, and of lines, must be so.
const NEEDS: Facts = Facts {
    needs: Guarantees::VIEWS.and(Guarantees::ORDERED).and(Guarantees::ONCE),
    ..Facts::named("talk")
};

type TalkStack = Stack<Groups<Message>>;

impl Talk {
    pub(super) fn run(&self) -> Result<(), Problem> {
        self.joining.check()?;
        let (mut driver, mut stack) = self.joining.stack("group-talk", &NEEDS)?;
        let interrupted = interrupts()?;
        let mut ear = Ear::default();
        driver.request(&mut stack, self.joining.open(), &mut ear);
        let typed = lines(driver.waker()?);
        let mut leaves = false;
        loop {
            while let Some(heard) = ear.heard.pop_front() {
                if let Some(request) = self.show(heard, &mut ear) {
                    driver.request(&mut stack, request, &mut ear);
                }
            }
            if let Some(why) = ear.ended {
                return self.joining.ended(why);
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

    /// Shows what was heard; returns what is answered.
    fn show(&self, heard: Heard, ear: &mut Ear) -> Option<GroupsRequest<Message>> {
        match heard {
            Heard::Line(Rank(from), octets) => {
                let credit = Credit { octets: octets.len(), messages: 1 };
                let view = ear.view.as_ref();
                let from = view.and_then(|view| view.members.get(usize::from(from)))?;
                let from = from.participant.internet().unwrap_or(self.joining.at);
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
                let members = members(&view);
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

impl Outlet<TalkStack> for Ear {
    fn indicate(&mut self, told: IndicationOf<TalkStack>) {
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

    fn request(&mut self, request: RequestOf<TalkStack>) {
        match request {}
    }
}
