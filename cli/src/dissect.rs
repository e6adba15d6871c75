//! `dissect`: what is in a capture, packet by packet.

mod layers;
mod packets;
mod show;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};

use stackwright::ax25::header::LinksHeard;
use stackwright::catalogue::{self, CatalogueEntry, PROTOCOLS};

use crate::arguments::{Dissect, PortOf};
use crate::problem::Problem;
pub(crate) use layers::kind;
use layers::{Above, layers};
use packets::Packets;

pub(crate) use packets::{Interface, Packet, Unreadable};

pub(crate) fn run(dissect: &Dissect) -> Result<(), Problem> {
    let known = |name: &str| catalogue::find(name).ok_or_else(|| unknown(name));
    let chosen = dissect.above.as_deref().map(known).transpose()?;
    let ports = dissect.port.iter().map(|PortOf { port, name }| Ok((*port, known(name)?)));
    let ports = ports.collect::<Result<Vec<_>, Problem>>()?;
    let path = || dissect.file.clone();
    let file = File::open(&dissect.file).map_err(|why| Problem::Path { path: path(), why })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Problem::NotAFile { path: path() });
    }
    let unreadable = |why, packets| Problem::Capture { path: path(), why, packets };
    let mut packets = Packets::of(file).map_err(|why| unreadable(why, 0))?;
    let mut heard = LinksHeard::default();
    let form = if dissect.json { Form::Json } else { Form::Full };
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let packet = packets.another();
        let wrote = match &packet {
            Ok(Some(packet)) => one(&mut out, packet, chosen, &ports, form, &mut heard),
            _ => out.flush(),
        };
        match wrote {
            // Nobody reads on (`| head`): there is nothing more to do.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            wrote => wrote?,
        }
        match packet {
            Ok(Some(_)) => {}
            Ok(None) if packets.count() == 0 && !dissect.json => {
                eprintln!("(no packets)");
                return Ok(());
            }
            Ok(None) => return Ok(()),
            Err(why) => return Err(unreadable(why, packets.count())),
        }
    }
}

/// How a packet is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// A line, and the payload.
    Brief,
    /// Every header with its fields.
    Full,
    /// A line of JSON.
    Json,
}

/// Shows one packet. `heard`: how links of AX.25 count, from the packets before.
pub(crate) fn one(
    out: &mut impl Write,
    packet: &Packet,
    chosen: Option<&'static CatalogueEntry>,
    ports: &[(u16, &'static CatalogueEntry)],
    form: Form,
    heard: &mut LinksHeard,
) -> io::Result<()> {
    let interface = packet.interface.as_ref();
    let description = interface.and_then(|interface| interface.description.as_deref());
    let above = Above { chosen, ports, described: description.and_then(catalogue::find) };
    let link = interface.map(|interface| interface.link);
    let layers = layers(link, &packet.octets, &above, heard);
    match form {
        Form::Brief => show::brief(out, packet, &layers),
        Form::Full => show::text(out, packet, &layers),
        Form::Json => show::json(out, packet, &layers),
    }
}

/// There is no such protocol.
pub(crate) fn unknown(name: &str) -> Problem {
    let known: Vec<&str> = PROTOCOLS.iter().map(|entry| entry.facts.name).collect();
    Problem::Protocol { name: name.into(), known: known.join(", ") }
}
