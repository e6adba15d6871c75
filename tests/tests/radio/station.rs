//! A station of ours: AX.25 over what carries its frames.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright::ax25::{Ax25, Config, FrameLength, LinkVersion};
use stackwright::compose::Over;
use stackwright::contract::services::{
    AssociationIndication, AssociationRequest, Credit, Ended, Frames, Streams,
};
use stackwright::contract::{
    Address, CallSign, Either, Handle, IndicationOf, Outlet, Participant, Protocol,
};
use stackwright::drivers::line::Line;
use stackwright::drivers::{Driver, Readiness};
use stackwright::kiss::Kiss;
use stackwright::wire::{BufferTree, Message, Pool};

pub(crate) type M = BufferTree;
type Stack<L> = Over<Ax25<M>, L>;
type Request = AssociationRequest<Streams<M>>;

pub(crate) const LISTENER: Handle = Handle { index: 0, generation: 0 };
pub(crate) const STREAM: Handle = Handle { index: 1, generation: 0 };
const CREDIT: Credit = Credit::of_octets(1 << 20);

/// What was told of the stream.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) opened: bool,
    pub(crate) octets: Vec<u8>,
    pub(crate) credit: usize,
    pub(crate) ended: Option<Ended>,
}

impl<L: Protocol<Provides = Frames<M>, Uses = Readiness>> Outlet<Stack<L>> for Told {
    fn indicate(&mut self, indication: IndicationOf<Stack<L>>) {
        let Either::Left(told) = indication else { return };
        match told {
            AssociationIndication::Opened { credit, .. } => {
                self.opened = true;
                self.credit = credit.octets;
            }
            AssociationIndication::Delivered { batch, .. } => {
                batch.as_octets().each(|octets| self.octets.extend_from_slice(octets));
            }
            AssociationIndication::Credit { credit, .. } => self.credit += credit.octets,
            AssociationIndication::Ended { why, .. } => self.ended = Some(why),
            _ => {}
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

pub(crate) struct Station<L: Protocol> {
    driver: Driver,
    stack: Stack<L>,
    pub(crate) told: Told,
}

/// KISS over a line.
pub(crate) type Tnc = Over<Kiss<M>, Line<M>>;

/// Makes KISS over a line, for a channel of `rate` bit/s.
pub(crate) fn tnc(line: Line<M>, rate: u32) -> Tnc {
    let rate = NonZeroU32::new(rate).expect("it is not 0");
    Over::new(Kiss::new(stackwright::kiss::Config { rate, ..Default::default() }), line)
}

pub(crate) fn pool() -> Arc<Pool<M>> {
    Arc::new(Pool::new(4096, 16))
}

pub(crate) fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

pub(crate) fn participant(text: &str) -> Participant {
    Address::Station { call: call(text), pid: 0xf0, route: 0 }.into()
}

impl Station<Tnc> {
    /// A station whose TNC is reached over TCP.
    pub(crate) fn new(own: &str, version: LinkVersion, rate: u32, hub: SocketAddr) -> Self {
        Self::at(own, version, rate, hub, at_once)
    }

    /// The same with a configuration that is adjusted.
    pub(crate) fn at(
        own: &str,
        version: LinkVersion,
        rate: u32,
        hub: SocketAddr,
        adjust: fn(Config) -> Config,
    ) -> Self {
        let make = |driver: &Driver| tnc(Line::tcp(vec![hub], driver.registry(), 0, pool()), rate);
        Self::over(own, version, rate, make, adjust)
    }
}

/// The times of a channel without a modem.
pub(crate) fn at_once(config: Config) -> Config {
    Config { access: Duration::from_millis(10), timeout: Duration::from_secs(2), ..config }
}

impl<L: Protocol<Provides = Frames<M>, Uses = Readiness>> Station<L> {
    /// A station over what `make` makes, on a channel of `rate` bit/s.
    pub(crate) fn over(
        own: &str,
        version: LinkVersion,
        rate: u32,
        make: impl FnOnce(&Driver) -> L,
        adjust: fn(Config) -> Config,
    ) -> Self {
        let driver = Driver::new(1).expect("the system has one");
        let lower = make(&driver);
        let config = Config {
            version,
            rate,
            frame: FrameLength::Adaptive,
            window: 7,
            ..Config::new(call(own))
        };
        let config = adjust(config);
        let stack = Over::new(Ax25::new(config), lower);
        Station { driver, stack, told: Told::default() }
    }

    pub(crate) fn ask(&mut self, request: Request) {
        self.driver.request(&mut self.stack, Either::Left(request), &mut self.told);
    }

    pub(crate) fn open(&mut self, peer: &str) {
        let (association, remote, credit) = (STREAM, participant(peer), CREDIT);
        self.ask(Request::Open { association, remote, local: None, credit });
    }

    pub(crate) fn listen(&mut self, own: &str) {
        self.ask(Request::Listen { listener: LISTENER, local: participant(own) });
        self.wait_for_the_next();
    }

    /// Takes the next link that is opened to it.
    pub(crate) fn wait_for_the_next(&mut self) {
        let (listener, association, credit) = (LISTENER, STREAM, CREDIT);
        self.ask(Request::Await { listener, association, credit });
    }

    /// Sends what there is credit for, and returns how much.
    pub(crate) fn send(&mut self, octets: &[u8]) -> usize {
        let length = octets.len().min(self.told.credit);
        if length > 0 {
            self.told.credit -= length;
            let batch = M::with_headroom(0, &octets[..length]).into();
            let (association, properties) = (STREAM, Default::default());
            self.ask(Request::Send { association, batch, properties });
        }
        length
    }

    pub(crate) fn finish(&mut self) {
        self.ask(Request::Finish { association: STREAM });
    }

    pub(crate) fn turn(&mut self) {
        let wait = Some(Duration::from_millis(10));
        self.driver.turn(&mut self.stack, &mut self.told, wait).expect("a poll");
    }

    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            self.turn();
            assert!(
                begin.elapsed() < Duration::from_secs(120),
                "{what}: opened {}, {} octets, {:?}, {:?}",
                self.told.opened,
                self.told.octets.len(),
                self.told.ended,
                self.stack.upper.links().collect::<Vec<_>>(),
            );
        }
    }

    /// How the link counts.
    pub(crate) fn modulus(&self) -> Option<stackwright::ax25::header::Modulus> {
        self.stack.upper.links().next().map(|link| link.modulus)
    }
}
