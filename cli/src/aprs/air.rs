//! What carries the frames of messages: a TNC, or a station by AGW.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant as Clock};

use stackwright::agw::AgwHeader;
use stackwright::ax25::{AirRules, AirRulesConfig};
use stackwright::compose::Over;
use stackwright::contract::CallSign;
use stackwright::contract::services::FramesRequest;
use stackwright::wire::Message as _;
use stackwright_drivers::Driver;

use crate::agw::AgwClient;
use crate::hearing::{Heard, PortFrame, States, tnc};
use crate::problem::Problem;
use crate::stacks::{self, Message};
use crate::tnc::TncFrames;

/// How long a TNC may be away at the start.
const TNC_WITHIN: Duration = Duration::from_secs(10);

/// Frames that a station hears and sends.
pub(super) enum Air {
    Tnc(Box<Tnc>),
    Agw { station: AgwClient, frames: Receiver<Result<PortFrame, Problem>> },
}

/// A TNC of this station's own.
pub(super) struct Tnc {
    driver: Driver,
    stack: Over<AirRules<Message>, TncFrames>,
    heard: Heard,
    came: VecDeque<PortFrame>,
}

impl Air {
    /// Opens a TNC, and waits until something can be sent on `port`.
    pub(super) fn tnc(line: &str, own: CallSign, port: u8) -> Result<Self, Problem> {
        let driver = Driver::new(fastrand::u64(..))?;
        driver.context().listen(Box::new(States { line: line.into() }));
        let frames = tnc(line, &driver, stacks::pool())?;
        let stack = Over::new(AirRules::new(AirRulesConfig::of(own)), frames);
        let (heard, came) = (Heard::default(), VecDeque::new());
        let mut tnc = Tnc { driver, stack, heard, came };
        let begun = Clock::now();
        while !tnc.heard.has_room(port) {
            if begun.elapsed() > TNC_WITHIN {
                let why = "it is not there".into();
                return Err(Problem::NoTnc { line: line.into(), why });
            }
            tnc.turn(Duration::from_millis(250))?;
        }
        Ok(Air::Tnc(Box::new(tnc)))
    }

    /// Has a station send and hear, with one of its call signs.
    pub(super) fn agw(place: &str, own: CallSign) -> Result<Self, Problem> {
        let mut station = AgwClient::connect(place)?;
        // To register a call sign says whether it may be used; links to it are not for this.
        let registers = |kind| {
            let mut header = AgwHeader::of(kind);
            let text = own.to_string();
            header.from[..text.len()].copy_from_slice(text.as_bytes());
            header
        };
        station.ask(registers(b'X'), &[])?;
        let is_its = loop {
            let (header, data) = station.answer()?;
            if header.kind == b'X' {
                break data.first() == Some(&1);
            }
        };
        if !is_its {
            let why = "it is another program's, or none of the station's";
            return Err(Problem::Call { call: own.to_string(), why });
        }
        station.ask(registers(b'x'), &[])?;
        station.ask(AgwHeader::of(b'k'), &[])?;
        let mut hears = station.listening()?;
        // It waits for the one that reads.
        let (told, frames) = sync_channel(16);
        thread::spawn(move || {
            loop {
                let came = match hears.answer() {
                    Ok((AgwHeader { kind: b'K', port, .. }, data)) if !data.is_empty() => {
                        Ok((port, data[1..].to_vec()))
                    }
                    Ok(_) => continue,
                    Err(problem) => Err(problem),
                };
                let is_over = came.is_err();
                if told.send(came).is_err() || is_over {
                    return;
                }
            }
        });
        Ok(Air::Agw { station, frames })
    }

    /// Sends a frame. A TNC that has no room for it loses it, as the air does.
    pub(super) fn send(&mut self, port: u8, frame: &[u8]) -> Result<(), Problem> {
        match self {
            Air::Tnc(tnc) => {
                if tnc.heard.takes(port, frame.len()) {
                    let (batch, mark) = (Message::with_headroom(0, frame).into(), None);
                    let request = FramesRequest::Send { port, batch, mark };
                    tnc.driver.request(&mut tnc.stack, request, &mut tnc.heard);
                }
                Ok(())
            }
            Air::Agw { station, .. } => {
                let raw = [&[port << 4], frame].concat();
                station.ask(AgwHeader { port, ..AgwHeader::of(b'K') }, &raw)
            }
        }
    }

    /// Returns the next frame, if one comes in that time.
    pub(super) fn next(&mut self, most: Duration) -> Result<Option<PortFrame>, Problem> {
        match self {
            Air::Tnc(tnc) => {
                if tnc.came.is_empty() {
                    tnc.turn(most)?;
                }
                Ok(tnc.came.pop_front())
            }
            Air::Agw { frames, .. } => match frames.recv_timeout(most) {
                Ok(came) => came.map(Some),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
            },
        }
    }
}

impl Tnc {
    fn turn(&mut self, most: Duration) -> Result<(), Problem> {
        let came = self.heard.turn(&mut self.driver, &mut self.stack, Some(most))?;
        self.came.extend(came.into_iter().flatten());
        Ok(())
    }
}
