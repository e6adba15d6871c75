//! Hearing what provides frames, a TNC or a device: each frame, and where the line comes and goes.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant as Clock};

use stackwright::contract::services::{Credit, Frames, FramesIndication, FramesRequest};
use stackwright::contract::{IndicationOf, Instant, Listener, Outlet, Protocol, RequestOf};
use stackwright::kiss::{Config, LONGEST_MOST, PORTS_MOST};
use stackwright::wire::{Message as _, Pool};
use stackwright_drivers::tun::Tun;
use stackwright_drivers::{Driver, Readiness};

use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::log;
use crate::stacks::Message;
use crate::tnc::{TncAddress, TncFrames, state_of_tnc};

/// How many octets of frames may wait to be shown.
const ROOM: Credit = Credit { octets: 64 << 10, messages: 64 };

/// A frame, behind its port.
pub(crate) type PortFrame = (u8, Vec<u8>);

/// Opens a TNC to hear it: every port, and frames as long as any has.
pub(crate) fn tnc(
    line: &str,
    driver: &Driver,
    pool: Arc<Pool<Message>>,
) -> Result<TncFrames, Problem> {
    let unfit = |why| Problem::Line { line: line.into(), why };
    let address = TncAddress::parse(line).map_err(unfit)?;
    let config = Config { longest: LONGEST_MOST, ports: PORTS_MOST, ..Config::default() };
    address.open(config, driver, 0, pool)
}

/// Has `each` take every frame with its port, and `None` when the TNC is gone, until it returns
/// false, the program is interrupted, or that time has come.
pub(crate) fn hear<P>(
    driver: &mut Driver,
    stack: &mut P,
    until: Option<Clock>,
    mut each: impl FnMut(Option<(u8, &[u8])>) -> Result<bool, Problem>,
) -> Result<(), Problem>
where
    P: Protocol<Provides = Frames<Message>, Uses = Readiness>,
{
    let interrupted = interrupts()?;
    let mut heard = Heard::default();
    while !interrupted.load(Relaxed) && until.is_none_or(|until| Clock::now() < until) {
        let most = until.map(|until| until.saturating_duration_since(Clock::now()));
        for came in heard.turn(driver, stack, most)? {
            if !each(came.as_ref().map(|(port, frame)| (*port, &frame[..])))? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What came, and was not handled yet.
#[derive(Default)]
pub(crate) struct Heard {
    frames: Vec<PortFrame>,
    /// Whether the TNC is there, where that was told.
    up: Option<bool>,
    /// What may be sent on each port.
    room: [Credit; PORTS_MOST as usize],
}

impl Heard {
    /// Runs one turn. Returns each frame that came with its port, and `None` where the TNC is gone.
    pub(crate) fn turn<P>(
        &mut self,
        driver: &mut Driver,
        stack: &mut P,
        most: Option<Duration>,
    ) -> Result<Vec<Option<PortFrame>>, Problem>
    where
        P: Protocol<Provides = Frames<Message>, Uses = Readiness>,
    {
        driver.turn(stack, self, most)?;
        let mut came = Vec::new();
        // To give credit may deliver what waited for it.
        while let Some(credit) = self.credit() {
            came.extend(self.frames.drain(..).map(Some));
            if self.up.take() == Some(false) {
                came.push(None);
            } else {
                driver.request(stack, FramesRequest::Credit { credit }, self);
            }
        }
        Ok(came)
    }

    /// Returns whether anything can be sent on a port.
    pub(crate) fn has_room(&self, port: u8) -> bool {
        self.room.get(usize::from(port)).is_some_and(|room| room.messages > 0)
    }

    /// Takes the room of a frame on a port. Returns whether it may be sent.
    pub(crate) fn takes(&mut self, port: u8, octets: usize) -> bool {
        let cost = Credit { octets, messages: 1 };
        let room = self.room.get_mut(usize::from(port)).filter(|room| room.covers(cost));
        room.map(|room| *room -= cost).is_some()
    }

    /// Returns the credit that is due, if anything came: all of it to a TNC that is there anew.
    fn credit(&self) -> Option<Credit> {
        let octets = self.frames.iter().map(|(_, frame)| frame.len()).sum();
        match (self.up, self.frames.len()) {
            (None, 0) => None,
            (Some(_), _) => Some(ROOM),
            (None, messages) => Some(Credit { octets, messages }),
        }
    }
}

impl<P> Outlet<P> for Heard
where
    P: Protocol<Provides = Frames<Message>, Uses = Readiness>,
{
    fn indicate(&mut self, word: IndicationOf<P>) {
        match word {
            FramesIndication::Delivered { port, batch } => {
                for message in batch {
                    let mut frame = vec![0; message.len()];
                    message.copy_to(&mut frame);
                    self.frames.push((port, frame));
                }
            }
            FramesIndication::State { port, up } => {
                self.up = Some(up);
                self.room
                    .get_mut(usize::from(port))
                    .into_iter()
                    .for_each(|room| *room = Credit::NONE);
            }
            FramesIndication::Credit { port, credit } => {
                self.room.get_mut(usize::from(port)).into_iter().for_each(|room| *room += credit);
            }
            FramesIndication::Changed { .. } | FramesIndication::Left { .. } => {}
        }
    }

    fn request(&mut self, request: RequestOf<P>) {
        match request {}
    }
}

/// Says on standard error when the line comes up and goes down.
pub(crate) struct States {
    pub(crate) line: String,
}

impl Listener for States {
    fn dropped(&mut self, _now: Instant, protocol: &'static str, reason: &'static str) {
        log(protocol, &format_args!("dropped {reason}"));
    }

    fn event(&mut self, _now: Instant, protocol: &'static str, what: std::fmt::Arguments<'_>) {
        if TncFrames::tells_state(protocol) {
            log(protocol, &state_of_tnc(&self.line, &what.to_string()));
        } else if protocol == <Tun<Message> as Protocol>::FACTS.name {
            log(protocol, &format_args!("{}: {what}", self.line));
        }
    }
}
