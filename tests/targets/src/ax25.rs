//! A station of AX.25 that hears anything, and is asked anything.

use std::collections::BTreeMap;

use stackwright::ax25::header::{Addresses, ControlField, DigipeaterPath, Head, Modulus, Role};
use stackwright::ax25::{Ax25, Config, Digipeating, LinkVersion};
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Datagrams, FramesIndication, FramesRequest,
    Streams, Transfer,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant,
    Protocol as _, RequestOf, RequestTo,
};
use stackwright_wire::{BufferTree, Message};

use crate::Input;

type Stack = Ax25<BufferTree>;

/// Octets that a station may hold for one link: what one side sends, two windows of what the other
/// does.
const HELD_MOST: usize = 8192 + (64 + 64) * 1100;

/// What the layer above knows of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Asked,
    /// Open, with this credit downward and upward.
    Open {
        down: Credit,
        up: Credit,
    },
    Ended,
}

#[derive(Default)]
struct Words {
    streams: BTreeMap<u32, Name>,
    datagrams: BTreeMap<u32, Name>,
    frames: Vec<Option<u16>>,
    credit: Credit,
}

fn told<T: Transfer>(names: &mut BTreeMap<u32, Name>, indication: AssociationIndication<T>) {
    let index = indication.name().index;
    let name = names.get_mut(&index).expect("a name that was given");
    match indication {
        AssociationIndication::Listening { .. } => assert_eq!(*name, Name::Asked),
        AssociationIndication::Opened { credit, .. } => {
            assert_eq!(*name, Name::Asked, "opened once");
            *name = Name::Open { down: credit, up: UP };
        }
        AssociationIndication::Delivered { batch, .. } => {
            let Name::Open { up, .. } = name else { panic!("it is not open") };
            *up -= T::cost(&batch); // within the credit, or it panics
        }
        AssociationIndication::Credit { credit, .. } => {
            let Name::Open { down, .. } = name else { panic!("it is not open") };
            *down += credit;
        }
        AssociationIndication::Ended { .. } => {
            assert_ne!(*name, Name::Ended, "the last word comes once");
            *name = Name::Ended;
        }
        _ => assert_ne!(*name, Name::Ended),
    }
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        match indication {
            Either::Left(indication) => told(&mut self.streams, indication),
            Either::Right(indication) => told(&mut self.datagrams, indication),
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, mark, .. } = request {
            self.credit -= batch.cost();
            let mut octets = [0; 100];
            let length = batch.as_octets().copy_to(&mut octets);
            Addresses::decode(&octets[..length]).expect("it makes frames");
            self.frames.push(mark);
        }
    }
}

const UP: Credit = Credit { octets: 10, messages: 3 };
const TNC: Credit = Credit { octets: 5000, messages: 20 };

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

fn station(which: u8) -> Participant {
    let (call, pid) = (call(["A", "B", "QST", "C"][usize::from(which % 4)]), 0xf0);
    Address::Station { call, pid, route: u16::from(which / 4 % 3) }.into()
}

struct Scene {
    stack: Stack,
    cx: Context,
    words: Words,
    up: bool,
    next: u32,
}

