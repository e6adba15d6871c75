//! A frame through KISS, in either direction, with the memory of its neighbours.

use std::hint::black_box;
use std::sync::Arc;

use stackwright_contract::services::{
    Credit, FramesIndication, FramesRequest, OctetsIndication, OctetsRequest,
};
use stackwright_contract::{Context, Duration, Outlet, Protocol};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_kiss::{Config, Kiss};
use stackwright_wire::{BufferTree, Message, Pool};

type M = BufferTree;

const ROUNDS: u64 = 1024;
/// Octets of a frame, of which two are escaped.
const FRAME: usize = 200;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    figures.push(Figure::new("kiss/receive", ROUNDS, Receiving::new));
    figures.push(Figure::new("kiss/send", ROUNDS, Sending::new));
}

/// A frame without its type.
fn frame() -> [u8; FRAME] {
    let mut frame = [7; FRAME];
    (frame[50], frame[150]) = (0xC0, 0xDB);
    frame
}

/// The same on the line.
fn on_the_line() -> Vec<u8> {
    let frame = frame();
    let (begin, rest) = (&frame[..50], &frame[51..150]);
    [&b"\xC0\x00"[..], begin, b"\xDB\xDC", rest, b"\xDB\xDD", &frame[151..], b"\xC0"].concat()
}

/// Counts octets of frames and of the line, whose memory it gives back.
struct Neighbours {
    pool: Arc<Pool<M>>,
    octets: usize,
}

impl Outlet<Kiss<M>> for Neighbours {
    fn indicate(&mut self, word: FramesIndication<M>) {
        if let FramesIndication::Delivered { batch, .. } = word {
            self.octets += black_box(batch).octets();
        }
    }

    fn request(&mut self, word: OctetsRequest<M>) {
        if let OctetsRequest::Send { message } = word {
            self.octets += message.len();
            message.reclaim(&self.pool);
        }
    }
}

fn up() -> (Context, Kiss<M>, Neighbours) {
    let (cx, pool) = (Context::new(1), Arc::new(Pool::new(4096, 4)));
    let mut kiss = Kiss::sharing(Config::default(), Arc::clone(&pool));
    let mut out = Neighbours { pool, octets: 0 };
    kiss.handle_indication(&cx, OctetsIndication::State { up: true }, &mut out);
    kiss.handle_indication(&cx, OctetsIndication::Credit { credit: usize::MAX / 2 }, &mut out);
    let credit = Credit { octets: usize::MAX / 2, messages: usize::MAX / 2 };
    kiss.handle_request(&cx, FramesRequest::Credit { credit }, &mut out);
    kiss.flush(&cx, &mut out);
    (cx, kiss, out)
}

/// A frame comes with each read of the line.
struct Receiving {
    cx: Context,
    kiss: Kiss<M>,
    out: Neighbours,
    line: Vec<u8>,
}

impl Receiving {
    fn new() -> Self {
        let (cx, kiss, out) = up();
        Receiving { cx, kiss, out, line: on_the_line() }
    }
}

impl Subject for Receiving {
    fn work(&mut self) -> u64 {
        self.out.octets = 0;
        for _round in 0..ROUNDS {
            let message = self.out.pool.copy(&self.line);
            let word = OctetsIndication::Delivered { message };
            self.kiss.handle_indication(&self.cx, word, &mut self.out);
        }
        assert_eq!(self.out.octets, ROUNDS as usize * FRAME, "every frame is delivered");
        self.out.octets as u64
    }
}

/// A frame is sent, and leaves before the next.
struct Sending {
    cx: Context,
    kiss: Kiss<M>,
    out: Neighbours,
}

impl Sending {
    fn new() -> Self {
        let (cx, kiss, out) = up();
        Sending { cx, kiss, out }
    }
}

impl Subject for Sending {
    fn work(&mut self) -> u64 {
        self.out.octets = 0;
        let frame = frame();
        for _round in 0..ROUNDS {
            let batch = self.out.pool.copy(&frame).into();
            let word = FramesRequest::Send { port: 0, batch, mark: Some(1) };
            self.kiss.handle_request(&self.cx, word, &mut self.out);
            self.kiss.flush(&self.cx, &mut self.out);
            self.cx.set_now(self.cx.now() + Duration::from_secs(10));
            self.kiss.handle_timeout(&self.cx, &mut self.out);
        }
        let framed = on_the_line().len();
        assert_eq!(self.out.octets, ROUNDS as usize * framed, "every frame is on the line");
        self.out.octets as u64
    }
}
