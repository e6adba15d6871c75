//! The layer: its associations, and what comes from above.

use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Context, Facts, Handle, Instant, Mirror, Outlet, Protocol};
use stackwright_wire::Message;

use crate::association::{Association, Stage};
use crate::part::{RoleEvent, RolePart};
use crate::words::{RoleRequest, Speaking};

/// A role as a layer over datagrams: each association has a role of its own, which `make` makes.
///
/// Names above and below are the same. What a role does not hear is held, and keeps its credit.
/// While what it sent waits for credit it hears nothing more, so a peer cannot make it queue.
///
/// Its functions are lent the outlet behind a pointer: there is one of each, and not one for each
/// outlet that a handler is ever lent, with the layers below inlined wherever a word leaves.
pub struct RoleLayer<M: Message, P: RolePart<M>, N> {
    make: N,
    pub(crate) associations: Mirror<Association<M, P>>,
    message: PhantomData<fn() -> M>,
}

impl<M: Message, P: RolePart<M>, N: FnMut() -> P> RoleLayer<M, P, N> {
    /// Makes a layer without associations.
    pub fn new(make: N) -> Self {
        RoleLayer { make, associations: Mirror::new(), message: PhantomData }
    }

    /// Returns how many associations live.
    pub fn associations(&self) -> usize {
        self.associations.iter().count()
    }

    /// Returns how many words are held in all associations.
    pub fn held(&self) -> usize {
        self.associations.iter().map(|(_, association)| association.held.len()).sum()
    }

    fn begin(&mut self, name: Handle) {
        let part = (self.make)();
        self.associations.insert(name, Association::new(part));
    }

    /// Lets a role react, and does what follows: what it heard gives credit back, and a role that
    /// is over ends its association.
    pub(crate) fn react(
        &mut self,
        cx: &Context,
        name: Handle,
        event: &RoleEvent<P::Adu, P::Input>,
        out: &mut dyn Outlet<Self>,
    ) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let heard = association.react(name, cx.now(), event, out);
        if heard.messages > 0 && association.stage == Stage::Open {
            out.request(DatagramsRequest::Credit { association: name, credit: heard });
        }
        if association.part.is_over() && association.stage == Stage::Open {
            association.stage = Stage::Closing;
            association.held.clear();
            if association.part.has_failed() {
                cx.event(P::NAME, format_args!("a value has left its range"));
                self.abort(name, out);
            }
        }
        self.go_on(name, out);
    }

    /// Ends what has nothing more to send.
    pub(crate) fn go_on(&mut self, name: Handle, out: &mut dyn Outlet<Self>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        if association.stage == Stage::Closing && association.waiting.is_empty() {
            association.stage = Stage::Ending;
            out.request(DatagramsRequest::Close { name });
        }
    }

    fn obey(&mut self, cx: &Context, request: RoleRequest<P::Input>, out: &mut dyn Outlet<Self>) {
        match request {
            RoleRequest::Listen { listener, local } => {
                out.request(DatagramsRequest::Listen { listener, local });
            }
            RoleRequest::Await { listener, association, credit } => {
                self.begin(association);
                out.request(DatagramsRequest::Await { listener, association, credit });
            }
            RoleRequest::Open { association, remote, local, credit } => {
                self.begin(association);
                out.request(DatagramsRequest::Open { association, remote, local, credit });
            }
            RoleRequest::Tell { association, input } => {
                self.tell(cx, association, RoleEvent::Input(input), out);
            }
            RoleRequest::Close { name } => self.close(name, out),
            RoleRequest::Abort { association } => self.abort(association, out),
        }
    }

    pub(crate) fn abort(&mut self, name: Handle, out: &mut dyn Outlet<Self>) {
        if let Some(association) = self.associations.get_mut(name) {
            association.stage = Stage::Ending;
            association.held.clear();
            association.waiting.clear();
        }
        out.request(DatagramsRequest::Abort { association: name, code: 0 });
    }

    fn close(&mut self, name: Handle, out: &mut dyn Outlet<Self>) {
        match self.associations.get_mut(name).map(|association| &mut association.stage) {
            Some(stage @ Stage::Open) => {
                *stage = Stage::Closing;
                self.go_on(name, out);
            }
            Some(stage @ Stage::Opening) => {
                *stage = Stage::Ending;
                out.request(DatagramsRequest::Close { name });
            }
            // Its end follows.
            Some(Stage::Closing | Stage::Ending) => {}
            // A listener, or a name that has ended: the layer below knows.
            None => out.request(DatagramsRequest::Close { name }),
        }
    }
}

impl<M: Message, P: RolePart<M>, N: FnMut() -> P> Protocol for RoleLayer<M, P, N> {
    const FACTS: Facts = Facts {
        needs: P::NEEDS,
        header_room: P::HEADER_ROOM,
        reads_payload: true,
        ..Facts::named(P::NAME)
    };
    type Provides = Speaking<P::Input, P::Output>;
    type Uses = Datagrams<M>;

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Datagrams<M>>) {
        // An association has one name above and below.
        below.ask(about, question);
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RoleRequest<P::Input>,
        out: &mut impl Outlet<Self>,
    ) {
        self.obey(cx, request, out);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.hear(cx, indication, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.expire(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.earliest()
    }
}
