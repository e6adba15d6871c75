//! The one who listens: checks what arrives, and replies where a message asks for it.

use std::collections::VecDeque;

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{
    Context, Duration, Facts, Guarantees, Handle, Instant, Names, Outlet, Protocol,
};
use stackwright_wire::Message;

use super::content::{self, Label};
use super::promises::Promises;
use super::words::Working;
use super::{End, Plan, Request, Told};

/// Room for what comes, of each association.
const ROOM: Credit = Credit { octets: 4 << 20, messages: 4096 };

/// A protocol that listens over a transport for a client with the same plan.
pub(crate) struct Server<M> {
    plan: Plan,
    names: Names<Role<M>>,
    /// How many listeners do.
    listening: usize,
    /// When the last message arrived.
    pub(crate) last: Option<Instant>,
    /// The sum of how long messages were under way, where both ends have one clock.
    pub(crate) under_way: Duration,
    /// What arrived.
    pub(crate) promises: Promises,
}

enum Role<M> {
    Listener,
    /// With the replies that wait for room, and how many octets their requests had.
    Association {
        credit: Credit,
        replies: VecDeque<(M, usize)>,
    },
}

type Out<'a, M> = &'a mut dyn Outlet<Server<M>>;

impl<M: Message> Server<M> {
    /// A server for this plan on a transport that promises so much.
    pub(crate) fn new(plan: Plan, given: Guarantees) -> Self {
        let conversations = plan.conversations.len();
        Server {
            plan,
            names: Names::new(),
            listening: 0,
            last: None,
            under_way: Duration::ZERO,
            promises: Promises::new(given, conversations),
        }
    }

    /// What the client knows of its conversations when all is over.
    pub(crate) fn concluded(&mut self, ends: &[End]) {
        self.promises.concluded(ends, &self.plan.conversations);
    }

    fn heard(&mut self, cx: &Context, association: Handle, message: M, out: Out<'_, M>) {
        let octets = message.len();
        let label = content::read(message);
        let first = self.promises.arrived(label, octets, &self.plan.conversations);
        if first && let Some(label) = label {
            let now = cx.now();
            self.last = Some(now);
            self.under_way += Duration::from_nanos(now.nanoseconds().saturating_sub(label.sent));
        }
        match label {
            // A copy is answered, too: its reply may have been lost.
            Some(label) if label.reply > 0 => self.reply(association, label, octets, out),
            _ => receive(association, octets, out),
        }
    }

    /// A message that waits for its reply keeps its room: who asks faster than replies leave has to
    /// wait.
    fn reply(&mut self, association: Handle, asked: Label, asked_octets: usize, out: Out<'_, M>) {
        let label = Label { octets: asked.reply, reply: 0, ..asked };
        if let Some(Role::Association { replies, .. }) = self.names.get_mut(association) {
            replies.push_back((content::write(&label), asked_octets));
        }
        self.send(association, out);
    }

    fn send(&mut self, association: Handle, out: Out<'_, M>) {
        let Some(Role::Association { credit, replies }) = self.names.get_mut(association) else {
            return;
        };
        let fits =
            |credit: Credit, message: &M| credit.messages > 0 && message.len() <= credit.octets;
        while let Some((message, asked_octets)) =
            replies.pop_front_if(|(message, _)| fits(*credit, message))
        {
            credit.messages -= 1;
            credit.octets -= message.len();
            out.request(DatagramsRequest::Send {
                association,
                batch: message.into(),
                properties: MessageProperties::default(),
            });
            receive(association, asked_octets, out);
        }
    }
}

fn receive<M: Message>(association: Handle, octets: usize, out: Out<'_, M>) {
    out.request(DatagramsRequest::Credit { association, credit: Credit { octets, messages: 1 } });
}

impl<M: Message> Protocol for Server<M> {
    const FACTS: Facts = Facts::named("workload server");
    type Provides = Working;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _cx: &Context,
        Request::Start(local): Request,
        out: &mut impl Outlet<Self>,
    ) {
        let listeners = self.plan.listeners();
        for at in 0..listeners {
            let local = self.plan.place(local, at);
            let listener = self.names.name(Role::Listener);
            out.request(DatagramsRequest::Listen { listener, local });
            for _ in 0..self.plan.associations() / listeners {
                let role =
                    Role::Association { credit: Credit::default(), replies: VecDeque::new() };
                let association = self.names.name(role);
                out.request(DatagramsRequest::Await { listener, association, credit: ROOM });
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Listening { .. } => {
                self.listening += 1;
                if self.listening == self.plan.listeners() {
                    out.indicate(Told::Listening);
                }
            }
            DatagramsIndication::Opened { association, credit: more, .. }
            | DatagramsIndication::Credit { association, credit: more } => {
                if let Some(Role::Association { credit, .. }) = self.names.get_mut(association) {
                    *credit += more;
                    self.send(association, out);
                }
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                self.heard(cx, association, messages.into_single(), out);
            }
            // Its end follows.
            DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { name, why } => {
                if let Some(Role::Listener) = self.names.forget(name) {
                    out.indicate(Told::Deaf(why));
                }
            }
        }
    }
}