impl Scene {
    fn indicate(&mut self, indication: FramesIndication<BufferTree>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.words);
    }

    fn ask(&mut self, request: RequestTo<Stack>) {
        self.stack.handle_request(&self.cx, request, &mut self.words);
    }

    fn line(&mut self, up: bool) {
        self.up = up;
        self.words.frames.clear();
        self.words.credit = Credit::NONE;
        self.indicate(FramesIndication::State { port: 0, up });
        if up {
            self.words.credit = TNC;
            self.indicate(FramesIndication::Credit { port: 0, credit: TNC });
        }
    }

    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 50, "it gathers something with every flush");
            if !self.stack.wants_flush() {
                break;
            }
            self.stack.flush(&self.cx, &mut self.words);
        }
        for link in self.stack.links() {
            assert!(link.held <= HELD_MOST, "{link:?}");
        }
        assert!(self.stack.links().count() <= 4);
    }

    /// The TNC has sent what it was given.
    fn leave(&mut self) {
        let more = Credit {
            octets: TNC.octets - self.words.credit.octets,
            messages: TNC.messages - self.words.credit.messages,
        };
        if !self.up || more.messages == 0 {
            return;
        }
        self.words.credit = TNC;
        self.indicate(FramesIndication::Credit { port: 0, credit: more });
        for mark in std::mem::take(&mut self.words.frames).into_iter().flatten() {
            self.indicate(FramesIndication::Left { port: 0, mark });
        }
    }

    fn hear(&mut self, octets: &[u8]) {
        if self.up {
            let batch = BufferTree::with_headroom(0, octets).into();
            self.indicate(FramesIndication::Delivered { port: 0, batch });
        }
    }

    /// A frame of a peer that is well made, with any control field and any information.
    fn hear_peer(&mut self, input: &mut Input<'_>) {
        let (which, first, second, length) =
            (input.octet(), input.octet(), input.octet(), input.octet());
        let role = [Role::Command, Role::Response, Role::Unsaid][usize::from(which % 3)];
        let (destination, source) = (call("A"), call(if which & 0x80 == 0 { "B" } else { "C" }));
        let path = if which & 0x40 == 0 { DigipeaterPath::DIRECT } else { travelled() };
        let addresses = Addresses { destination, source, role, path };
        let mut octets = [0; 80];
        let at = addresses.encode(&mut octets);
        let mut frame = octets[..at].to_vec();
        frame.push(first);
        frame.extend((which & 0x20 != 0).then_some(second));
        frame.extend((which & 0x10 != 0).then_some(0xf0));
        frame.extend(input.take(usize::from(length) * 2));
        self.hear(&frame);
    }

    fn ask_any<T: Transfer<Message = BufferTree>>(
        &mut self,
        input: &mut Input<'_>,
        wrap: fn(AssociationRequest<T>) -> RequestTo<Stack>,
        names: fn(&mut Words) -> &mut BTreeMap<u32, Name>,
    ) {
        let (what, which) = (input.octet(), input.octet());
        let fresh = Handle { index: self.next, generation: 0 };
        let old = Handle { index: u32::from(which) % self.next.max(1), generation: 0 };
        let there = names(&mut self.words).get(&old.index).copied();
        let request = match what % 8 {
            0 => AssociationRequest::Open {
                association: fresh,
                remote: station(which),
                local: None,
                credit: UP,
            },
            1 => AssociationRequest::Listen { listener: fresh, local: station(which) },
            2 => AssociationRequest::Await { listener: old, association: fresh, credit: UP },
            3 => AssociationRequest::Finish { association: old },
            4 => AssociationRequest::Abort { association: old, code: 1 },
            5 => AssociationRequest::Close { name: old },
            6 => {
                let Some(Name::Open { up, .. }) = names(&mut self.words).get_mut(&old.index) else {
                    return;
                };
                *up += UP;
                AssociationRequest::Credit { association: old, credit: UP }
            }
            _ => {
                let Some(Name::Open { down, .. }) = names(&mut self.words).get_mut(&old.index)
                else {
                    return;
                };
                let length = (3 * usize::from(which)).min(down.octets);
                let batch = BufferTree::with_headroom(0, &vec![7; length]).into();
                if length == 0 || !down.covers(T::cost(&batch)) {
                    return;
                }
                *down -= T::cost(&batch);
                let properties = T::Properties::default();
                AssociationRequest::Send { association: old, batch, properties }
            }
        };
        match what % 8 {
            0..=2 => {
                self.next += 1;
                names(&mut self.words).insert(fresh.index, Name::Asked);
            }
            // A word for a name that has ended, or was never given, crosses its end.
            _ if there.is_none() => return,
            _ => {}
        }
        self.ask(wrap(request));
    }
}

/// A path whose digipeater has repeated.
fn travelled() -> DigipeaterPath {
    let mut path = DigipeaterPath::through(&[call("D")]).expect("one");
    path.repeat();
    path
}

