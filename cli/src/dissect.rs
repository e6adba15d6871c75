//! `dissect`: what is in a capture, packet by packet.

mod layers;
mod packets;
mod show;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};

use stackwright::catalogue::{self, Entry, PROTOCOLS};

use crate::arguments::Dissect;
use crate::problem::Problem;
use layers::layers;
use packets::{Packet, Packets};

pub(crate) use packets::Unreadable;

pub(crate) fn run(dissect: &Dissect) -> Result<(), Problem> {
    let chosen = dissect.above.as_deref().map(|name| catalogue::find(name).ok_or_else(|| unknown(name)));
    let chosen = chosen.transpose()?;
    let path = || dissect.file.clone();
    let file = File::open(&dissect.file).map_err(|why| Problem::Path { path: path(), why })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Problem::NotAFile { path: path() });
    }
    let unreadable = |why, packets| Problem::Capture { path: path(), why, packets };
    let mut packets = Packets::of(file).map_err(|why| unreadable(why, 0))?;
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let packet = packets.another();
        let wrote = match &packet {
            Ok(Some(packet)) => one(&mut out, packet, chosen, dissect.json),
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

/// Shows one packet.
fn one(out: &mut impl Write, packet: &Packet, chosen: Option<&'static Entry>, json: bool) -> io::Result<()> {
    let described = packet.interface.as_ref().and_then(|interface| interface.description.as_deref());
    let above = chosen.or_else(|| described.and_then(catalogue::find));
    let link = packet.interface.as_ref().map(|interface| interface.link);
    let layers = layers(link, &packet.octets, above);
    if json { show::json(out, packet, &layers) } else { show::text(out, packet, &layers) }
}

fn unknown(name: &str) -> Problem {
    let known: Vec<&str> = PROTOCOLS.iter().map(|entry| entry.facts.name).collect();
    Problem::Protocol { name: name.into(), known: known.join(", ") }
}
