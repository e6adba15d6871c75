//! KISS: frames of a TNC over a line of octets, with the acknowledgement of its ACKMODE.

use std::collections::VecDeque;
use std::marker::PhantomData;

use stackwright_contract::ask::{Ask, Longest, Question};
use stackwright_contract::services::{
    Credit, Frames, FramesIndication, FramesRequest, Octets, OctetsIndication, OctetsRequest,
};
use stackwright_contract::{Context, Facts, Guarantees, IndicationTo, Outlet, Protocol, RequestTo};
use stackwright_wire::Message;

const END: u8 = 0xC0;
const ESCAPE: u8 = 0xDB;
const ESCAPED_END: u8 = 0xDC;
const ESCAPED_ESCAPE: u8 = 0xDD;

/// What may wait for the line on a port: the first credit downward.
const SEND_ROOM: Credit = Credit { octets: 2000, messages: 8 };
/// Octets of the line that are held for the layer above.
const LINE_ROOM: usize = 300;
/// The longest frame, in octets.
const LONGEST: usize = 256;

pub(crate) const PORTS: u8 = 2;

/// Gathers the frames of a batch into one write.
pub(crate) struct Kiss<M> {
    gathered: Vec<u8>,
    /// Credit of the line; octets that it was given, and that it has transmitted.
    credit: usize,
    written: usize,
    transmitted: usize,
    /// Frames on their way, each with its end among the octets given to the line.
    leaving: VecDeque<Leaving>,
    /// Credit of the layer above, frames that wait for it, and octets whose credit the line is
    /// owed.
    up: Credit,
    arrived: VecDeque<(u8, Vec<u8>)>,
    owed: usize,
    frame: Vec<u8>,
    escaped: bool,
    message: PhantomData<M>,
}

struct Leaving {
    port: u8,
    end: usize,
    credit: Credit,
    mark: Option<u16>,
}

impl<M> Default for Kiss<M> {
    fn default() -> Self {
        Kiss {
            gathered: Vec::new(),
            credit: 0,
            written: 0,
            transmitted: 0,
            leaving: VecDeque::new(),
            up: Credit::default(),
            arrived: VecDeque::new(),
            owed: 0,
            frame: Vec::new(),
            escaped: false,
            message: PhantomData,
        }
    }
}

impl<M: Message> Protocol for Kiss<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::ORDERED,
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        reads_payload: true,
        ..Facts::named("kiss")
    };
    type Provides = Frames<M>;
    type Uses = Octets<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch: messages, mark } => {
                self.queue(cx, port, messages.into_single(), mark)
            }
            FramesRequest::Credit { credit } => {
                self.up.octets += credit.octets;
                self.up.messages += credit.messages;
                self.deliver(out);
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match word {
            OctetsIndication::State { up } => {
                *self = Kiss::default();
                out.indicate(FramesIndication::State { up });
                if up {
                    (0..PORTS).for_each(|port| {
                        out.indicate(FramesIndication::Credit { port, credit: SEND_ROOM })
                    });
                    out.request(OctetsRequest::Credit { credit: LINE_ROOM });
                }
            }
            OctetsIndication::Credit { credit } => {
                // The first is the line's own; every other says that it has transmitted as much.
                self.transmitted = (self.transmitted + credit).min(self.written);
                self.credit += credit;
                while let Some(Leaving { port, credit, mark, .. }) =
                    self.leaving.pop_front_if(|frame| frame.end <= self.transmitted)
                {
                    mark.into_iter()
                        .for_each(|mark| out.indicate(FramesIndication::Left { port, mark }));
                    out.indicate(FramesIndication::Credit { port, credit });
                }
            }
            OctetsIndication::Delivered { message } => {
                self.owed += message.len();
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                octets.into_iter().for_each(|octet| self.octet(cx, octet));
                self.deliver(out);
            }
        }
    }

    fn flush(&mut self, _: &Context, out: &mut impl Outlet<Self>) {
        let octets = self.gathered.len().min(self.credit);
        if octets > 0 {
            (self.credit, self.written) = (self.credit - octets, self.written + octets);
            out.request(OctetsRequest::Send {
                message: M::with_headroom(0, &self.gathered[..octets]),
            });
            self.gathered.drain(..octets);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.gathered.is_empty() && self.credit > 0
    }

    fn ask(&self, _port: u8, question: &mut Question<'_>, below: &dyn Ask<Octets<M>>) {
        question.answer::<Longest>(|_| Some(LONGEST));
        below.ask((), question);
    }
}

impl<M: Message> Kiss<M> {
    fn queue(&mut self, cx: &Context, port: u8, message: M, mark: Option<u16>) {
        let credit = Credit { octets: message.len(), messages: 1 };
        if port >= PORTS || credit.octets > LONGEST {
            return cx.dropped("kiss", "a frame for no port, or too long");
        }
        let mut octets = vec![0; credit.octets];
        message.copy_to(&mut octets);
        self.gathered.extend([END, port << 4]);
        for octet in octets {
            match octet {
                END => self.gathered.extend([ESCAPE, ESCAPED_END]),
                ESCAPE => self.gathered.extend([ESCAPE, ESCAPED_ESCAPE]),
                octet => self.gathered.push(octet),
            }
        }
        self.gathered.push(END);
        let end = self.written + self.gathered.len();
        self.leaving.push_back(Leaving { port, end, credit, mark });
    }

    fn octet(&mut self, cx: &Context, octet: u8) {
        match octet {
            END => {
                let frame = std::mem::take(&mut self.frame);
                if let [command, frame @ ..] = &frame[..] {
                    self.arrived.push_back((command >> 4, frame.to_vec()));
                }
            }
            ESCAPE => self.escaped = true,
            _ if self.frame.len() > LONGEST => {
                cx.dropped("kiss", "an octet beyond the longest frame")
            }
            octet if std::mem::take(&mut self.escaped) => {
                self.frame.push(if octet == ESCAPED_END { END } else { ESCAPE });
            }
            octet => self.frame.push(octet),
        }
    }

    /// Delivers what the layer above has credit for; the line gets its own back when nothing waits.
    fn deliver(&mut self, out: &mut impl Outlet<Self>) {
        while let Some((_, frame)) = self.arrived.front()
            && self.up.messages > 0
            && frame.len() <= self.up.octets
            && let Some((port, frame)) = self.arrived.pop_front()
        {
            self.up =
                Credit { octets: self.up.octets - frame.len(), messages: self.up.messages - 1 };
            let messages = M::with_headroom(0, &frame).into();
            out.indicate(FramesIndication::Delivered { port, batch: messages });
        }
        if self.arrived.is_empty() && self.owed > 0 {
            out.request(OctetsRequest::Credit { credit: std::mem::take(&mut self.owed) });
        }
    }
}
