//! `monitor`: what a TNC hears, frame by frame. Nothing is transmitted.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use clap::Args;
use stackwright::ax25::header::LinksHeard;
use stackwright::contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright::contract::{IndicationOf, Instant, Listener, Outlet, RequestOf};
use stackwright::kiss::{Config, KissType, LONGEST_MOST, PORTS_MOST};
use stackwright::wire::capture::{Capture, Frame, InterfaceId, LinkType, PacketDirection, Payload};
use stackwright::wire::{Header, Message as _};
use stackwright_drivers::Driver;

use crate::interrupts::interrupts;
use crate::packets::{self, Form, Interface, Packet};
use crate::problem::Problem;
use crate::report::log;
use crate::stacks;
use crate::tnc::{TncAddress, TncFrames, state_of_tnc};

/// How many octets of frames may wait to be shown.
const ROOM: Credit = Credit { octets: 64 << 10, messages: 64 };

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright monitor tcp://127.0.0.1:8001
  stackwright monitor 'serial:///dev/ttyUSB0?baud=9600' -w heard.pcapng")]
pub(crate) struct Monitor {
    /// The line to the TNC, which speaks KISS: tcp://host:8001, serial:///dev/ttyUSB0?baud=9600, or
    /// pty:PATH for a terminal that is made there. Without a TNC, frames go over UDP to another
    /// station: axudp://host:10093, received at ?local=10093.
    ///
    /// An unreachable TNC is retried.
    pub(crate) line: String,
    /// Also write the frames into FILE for Wireshark (pcapng).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Print every header with its fields.
    #[arg(long)]
    pub(crate) headers: bool,
    /// Print JSON lines, one per frame.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(monitor: &Monitor) -> Result<(), Problem> {
    let unfit = |why| Problem::Line { line: monitor.line.clone(), why };
    let address = TncAddress::parse(&monitor.line).map_err(unfit)?;
    let pool = stacks::pool();
    let mut driver = Driver::new(fastrand::u64(..))?;
    // Every port, and frames as long as any TNC has.
    let config = Config { longest: LONGEST_MOST, ports: PORTS_MOST, ..Config::default() };
    let mut stack = address.open(config, &driver, 0, pool)?;
    driver.context().listen(Box::new(States { line: monitor.line.clone() }));
    let mut shown = match &monitor.write {
        Some(path) => {
            let file = File::create(path);
            let file = file.map_err(|why| Problem::Path { path: path.clone(), why })?;
            Shown::new(monitor, Some(file))
        }
        None => Shown::new(monitor, None),
    };
    shown.begin()?;
    let interrupted = interrupts()?;
    let mut heard = Heard::default();
    while !interrupted.load(Relaxed) {
        driver.turn(&mut stack, &mut heard, None)?;
        // To give credit may deliver what waited for it.
        while let Some(credit) = heard.credit() {
            match heard.frames.drain(..).try_for_each(|(port, frame)| shown.frame(port, &frame)) {
                // Nobody reads on (`| head`): there is nothing more to do.
                Err(Problem::System(error)) if error.kind() == ErrorKind::BrokenPipe => {
                    return Ok(());
                }
                done => done?,
            }
            match heard.up.take() {
                Some(false) => shown.comment = Some("the TNC was gone before this frame"),
                _ => driver.request(&mut stack, FramesRequest::Credit { credit }, &mut heard),
            }
        }
    }
    Ok(())
}

/// What came, and was not handled yet.
#[derive(Default)]
struct Heard {
    frames: Vec<(u8, Vec<u8>)>,
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

impl Outlet<TncFrames> for Heard {
    fn indicate(&mut self, word: IndicationOf<TncFrames>) {
        match word {
            FramesIndication::Delivered { port, batch } => {
                let message = batch.into_single();
                let mut frame = vec![0; message.len()];
                message.copy_to(&mut frame);
                self.frames.push((port, frame));
            }
            FramesIndication::State { up, .. } => self.up = Some(up),
            // Nothing is sent.
            FramesIndication::Credit { .. }
            | FramesIndication::Changed { .. }
            | FramesIndication::Left { .. } => {}
        }
    }

    fn request(&mut self, request: RequestOf<TncFrames>) {
        match request {}
    }
}

/// Says on standard error when the line comes up and goes down.
struct States {
    line: String,
}

impl Listener for States {
    fn dropped(&mut self, _now: Instant, protocol: &'static str, reason: &'static str) {
        log(protocol, &format_args!("dropped {reason}"));
    }

    fn event(&mut self, _now: Instant, protocol: &'static str, what: std::fmt::Arguments<'_>) {
        if TncFrames::tells_state(protocol) {
            log(protocol, &state_of_tnc(&self.line, &what.to_string()));
        }
    }
}

/// Where frames are shown, and written.
struct Shown {
    form: Form,
    interface: Interface,
    number: u64,
    /// What is to be said of the next frame.
    comment: Option<&'static str>,
    heard: LinksHeard,
    file: Option<(File, Capture, InterfaceId)>,
}

impl Shown {
    fn new(monitor: &Monitor, file: Option<File>) -> Self {
        let name = monitor.line.as_str();
        let file = file.map(|file| {
            let mut capture = Capture::new("stackwright monitor");
            let interface = capture.interface(name, "KISS", LinkType::AX25_KISS);
            (file, capture, interface)
        });
        let form = match monitor {
            Monitor { json: true, .. } => Form::Json,
            Monitor { headers: true, .. } => Form::Full,
            _ => Form::Brief,
        };
        let interface = Interface {
            name: Some(name.into()),
            description: None,
            link: LinkType::AX25_KISS,
            units: 1_000_000_000,
            offset: 0,
        };
        let heard = LinksHeard::default();
        Shown { form, interface, number: 0, comment: None, heard, file }
    }

    /// Writes what precedes the frames of a capture.
    fn begin(&mut self) -> io::Result<()> {
        match &mut self.file {
            Some((file, capture, _)) => file.write_all(&capture.take()),
            None => Ok(()),
        }
    }

    fn frame(&mut self, port: u8, frame: &[u8]) -> Result<(), Problem> {
        let mut octets = vec![0; KissType::LENGTH];
        KissType { port, command: 0 }.encode(&mut octets);
        octets.extend_from_slice(frame);
        let time = stacks::since_1970().map(|since| since.as_nanos());
        let comment = self.comment.take();
        self.number += 1;
        if let Some((file, capture, interface)) = &mut self.file {
            let nanoseconds = time.and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
            let frame = Frame::plain(Payload::from(&octets[..]));
            capture.packet(*interface, nanoseconds, PacketDirection::Inbound, &frame, comment);
            // Whole blocks, at once: an interrupted capture can be read.
            file.write_all(&capture.take())?;
        }
        let packet = Packet {
            number: self.number,
            time: time.and_then(|time| i128::try_from(time).ok()),
            interface: Some(self.interface.clone()),
            direction: Some(PacketDirection::Inbound),
            comments: comment.into_iter().map(Into::into).collect(),
            original: octets.len(),
            octets,
        };
        let mut out = BufWriter::new(io::stdout().lock());
        packets::show(&mut out, &packet, None, &[], self.form, &mut self.heard)?;
        out.flush()?;
        Ok(())
    }
}
