//! `channel`: a radio channel without radios, each station of which has a TNC over TCP.

pub(crate) mod frames;
pub(crate) mod lines;
pub(crate) mod picture;
pub(crate) mod timeline;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use stackwright::channel::{ChannelDescription, ChannelFlaw, RadioChannel};

use crate::flawed::Flawed;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;
use lines::Lines;
use timeline::Timeline;

/// How long a description may be, in octets.
const DESCRIPTION_MOST: u64 = 64 << 10;
/// How often what happened is shown.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright channel air.toml
  stackwright channel air.toml --check")]
pub(crate) struct Arguments {
    /// The channel, its stations and the addresses of their TNCs (TOML).
    pub(crate) file: PathBuf,
    /// Only check the file.
    #[arg(long)]
    pub(crate) check: bool,
    /// Show also when a transmitter is keyed up, and which station waits for the channel.
    #[arg(short, long)]
    pub(crate) all: bool,
    /// At the end, draw the time line into FILE (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON lines, one per frame.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let description = load(&arguments.file)?;
    if arguments.check {
        say!("{}: a channel of {} stations", arguments.file.display(), description.stations.len());
        return Ok(());
    }
    let interrupted = interrupts()?;
    let channel = RadioChannel::start(&description)?;
    begin(&description, &channel, arguments.json);
    let mut timeline = Timeline::new(&description);
    let mut lines = Lines::new(arguments.json, arguments.all);
    while !interrupted.load(Relaxed) {
        for activity in channel.live().activities() {
            timeline.add(activity, |happened, timeline| lines.say(happened, timeline));
        }
        lines.show(&timeline, channel.live().now());
        if lines.is_unread() {
            break;
        }
        thread::sleep(LOOK);
    }
    lines.end();
    if let Some(file) = &arguments.svg {
        picture::write(&timeline, file)?;
    }
    Ok(())
}

/// A rate in octets a second, as radio amateurs write it.
fn bits(octets: u64) -> String {
    format!("{} bit/s", octets.saturating_mul(8))
}

/// Reads a file.
pub(crate) fn load(file: &Path) -> Result<ChannelDescription, Problem> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        File::open(file)?.take(DESCRIPTION_MOST).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|why| Problem::Path { path: file.into(), why })?;
    ChannelDescription::read(&text).map_err(|ChannelFlaw { at, says }| {
        let name = file.display().to_string();
        Problem::Channel(Box::new(Flawed::at(&name, &text, at.as_ref(), &says)))
    })
}

/// Says what there is, and how to reach it.
fn begin(description: &ChannelDescription, channel: &RadioChannel, json: bool) {
    let rate = bits(description.conditions.rate);
    let speed = description.speed;
    let stations = || description.stations.iter().enumerate();
    if json {
        let stations = stations().map(|(index, station)| {
            let tnc = channel.tnc(index).map(|at| format!("tcp://{at}"));
            json!({ "station": station.name, "kiss": tnc })
        });
        let stations: Vec<_> = stations.collect();
        let bits = 8 * description.conditions.rate;
        return say!("{}", json!({ "rate": bits, "speed": speed, "stations": stations }));
    }
    match speed {
        1 => say!("A channel of {rate}. Each station has a TNC that speaks KISS:"),
        speed => say!(
            "A channel of {rate}, {speed} times as fast as on the air. Each station has a TNC that speaks KISS:"
        ),
    }
    for (index, station) in stations() {
        match channel.tnc(index) {
            Some(at) => say!("  {:<9}  tcp://{at}", station.name),
            None => say!("  {:<9}  without a TNC: it only listens", station.name),
        }
    }
    say!("Press Ctrl-C to stop. Times are those on the air.\n");
}
