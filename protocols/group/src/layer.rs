//! A layer of a group: what its author adds, with defaults that pass everything on.

use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{
    Batch, Credit, Ended, GroupNotice, GroupOrder, GroupProperties, Groups, GroupsIndication,
    GroupsRequest,
};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, Instant, Outlet, Participant, PathLimits, Protocol,
};
use stackwright_wire::Message;

/// What a layer of a group can promise.
pub(crate) const OF_GROUPS: Guarantees = Guarantees::RELIABLE
    .and(Guarantees::ORDERED)
    .and(Guarantees::ONCE)
    .and(Guarantees::CHECKED)
    .and(Guarantees::VIEWS)
    .and(Guarantees::SYNCHRONY)
    .and(Guarantees::CAUSAL)
    .and(Guarantees::TOTAL)
    .and(Guarantees::SAFE)
    .and(Guarantees::STATE)
    .and(Guarantees::PRIMARY);

/// What a layer of a group adds. It begins anew with each [view](GroupOrder::Install), and needs no
/// word for a view that changes meanwhile.
pub trait GroupHooks<M: Message> {
    /// What the rule book has to know of it.
    const FACTS: Facts;

    /// The group at `_remote` is to be joined; the layer above has room for `_credit`.
    fn open(&mut self, _at: &mut dyn GroupPlace<M>, _remote: Participant, _credit: Credit) {}

    /// The layer below is there; `local` is the own address.
    fn opened(&mut self, at: &mut dyn GroupPlace<M>, local: Participant, credit: Credit) {
        at.opened(local, credit);
    }

    /// Handles a message from above.
    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, properties: GroupProperties) {
        at.send(batch, properties);
    }

    /// Handles a message from below.
    fn delivered(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        batch: Batch<M>,
        properties: GroupProperties,
    ) {
        at.deliver(batch, properties);
    }

    /// Handles an order from above.
    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        at.order(order);
    }

    /// Handles a notice from below.
    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        at.notice(notice);
    }

    /// Handles credit that the layer below gives.
    fn credit(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.give(credit);
    }

    /// Handles credit that the layer above gives: it has room for that much more.
    fn room(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.take(credit);
    }

    /// The group is left in good order. By default that is so as soon as the layer below has.
    fn close(&mut self, at: &mut dyn GroupPlace<M>) {
        at.close();
    }

    /// The association has ended, however that came: nothing of it is kept.
    fn ended(&mut self) {}

    /// Handles the passage of time.
    fn timeout(&mut self, _at: &mut dyn GroupPlace<M>) {}

    /// Returns when to call [`timeout`](GroupHooks::timeout).
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Sends what was gathered.
    fn flush(&mut self, _at: &mut dyn GroupPlace<M>) {}

    /// Returns whether something is gathered.
    fn wants_flush(&self) -> bool {
        false
    }
}

/// Where a hook is called: the neighbours of a layer, and what it may use of the world.
pub trait GroupPlace<M: Message> {
    /// Returns time, randomness and notes.
    fn cx(&self) -> &Context;
    /// Sends to the members below.
    fn send(&mut self, batch: Batch<M>, properties: GroupProperties);
    /// Delivers upward.
    fn deliver(&mut self, batch: Batch<M>, properties: GroupProperties);
    /// Orders downward.
    fn order(&mut self, order: GroupOrder<M>);
    /// Tells upward.
    fn notice(&mut self, notice: GroupNotice<M>);
    /// Gives credit to the layer above.
    fn give(&mut self, credit: Credit);
    /// Gives credit to the layer below.
    fn take(&mut self, credit: Credit);
    /// Tells the layer above that the group is open.
    fn opened(&mut self, local: Participant, credit: Credit);
    /// Lets the layer below close.
    fn close(&mut self);
}

/// A layer of a group, of the hooks `H`. A stack of such layers is in one group at a time: another
/// `Open` meanwhile ends as [unavailable](Ended::Unavailable).
#[derive(Debug)]
pub struct MicroLayer<M, H> {
    hooks: H,
    group: Option<Open>,
    message: PhantomData<fn() -> M>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    name: Handle,
    remote: Participant,
    path: PathLimits,
}

struct At<'a, P: Protocol, O> {
    cx: &'a Context,
    open: Open,
    out: &'a mut O,
    layer: PhantomData<fn() -> P>,
}

