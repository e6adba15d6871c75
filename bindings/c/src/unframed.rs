//! Streams for an endpoint of messages: octets in order, wherever they are cut.

use stackwright_contract::ask::{Ask, KeepsLifetimes, Question};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Streams, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Outlet, PathLimits, Protocol};
use stackwright_wire::{BufferTree, Message as _};

/// Carries the octets of a stream as messages that may arrive cut in other places, so that the
/// endpoint above is compiled once for both services. Names are the same on both sides.
pub(crate) struct Unframed;

/// Returns credit downward: there are as many messages as octets want.
fn down(credit: Credit) -> Credit {
    Credit { messages: usize::MAX, ..credit }
}

impl Protocol for Unframed {
    const FACTS: Facts = Facts {
        passes: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::CHECKED),
        ..Facts::named("unframed")
    };
    type Provides = Datagrams<BufferTree>;
    type Uses = Streams<BufferTree>;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: DatagramsRequest<BufferTree>,
        out: &mut impl Outlet<Self>,
    ) {
        out.request(match request {
            DatagramsRequest::Listen { listener, local } => {
                StreamsRequest::Listen { listener, local }
            }
            DatagramsRequest::Await { listener, association, credit } => {
                let credit = Credit::of_octets(credit.octets);
                StreamsRequest::Await { listener, association, credit }
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                let credit = Credit::of_octets(credit.octets);
                StreamsRequest::Open { association, remote, local, credit }
            }
            DatagramsRequest::Send { association, batch, .. } => {
                let (batch, properties) = (batch.into_single().into(), Default::default());
                StreamsRequest::Send { association, batch, properties }
            }
            // Nothing was taken; credit is never zero.
            DatagramsRequest::Credit { credit: Credit { octets: 0, .. }, .. } => return,
            DatagramsRequest::Credit { association, credit } => {
                let credit = Credit::of_octets(credit.octets);
                StreamsRequest::Credit { association, credit }
            }
            DatagramsRequest::Control { association, command } => {
                StreamsRequest::Control { association, command }
            }
            DatagramsRequest::Finish { association } => StreamsRequest::Finish { association },
            DatagramsRequest::Abort { association, code } => {
                StreamsRequest::Abort { association, code }
            }
            DatagramsRequest::Close { name } => StreamsRequest::Close { name },
            DatagramsRequest::Tell { order, .. } => match order {},
        });
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: StreamsIndication<BufferTree>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(match indication {
            StreamsIndication::Listening { listener, local } => {
                DatagramsIndication::Listening { listener, local }
            }
            StreamsIndication::Opened { association, local, remote, credit, .. } => {
                let (credit, path) = (down(credit), PathLimits::UNBOUNDED);
                DatagramsIndication::Opened { association, local, remote, credit, path }
            }
            StreamsIndication::Credit { association, credit } => {
                DatagramsIndication::Credit { association, credit: down(credit) }
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                let octets = batch.into_octets();
                if octets.is_empty() {
                    return;
                }
                let (batch, properties) = (octets.into(), Default::default());
                DatagramsIndication::Delivered { association, batch, properties }
            }
            StreamsIndication::Controlled { association, outcome } => {
                DatagramsIndication::Controlled { association, outcome }
            }
            StreamsIndication::Finished { association } => {
                DatagramsIndication::Finished { association }
            }
            StreamsIndication::Ended { name, why } => DatagramsIndication::Ended { name, why },
            StreamsIndication::Told { notice, .. } => match notice {},
            StreamsIndication::Changed { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => return,
        });
    }

    fn ask(
        &self,
        about: Handle,
        question: &mut Question<'_>,
        below: &dyn Ask<Streams<BufferTree>>,
    ) {
        question.answer::<KeepsLifetimes>(|_| Some(false));
        below.ask(about, question);
    }
}
