//! A line of octets between two stations, without associations.

use std::net::{IpAddr, SocketAddr};

use stackwright_contract::services::{Octets, OctetsIndication, OctetsRequest};
use stackwright_contract::{Context, Facts, Guarantees, Instant, Outlet, Protocol};
use stackwright_wire::Message;

use crate::streams::{Receiving, Sending};
use crate::{Habits, Segment, SegmentWord, Segments};

const NAME: &str = "simulated pipe";

/// One end of a line.
#[derive(Debug)]
pub struct PipeEnd<M> {
    local: SocketAddr,
    remote: SocketAddr,
    habits: Habits,
    sending: Sending<M>,
    receiving: Receiving<M>,
    state: State,
    due: bool,
    rested: Option<Instant>,
}

/// Whether the line is up, and whether the layer above knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is up, and neither that nor the initial credit was indicated to the layer above.
    Untold,
    Up,
    /// It was cut, and the layer above does not know yet.
    Cut,
    Down,
}

/// Makes both ends of a line between the stations at `one` and `other`, which both behave as
/// `habits` says.
///
/// A line has no end, but a [fault](crate::Fault::Cut) that cuts it takes it down at both ends.
pub fn pipe<M: Message>(one: IpAddr, other: IpAddr, habits: Habits) -> (PipeEnd<M>, PipeEnd<M>) {
    habits.check();
    let (one, other) = (SocketAddr::new(one, 0), SocketAddr::new(other, 0));
    (PipeEnd::new(one, other, habits), PipeEnd::new(other, one, habits))
}

impl<M: Message> PipeEnd<M> {
    fn new(local: SocketAddr, remote: SocketAddr, habits: Habits) -> Self {
        PipeEnd {
            local,
            remote,
            habits,
            // Both ends were made with one buffer size: the initial window need not be sent.
            sending: Sending::new(habits.credit, habits.buffer),
            receiving: Receiving::new(0, habits.buffer, habits.pace),
            state: State::Untold,
            due: true,
            rested: None,
        }
    }

    /// Returns how many octets this end holds, in both directions together.
    pub fn held(&self) -> usize {
        self.sending.queued() + self.receiving.held()
    }

    fn segment(&self, word: SegmentWord<M>) -> Segment<M> {
        Segment::new(self.local, self.remote, 0, word)
    }
}

impl<M: Message> Protocol for PipeEnd<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        ..Facts::named(NAME)
    };
    type Provides = Octets<M>;
    type Uses = Segments<M>;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: OctetsRequest<M>,
        _out: &mut impl Outlet<Self>,
    ) {
        match request {
            // What was sent before the cut was known is lost.
            _ if self.state == State::Down => return,
            OctetsRequest::Send { message } => self.sending.push(message),
            OctetsRequest::Credit { credit } => {
                assert!(credit > 0, "{NAME}: a Receive of nothing: room is never zero");
                self.receiving.give(credit);
            }
        }
        self.due = true;
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        segment: Segment<M>,
        _out: &mut impl Outlet<Self>,
    ) {
        match segment.word {
            SegmentWord::Octets(message) => self.receiving.push(message),
            SegmentWord::Window(octets) => self.sending.window += octets,
            SegmentWord::Reset { .. } if self.state != State::Down => self.state = State::Cut,
            _ => return cx.dropped(NAME, "a word that a line does not know"),
        }
        self.due = true;
    }

    fn handle_timeout(&mut self, cx: &Context, _out: &mut impl Outlet<Self>) {
        if self.rested.is_some_and(|rested| rested <= cx.now()) {
            self.rested = None;
            self.due = true;
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.rested
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if !std::mem::take(&mut self.due) {
            return;
        }
        if self.state == State::Untold {
            self.state = State::Up;
            out.indicate(OctetsIndication::State { up: true });
            out.indicate(OctetsIndication::Credit { credit: self.habits.credit });
        }
        if self.state == State::Cut {
            self.state = State::Down;
            out.indicate(OctetsIndication::State { up: false });
        }
        if self.state == State::Down {
            return; // what crosses its end is lost
        }
        let mut left = 0;
        while let Some(message) = self.sending.next(cx, self.habits.chunks) {
            left += message.len();
            out.request(self.segment(SegmentWord::Octets(message)));
        }
        if left > 0 {
            self.sending.credit += left;
            out.indicate(OctetsIndication::Credit { credit: left });
        }
        let mut read = 0;
        while let Some(message) = self.receiving.next(cx, self.habits.chunks) {
            read += message.len();
            out.indicate(OctetsIndication::Delivered { message });
        }
        if read > 0 {
            out.request(self.segment(SegmentWord::Window(read)));
        }
        self.rested = self.receiving.rests_until(cx.now());
    }

    fn wants_flush(&self) -> bool {
        self.due
    }
}
