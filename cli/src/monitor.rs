//! `monitor`: what a TNC hears, or what the kernel sends to a TUN device, frame by frame. Nothing is
//! transmitted.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use stackwright::ax25::header::LinksHeard;
use stackwright::contract::Protocol;
use stackwright::contract::services::Frames;
use stackwright::kiss::KissType;
use stackwright::wire::capture::{Capture, Frame, InterfaceId, LinkType, PacketDirection, Payload};
use stackwright::wire::{Header, Pool};
use stackwright_drivers::tun::{Tun, TunOptions};
use stackwright_drivers::{Driver, Readiness};

use crate::hearing::{States, hear, tnc};
use crate::packets::{self, Form, Interface, Packet};
use crate::problem::Problem;
use crate::stacks::{self, Message};

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright monitor tcp://127.0.0.1:8001
  stackwright monitor 'serial:///dev/ttyUSB0?baud=9600' -w heard.pcapng
  sudo stackwright monitor tun:sw0 -w sent.pcapng")]
pub(crate) struct Monitor {
    /// The line to the TNC, which speaks KISS: tcp://host:8001, serial:///dev/ttyUSB0?baud=9600, or
    /// pty:PATH for a terminal that is made there. Without a TNC, frames go over UDP to another
    /// station: axudp://host:10093, received at ?local=10093.
    ///
    /// An unreachable TNC is retried. Or a TUN device: tun:NAME, which is made where it is not
    /// there; what the kernel routes to it is shown, and ends here.
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
    let pool = stacks::pool();
    let driver = Driver::new(fastrand::u64(..))?;
    driver.context().listen(Box::new(States { line: monitor.line.clone() }));
    if let Some(name) = monitor.line.strip_prefix("tun:") {
        let device = device(name, &driver, pool)?;
        return show(monitor, driver, device, LinkType::RAW);
    }
    let stack = tnc(&monitor.line, &driver, pool)?;
    show(monitor, driver, stack, LinkType::AX25_KISS)
}

/// Opens a device whose packets are as they would leave: segments, with complete checks.
fn device(name: &str, driver: &Driver, pool: Arc<Pool<Message>>) -> Result<Tun<Message>, Problem> {
    let options = TunOptions { super_packets: false, checks: false, ..TunOptions::default() };
    Tun::open_with(name, options, &driver.registry(), 0, pool).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound => "this system has no TUN devices; `modprobe tun` loads them",
            ErrorKind::PermissionDenied => {
                "this user may not open it; root makes one for a user by `ip tuntap add`"
            }
            ErrorKind::ResourceBusy => "another program has it",
            ErrorKind::InvalidInput => "a device's name has 1 to 15 characters",
            _ => return error.into(),
        };
        Problem::Unfit { what: format!("tun:{name}"), why }
    })
}

/// Shows the frames of `stack` until it is interrupted, or a device is gone.
fn show<P>(
    monitor: &Monitor,
    mut driver: Driver,
    mut stack: P,
    link: LinkType,
) -> Result<(), Problem>
where
    P: Protocol<Provides = Frames<Message>, Uses = Readiness>,
{
    let mut shown = match &monitor.write {
        Some(path) => {
            let file = File::create(path);
            let file = file.map_err(|why| Problem::Path { path: path.clone(), why })?;
            Shown::new(monitor, Some(file), link)
        }
        None => Shown::new(monitor, None, link),
    };
    shown.begin()?;
    let done = hear(&mut driver, &mut stack, None, |word| match word {
        Some((port, frame)) => shown.frame(port, frame).map(|()| true),
        None => {
            shown.comment = Some("the TNC was gone before this frame");
            Ok(link != LinkType::RAW)
        }
    });
    match done {
        // Nobody reads on (`| head`): there is nothing more to do.
        Err(Problem::System(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
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
    fn new(monitor: &Monitor, file: Option<File>, link: LinkType) -> Self {
        let name = monitor.line.as_str();
        let file = file.map(|file| {
            let mut capture = Capture::new("stackwright monitor");
            let description = if link == LinkType::RAW { "IP" } else { "KISS" };
            let interface = capture.interface(name, description, link);
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
            link,
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
        let mut octets = Vec::new();
        if self.interface.link == LinkType::AX25_KISS {
            octets.resize(KissType::LENGTH, 0);
            KissType { port, command: 0 }.encode(&mut octets);
        }
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
