//! [`Streams`] without sockets: what the kernel's TCP is to a stack, with its uncertainty and
//! without its speed.
//!
//! | file | what |
//! | --- | --- |
//! | `listen.rs` | listeners, names that wait, and arrivals that wait for a name |
//! | `connect.rs` | attempts, addresses and ports |
//! | `send.rs` | from above to the network, within the peer's window |
//! | `receive.rs` | from the network upward, within the credit of the layer above |
//! | `habits.rs` | what a test may choose |
//!
//! As in the kernel, an opener is answered as soon as it reaches a listener, before there is a name
//! for it; octets return their credit when they are in flight, not when they were read; and what
//! arrived before a reset is delivered before it (by Linux). Ends are told in the order in which
//! they arrive. An urgent octet stays in line.
//!
//! It is the double of the *adapter* to the kernel, for tests of what stands above: they script its
//! pace, its deafness and the order of ends, which a real TCP does not let them. For loss, windows
//! and round trips, a real transport stands over [simulated datagrams](crate::SimulatedDatagrams).

mod connect;
mod habits;
mod listen;
mod receive;
mod send;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::ask::{Ask, Longest, Peer, Question};
use stackwright_contract::services::{
    Code, Credit, Ended, Streams, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Arrivals, Context, Duration, Facts, Guarantees, Handle, Instant, Outlet, PathLimits, Protocol,
};
use stackwright_wire::Message;

use crate::ledger::Ledger;
use crate::{Segment, SegmentWord, Segments};
pub use habits::{Habits, Held, Pace};
use listen::Listening;
pub(crate) use receive::Receiving;
pub(crate) use send::Sending;

const NAME: &str = "simulated streams";

/// How long a closed association waits without progress of its own half, until the peer is reset
/// and it ends as [`Ended::Expired`]: Linux waits as long for the peer's finish
/// (`tcp_fin_timeout`).
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The stream adapter of one station.
#[derive(Debug)]
pub struct SimulatedStreams<M> {
    address: IpAddr,
    habits: Habits,
    ledger: Ledger,
    names: Arrivals<Listening, End>,
    flows: BTreeMap<End, Flow<M>>,
    due: BTreeSet<End>,
    timers: BTreeSet<(Instant, End)>,
    held: Held,
    most_held: Held,
}

/// One end of an association. Its number distinguishes it from an earlier one between the same
/// ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct End {
    local: SocketAddr,
    remote: SocketAddr,
    number: u64,
}

#[derive(Debug)]
struct Flow<M> {
    stage: Stage,
    sending: Sending<M>,
    receiving: Receiving<M>,
    /// The peer has reset it, behind what arrived.
    reset: Option<Code>,
    /// Octets that leave no more since, and whose credit was not given back.
    discarded: usize,
}

/// The state of an association.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// This side has asked for it.
    Asked { association: Handle, expires: Instant },
    /// It has arrived, and there is no name for it yet.
    Nameless { listener: Handle },
    /// Open.
    Open { association: Handle },
    /// `Close` was requested: only its end is indicated.
    Closing { association: Handle, expires: Instant },
}

/// The side that has ended an association.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// This side, and the peer is told this code.
    Us(Code),
    Peer,
}

impl End {
    fn of<M>(segment: &Segment<M>) -> Self {
        End { local: segment.to, remote: segment.from, number: segment.number }
    }

    fn segment<M>(self, word: SegmentWord<M>) -> Segment<M> {
        Segment::new(self.local, self.remote, self.number, word)
    }
}

impl<M: Message> SimulatedStreams<M> {
    /// Makes the adapter of the station at `address`.
    pub fn new(address: IpAddr) -> Self {
        Self::with_habits(address, Habits::default())
    }

    /// Makes the adapter of the station at `address` with `habits`.
    pub fn with_habits(address: IpAddr, habits: Habits) -> Self {
        habits.check();
        SimulatedStreams {
            address,
            habits,
            ledger: Ledger::new(NAME),
            names: Arrivals::new(),
            flows: BTreeMap::new(),
            due: BTreeSet::new(),
            timers: BTreeSet::new(),
            held: Held::default(),
            most_held: Held::default(),
        }
    }

    /// Returns how many octets the adapter holds.
    pub fn held(&self) -> Held {
        self.held
    }

    /// Returns the most octets that it ever held at once, in each direction.
    pub fn most_held(&self) -> Held {
        self.most_held
    }

    /// Returns how many associations there are, with those that have no name yet.
    pub fn associations(&self) -> usize {
        self.flows.len()
    }

