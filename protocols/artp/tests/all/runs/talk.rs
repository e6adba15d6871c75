//! Two sides, and how packets cross between them.

use std::net::SocketAddr;

use stackwright_artp::{Config, Congestion, Layer, layer};
use stackwright_contract::ask::{NothingBelow, Reserve, ask};
use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Handle, Instant, Outlet, Participant, PathLimits, Protocol};
use stackwright_wire::{BufferTree, Message};

pub(crate) type M = BufferTree;

pub(crate) const NAME: Handle = Handle { index: 1, generation: 0 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
pub(crate) const MUCH: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };
/// What the application takes at once.
pub(crate) const UP: Credit = Credit { octets: 100_000, messages: 3 };
pub(crate) const LENGTH: usize = 10_000;
/// One of so many cannot be read: of most runs one, however these are cut.
const BROKEN_OF: usize = 24;
/// Shorter packets carry no octets of messages.
const LONG: usize = 500;

pub(crate) fn octets(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

/// What a side said, above and below.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) down: Vec<DatagramsRequest<M>>,
    pub(crate) below: Option<Handle>,
    pub(crate) credit: Credit,
    /// It was told that it is open, what came, and the last word.
    pub(crate) opened: bool,
    pub(crate) came: Vec<Vec<u8>>,
    /// Their numbers.
    pub(crate) numbers: Vec<u32>,
    /// How often several messages came at once.
    pub(crate) together: usize,
    pub(crate) ended: Option<Ended>,
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>> Outlet<P> for Said {
    fn indicate(&mut self, told: DatagramsIndication<M>) {
        match told {
            DatagramsIndication::Opened { credit, .. } => {
                (self.opened, self.credit) = (true, credit)
            }
            DatagramsIndication::Credit { credit, .. } => {
                self.credit.octets += credit.octets;
                self.credit.messages += credit.messages;
            }
            DatagramsIndication::Delivered { batch: messages, properties, .. } => {
                assert!(self.opened, "nothing comes before it is open");
                self.together += usize::from(messages.count() > 1);
                self.numbers.extend(
                    properties.number.into_iter().flat_map(|first| first..).take(messages.count()),
                );
                self.came.extend(messages.into_iter().map(|message| octets(&message)));
            }
            DatagramsIndication::Ended { name: NAME, why } => self.ended = Some(why),
            DatagramsIndication::Ended { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Listening { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
        }
    }

    fn request(&mut self, asked: DatagramsRequest<M>) {
        match asked {
            DatagramsRequest::Open { association, .. }
            | DatagramsRequest::Await { association, .. } => {
                self.below = self.below.or(Some(association));
            }
            asked => self.down.push(asked),
        }
    }
}

pub(crate) struct Side {
    pub(crate) layer: Layer<M>,
    pub(crate) said: Said,
}

impl Side {
    pub(crate) fn new(nth: u8) -> Self {
        // Its window grows though the application sends little at a time.
        let congestion = Congestion::Document;
        let config = Config { congestion, ..Config::new([nth; 16]) };
        Side { layer: layer(config, u64::from(nth)), said: Said::default() }
    }

    pub(crate) fn ask(&mut self, cx: &Context, request: DatagramsRequest<M>) {
        self.layer.handle_request(cx, request, &mut self.said);
    }

    pub(crate) fn say(&mut self, cx: &Context, octets: &[u8]) {
        self.send(cx, M::with_headroom(64, octets));
    }

    /// Asks for messages laid out as they leave.
    pub(crate) fn reserve(&self, octets: usize, most: usize) -> Option<Batch<M>> {
        ask(&self.layer, NAME, Reserve::new(octets, most), &NothingBelow)
    }

    /// A message of equal octets, written where it will leave from.
    pub(crate) fn say_in_place(&mut self, cx: &Context, octet: u8, octets: usize) {
        let mut message =
            self.reserve(octets, 1).expect("it knows how its packets lie").into_octets();
        assert_eq!(message.len(), octets);
        message.segments_mut().for_each(|(_, segment)| segment.fill(octet));
        self.send(cx, message);
    }

    pub(crate) fn send(&mut self, cx: &Context, message: M) {
        let credit = &mut self.said.credit;
        (credit.messages, credit.octets) = (credit.messages - 1, credit.octets - message.len());
        self.ask(
            cx,
            DatagramsRequest::Send {
                association: NAME,
                batch: message.into(),
                properties: MessageProperties::default(),
            },
        );
    }

    /// So much has left below.
    pub(crate) fn give_back(&mut self, cx: &Context, credit: Credit) {
        let association = self.said.below.expect("it is open");
        self.tell(cx, DatagramsIndication::Credit { association, credit });
    }

    pub(crate) fn tell(&mut self, cx: &Context, indication: DatagramsIndication<M>) {
        self.layer.handle_indication(cx, indication, &mut self.said);
    }
}

/// Two sides, and how runs cross between them.
pub(crate) struct Talk {
    pub(crate) cx: Context,
    pub(crate) sides: [Side; 2],
    /// Runs cross in one word.
    together: bool,
    /// Of so many packets of each side, [`BROKEN_OF`], this one cannot be read, if it is long:
    /// wherever a run begins.
    broken: Option<usize>,
    pub(crate) runs: usize,
    /// The packets of each side.
    pub(crate) packets: [Vec<Vec<u8>>; 2],
}

impl Talk {
    pub(crate) fn new(together: bool, broken: Option<usize>) -> Self {
        Self::on(together, broken, MUCH)
    }

    /// The same over a layer that takes so much at once.
    pub(crate) fn on(together: bool, broken: Option<usize>, credit: Credit) -> Self {
        let (cx, mut sides) = (Context::new(1), [1, 2].map(Side::new));
        cx.set_now(Instant::from_nanoseconds(1_000_000_000));
        let [here, there]: [Participant; 2] =
            [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 7)).into());
        sides[1].ask(&cx, DatagramsRequest::Listen { listener: LISTENER, local: there });
        let Some(DatagramsRequest::Listen { listener, local }) = sides[1].said.down.pop() else {
            panic!("it listens below")
        };
        sides[1].tell(&cx, DatagramsIndication::Listening { listener, local });
        sides[1].ask(
            &cx,
            DatagramsRequest::Await { listener: LISTENER, association: NAME, credit: UP },
        );
        sides[0].ask(
            &cx,
            DatagramsRequest::Open { association: NAME, remote: there, credit: UP, local: None },
        );
        for (side, (local, remote)) in sides.iter_mut().zip([(here, there), (there, here)]) {
            let association = side.said.below.expect("it is asked for below");
            side.tell(
                &cx,
                DatagramsIndication::Opened {
                    association,
                    local,
                    remote,
                    credit,
                    path: PathLimits::UNBOUNDED,
                },
            );
        }
        Talk { cx, sides, together, broken, runs: 0, packets: [Vec::new(), Vec::new()] }
    }

    /// What one side has to say reaches the other.
    pub(crate) fn speak(&mut self, from: usize) {
        let Side { layer, said } = &mut self.sides[from];
        layer.handle_timeout(&self.cx, said);
        layer.flush(&self.cx, said);
        let down = std::mem::take(&mut said.down);
        let association = self.sides[1 - from].said.below.expect("it is open");
        for asked in down {
            if let DatagramsRequest::Send { batch: messages, .. } = asked {
                let several = messages.count() > 1;
                self.runs += usize::from(several);
                self.sides[from].give_back(&self.cx, messages.cost());
                if self.together && several {
                    let (size, first) = (messages.longest(), self.packets[from].len());
                    messages.into_iter().for_each(|message| self.note(from, &message));
                    let whole = M::with_headroom(0, &self.packets[from][first..].concat());
                    let (batch, properties) =
                        (Batch::new(whole, size), MessageProperties::default());
                    let told = DatagramsIndication::Delivered { association, batch, properties };
                    self.sides[1 - from].tell(&self.cx, told);
                } else {
                    messages.into_iter().for_each(|message| self.cross(from, message));
                }
            }
        }
    }

    fn cross(&mut self, from: usize, message: M) {
        self.note(from, &message);
        let message = M::with_headroom(0, self.packets[from].last().expect("it was noted"));
        let association = self.sides[1 - from].said.below.expect("it is open");
        let told = DatagramsIndication::Delivered {
            association,
            batch: message.into(),
            properties: MessageProperties::default(),
        };
        self.sides[1 - from].tell(&self.cx, told);
    }

    /// A packet as it crosses.
    fn note(&mut self, from: usize, message: &M) {
        let (packets, mut packet) = (&mut self.packets[from], octets(message));
        if packet.len() >= LONG && self.broken == Some(packets.len() % BROKEN_OF) {
            packet[0] ^= 0xff;
        }
        packets.push(packet);
    }
}
