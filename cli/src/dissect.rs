//! `dissect`: what is in a capture, packet by packet.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use stackwright::ax25::header::LinksHeard;
use stackwright::catalogue;

use crate::packets::{self, Form, Packets};
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright dissect capture.pcapng
  stackwright dissect capture.pcapng --port 5000=artp")]
pub(crate) struct Dissect {
    /// The capture, from Wireshark, tcpdump or a recorder in a stack.
    pub(crate) file: PathBuf,
    /// The protocol of the payloads [default: from the interface's description or the UDP port].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) above: Option<String>,
    /// The protocol at a UDP port, such as --port 5000=artp; may be repeated.
    #[arg(long, value_name = "N=NAME")]
    pub(crate) port: Vec<PortOf>,
    /// Print JSON lines, one per packet.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A UDP port and the protocol it carries.
#[derive(Clone)]
pub(crate) struct PortOf {
    pub(crate) port: u16,
    pub(crate) name: String,
}

impl FromStr for PortOf {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (port, name) =
            text.split_once('=').ok_or("write it as PORT=NAME, such as 5000=artp")?;
        let port = port.parse().map_err(|_| "a port is a number from 0 to 65535")?;
        Ok(PortOf { port, name: name.into() })
    }
}

pub(crate) fn run(dissect: &Dissect) -> Result<(), Problem> {
    let known = |name: &str| catalogue::find(name).ok_or_else(|| Problem::unknown(name));
    let chosen = dissect.above.as_deref().map(known).transpose()?;
    let ports = dissect.port.iter().map(|PortOf { port, name }| Ok((*port, known(name)?)));
    let ports = ports.collect::<Result<Vec<_>, Problem>>()?;
    let path = || dissect.file.clone();
    let file = File::open(&dissect.file).map_err(|why| Problem::Path { path: path(), why })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Problem::NotAFile { path: path() });
    }
    let unreadable = |why, packets| Problem::Capture { path: path(), why, packets };
    let mut capture = Packets::of(file).map_err(|why| unreadable(why, 0))?;
    let mut heard = LinksHeard::default();
    let form = if dissect.json { Form::Json } else { Form::Full };
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let packet = capture.another();
        let wrote = match &packet {
            Ok(Some(packet)) => packets::show(&mut out, packet, chosen, &ports, form, &mut heard),
            _ => out.flush(),
        };
        match wrote {
            // Nobody reads on (`| head`): there is nothing more to do.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            wrote => wrote?,
        }
        match packet {
            Ok(Some(_)) => {}
            Ok(None) if capture.count() == 0 && !dissect.json => {
                eprintln!("(no packets)");
                return Ok(());
            }
            Ok(None) => return Ok(()),
            Err(why) => return Err(unreadable(why, capture.count())),
        }
    }
}
