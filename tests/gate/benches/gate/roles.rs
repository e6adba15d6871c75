//! Reactions of generated roles, and of the same by hand: JIS's client, which computes nothing, and
//! the sender of stop-and-wait, whose numbers are checked where they are generated.

use std::hint::black_box;

use stackwright_gate::subject::{Figure, Subject};
use stackwright_generated::contract::stop_and_wait::sender::{self, Host as SenderHost};
use stackwright_generated::contract::stop_and_wait::{AckHead, DataHead};
use stackwright_jis::generated::client::{self, Host as ClientHost};
use stackwright_jis::generated::{
    BlocksHead, EndHead, RefusedHead, ReqHead, Restored, TableHead, TableKind,
};

/// Messages, or bodies of pieces.
const MESSAGES: usize = 4096;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    let mut push = |name: &str, figure: fn() -> Roles| {
        figures.push(Figure::new(format!("role/{name}"), MESSAGES as u64, figure));
    };
    push("jis client/generated", || Roles::JisGenerated(pictures()));
    push("jis client/by hand", || Roles::JisByHand(pictures()));
    push("stop-and-wait sender/generated", || Roles::SenderGenerated(messages()));
    push("stop-and-wait sender/by hand", || Roles::SenderByHand(messages()));
}

type ClientEvent = client::Event<'static, u64>;
type SenderEvent = sender::Event<'static, u64>;

enum Roles {
    JisGenerated(Vec<ClientEvent>),
    JisByHand(Vec<ClientEvent>),
    SenderGenerated(Vec<SenderEvent>),
    SenderByHand(Vec<SenderEvent>),
}

/// A picture's ADUs: both tables, bodies, the end.
fn pictures() -> Vec<ClientEvent> {
    const BODY: &u64 = &7;
    let table = |kind| client::Event::Table { head: TableHead { adu: (), kind }, body: BODY };
    let restored = Restored::Octets;
    let end = EndHead { adu: (), units: 1, outside: 0, length: 1, check: 1, restored };
    let mut events = vec![
        client::Event::Begin,
        client::Event::Get { most: 1452, name: BODY },
        table(TableKind::Huffman),
        table(TableKind::Quantisation),
    ];
    events.resize(MESSAGES, client::Event::Blocks { head: BlocksHead { adu: () }, body: BODY });
    events.push(client::Event::End { head: end });
    events
}

/// Messages, each of which is acknowledged.
fn messages() -> Vec<SenderEvent> {
    let ack = |number| sender::Event::Ack { head: AckHead { adu: (), number } };
    let message = |number| [sender::Event::Message { body: &7 }, ack(number)];
    let messages = (0..MESSAGES as u16).flat_map(message);
    std::iter::once(sender::Event::Begin).chain(messages).collect()
}

/// Counts what is done.
#[derive(Default)]
struct Doing {
    done: u64,
    totalled: bool,
}

impl ClientHost<u64> for Doing {
    fn set(&mut self, _: TableHead, body: &u64) {
        self.done += body;
    }
    fn paint(&mut self, _: BlocksHead, body: &u64) {
        self.done += body;
    }
    fn total(&mut self, _: EndHead) {
        self.totalled = true;
    }
    fn deny(&mut self, _: RefusedHead, _: &u64) {}
    fn covered(&self) -> bool {
        self.totalled
    }
    fn send_req(&mut self, head: ReqHead, _: &u64) {
        self.done += u64::from(head.most);
    }
    fn emit_ready(&mut self) {
        self.done += 1;
    }
    fn emit_done(&mut self) {
        self.done += 1;
    }
    fn emit_partial(&mut self) {}
    fn emit_denied(&mut self) {}
    fn start(&mut self, _: u8) {
        self.done += 1;
    }
}

