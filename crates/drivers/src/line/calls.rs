//! A line as streams: each time that its other end is opened is an arrival.

use stackwright_contract::services::{
    Credit, Ended, Octets, OctetsIndication, OctetsRequest, Streams, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{
    Arrivals, Context, Facts, Guarantees, Handle, Outlet, Participant, PathLimits, Protocol,
};
use stackwright_wire::Message;

const NAME: &str = "calls of a line";

type Out<'a, M> = &'a mut dyn Outlet<LineCalls<M>>;

/// A program at the other end of a line, such as a pseudo terminal, as one that connects to a
/// listener. There is one at a time.
pub struct LineCalls<M> {
    names: Arrivals<(), ()>,
    listener: Option<Handle>,
    open: Option<Handle>,
    /// Credit of a line that is up, for whose program there is no name yet.
    waits: Option<usize>,
    message: std::marker::PhantomData<fn() -> M>,
}

impl<M: Message> Default for LineCalls<M> {
    fn default() -> Self {
        let (names, message) = (Arrivals::new(), std::marker::PhantomData);
        LineCalls { names, listener: None, open: None, waits: None, message }
    }
}

impl<M: Message> LineCalls<M> {
    fn arrive(&mut self, out: Out<'_, M>) {
        let Some((octets, listener)) = self.waits.zip(self.listener) else { return };
        let Some((association, credit)) = self.names.arrive(listener) else { return };
        self.names.open(association, ());
        (self.open, self.waits) = (Some(association), None);
        out.indicate(StreamsIndication::Opened {
            association,
            local: Participant::OTHER_END,
            remote: Participant::OTHER_END,
            credit: Credit::of_octets(octets),
            path: PathLimits::UNBOUNDED,
        });
        out.request(OctetsRequest::Credit { credit: credit.octets });
    }

    fn end(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        if self.listener == Some(name) {
            self.listener = None;
        }
        // A program that is still there is not one that arrives: the line has to go first.
        self.open = self.open.filter(|open| *open != name);
        self.names.end(name, why).for_each(|word| out.indicate(word));
    }
}

impl<M: Message> Protocol for LineCalls<M> {
    const FACTS: Facts = Facts { passes: Guarantees::ALL, ..Facts::named(NAME) };
    type Provides = Streams<M>;
    type Uses = Octets<M>;

    fn handle_request(
        &mut self,
        _: &Context,
        request: StreamsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            StreamsRequest::Listen { listener, .. } => {
                self.names.listen(listener, ());
                self.listener = Some(listener);
                let local = Participant::OTHER_END;
                out.indicate(StreamsIndication::Listening { listener, local });
            }
            StreamsRequest::Await { listener, association, credit } => {
                let refused = self.names.expect(listener, association, credit);
                refused.into_iter().for_each(|word| out.indicate(word));
                self.arrive(out);
            }
            StreamsRequest::Send { association, batch, .. } if self.open == Some(association) => {
                out.request(OctetsRequest::Send { message: batch.into_octets() });
            }
            StreamsRequest::Credit { association, credit } if self.open == Some(association) => {
                out.request(OctetsRequest::Credit { credit: credit.octets });
            }
            StreamsRequest::Open { association: name, .. } => {
                out.indicate(StreamsIndication::Ended { name, why: Ended::Unreachable });
            }
            StreamsRequest::Control { association, .. } if self.names.lives(association) => {
                out.indicate(StreamsIndication::unknown_command(association));
            }
            StreamsRequest::Finish { association: name } | StreamsRequest::Close { name } => {
                self.end(name, Ended::Finished, out);
            }
            StreamsRequest::Abort { association, .. } => self.end(association, Ended::Aborted, out),
            _ => {}
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: OctetsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match (word, self.open) {
            (OctetsIndication::State { up }, open) => {
                self.waits = up.then_some(0);
                open.into_iter().for_each(|name| self.end(name, Ended::Finished, out));
            }
            (OctetsIndication::Credit { credit }, Some(association)) => {
                let credit = Credit::of_octets(credit);
                out.indicate(StreamsIndication::Credit { association, credit });
            }
            (OctetsIndication::Credit { credit }, None) => {
                self.waits = self.waits.map(|octets| octets + credit);
                self.arrive(out);
            }
            (OctetsIndication::Delivered { message }, Some(association)) => {
                let (batch, properties) = (message.into(), Default::default());
                out.indicate(StreamsIndication::Delivered { association, batch, properties });
            }
            (OctetsIndication::Delivered { .. }, None) => {
                cx.dropped(NAME, "octets of a program whose stream has ended");
            }
        }
    }
}
