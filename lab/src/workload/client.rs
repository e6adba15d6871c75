//! The one who has the plan: opens, sends, waits for replies, closes.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, Instant, Names, Outlet, Participant, Protocol,
};
use stackwright_wire::Message;

use super::content::{self, Label};
use super::plan::Conversation;
use super::promises::Promises;
use super::words::Working;
use super::{Account, End, PATIENCE, Plan, Request, Told};

/// Room for replies, of each association.
const ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

/// A protocol that works off a plan over a transport.
pub(crate) struct Client<M> {
    plan: Plan,
    remote: Option<Participant>,
    states: Vec<State>,
    /// The members of each group that were not opened yet, and how many are open.
    groups: Vec<(std::ops::Range<usize>, usize)>,
    names: Names<usize>,
    /// When a conversation wants to be woken.
    wakes: BTreeSet<(Instant, usize)>,
    over: usize,
    /// When it asked for its first association.
    pub(crate) began: Option<Instant>,
    /// What it did.
    pub(crate) account: Account,
    /// What came back.
    pub(crate) replies: Promises,
    message: PhantomData<fn() -> M>,
}

/// Where a conversation is.
#[derive(Debug)]
enum State {
    Waiting,
    Open(Open),
    Closing,
    Over(Ended),
}

#[derive(Debug, Default)]
struct Open {
    name: Option<Handle>,
    credit: Credit,
    sent: u32,
    /// The request on its way, and when it left.
    asked: Option<(u32, Instant)>,
    /// Before that, nothing is sent.
    not_before: Instant,
    wakes: Option<Instant>,
}

type Out<'a, M> = &'a mut dyn Outlet<Client<M>>;

impl<M: Message> Client<M> {
    /// A client with this plan on a transport that promises so much.
    pub(crate) fn new(plan: Plan, given: Guarantees) -> Self {
        let conversations = plan.conversations.len();
        Client {
            states: plan.conversations.iter().map(|_| State::Waiting).collect(),
            groups: plan.groups.iter().map(|group| (group.members.clone(), 0)).collect(),
            remote: None,
            names: Names::new(),
            wakes: BTreeSet::new(),
            over: 0,
            began: None,
            account: Account::default(),
            replies: Promises::new(given, conversations),
            plan,
            message: PhantomData,
        }
    }

    /// Whether all conversations are over.
    pub(crate) fn done(&self) -> bool {
        self.over == self.states.len()
    }

    /// How each conversation ended.
    pub(crate) fn ends(&self) -> impl Iterator<Item = End> {
        self.states.iter().map(|state| match state {
            State::Over(why) => End::from(*why),
            _ => End::Missing,
        })
    }

    /// Opens as many as may be open.
    fn open_next(&mut self, out: Out<'_, M>) {
        let Some(remote) = self.remote else { return };
        for (at, group) in self.plan.groups.iter().enumerate() {
            while self.groups[at].1 < group.at_once
                && let Some(conversation) = self.groups[at].0.next()
            {
                self.groups[at].1 += 1;
                let association = self.names.name(conversation);
                self.states[conversation] =
                    State::Open(Open { name: Some(association), ..Open::default() });
                let remote = self.plan.place(remote, conversation);
                out.request(DatagramsRequest::Open {
                    association,
                    remote,
                    credit: ROOM,
                    local: None,
                });
            }
        }
    }