impl<M: Message, H: GroupHooks<M>, O: Outlet<MicroLayer<M, H>>> GroupPlace<M>
    for At<'_, MicroLayer<M, H>, O>
{
    fn cx(&self) -> &Context {
        self.cx
    }

    fn send(&mut self, batch: Batch<M>, properties: GroupProperties) {
        let association = self.open.name;
        self.out.request(GroupsRequest::Send { association, batch, properties });
    }

    fn deliver(&mut self, batch: Batch<M>, properties: GroupProperties) {
        let association = self.open.name;
        self.out.indicate(GroupsIndication::Delivered { association, batch, properties });
    }

    fn order(&mut self, order: GroupOrder<M>) {
        self.out.request(GroupsRequest::Tell { association: self.open.name, order });
    }

    fn notice(&mut self, notice: GroupNotice<M>) {
        self.out.indicate(GroupsIndication::Told { association: self.open.name, notice });
    }

    fn give(&mut self, credit: Credit) {
        if credit != Credit::NONE {
            let association = self.open.name;
            self.out.indicate(GroupsIndication::Credit { association, credit });
        }
    }

    fn take(&mut self, credit: Credit) {
        if credit != Credit::NONE {
            self.out.request(GroupsRequest::Credit { association: self.open.name, credit });
        }
    }

    fn opened(&mut self, local: Participant, credit: Credit) {
        let Open { name: association, remote, path } = self.open;
        let word = GroupsIndication::Opened { association, local, remote, credit, path };
        self.out.indicate(word);
    }

    fn close(&mut self) {
        self.out.request(GroupsRequest::Close { name: self.open.name });
    }
}

impl<M: Message, H: GroupHooks<M>> MicroLayer<M, H> {
    /// Makes the layer of `hooks`.
    pub const fn new(hooks: H) -> Self {
        MicroLayer { hooks, group: None, message: PhantomData }
    }

    /// Returns the author's part.
    pub const fn hooks(&self) -> &H {
        &self.hooks
    }

    /// Calls `act` where the group is open under `name`.
    fn at<O: Outlet<Self>>(
        &mut self,
        cx: &Context,
        name: Option<Handle>,
        out: &mut O,
        act: impl FnOnce(&mut H, &mut At<'_, Self, O>),
    ) {
        if let Some(open) = self.group.filter(|open| name.is_none_or(|name| name == open.name)) {
            act(&mut self.hooks, &mut At { cx, open, out, layer: PhantomData });
        }
    }
}

impl<M: Message, H: GroupHooks<M>> Protocol for MicroLayer<M, H> {
    const FACTS: Facts = H::FACTS;
    type Provides = Groups<M>;
    type Uses = Groups<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: GroupsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            GroupsRequest::Send { association, batch, properties } => {
                self.at(cx, Some(association), out, |hooks, at| hooks.send(at, batch, properties));
            }
            GroupsRequest::Tell { association, order } => {
                self.at(cx, Some(association), out, |hooks, at| hooks.order(at, order));
            }
            GroupsRequest::Open { association: name, local, remote, credit } => {
                if self.group.is_some() {
                    let why = Ended::Unavailable;
                    return out.indicate(GroupsIndication::Ended { name, why });
                }
                self.group = Some(Open { name, remote, path: PathLimits::UNBOUNDED });
                self.at(cx, None, out, |hooks, at| hooks.open(at, remote, credit));
                let word = GroupsRequest::Open { association: name, local, remote, credit };
                out.request(word);
                let order = GroupOrder::Layer(&H::FACTS);
                out.request(GroupsRequest::Tell { association: name, order });
            }
            GroupsRequest::Credit { association, credit } => {
                self.at(cx, Some(association), out, |hooks, at| hooks.room(at, credit));
            }
            GroupsRequest::Close { name } => {
                self.at(cx, Some(name), out, |hooks, at| hooks.close(at));
            }
            GroupsRequest::Listen { listener: name, .. }
            | GroupsRequest::Await { association: name, .. } => {
                out.indicate(GroupsIndication::Ended { name, why: Ended::Unavailable });
            }
            other => out.request(other),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: GroupsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            GroupsIndication::Delivered { association, batch, properties } => {
                let name = Some(association);
                self.at(cx, name, out, |hooks, at| hooks.delivered(at, batch, properties));
            }
            GroupsIndication::Told { association, notice } => {
                self.at(cx, Some(association), out, |hooks, at| hooks.notice(at, notice));
            }
            GroupsIndication::Credit { association, credit } => {
                self.at(cx, Some(association), out, |hooks, at| hooks.credit(at, credit));
            }
            GroupsIndication::Opened { association, local, credit, path, .. } => {
                if let Some(open) = &mut self.group {
                    open.path = path.behind_header(H::FACTS.header_room as u32);
                }
                let name = Some(association);
                self.at(cx, name, out, |hooks, at| hooks.opened(at, local, credit));
            }
            GroupsIndication::Ended { name, why } => {
                if self.group.take_if(|open| open.name == name).is_some() {
                    self.hooks.ended();
                }
                out.indicate(GroupsIndication::Ended { name, why });
            }
            other => out.indicate(other),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.hooks.next_deadline().is_some_and(|deadline| deadline <= cx.now()) {
            self.at(cx, None, out, |hooks, at| hooks.timeout(at));
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.group.and_then(|_| self.hooks.next_deadline())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.at(cx, None, out, |hooks, at| hooks.flush(at));
    }

    fn wants_flush(&self) -> bool {
        self.group.is_some() && self.hooks.wants_flush()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Groups<M>>) {
        below.ask(about, question);
    }
}