    /// Returns the association `name`, if a request for it is valid; one that crossed its end is
    /// dropped.
    fn flow(
        &mut self,
        cx: &Context,
        name: Handle,
        word: &'static str,
    ) -> Option<(End, &mut Flow<M>)> {
        if !self.ledger.lives(name) {
            cx.dropped(NAME, "a word for an association that is over");
            return None;
        }
        let Some(end) = self.names.get(name).copied() else {
            let listens = self.names.listener(name).is_some();
            assert!(!listens, "{NAME}: a {word} on {name:?}, which is a listener");
            assert!(
                word != "Send",
                "{NAME}: a Send on {name:?} keeps within the room: it is not open yet"
            );
            panic!("{NAME}: a {word} on {name:?} comes after Opened: nobody has arrived there yet")
        };
        let flow = self.flows.get_mut(&end).expect("a name stands for a flow that is there");
        if matches!(flow.stage, Stage::Closing { .. }) {
            cx.dropped(NAME, "a word for an association that was closed");
            return None;
        }
        Some((end, flow))
    }

    fn refuse(&mut self, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        self.last_word(StreamsIndication::Ended { name, why }, out);
    }

    fn end_name(&mut self, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        self.names.end(name, why).for_each(|word| self.last_word(word, out));
    }

    fn last_word(&mut self, word: StreamsIndication<M>, out: &mut dyn Outlet<Self>) {
        self.ledger.ended(word.name());
        out.indicate(word);
    }

    /// Ends an association here and, if this side caused it and it is not a clean end, at the peer.
    fn end(&mut self, end: End, why: Ended, by: By, out: &mut dyn Outlet<Self>) {
        let Some(flow) = self.flows.remove(&end) else { return };
        self.held.sending -= flow.sending.queued();
        self.held.receiving -= flow.receiving.held();
        self.due.remove(&end);
        let clean = why == Ended::Finished && !matches!(flow.stage, Stage::Asked { .. });
        if let By::Us(code) = by
            && !clean
        {
            out.request(end.segment(SegmentWord::Reset { code }));
        }
        match flow.stage {
            Stage::Asked { association, expires } | Stage::Closing { association, expires } => {
                self.timers.remove(&(expires, end));
                self.end_name(association, why, out);
            }
            Stage::Open { association } => self.end_name(association, why, out),
            Stage::Nameless { listener } => {
                if let Some(listening) = self.names.listener_mut(listener) {
                    listening.nameless.retain(|waits| *waits != end);
                }
            }
        }
    }

    /// Ends a name at once: `why` is the reason that is indicated.
    fn abort(
        &mut self,
        cx: &Context,
        name: Handle,
        why: Ended,
        code: Code,
        out: &mut dyn Outlet<Self>,
    ) {
        if !self.ledger.lives(name) {
            return cx.dropped(NAME, "a word for an association that is over");
        }
        let listens = self.names.listener(name).is_some();
        assert!(!listens, "{NAME}: an Abort on {name:?}, which is a listener: Close ends it");
        match self.names.get(name) {
            Some(end) => self.end(*end, why, By::Us(code), out),
            None => self.end_name(name, why, out),
        }
    }

    /// Closes a name gracefully; what is not open yet ends at once.
    fn close(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        if self.names.listener(name).is_some() {
            return self.unlisten(name, out);
        }
        if let Some(end) = self.names.get(name).copied() {
            let flow = self.flows.get_mut(&end).expect("a name stands for a flow that is there");
            match flow.stage {
                Stage::Open { association } => {
                    let expires = cx.now() + CLOSE_TIMEOUT;
                    flow.stage = Stage::Closing { association, expires };
                    flow.sending.finish();
                    self.timers.insert((expires, end));
                    self.due.insert(end);
                    return;
                }
                Stage::Closing { .. } => return cx.dropped(NAME, "a second Close"),
                Stage::Asked { .. } | Stage::Nameless { .. } => {}
            }
        }
        self.abort(cx, name, Ended::Finished, 0, out);
    }

