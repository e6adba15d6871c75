//! Frames of a stream through AX.25 and KISS, down at one end and up at the other, and the answer.

use std::sync::Arc;

use stackwright_ax25::{Ax25, Config, FrameLength, LinkVersion};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, OctetsIndication, OctetsRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Address, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant, Protocol,
    RequestOf,
};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_kiss::Kiss;
use stackwright_wire::{BufferTree, Message, Pool};

type M = BufferTree;
type Stack = Over<Ax25<M>, Kiss<M>>;

const BURSTS: u64 = 256;
const FRAMES: usize = 4;
/// Octets of a frame.
const LENGTH: usize = 128;
const NAME: Handle = Handle { index: 0, generation: 0 };
const LISTENER: Handle = Handle { index: 1, generation: 0 };
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };

pub(crate) fn add(figures: &mut Vec<Figure>) {
    let frames = BURSTS * FRAMES as u64;
    figures.push(Figure::new("ax25/over kiss", frames, || Talk::new(LinkVersion::V20)));
    figures.push(Figure::new("ax25/over kiss, extended", frames, || Talk::new(LinkVersion::V22)));
}

/// What one station does, whose memory is given back.
struct Neighbours {
    pool: Arc<Pool<M>>,
    line: Vec<M>,
    octets: usize,
}

impl Outlet<Stack> for Neighbours {
    fn indicate(&mut self, word: IndicationOf<Stack>) {
        if let Either::Left(StreamsIndication::Delivered { batch, .. }) = word {
            self.octets += batch.octets();
            batch.into_octets().reclaim(&self.pool);
        }
    }

    fn request(&mut self, word: RequestOf<Stack>) {
        if let OctetsRequest::Send { message } = word {
            self.line.push(message);
        }
    }
}

struct End {
    cx: Context,
    stack: Stack,
    out: Neighbours,
}

impl End {
    fn new(call: &str, version: LinkVersion, pool: &Arc<Pool<M>>) -> Self {
        let config = Config {
            version,
            window: FRAMES as u8,
            frame: FrameLength::Fixed(LENGTH as u16),
            ..Config::new(call.parse().expect("a call sign"))
        };
        let (ax25, kiss) = (
            Ax25::sharing(config, Arc::clone(pool)),
            Kiss::sharing(Default::default(), Arc::clone(pool)),
        );
        let out = Neighbours { pool: Arc::clone(pool), line: Vec::with_capacity(64), octets: 0 };
        let mut end = End { cx: Context::new(1), stack: Over::new(ax25, kiss), out };
        end.hear(OctetsIndication::State { up: true });
        end.hear(OctetsIndication::Credit { credit: usize::MAX / 2 });
        end
    }

    fn hear(&mut self, word: OctetsIndication<M>) {
        self.stack.handle_indication(&self.cx, word, &mut self.out);
    }

    fn ask(&mut self, request: StreamsRequest<M>) {
        self.stack.handle_request(&self.cx, Either::Left(request), &mut self.out);
    }

    fn settle(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.out);
        }
    }

    /// Time passes: what was sent has left the antenna.
    fn pass(&mut self) {
        self.cx.set_now(self.cx.now() + Duration::from_secs(2));
        self.stack.handle_timeout(&self.cx, &mut self.out);
        self.settle();
    }
}

/// Two stations at one line.
struct Talk {
    ends: [End; 2],
    carried: Vec<M>,
}

impl Talk {
    fn new(version: LinkVersion) -> Self {
        let pool = Arc::new(Pool::new(512, 64));
        let ends = ["A", "B"].map(|call| End::new(call, version, &pool));
        let mut talk = Talk { ends, carried: Vec::with_capacity(64) };
        let there: Participant =
            Address::Station { call: "B".parse().expect("a call sign"), pid: 0xf0, route: 0 }
                .into();
        let [one, other] = &mut talk.ends;
        other.ask(StreamsRequest::Listen { listener: LISTENER, local: there });
        let (association, credit) = (NAME, AMPLE);
        other.ask(StreamsRequest::Await { listener: LISTENER, association, credit });
        one.ask(StreamsRequest::Open { association, remote: there, local: None, credit });
        talk.exchange();
        talk
    }

    /// Carries what each has said to the other, until both are silent.
    fn exchange(&mut self) {
        let mut silent = 0;
        while silent < 2 {
            silent += 1;
            for from in 0..2 {
                self.ends[from].settle();
                std::mem::swap(&mut self.carried, &mut self.ends[from].out.line);
                let to = &mut self.ends[1 - from];
                for message in self.carried.drain(..) {
                    silent = 0;
                    to.hear(OctetsIndication::Delivered { message });
                }
                self.ends.iter_mut().for_each(End::pass);
            }
        }
    }
}

impl Subject for Talk {
    fn work(&mut self) -> u64 {
        self.ends[1].out.octets = 0;
        for _burst in 0..BURSTS {
            let one = &mut self.ends[0];
            let mut message = M::from_block(one.out.pool.take(), 0, 0);
            for _frame in 0..FRAMES {
                message.join(M::from_block(one.out.pool.take(), 100, 100 + LENGTH));
            }
            let (batch, properties) = (message.into(), Default::default());
            one.ask(StreamsRequest::Send { association: NAME, batch, properties });
            self.exchange();
        }
        let octets = self.ends[1].out.octets;
        assert_eq!(octets, BURSTS as usize * FRAMES * LENGTH, "every octet is delivered");
        octets as u64
    }
}
