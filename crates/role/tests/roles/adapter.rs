//! The words of the generated stop-and-wait as those of a datagram service, so that it stands where
//! the one that is written by hand does.

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Either, Facts, Guarantees, Handle, Mirror, Outlet, Protocol};
use stackwright_role::{
    PartPair, RoleEvent, RoleIndication, RoleLayer, RolePart, RoleRequest, Speaking,
};
use stackwright_wire::Message;

use stackwright_generated::contract::stop_and_wait::{receiver, sender};

/// The message that is in flight, for the sender to send again.
pub(crate) struct Kept<M>(Option<M>);

impl<M: Message> sender::Functions<M> for Kept<M> {
    fn keep(&mut self, body: &M) {
        self.0 = Some(body.share());
    }

    fn kept(&self) -> M {
        self.0.as_ref().expect("it keeps before it sends").share()
    }
}

pub(crate) type Both<M> = PartPair<sender::Part<Kept<M>>, receiver::Part<()>>;

/// Both roles on each association.
pub(crate) type Roles<M> = RoleLayer<M, Both<M>, fn() -> Both<M>>;

pub(crate) fn roles<M: Message>() -> Roles<M> {
    RoleLayer::new(|| PartPair(sender::Part::new(Kept(None)), receiver::Part::new(())))
}

type Input<M> = <Both<M> as RolePart<M>>::Input;
type Output<M> = <Both<M> as RolePart<M>>::Output;

#[derive(Default)]
struct Use {
    /// The lengths of messages that are not acknowledged.
    lengths: std::collections::VecDeque<usize>,
    closing: bool,
    why: Option<Ended>,
}

/// Datagrams over the words of the roles.
pub(crate) struct Adapter<M> {
    uses: Mirror<Use>,
    message: std::marker::PhantomData<fn() -> M>,
}

impl<M> Default for Adapter<M> {
    fn default() -> Self {
        Adapter { uses: Mirror::new(), message: std::marker::PhantomData }
    }
}

impl<M: Message> Adapter<M> {
    fn told(&mut self, name: Handle, output: Output<M>, out: &mut impl Outlet<Self>) {
        let Some(using) = self.uses.get_mut(name) else { return };
        match output {
            Either::Left(sender::Output::Room) => {
                let octets = using.lengths.pop_front().expect("one was not acknowledged");
                let credit = Credit { octets, messages: 1 };
                out.indicate(DatagramsIndication::Credit { association: name, credit });
                if using.closing && using.lengths.is_empty() {
                    out.request(RoleRequest::Close { name });
                }
            }
            Either::Left(sender::Output::Expired) => using.why = Some(Ended::Expired),
            Either::Right(receiver::Output::Deliver { body }) => {
                out.indicate(DatagramsIndication::Delivered {
                    association: name,
                    batch: body.into(),
                    properties: MessageProperties::default(),
                });
            }
            Either::Left(sender::Output::Never(never, _)) => match never {},
        }
    }
}

impl<M: Message> Protocol for Adapter<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        passes: Guarantees::CHECKED,
        ..Facts::named("generated stop-and-wait")
    };
    type Provides = Datagrams<M>;
    type Uses = Speaking<Input<M>, Output<M>>;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Listen { listener, local } => {
                out.request(RoleRequest::Listen { listener, local });
            }
            DatagramsRequest::Await { listener, association, credit } => {
                self.uses.insert(association, Use::default());
                out.request(RoleRequest::Await { listener, association, credit });
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.uses.insert(association, Use::default());
                out.request(RoleRequest::Open { association, remote, local, credit });
            }
            DatagramsRequest::Send { association, batch, .. } => {
                let body = batch.into_single();
                let Some(using) = self.uses.get_mut(association) else { return };
                using.lengths.push_back(body.len());
                let input = Either::Left(RoleEvent::Input(sender::Input::Message { body }));
                out.request(RoleRequest::Tell { association, input });
            }
            DatagramsRequest::Close { name } => match self.uses.get_mut(name) {
                Some(using) if !using.lengths.is_empty() => using.closing = true,
                _ => out.request(RoleRequest::Close { name }),
            },
            // A role hears what its layer has credit for; the rest is not asked in these tests.
            _ => {}
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: RoleIndication<Output<M>>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            RoleIndication::Listening { listener, local } => {
                out.indicate(DatagramsIndication::Listening { listener, local });
            }
            RoleIndication::Opened { association, local, remote, credit, path } => {
                out.indicate(DatagramsIndication::Opened {
                    association,
                    local,
                    remote,
                    credit,
                    path,
                });
            }
            RoleIndication::Changed { association, path } => {
                out.indicate(DatagramsIndication::Changed { association, path });
            }
            RoleIndication::Told { association, output } => self.told(association, output, out),
            RoleIndication::Ended { name, why } => {
                let why = self.uses.remove(name).and_then(|using| using.why).unwrap_or(why);
                out.indicate(DatagramsIndication::Ended { name, why });
            }
        }
    }
}
