//! A packet as a person reads it, or as a program does.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use stackwright::wire::capture::PacketDirection;
use stackwright::wire::syntax::Found;
use stackwright::wire::{Dissection, Field};

use super::capture::Packet;
use super::layers::Layers;
use crate::printable::Printable;

/// How much of a payload is shown: rows of hexadecimal, lines of text, characters of a line.
const ROWS_MOST: usize = 4;
const ROW: usize = 16;
const LINES_MOST: usize = 16;
const LINE_MOST: usize = 160;

/// As a person reads it: a line, then indented what there is to say of it.
pub(crate) fn text(out: &mut impl Write, packet: &Packet, layers: &Layers<'_>) -> io::Result<()> {
    write!(out, "{}", packet.number)?;
    if let Some(time) = packet.time {
        write!(out, "  {}", utc(time))?;
    }
    let interface = packet.interface.as_ref();
    if let Some(name) =
        interface.and_then(|interface| interface.name.as_deref()).filter(|name| !name.is_empty())
    {
        write!(out, "  {}", Printable(name))?;
    }
    if let Some(direction) = packet.direction {
        write!(out, "  {}", word(direction))?;
    }
    if let Some([source, destination]) = &layers.ends {
        write!(out, "  {source} → {destination}")?;
    }
    if let Some(kind) = &layers.kind {
        write!(out, "  {kind}")?;
    }
    writeln!(out, "  {}", octets(packet.original))?;
    for comment in &packet.comments {
        for line in comment.lines() {
            writeln!(out, "  # {}", Printable(line))?;
        }
    }
    for found in &layers.found {
        match found {
            Found::Header(header) => {
                for line in header.to_string().lines() {
                    writeln!(out, "  {line}")?;
                }
            }
            Found::Octets { name, octets } => {
                let (shown, more) =
                    (&octets[..octets.len().min(ROW)], octets.len().saturating_sub(ROW));
                let more = if more > 0 { " …" } else { "" };
                writeln!(
                    out,
                    "  {name}, {}: {}{more}",
                    self::octets(octets.len()),
                    hexadecimal(shown)
                )?;
            }
        }
    }
    payload(out, layers.payload)?;
    for remark in layers.remarks.iter().chain(&missing(packet)) {
        writeln!(out, "  ! {remark}")?;
    }
    writeln!(out)
}

/// The same in a line, and the payload below it.
pub(crate) fn brief(out: &mut impl Write, packet: &Packet, layers: &Layers<'_>) -> io::Result<()> {
    for comment in &packet.comments {
        writeln!(out, "# {}", Printable(comment))?;
    }
    // Tenths of a millisecond are of no use to a person.
    let time = packet.time.map(utc).unwrap_or_default();
    write!(out, "{}", time.get(.."2026-11-26 04:29:46.628".len()).unwrap_or(&time))?;
    match &layers.ends {
        Some([source, destination]) => write!(out, "  {source} → {destination}")?,
        None => write!(out, "  a frame that is not AX.25")?,
    }
    if let Some(kind) = &layers.kind {
        write!(out, "  {kind}")?;
    }
    writeln!(out, "  {}", octets(packet.original))?;
    payload(out, layers.payload)?;
    for remark in layers.remarks.iter().chain(&missing(packet)) {
        writeln!(out, "  ! {remark}")?;
    }
    Ok(())
}

