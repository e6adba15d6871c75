//! Hearing what provides frames, a TNC or a device: each frame, and where the line comes and goes.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant as Clock;

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
        driver.turn(stack, &mut heard, most)?;
        // To give credit may deliver what waited for it.
        while let Some(credit) = heard.credit() {
            for (port, frame) in heard.frames.drain(..) {
                if !each(Some((port, &frame)))? {
                    return Ok(());
                }
            }
            if heard.up.take() == Some(false) {
                if !each(None)? {
                    return Ok(());
                }
            } else {
                driver.request(stack, FramesRequest::Credit { credit }, &mut heard);
            }
        }
    }
    Ok(())
}

/// What came, and was not handled yet.
#[derive(Default)]
struct Heard {
    frames: Vec<PortFrame>,
    /// Whether the TNC is there, where that was told.
    up: Option<bool>,
}

impl Heard {
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
            FramesIndication::State { up, .. } => self.up = Some(up),
            // Nothing is sent.
            FramesIndication::Credit { .. }
            | FramesIndication::Changed { .. }
            | FramesIndication::Left { .. } => {}
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
