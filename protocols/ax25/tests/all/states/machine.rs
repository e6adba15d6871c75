//! One station, brought into each state by a script, and what it does next.

use stackwright_ax25::header::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Supervisory, Unnumbered,
};
use stackwright_ax25::{Ax25, Config, LinkState, LinkStatus, LinkVersion};
use stackwright_contract::services::{
    AssociationIndication, Credit, FramesIndication, FramesRequest, Streams, StreamsRequest,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant,
    Protocol as _, RequestOf,
};
use stackwright_wire::{BufferTree, Message};

type Stack = Ax25<BufferTree>;
type Told = AssociationIndication<Streams<BufferTree>>;

pub(crate) const LISTENER: Handle = Handle { index: 0, generation: 0 };
pub(crate) const STREAM: Handle = Handle { index: 1, generation: 0 };
pub(crate) const SECOND: Handle = Handle { index: 2, generation: 0 };
/// The credit upward: few octets, so that they can be used up.
pub(crate) const ROOM: usize = 8;

pub(crate) fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

pub(crate) fn peer() -> Participant {
    Address::Station { call: call("B"), pid: 0xf0, route: 0 }.into()
}

/// A station with the call sign A. Its peer B is the test.
pub(crate) struct Machine {
    pub(crate) stack: Stack,
    cx: Context,
    words: Words,
    marks: Vec<u16>,
}

#[derive(Default)]
struct Words {
    does: Vec<String>,
    marks: Vec<u16>,
    extended: bool,
    delivered: Vec<u8>,
}

fn bit(role: Role, poll: bool) -> String {
    let letter = if role == Role::Response { "F" } else { "P" };
    format!("{letter}={}", u8::from(poll))
}

/// A frame in words, as the table has it.
fn shown(octets: &[u8], modulus: Modulus) -> String {
    let (addresses, at) = Addresses::decode(octets).expect("addresses");
    let (control, length) = ControlField::decode(&octets[at..], modulus).expect("a control field");
    let rest = octets.len() - at - length;
    match control {
        ControlField::Information { sent, received, poll } => {
            format!("I {sent}/{received} {}", bit(addresses.role, poll))
        }
        ControlField::Supervisory { kind, received, poll } => {
            let kind = match kind {
                Supervisory::ReceiveReady => "RR",
                Supervisory::ReceiveNotReady => "RNR",
                Supervisory::Reject => "REJ",
                Supervisory::SelectiveReject => "SREJ",
            };
            let more = if rest > 0 { format!(" +{rest}") } else { String::new() };
            format!("{kind} {received} {}{more}", bit(addresses.role, poll))
        }
        ControlField::Unnumbered { kind, poll } => {
            let kind = match kind {
                Unnumbered::Sabm => "SABM",
                Unnumbered::Sabme => "SABME",
                Unnumbered::Disc => "DISC",
                Unnumbered::Dm => "DM",
                Unnumbered::Ua => "UA",
                Unnumbered::Frmr => "FRMR",
                Unnumbered::Ui => "UI",
                Unnumbered::Xid => "XID",
                Unnumbered::Test => "TEST",
            };
            format!("{kind} {}", bit(addresses.role, poll))
        }
    }
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        let Either::Left(told) = indication else { return };
        self.does.push(match told {
            Told::Opened { .. } => "Opened".into(),
            Told::Delivered { batch, .. } => {
                batch.as_octets().each(|octets| self.delivered.extend_from_slice(octets));
                format!("Delivered {}", batch.octets())
            }
            Told::Credit { credit, .. } => format!("Credit {}", credit.octets),
            Told::Finished { .. } => "Finished".into(),
            Told::Ended { why, .. } => format!("Ended {why:?}"),
            Told::Listening { .. } => "Listening".into(),
            other => panic!("{other:?}"),
        });
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, mark, .. } = request {
            let message = batch.into_single();
            let mut octets = vec![0; message.len()];
            message.copy_to(&mut octets);
            self.marks.extend(mark);
            let modulus = if self.extended { Modulus::Extended } else { Modulus::Eight };
            self.does.push(shown(&octets, modulus));
        }
    }
}

impl Machine {
    pub(crate) fn new(version: LinkVersion) -> Self {
        Self::of(Config { version, tries: 3, ..Config::new(call("A")) })
    }

    pub(crate) fn of(config: Config) -> Self {
        let (stack, cx) = (Ax25::new(config), Context::new(1));
        let mut machine = Machine { stack, cx, words: Words::default(), marks: Vec::new() };
        machine.line(true);
        machine
    }

    /// Takes what was done since the last time.
    pub(crate) fn take(&mut self) -> Vec<String> {
        self.marks.append(&mut self.words.marks);
        std::mem::take(&mut self.words.does)
    }