    /// Sends what may be sent now.
    fn go_on(&mut self, cx: &Context, conversation: usize, out: Out<'_, M>) {
        let Client { plan, states, wakes, account, .. } = self;
        let Conversation { messages, octets, reply, every } = plan.conversations[conversation];
        let State::Open(open) = &mut states[conversation] else { return };
        let Some(association) = open.name else { return };
        let now = cx.now();
        let mut wake = None;
        while open.sent < messages && open.asked.is_none() {
            if open.credit.messages == 0 || open.credit.octets < usize::from(octets) {
                break;
            }
            if open.not_before > now {
                wake = Some(open.not_before);
                break;
            }
            let number = open.sent;
            let label = Label {
                conversation: conversation as u16,
                octets,
                number,
                of: messages,
                reply,
                reserved: (),
                sent: now.nanoseconds(),
            };
            account.sent += 1;
            open.sent += 1;
            open.credit.messages -= 1;
            open.credit.octets -= usize::from(octets);
            if !every.is_zero() {
                // By the plan's clock, not by when there was room: a message that waited does not
                // delay all after it.
                open.not_before = if number == 0 { now + every } else { open.not_before + every };
            }
            if reply > 0 {
                open.asked = Some((number, now));
                wake = Some(now + PATIENCE);
            }
            out.request(DatagramsRequest::Send {
                association,
                batch: M::into(content::write(&label)),
                properties: MessageProperties::default(),
            });
        }
        let all = open.sent == messages && open.asked.is_none();
        if let Some(before) = open.wakes.take() {
            wakes.remove(&(before, conversation));
        }
        if all {
            states[conversation] = State::Closing;
            out.request(DatagramsRequest::Close { name: association });
        } else if let Some(wake) = wake.or(open.asked.map(|(_, asked)| asked + PATIENCE)) {
            open.wakes = Some(wake);
            wakes.insert((wake, conversation));
        }
    }

    fn delivered(&mut self, cx: &Context, association: Handle, message: M, out: Out<'_, M>) {
        let Some(conversation) = self.names.get(association).copied() else { return };
        let credit = Credit { octets: message.len(), messages: 1 };
        self.heard(cx, conversation, message, out);
        // It may have closed meanwhile: words cross.
        if matches!(self.states[conversation], State::Open(_)) {
            out.request(DatagramsRequest::Credit { association, credit });
        }
    }

    /// A reply.
    fn heard(&mut self, cx: &Context, conversation: usize, message: M, out: Out<'_, M>) {
        let octets = message.len();
        let label = content::read(message);
        if !self.replies.arrived(label, octets, &self.plan.conversations) {
            return;
        }
        if let (Some(label), State::Open(open)) = (label, &mut self.states[conversation])
            && let Some((number, asked)) = open.asked
            && (usize::from(label.conversation), label.number) == (conversation, number)
        {
            open.asked = None;
            self.account.reply(cx.now().since(asked));
            self.go_on(cx, conversation, out);
        }
    }

    fn ended(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        let Some(conversation) = self.names.forget(name) else { return };
        if let State::Open(Open { wakes: Some(wake), .. }) = &self.states[conversation] {
            self.wakes.remove(&(*wake, conversation));
        }
        self.states[conversation] = State::Over(why);
        self.over += 1;
        if let Some(group) =
            self.plan.groups.iter().position(|group| group.members.contains(&conversation))
        {
            self.groups[group].1 -= 1;
        }
        if self.done() {
            out.indicate(Told::Done);
        } else {
            self.open_next(out);
        }
    }
}

impl<M: Message> Protocol for Client<M> {
    const FACTS: Facts = Facts::named("workload client");
    type Provides = Working;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        Request::Start(remote): Request,
        out: &mut impl Outlet<Self>,
    ) {
        self.remote = Some(remote);
        self.began.get_or_insert(cx.now());
        self.open_next(out);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Opened { association, credit, .. }
            | DatagramsIndication::Credit { association, credit } => {
                let Some(conversation) = self.names.get(association).copied() else { return };
                if let State::Open(open) = &mut self.states[conversation] {
                    open.credit += credit;
                    self.go_on(cx, conversation, out);
                }
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                self.delivered(cx, association, messages.into_single(), out);
            }
            DatagramsIndication::Ended { name, why } => self.ended(name, why, out),
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some((time, conversation)) = self.wakes.first().copied()
            && time <= cx.now()
        {
            self.wakes.pop_first();
            if let State::Open(open) = &mut self.states[conversation] {
                open.wakes = None;
                if open.asked.is_some_and(|(_, asked)| asked + PATIENCE <= cx.now()) {
                    open.asked = None;
                    self.account.unanswered += 1;
                }
            }
            self.go_on(cx, conversation, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.wakes.first().map(|(time, _)| *time)
    }
}