    /// Makes what progress is possible on one association.
    fn turn(&mut self, cx: &Context, end: End, out: &mut dyn Outlet<Self>) {
        let Some(flow) = self.flows.get_mut(&end) else { return };
        let association = match flow.stage {
            Stage::Open { association } => association,
            Stage::Asked { expires, .. } if expires <= cx.now() => {
                return self.end(end, Ended::Unreachable, By::Us(0), out);
            }
            Stage::Closing { expires, .. } if expires <= cx.now() => {
                return self.end(end, Ended::Expired, By::Us(0), out);
            }
            Stage::Closing { .. } => return self.turn_closing(cx, end, out),
            Stage::Asked { .. } | Stage::Nameless { .. } => return,
        };
        let left = self.send(cx, end, out);
        let Some(flow) = self.flows.get_mut(&end) else { return };
        if left > 0 {
            flow.sending.credit += left;
            out.indicate(StreamsIndication::Credit {
                association,
                credit: Credit::of_octets(left),
            });
        }
        let mut read = 0;
        while let Some(message) = flow.receiving.next(cx, self.habits.chunks) {
            read += message.len();
            out.indicate(StreamsIndication::Delivered {
                association,
                batch: message.into(),
                properties: Default::default(),
            });
        }
        self.held.receiving -= read;
        if read > 0 {
            out.request(end.segment(SegmentWord::Window(read)));
        }
        if let Some(again) = flow.receiving.rests_until(cx.now()) {
            self.timers.insert((again, end));
        }
        if flow.receiving.tells_finish() {
            out.indicate(StreamsIndication::Finished { association });
        }
        if let Some(code) = flow.reset {
            if flow.receiving.held() == 0 {
                return self.end(end, Ended::Reset(code), By::Peer, out);
            }
            // The layer above may wait for it before it gives credit for what is left to read.
            let octets = mem::take(&mut flow.discarded);
            if octets > 0 {
                flow.sending.credit += octets;
                let credit = Credit::of_octets(octets);
                out.indicate(StreamsIndication::Credit { association, credit });
            }
        }
        self.end_finished(end, out);
    }

    /// Does the same after `Close`, when nothing is indicated any more: what arrives is discarded,
    /// and progress of this side's half gives the association more time.
    fn turn_closing(&mut self, cx: &Context, end: End, out: &mut dyn Outlet<Self>) {
        let left = self.send(cx, end, out);
        let Some(flow) = self.flows.get_mut(&end) else { return };
        if left > 0
            && let Stage::Closing { expires, .. } = &mut flow.stage
        {
            self.timers.remove(&(*expires, end));
            *expires = cx.now() + CLOSE_TIMEOUT;
            self.timers.insert((*expires, end));
        }
        let discarded = flow.receiving.discard();
        self.held.receiving -= discarded;
        if discarded > 0 {
            out.request(end.segment(SegmentWord::Window(discarded)));
        }
        flow.receiving.tells_finish();
        if let Some(code) = flow.reset {
            return self.end(end, Ended::Reset(code), By::Peer, out);
        }
        self.end_finished(end, out);
    }

    /// Sends what the peer can hold, and the end behind the last octet. Returns how many octets
    /// left.
    fn send(&mut self, cx: &Context, end: End, out: &mut dyn Outlet<Self>) -> usize {
        let Some(flow) = self.flows.get_mut(&end) else { return 0 };
        let mut left = 0;
        while let Some(message) = flow.sending.next(cx, self.habits.chunks) {
            left += message.len();
            out.request(end.segment(SegmentWord::Octets(message)));
        }
        self.held.sending -= left;
        if flow.sending.finishes() {
            out.request(end.segment(SegmentWord::Finish));
        }
        left
    }

    fn end_finished(&mut self, end: End, out: &mut dyn Outlet<Self>) {
        let Some(flow) = self.flows.get(&end) else { return };
        if flow.receiving.is_finished() && flow.sending.is_finished() {
            self.end(end, Ended::Finished, By::Us(0), out);
        }
    }