/// Whatever it hears and is asked, it stays within its bounds, and every name gets its last word
/// once.
pub fn ax25(octets: &[u8]) {
    let mut input = Input(octets);
    let version =
        [LinkVersion::Auto, LinkVersion::V20, LinkVersion::V22][usize::from(input.octet() % 3)];
    let config = Config {
        version,
        digipeat: Digipeating::Wide { most: 2 },
        links_most: 4,
        tries: 3,
        aliases: vec![call("C")],
        ..Config::new(call("A"))
    };
    let mut scene = Scene {
        stack: Stack::new(config),
        cx: Context::new(1),
        words: Words::default(),
        up: false,
        next: 0,
    };
    scene.line(true);
    while !input.is_empty() {
        match input.octet() % 12 {
            0 => scene.line(false),
            1 => scene.line(true),
            2 => scene.leave(),
            3 => {
                let time = Duration::from_millis(100 * u64::from(input.octet()));
                scene.cx.set_now(scene.cx.now() + time);
                scene.stack.handle_timeout(&scene.cx, &mut scene.words);
            }
            4 => {
                let length = usize::from(input.octet());
                let frame = input.take(length);
                scene.hear(frame);
            }
            5 | 6 => scene.ask_any::<Streams<BufferTree>>(&mut input, Either::Left, |words| {
                &mut words.streams
            }),
            7 => scene.ask_any::<Datagrams<BufferTree>>(&mut input, Either::Right, |words| {
                &mut words.datagrams
            }),
            _ => scene.hear_peer(&mut input),
        }
        scene.settle();
    }
    // Everything is given up; then nothing is left when time has passed.
    for index in 0..scene.next {
        let name = Handle { index, generation: 0 };
        if scene.words.streams.get(&index).is_some_and(|name| *name != Name::Ended) {
            scene.ask(Either::Left(AssociationRequest::Abort { association: name, code: 0 }));
        }
        if scene.words.datagrams.get(&index).is_some_and(|name| *name != Name::Ended) {
            scene.ask(Either::Right(AssociationRequest::Abort { association: name, code: 0 }));
        }
    }
    scene.line(true);
    for _ in 0..1000 {
        scene.settle();
        scene.leave();
        let Some(deadline) = scene.stack.next_deadline() else { break };
        scene.cx.set_now(deadline);
        scene.stack.handle_timeout(&scene.cx, &mut scene.words);
    }
    assert_eq!(scene.stack.links().count(), 0, "nothing is left");
    let names = scene.words.streams.values().chain(scene.words.datagrams.values());
    assert!(names.copied().all(|name| name == Name::Ended), "every name has its last word");
}

/// What stands in frames is read as it is written.
pub fn ax25_frames(octets: &[u8]) {
    if let Ok((addresses, at)) = Addresses::decode(octets) {
        for modulus in [Modulus::Eight, Modulus::Extended] {
            let Ok((control, length)) = ControlField::decode(&octets[at..], modulus) else {
                continue;
            };
            let head = Head::new(&addresses, control, modulus, None);
            assert_eq!(Addresses::decode(head.as_octets()), Ok((addresses, at)));
            assert_eq!(head.as_octets().len(), at + length);
            assert_eq!(
                ControlField::decode(&head.as_octets()[at..], modulus),
                Ok((control, length))
            );
        }
    }
}

/// The information of XID is read as it is written.
pub fn ax25_xid(octets: &[u8]) {
    use stackwright::ax25::xid::{XID_MOST, XidParameters};
    if let Ok(parameters) = XidParameters::decode(octets) {
        let mut again = [0; XID_MOST];
        let length = parameters.encode(&mut again);
        let there = XidParameters::decode(&again[..length]).expect("it was just written");
        // What has more octets than are written for it is written shorter.
        assert_eq!(there.functions.is_some(), parameters.functions.is_some());
        assert_eq!((there.window, there.tries), (parameters.window, parameters.tries));
    }
}