    /// Takes the octets that were delivered.
    pub(crate) fn delivered(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.words.delivered)
    }

    /// Frames are shown as those of a link with numbers of seven bits.
    pub(crate) fn extended(&mut self) {
        self.words.extended = true;
    }

    fn flush(&mut self) {
        for _ in 0..10 {
            if self.stack.wants_flush() {
                self.stack.flush(&self.cx, &mut self.words);
            }
        }
        assert!(!self.stack.wants_flush(), "it gathers something with every flush");
    }

    fn indicate(&mut self, indication: FramesIndication<BufferTree>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.words);
        self.flush();
    }

    pub(crate) fn line(&mut self, up: bool) {
        self.indicate(FramesIndication::State { port: 0, up });
        if up {
            let credit = Credit { octets: 100_000, messages: 1000 };
            self.indicate(FramesIndication::Credit { port: 0, credit });
        }
    }

    /// Tells that everything has left.
    pub(crate) fn left(&mut self) {
        self.marks.append(&mut self.words.marks);
        for mark in std::mem::take(&mut self.marks) {
            self.indicate(FramesIndication::Left { port: 0, mark });
        }
    }

    pub(crate) fn ask(&mut self, request: StreamsRequest<BufferTree>) {
        self.stack.handle_request(&self.cx, Either::Left(request), &mut self.words);
        self.flush();
    }

    pub(crate) fn send(&mut self, octets: &[u8]) {
        let batch = BufferTree::with_headroom(0, octets).into();
        let (association, properties) = (STREAM, Default::default());
        self.ask(StreamsRequest::Send { association, batch, properties });
    }

    pub(crate) fn open(&mut self, association: Handle) {
        let (remote, credit) = (peer(), Credit::of_octets(ROOM));
        self.ask(StreamsRequest::Open { association, remote, local: None, credit });
    }

    /// The peer sends a frame.
    pub(crate) fn hear_in(
        &mut self,
        modulus: Modulus,
        role: Role,
        control: ControlField,
        rest: &[u8],
    ) {
        let addresses = Addresses {
            destination: call("A"),
            source: call("B"),
            role,
            path: DigipeaterPath::DIRECT,
        };
        let pid = control.has_pid().then_some(0xf0);
        let head = Head::new(&addresses, control, modulus, pid);
        self.hear_octets(&[head.as_octets(), rest].concat());
    }

    pub(crate) fn hear(&mut self, role: Role, control: ControlField, rest: &[u8]) {
        self.hear_in(Modulus::Eight, role, control, rest);
    }

    pub(crate) fn hear_octets(&mut self, octets: &[u8]) {
        let batch = BufferTree::with_headroom(0, octets).into();
        self.indicate(FramesIndication::Delivered { port: 0, batch });
    }

    /// A station sends an S or a U frame, as a command.
    pub(crate) fn hear_from(&mut self, source: &str, control: ControlField) {
        let addresses = Addresses {
            destination: call("A"),
            source: call(source),
            role: Role::Command,
            path: DigipeaterPath::DIRECT,
        };
        self.hear_octets(Head::new(&addresses, control, Modulus::Eight, None).as_octets());
    }

    pub(crate) fn hear_u(&mut self, role: Role, kind: Unnumbered, poll: bool) {
        self.hear(role, ControlField::unnumbered(kind, poll), &[]);
    }

    pub(crate) fn hear_s(&mut self, role: Role, kind: Supervisory, received: u8, poll: bool) {
        self.hear(role, ControlField::Supervisory { kind, received, poll }, &[]);
    }

    pub(crate) fn hear_i(&mut self, sent: u8, received: u8, poll: bool, octets: &[u8]) {
        let control = ControlField::Information { sent, received, poll };
        self.hear(Role::Command, control, octets);
    }

    /// The peer sends an I frame of some protocol.
    pub(crate) fn hear_of(&mut self, modulus: Modulus, sent: u8, pid: u8, octets: &[u8]) {
        let (destination, source) = (call("A"), call("B"));
        let (role, path) = (Role::Command, DigipeaterPath::DIRECT);
        let addresses = Addresses { destination, source, role, path };
        let control = ControlField::Information { sent, received: 0, poll: false };
        let head = Head::new(&addresses, control, modulus, Some(pid));
        self.hear_octets(&[head.as_octets(), octets].concat());
    }

    /// Lets time pass until a timer does something, or none is left.
    pub(crate) fn wait(&mut self) {
        let before = self.words.does.len();
        while let Some(deadline) = self.stack.next_deadline() {
            self.cx.set_now(deadline);
            self.stack.handle_timeout(&self.cx, &mut self.words);
            self.flush();
            self.left();
            if self.words.does.len() > before {
                return;
            }
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.cx.set_now(self.cx.now() + time);
        self.stack.handle_timeout(&self.cx, &mut self.words);
        self.flush();
    }

    pub(crate) fn link(&self) -> Option<LinkStatus> {
        self.stack.links().next()
    }

    /// Brings a station into a state.
    pub(crate) fn at(state: LinkState) -> Self {
        let version = match state {
            LinkState::Disconnected | LinkState::AwaitingV22Connection => LinkVersion::Auto,
            _ => LinkVersion::V20,
        };
        let mut machine = Machine::new(version);
        if state == LinkState::Disconnected {
            let local = Address::Station { call: call("A"), pid: 0xf0, route: 0 }.into();
            machine.ask(StreamsRequest::Listen { listener: LISTENER, local });
            let credit = Credit::of_octets(ROOM);
            let (listener, association) = (LISTENER, STREAM);
            machine.ask(StreamsRequest::Await { listener, association, credit });
            machine.take();
            return machine;
        }
        machine.open(STREAM);
        machine.left();
        if matches!(state, LinkState::AwaitingConnection | LinkState::AwaitingV22Connection) {
            machine.take();
            return machine;
        }
        machine.hear_u(Role::Response, Unnumbered::Ua, true);
        if state == LinkState::AwaitingRelease {
            machine.ask(StreamsRequest::Finish { association: STREAM });
        } else {
            machine.send(b"abc");
        }
        machine.left();
        if state == LinkState::TimerRecovery {
            machine.wait();
        }
        machine.take();
        let there = machine.link().map(|link| link.state);
        assert_eq!(there, Some(state));
        machine
    }
}