/// Lines where it is text, else hexadecimal.
fn payload(out: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    if payload.is_empty() {
        return Ok(());
    }
    writeln!(out, "  Payload, {}", octets(payload.len()))?;
    if let Some(text) = legible(payload) {
        for line in text.lines().take(LINES_MOST) {
            let cut: String = line.chars().take(LINE_MOST).collect();
            let more = if cut.len() < line.len() { " …" } else { "" };
            writeln!(out, "    {}{more}", Printable(&cut))?;
        }
        return match text.lines().count().saturating_sub(LINES_MOST) {
            0 => Ok(()),
            more => writeln!(out, "    … and {more} lines more"),
        };
    }
    for (index, row) in payload.chunks(ROW).take(ROWS_MOST).enumerate() {
        write!(out, "    {:04x} ", index * ROW)?;
        for octet in row {
            write!(out, " {octet:02x}")?;
        }
        let legible = |octet: &u8| {
            if octet.is_ascii_graphic() || *octet == b' ' { char::from(*octet) } else { '.' }
        };
        let text: String = row.iter().map(legible).collect();
        writeln!(out, "{:gap$}  {text}", "", gap = (ROW - row.len()) * 3)?;
    }
    match payload.len().saturating_sub(ROWS_MOST * ROW) {
        0 => Ok(()),
        more => writeln!(out, "    … and {} more", octets(more)),
    }
}

/// As a program reads it: one line.
pub(crate) fn json(out: &mut impl Write, packet: &Packet, layers: &Layers<'_>) -> io::Result<()> {
    let interface = packet.interface.as_ref();
    let missing = missing(packet);
    let remarks: Vec<&String> = layers.remarks.iter().chain(&missing).collect();
    let shown = &layers.payload[..layers.payload.len().min(ROWS_MOST * ROW)];
    let [source, destination] = match &layers.ends {
        Some([source, destination]) => [Some(source), Some(destination)],
        None => [None, None],
    };
    let line = json!({
        "number": packet.number,
        "time": packet.time.map(utc),
        "interface": interface.and_then(|interface| interface.name.as_deref()),
        "description": interface.and_then(|interface| interface.description.as_deref()),
        "direction": packet.direction.map(word),
        "comments": packet.comments,
        "source": source,
        "destination": destination,
        "kind": layers.kind,
        "length": packet.original,
        "captured": packet.octets.len(),
        "headers": layers.found.iter().map(found).collect::<Vec<_>>(),
        "payload": {
            "length": layers.payload.len(),
            "text": legible(layers.payload),
            "begin": hexadecimal(shown),
        },
        "remarks": remarks,
    });
    writeln!(out, "{line}")
}

fn found(found: &Found<'_>) -> Value {
    match found {
        Found::Header(shown) => header(shown),
        Found::Octets { name, octets } => json!({ "name": name, "octets": hexadecimal(octets) }),
    }
}

fn header(header: &Dissection<'_>) -> Value {
    let value = |(field, value): (&'static Field, Option<u64>)| {
        // What is wider than a number of JSON is octets as they are.
        let wide = || {
            let end = (field.offset + field.bits).div_ceil(8);
            hexadecimal(&header.octets()[field.offset / 8..end])
        };
        (field.name.to_owned(), value.map_or_else(|| wide().into(), Value::from))
    };
    json!({ "name": header.name(), "fields": header.values().map(value).collect::<Map<_, _>>() })
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn word(direction: PacketDirection) -> &'static str {
    match direction {
        PacketDirection::Inbound => "in",
        PacketDirection::Outbound => "out",
    }
}

fn octets(octets: usize) -> String {
    if octets == 1 { "1 octet".into() } else { format!("{octets} octets") }
}

/// A sentence where the file has less than the packet had.
fn missing(packet: &Packet) -> Option<String> {
    let there = packet.octets.len();
    (there < packet.original)
        .then(|| format!("{there} of {} were captured", octets(packet.original)))
}

/// The text that a payload is, where it is one.
fn legible(payload: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(payload).ok()?;
    let plain = |one: char| !one.is_control() || matches!(one, '\r' | '\n' | '\t');
    (!text.is_empty() && text.chars().all(plain)).then_some(text)
}

/// A time, in UTC, to the nanosecond.
fn utc(nanoseconds: i128) -> String {
    const DAY: i128 = 24 * 60 * 60;
    let (seconds, fraction) =
        (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // From 0000-03-01 on, in eras of 400 years, each of which has 146 097 days; a year begins in
    // March, so that the day more of a leap year is its last.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (
        year + era * 400 + i128::from(month >= 10),
        if month < 10 { month + 3 } else { month - 9 },
    );
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:09}")
}
