//! A hundred links of one station: what each holds while it is idle.

#[path = "../../../crates/compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "instructions are the bench's")]
mod count;

use stackwright_ax25::{Ax25, Config};
use stackwright_contract::services::{
    Credit, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant,
    Protocol as _, RequestOf,
};
use stackwright_wire::{BufferTree, Message};

type Stack = Ax25<BufferTree>;

const LINKS: u32 = 100;
const MOST: usize = 8 << 10;
/// What is sent over each link before it rests: more than one window.
const OCTETS: usize = 6000;
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };

#[derive(Default)]
struct Said {
    frames: Vec<(BufferTree, Option<u16>)>,
    opened: u32,
    octets: usize,
}

impl Outlet<Stack> for Said {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        match indication {
            Either::Left(StreamsIndication::Opened { .. }) => self.opened += 1,
            Either::Left(StreamsIndication::Delivered { batch, .. }) => {
                self.octets += batch.octets();
            }
            Either::Left(StreamsIndication::Ended { why, .. }) => panic!("{why}"),
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, mark, .. } = request {
            self.frames.push((batch.into_single(), mark));
        }
    }
}

struct End {
    stack: Stack,
    cx: Context,
    said: Said,
}

impl End {
    fn new(call: &str, aliases: Vec<CallSign>) -> Self {
        let config = Config { aliases, ..Config::new(call.parse().expect("a call sign")) };
        let mut end = End { stack: Ax25::new(config), cx: Context::new(1), said: Said::default() };
        end.hear(FramesIndication::State { port: 0, up: true });
        end.hear(FramesIndication::Credit { port: 0, credit: AMPLE });
        end
    }

    fn hear(&mut self, indication: FramesIndication<BufferTree>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.said);
    }

    fn ask(&mut self, request: StreamsRequest<BufferTree>) {
        self.stack.handle_request(&self.cx, Either::Left(request), &mut self.said);
    }

    fn pass(&mut self) {
        self.cx.set_now(self.cx.now() + Duration::from_millis(500));
        self.stack.handle_timeout(&self.cx, &mut self.said);
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.said);
        }
    }
}

fn exchange(ends: &mut [End; 2]) {
    // Longer than T1: of a hundred answers at a time, some are asked for again.
    let mut silent = 0;
    while silent < 100 {
        silent += 1;
        for from in 0..2 {
            ends[from].pass();
            for (frame, mark) in std::mem::take(&mut ends[from].said.frames) {
                silent = 0;
                let delivered = FramesIndication::Delivered { port: 0, batch: frame.into() };
                ends[1 - from].hear(delivered);
                if let Some(mark) = mark {
                    ends[from].hear(FramesIndication::Left { port: 0, mark });
                }
            }
        }
    }
}

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn caller(index: u32) -> CallSign {
    format!("N{}A{}-{}", index / 10 % 10, (b'A' + (index / 16) as u8) as char, index % 16)
        .parse()
        .expect("a call sign")
}

fn station(call: CallSign) -> Participant {
    Address::Station { call, pid: 0xf0, route: 0 }.into()
}

// One test only: what another one holds would be counted.
#[test]
fn a_hundred_idle_links_hold_little() {
    let callers = (0..LINKS).map(caller).collect();
    let mut ends = [End::new("N0AAA", callers), End::new("N0BBB", Vec::new())];
    let there = station("N0BBB".parse().expect("a call sign"));
    let ((), held) = count::held(|| {
        let [one, other] = &mut ends;
        other.ask(StreamsRequest::Listen { listener: name(LINKS), local: there });
        for index in 0..LINKS {
            let (association, credit) = (name(index), AMPLE);
            other.ask(StreamsRequest::Await { listener: name(LINKS), association, credit });
            let local = Some(station(caller(index)));
            one.ask(StreamsRequest::Open { association, remote: there, local, credit });
        }
        exchange(&mut ends);
    });
    assert_eq!([ends[0].said.opened, ends[1].said.opened], [LINKS; 2]);
    let each = held / (2 * LINKS as usize);
    println!("{each} octets for one end of an idle link");
    assert!(each <= MOST, "{each} octets");
    let ((), more) = count::held(|| {
        for index in 0..LINKS {
            let batch = BufferTree::with_headroom(0, &[7; OCTETS]).into();
            let (association, properties) = (name(index), Default::default());
            ends[0].ask(StreamsRequest::Send { association, batch, properties });
        }
        exchange(&mut ends);
        ends.iter_mut().for_each(|end| end.said.frames = Vec::new());
    });
    assert_eq!(ends[1].said.octets, OCTETS * LINKS as usize);
    let after = each as isize + more as isize / (2 * LINKS as isize);
    println!("{after} octets after they have spoken");
    assert!(after <= MOST as isize, "{after} octets");
}