    fn arrived(&mut self, cx: &Context, segment: Segment<M>, out: &mut dyn Outlet<Self>) {
        let end = End::of(&segment);
        if let SegmentWord::Ask { window } = segment.word {
            return self.asked(end, window, out);
        }
        let Some(flow) = self.flows.get_mut(&end) else {
            return cx.dropped(NAME, "a segment for an association that is over");
        };
        match segment.word {
            SegmentWord::Answer { window } => {
                let Stage::Asked { association, expires } = flow.stage else {
                    unreachable!("an answer answers one question")
                };
                self.timers.remove(&(expires, end));
                flow.stage = Stage::Open { association };
                flow.sending.window += window;
                out.indicate(opened(association, end, flow.sending.credit));
            }
            SegmentWord::Octets(message) => {
                self.held.receiving += message.len();
                self.most_held.receiving = self.most_held.receiving.max(self.held.receiving);
                flow.receiving.push(message);
            }
            SegmentWord::Window(octets) => flow.sending.window += octets,
            SegmentWord::Finish => {
                flow.receiving.finish();
                if let Stage::Open { association } = flow.stage {
                    out.indicate(StreamsIndication::Ending { association });
                }
            }
            SegmentWord::Reset { code } => {
                if let Stage::Open { association } = flow.stage {
                    if !flow.receiving.has_ended() {
                        out.indicate(StreamsIndication::Ending { association });
                    }
                    flow.reset = Some(code);
                    flow.discarded = flow.sending.discard();
                    self.held.sending -= flow.discarded;
                    self.due.insert(end);
                    return;
                }
                // An application refuses only after the answer: before it, only the network
                // refuses.
                let why = match flow.stage {
                    Stage::Asked { .. } => Ended::Unreachable,
                    _ => Ended::Reset(code),
                };
                return self.end(end, why, By::Peer, out);
            }
            SegmentWord::Ask { .. } => unreachable!("handled above"),
            SegmentWord::Datagram(_) | SegmentWord::AskPath | SegmentWord::Path(_) => {
                return cx.dropped(NAME, "no segment of a stream");
            }
        }
        self.due.insert(end);
    }
}

fn opened<M: Message>(association: Handle, end: End, credit: usize) -> StreamsIndication<M> {
    StreamsIndication::Opened {
        association,
        local: end.local.into(),
        remote: end.remote.into(),
        credit: Credit::of_octets(credit),
        path: PathLimits::UNBOUNDED,
    }
}

impl<M: Message> Protocol for SimulatedStreams<M> {
    const FACTS: Facts = Facts {
        // An altered segment counts as a lost one, so nothing altered is delivered.
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::EXPEDITED),
        ..Facts::named(NAME)
    };
    type Provides = Streams<M>;
    type Uses = Segments<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: StreamsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            StreamsRequest::Listen { listener, local } => self.listen(cx, listener, local, out),
            StreamsRequest::Await { listener, association, credit } => {
                self.expect(listener, association, credit, out);
            }
            StreamsRequest::Close { name } => self.close(cx, name, out),
            StreamsRequest::Open {
                association,
                remote,
                local,
                credit: Credit { octets: credit, .. },
            } => {
                self.open(cx, association, remote, local, credit, out);
            }
            StreamsRequest::Send { association, batch, properties } => {
                let Some((end, flow)) = self.flow(cx, association, "Send") else { return };
                assert!(
                    !matches!(flow.stage, Stage::Asked { .. }),
                    "{NAME}: a Send on {association:?} keeps within the room: it is not open yet"
                );
                let octets = batch.octets();
                if flow.reset.is_some() {
                    flow.sending.credit -= octets;
                    flow.discarded += octets;
                    self.due.insert(end);
                    return;
                }
                flow.sending.push(batch.into_octets());
                self.held.sending += octets;
                self.most_held.sending = self.most_held.sending.max(self.held.sending);
                self.due.insert(end);
                if properties.expedited {
                    cx.event(NAME, format_args!("urgent {} > {}", end.local, end.remote));
                }
            }
            StreamsRequest::Credit { association, credit: Credit { octets: credit, .. } } => {
                assert!(credit > 0, "{NAME}: {association:?} is given no credit: it is never zero");
                if let Some((end, flow)) = self.flow(cx, association, "Credit") {
                    flow.receiving.give(credit);
                    self.due.insert(end);
                }
            }
            StreamsRequest::Control { association, .. } => {
                if self.flow(cx, association, "Control").is_some() {
                    out.indicate(StreamsIndication::unknown_command(association));
                }
            }
            StreamsRequest::Finish { association } => {
                if let Some((end, flow)) = self.flow(cx, association, "Finish") {
                    flow.sending.finish();
                    self.due.insert(end);
                }
            }
            StreamsRequest::Abort { association, code } => {
                self.abort(cx, association, Ended::Aborted, code, out);
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        segment: Segment<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.arrived(cx, segment, out);
    }

    fn handle_timeout(&mut self, cx: &Context, _out: &mut impl Outlet<Self>) {
        while let Some((time, end)) = self.timers.first().copied()
            && time <= cx.now()
        {
            self.timers.pop_first();
            self.due.insert(end);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(time, _)| *time)
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        for end in mem::take(&mut self.due) {
            self.turn(cx, end, out);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Segments<M>>) {
        if let Some(end) = self.names.get(about) {
            question
                .answer::<Longest>(|_| Some(usize::MAX))
                .answer::<Peer>(|_| Some(end.remote.into()));
            below.ask((self.address, end.remote.ip()), question);
        }
    }
}