impl SenderHost<u64> for Doing {
    fn keep(&mut self, body: &u64) {
        self.done += body;
    }
    fn kept(&self) -> u64 {
        self.done
    }
    fn send_data(&mut self, head: DataHead, body: &u64) {
        self.done += u64::from(head.number) + body;
    }
    fn emit_room(&mut self) {
        self.done += 1;
    }
    fn emit_expired(&mut self) {}
    fn start(&mut self, _: u8) {
        self.done += 1;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Client {
    First,
    Idle,
    Tables,
    Quantised,
    Coded,
    Image,
    Ending,
    Over,
}

/// What somebody writes who knows the states of JIS's client.
fn client_by_hand(state: Client, event: ClientEvent, host: &mut impl ClientHost<u64>) -> Client {
    use Client::{Coded, Ending, First, Idle, Image, Over, Quantised, Tables};
    use client::Event;
    match (state, event) {
        (First, Event::Begin) => Idle,
        (Idle, Event::Get { most, name }) => {
            host.send_req(ReqHead { adu: (), most }, name);
            host.start(0);
            Tables
        }
        (Tables, Event::Table { head, body }) => {
            host.set(head, body);
            if head.kind == TableKind::Quantisation { Quantised } else { Coded }
        }
        (Quantised, Event::Table { head, body }) if head.kind == TableKind::Huffman => {
            host.set(head, body);
            host.emit_ready();
            Image
        }
        (Coded, Event::Table { head, body }) if head.kind == TableKind::Quantisation => {
            host.set(head, body);
            host.emit_ready();
            Image
        }
        (Image | Ending, Event::Blocks { head, body }) => {
            host.paint(head, body);
            if host.covered() {
                host.emit_done();
                return Over;
            }
            state
        }
        (Image, Event::End { head }) => {
            host.total(head);
            if host.covered() {
                host.emit_done();
                return Over;
            }
            Ending
        }
        (Tables | Quantised | Coded | Image | Ending, Event::Refused { head, body }) => {
            host.deny(head, body);
            host.emit_denied();
            Over
        }
        (Tables | Quantised | Coded | Image | Ending, Event::Timer0) => {
            host.emit_partial();
            Over
        }
        _ => state,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sender {
    First,
    Ready,
    Waits,
    Over,
}

/// The same of the sender: its numbers wrap, and nothing checks them.
fn sender_by_hand(
    state: Sender,
    event: SenderEvent,
    (number, tries): (&mut u16, &mut u8),
    host: &mut impl SenderHost<u64>,
) -> Sender {
    use Sender::{First, Over, Ready, Waits};
    use sender::Event;
    match (state, event) {
        (First, Event::Begin) => Ready,
        (Ready, Event::Message { body }) => {
            host.keep(body);
            let body = host.kept();
            host.send_data(DataHead { adu: (), number: *number }, &body);
            *tries = tries.wrapping_add(1);
            host.start(0);
            Waits
        }
        (Waits, Event::Ack { head }) if head.number == *number => {
            *number = number.wrapping_add(1);
            *tries = 0;
            host.emit_room();
            Ready
        }
        (Waits, Event::Timer0) if *tries == 30 => {
            host.emit_expired();
            Over
        }
        (Waits, Event::Timer0) => {
            let body = host.kept();
            host.send_data(DataHead { adu: (), number: *number }, &body);
            *tries = tries.wrapping_add(1);
            host.start(0);
            Waits
        }
        _ => state,
    }
}

impl Subject for Roles {
    fn work(&mut self) -> u64 {
        let mut host = Doing::default();
        match self {
            Roles::JisGenerated(events) => {
                let (mut state, mut variables) = (client::State::FIRST, client::Variables::FIRST);
                for event in black_box(&*events) {
                    state = client::step(state, *event, &mut variables, &mut host);
                }
                assert!(state == client::State::OVER, "the picture is whole");
            }
            Roles::JisByHand(events) => {
                let mut state = Client::First;
                for event in black_box(&*events) {
                    state = client_by_hand(state, *event, &mut host);
                }
                assert!(state == Client::Over, "the picture is whole");
            }
            Roles::SenderGenerated(events) => {
                let (mut state, mut variables) = (sender::State::FIRST, sender::Variables::FIRST);
                for event in black_box(&*events) {
                    state = sender::step(state, *event, &mut variables, &mut host);
                }
                assert_eq!(usize::from(variables.number), MESSAGES, "all are acknowledged");
            }
            Roles::SenderByHand(events) => {
                let (mut state, mut number, mut tries) = (Sender::First, 0, 0);
                for event in black_box(&*events) {
                    state = sender_by_hand(state, *event, (&mut number, &mut tries), &mut host);
                }
                assert!(usize::from(number) == MESSAGES && state == Sender::Ready, "all arrived");
            }
        }
        host.done
    }
}
