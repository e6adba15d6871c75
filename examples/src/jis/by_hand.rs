//! The client of `jis.protocol` as somebody writes it by hand, with the words of the generated one.

use std::collections::VecDeque;
use std::time::Duration;

use stackwright::contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright::contract::{Context, Facts, Guarantees, Handle, Instant, Outlet, Protocol};
use stackwright::wire::{Header, Message};
use stackwright_jis::generated::client::{Functions, Input, Output};
use stackwright_jis::generated::{BlocksHead, EndHead, RefusedHead, ReqHead, TableHead, TableKind};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};

use super::TimedView;

/// A request is over after this silence.
const SILENCE: Duration = Duration::from_secs(10);

/// A client of one association.
pub struct ByHand<M> {
    view: TimedView,
    state: State,
    /// What came before the tables.
    held: VecDeque<M>,
    tables: [bool; 2],
    counted: bool,
    association: Option<Handle>,
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Tables,
    Image,
    Over,
}

impl<M: Message> ByHand<M> {
    /// A client that shows what it fetches in a view.
    pub fn new(view: TimedView) -> Self {
        ByHand {
            view,
            state: State::Idle,
            held: VecDeque::new(),
            tables: [false; 2],
            counted: false,
            association: None,
            deadline: None,
        }
    }

    fn over(&mut self, name: Handle, output: Output<M>, out: &mut impl Outlet<Self>) {
        self.state = State::Over;
        self.deadline = None;
        self.held.clear();
        out.indicate(RoleIndication::Told { association: name, output });
        out.request(DatagramsRequest::Close { name });
    }

    fn delivered(&mut self, cx: &Context, name: Handle, message: M, out: &mut impl Outlet<Self>) {
        if self.deadline.is_some() {
            self.deadline = Some(cx.now() + SILENCE);
        }
        if !self.hear(name, &message, out) {
            return self.held.push_back(message); // its credit is kept
        }
        self.credit(name, &message, out);
        while self.state == State::Image
            && let Some(held) = self.held.pop_front()
        {
            self.hear(name, &held, out);
            self.credit(name, &held, out);
        }
    }

    fn credit(&self, name: Handle, message: &M, out: &mut impl Outlet<Self>) {
        if self.state != State::Over {
            let credit = Credit { octets: message.len(), messages: 1 };
            out.request(DatagramsRequest::Credit { association: name, credit });
        }
    }

    /// Returns whether it is awaited now.
    fn hear(&mut self, name: Handle, message: &M, out: &mut impl Outlet<Self>) -> bool {
        let mut body = message.share();
        if let Ok(head) = body.pull::<RefusedHead>() {
            if matches!(self.state, State::Tables | State::Image) {
                self.view.deny(head, &body);
                self.over(name, Output::Denied, out);
            }
            return true;
        }
        if let Ok(head) = body.pull::<TableHead>() {
            let nth = usize::from(head.kind == TableKind::Huffman);
            if self.state != State::Tables || self.tables[nth] {
                return true; // a second one changes nothing
            }
            self.view.set(head, &body);
            self.tables[nth] = true;
            if self.tables == [true; 2] {
                self.state = State::Image;
                out.indicate(RoleIndication::Told { association: name, output: Output::Ready });
            }
            return true;
        }
        if self.state != State::Image {
            return self.state == State::Over;
        }
        if let Ok(head) = body.pull::<BlocksHead>() {
            self.view.paint(head, &body);
        } else if let Ok(head) = body.pull::<EndHead>() {
            if !self.counted {
                self.counted = true;
                Functions::<M>::total(&mut self.view, head);
            }
        } else {
            return true;
        }
        if Functions::<M>::covered(&self.view) {
            self.over(name, Output::Done, out);
        }
        true
    }
}

impl<M: Message> Protocol for ByHand<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ONCE).and(Guarantees::CHECKED),
        header_room: ReqHead::LENGTH,
        reads_payload: true,
        ..Facts::named("jis by hand")
    };
    type Provides = Speaking<Input<M>, Output<M>>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RoleRequest<Input<M>>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            RoleRequest::Open { association, remote, local, credit } => {
                self.association = Some(association);
                out.request(DatagramsRequest::Open { association, remote, local, credit });
            }
            RoleRequest::Tell { association, input: Input::Get { most, name } } => {
                let mut message = name;
                message.push(&ReqHead { adu: (), most });
                self.state = State::Tables;
                self.deadline = Some(cx.now() + SILENCE);
                out.request(DatagramsRequest::Send {
                    association,
                    batch: message.into(),
                    properties: MessageProperties::default(),
                });
            }
            RoleRequest::Close { name } => out.request(DatagramsRequest::Close { name }),
            RoleRequest::Abort { association } => {
                out.request(DatagramsRequest::Abort { association, code: 0 });
            }
            // It is called by nobody.
            RoleRequest::Listen { .. } | RoleRequest::Await { .. } => {}
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Opened { association, local, remote, credit, path } => {
                out.indicate(RoleIndication::Opened { association, local, remote, credit, path });
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                self.delivered(cx, association, batch.into_single(), out);
            }
            DatagramsIndication::Ended { name, why } => {
                self.state = State::Over;
                self.deadline = None;
                out.indicate(RoleIndication::Ended { name, why });
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if let (Some(name), true) =
            (self.association, self.deadline.is_some_and(|deadline| deadline <= cx.now()))
        {
            self.over(name, Output::Partial, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }
}
