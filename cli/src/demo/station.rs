//! A radio station of the demonstration: AX.25 over KISS over TCP, on a thread of its own.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use stackwright::ax25::{Ax25, Config, LinkVersion};
use stackwright::compose::{Over, stack};
use stackwright::contract::services::{
    AssociationIndication, AssociationRequest, Credit, Ended, Streams,
};
use stackwright::contract::{Address, CallSign, Either, Handle, IndicationOf, Outlet, Participant};
use stackwright::kiss::{self, Kiss};
use stackwright::wire::Message as _;
use stackwright_drivers::Driver;
use stackwright_drivers::line::Line;

use crate::stacks::{self, Message};

stack! {
    /// A station at a TNC.
    StationStack = Ax25<Message> over Kiss<Message> over Line<Message>
}

type Request = AssociationRequest<Streams<Message>>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const STREAM: Handle = Handle { index: 1, generation: 0 };
/// What may come before it is read.
const CREDIT: Credit = Credit::of_octets(1 << 16);
/// AX.25's protocol identifier of plain octets.
const NO_LAYER_3: u8 = 0xf0;

/// What was told of the stream.
#[derive(Default)]
struct Told {
    is_up: bool,
    octets: Vec<u8>,
    credit: usize,
    finished: bool,
    ended: Option<Ended>,
}

impl Outlet<StationStack> for Told {
    fn indicate(&mut self, indication: IndicationOf<StationStack>) {
        let Either::Left(told) = indication else { return };
        match told {
            AssociationIndication::Opened { credit, .. } => self.credit = credit.octets,
            AssociationIndication::Delivered { batch, .. } => {
                batch.as_octets().each(|octets| self.octets.extend_from_slice(octets));
            }
            AssociationIndication::Credit { credit, .. } => self.credit += credit.octets,
            AssociationIndication::Finished { .. } => self.finished = true,
            AssociationIndication::Ended { why, .. } => self.ended = Some(why),
            AssociationIndication::Listening { .. } => self.is_up = true,
            _ => {}
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

/// A station.
pub(super) struct Station {
    driver: Driver,
    stack: StationStack,
    told: Told,
    until: Instant,
}

fn participant(call: CallSign) -> Participant {
    Address::Station { call, pid: NO_LAYER_3, route: 0 }.into()
}

impl Station {
    /// Makes a station at the TNC at `tnc`, on a channel of `rate` bit/s by the clock. What takes
    /// longer than `most` is given up.
    pub(super) fn new(
        call: CallSign,
        tnc: SocketAddr,
        rate: NonZeroU32,
        speed: u32,
        most: Duration,
    ) -> io::Result<Self> {
        let driver = Driver::new(fastrand::u64(..))?;
        let pool = stacks::pool();
        let line = Line::tcp(vec![tnc], driver.registry(), 0, pool.clone());
        let kiss = kiss::Config { rate, acknowledged: true, ..kiss::Config::default() };
        let config = Config::new(call);
        let config = Config {
            // Its frames are read by programs that know no other.
            version: LinkVersion::V20,
            rate: rate.get(),
            access: config.access / speed,
            timeout: config.timeout / speed,
            ..config
        };
        let kiss = Over::new(Kiss::sharing(kiss, pool), line);
        let stack = Over::new(Ax25::new(config), kiss);
        Ok(Station { driver, stack, told: Told::default(), until: Instant::now() + most })
    }

    fn ask(&mut self, request: Request) {
        self.driver.request(&mut self.stack, Either::Left(request), &mut self.told);
    }

    /// Runs until it is so; returns `false` if that takes too long.
    fn runs(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) -> io::Result<bool> {
        while !is_so(self) {
            if Instant::now() > self.until {
                return Ok(false);
            }
            let wait = Some(Duration::from_millis(50));
            self.driver.turn(&mut self.stack, &mut self.told, wait)?;
        }
        Ok(true)
    }

    /// Waits for a caller, and returns all that it sends.
    pub(super) fn receive(mut self, own: CallSign) -> io::Result<Vec<u8>> {
        let (listener, association, credit) = (LISTENER, STREAM, CREDIT);
        self.ask(Request::Listen { listener, local: participant(own) });
        self.ask(Request::Await { listener, association, credit });
        self.runs(|station| station.told.ended.is_some())?;
        Ok(self.told.octets)
    }

    /// Calls a station, sends `octets` and releases the link; returns how that ended.
    pub(super) fn send(mut self, peer: CallSign, octets: &[u8]) -> io::Result<Option<Ended>> {
        let (association, remote) = (STREAM, participant(peer));
        self.ask(Request::Open { association, remote, local: None, credit: CREDIT });
        let mut sent = 0;
        self.runs(|station| {
            let length = (octets.len() - sent).min(station.told.credit);
            if length > 0 {
                station.told.credit -= length;
                let batch = Message::with_headroom(0, &octets[sent..sent + length]).into();
                sent += length;
                station.ask(Request::Send { association, batch, properties: Default::default() });
                if sent == octets.len() {
                    station.ask(Request::Finish { association });
                }
            }
            station.told.ended.is_some()
        })?;
        Ok(self.told.ended)
    }
}
