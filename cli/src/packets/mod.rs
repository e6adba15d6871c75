//! Packets of a capture, or of a radio: read, taken apart header by header, and shown.

mod capture;
mod layers;
mod show;

use std::io::{self, Write};

use stackwright::ax25::header::LinksHeard;
use stackwright::catalogue::{self, CatalogueEntry};

pub(crate) use capture::{Interface, Packet, Packets, Unreadable};
pub(crate) use layers::kind;
use layers::{Above, layers};

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
pub(crate) fn show(
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
