//! An application in the control loop: a camera sends pictures over an isochronous stream of XTP,
//! and fits their quality to what the path takes. Nothing is sent twice, and nothing waits long.
//!
//! ```text
//! cargo run --release -p stackwright-examples --bin iso-image
//! cargo run --release -p stackwright-examples --bin iso-image -- 1000 250 500 --pictures /tmp
//! ```
//!
//! ```text
//!   camera                                            viewer
//!   asks PathStatistics: the pace      ◂── TCNTL ───  says how fast it takes (Terms::command)
//!   sends as many pixels as fit        ─── DATA ───▸  sees how many come, and how late
//!           XTP paces them                            shows what has come of each picture
//! ```
//!
//! The path is simulated: a minute of it takes a second, and is the same each time. Over sockets,
//! an association of an endpoint is asked and told the same: `association.ask(PathStatistics)`,
//! `association.control(terms.command())`.
//!
//! | file | what |
//! | --- | --- |
//! | `ends.rs` | the camera, the viewer, and how they judge |
//! | `picture.rs` | pictures whose pixels are sent from coarse to fine |
//! | here | the loop, on a path whose rate changes |

mod ends;
mod picture;

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, mem};

use stackwright::compose::Over;
use stackwright::contract::Handle;
use stackwright::contract::ask::PathStatistics;
use stackwright::contract::services::{Credit, DatagramsRequest, MessageProperties};
use stackwright::wire::BufferTree;
use stackwright::xtp::{self, Config};
use stackwright_simulator::{Conditions, Queue, SimulatedDatagrams, StationId, World};

use ends::{Camera, PICTURES, Stack, Viewer};

const CAMERA: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const VIEWER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const STREAM: Handle = Handle { index: 0, generation: 0 };
const LISTENER: Handle = Handle { index: 1, generation: 0 };

/// How long the path stays as it is, in seconds; and what a row shows.
const PHASE: u32 = 20;
const ROW: u32 = 2;
/// How many pictures later one is shown. What comes after that is of no use.
const SHOWN_AFTER: u32 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let Some((rates, folder)) = arguments()? else {
        println!("{HELP}");
        return Ok(());
    };
    let (mut world, camera, viewer) = stream();
    let mut row = Row::default();
    println!("{TITLE}");
    for number in 0..rates.len() as u32 * PHASE * PICTURES {
        let rate = rates[(number / PICTURES / PHASE) as usize];
        world.network_mut().set_link(CAMERA, VIEWER, path(rate));

        // The loop: ask, fit, send; at the other end: judge, tell.
        let path = world.question(camera, STREAM, PathStatistics).unwrap_or_default();
        let now = world.now();
        for message in world.application_mut(camera).take(number, path.pace.unwrap_or(0), now) {
            let (batch, properties) = (message.into(), MessageProperties::default());
            world.ask(camera, DatagramsRequest::Send { association: STREAM, batch, properties });
        }
        world.run_for(Duration::from_secs(1) / PICTURES);
        let command = world.application_mut(viewer).judge().command();
        world.ask(viewer, DatagramsRequest::Control { association: STREAM, command });

        let Some(shown) = number.checked_sub(SHOWN_AFTER) else { continue };
        let picture = world.application_mut(viewer).show(shown);
        row.pixels += picture.pixels;
        row.quality += picture.quality(shown);
        row.delay = row.delay.max(world.application(viewer).delay);
        row.pictures += 1;
        let seconds = (number + 1) / PICTURES;
        if (number + 1).is_multiple_of(ROW * PICTURES) {
            println!("{seconds:>3} {rate:>7} {}", mem::take(&mut row).shown(path.pace));
        }
        if let (Some(folder), true) = (&folder, (number + 1).is_multiple_of(PHASE * PICTURES)) {
            picture.write(&folder.join(format!("iso-image-{seconds}.pgm")))?;
        }
    }
    Ok(())
}

/// Opens a stream from a camera to a viewer.
fn stream() -> (World<BufferTree>, StationId<Stack, Camera>, StationId<Stack, Viewer>) {
    let mut world = World::new(1);
    let viewer = Viewer::new();
    let stack = |address, secret| {
        let config = Config { takes: viewer.terms(), ..Config::new([secret; 16]) };
        let below = SimulatedDatagrams::new(address, Credit { octets: 1 << 16, messages: 64 });
        Over::new(xtp::layer(config, secret.into()), below)
    };
    let (above, below) = (stack(CAMERA, 1), stack(VIEWER, 2));
    let (camera, viewer) =
        (world.add(CAMERA, above, Camera::default()), world.add(VIEWER, below, viewer));
    let (association, listener) = (STREAM, LISTENER);
    let (there, credit) =
        (SocketAddr::from((VIEWER, 7)).into(), Credit { octets: 1 << 20, messages: 1024 });
    world.ask(viewer, DatagramsRequest::Listen { listener, local: there });
    world.ask(viewer, DatagramsRequest::Await { listener, association, credit });
    let open = DatagramsRequest::Open { association, remote: there, local: None, credit };
    world.ask(camera, open);
    (world, camera, viewer)
}

/// A path of `rate` kilobits a second, 20 ms long, with a queue of 32 kB.
fn path(rate: u64) -> Conditions {
    let (delay, queue) = (Duration::from_millis(20), Queue::octets(32_000));
    Conditions { rate: Some(rate * 125), delay, queue, ..Conditions::IDEAL }
}

const TITLE: &str = "\
time    path    pace  pixels that came   quality  delay
  s     kb/s    kb/s    of a picture        dB      ms";

/// What happened to the pictures of a row.
#[derive(Default)]
struct Row {
    pictures: usize,
    pixels: usize,
    quality: f64,
    delay: Duration,
}

impl Row {
    fn shown(self, pace: Option<u64>) -> String {
        let pixels = self.pixels / self.pictures;
        let quality = self.quality / self.pictures as f64;
        let (pace, delay) = (pace.unwrap_or(0) / 125, self.delay.as_millis());
        let bar = "▇".repeat(pixels * 24 / picture::PIXELS);
        format!("{pace:>7} {pixels:>11} {quality:>15.1} {delay:>7}  {bar}")
    }
}

const HELP: &str = "\
Sends pictures over an isochronous stream of XTP, and fits their quality to a path that changes.

iso-image [KILOBITS…] [--pictures FOLDER]

  KILOBITS           the rates of the path a second, each for 20 s [default: 2000 400 2000]
  --pictures FOLDER  writes the last picture that is shown at each rate (PGM)";

type Arguments = (Vec<u64>, Option<PathBuf>);

/// Returns the rates, and where to write pictures; `None` where help is wanted.
fn arguments() -> Result<Option<Arguments>, Box<dyn Error>> {
    let (mut rates, mut folder, mut arguments) = (Vec::new(), None, env::args().skip(1));
    while let Some(argument) = arguments.next() {
        match &*argument {
            "-h" | "--help" => return Ok(None),
            "--pictures" => folder = Some(arguments.next().ok_or("which folder?")?.into()),
            rate => match rate.parse() {
                Ok(rate @ 50..) => rates.push(rate),
                _ => return Err(format!("{rate} is no rate, or too low: see --help").into()),
            },
        }
    }
    Ok(Some((if rates.is_empty() { vec![2000, 400, 2000] } else { rates }, folder)))
}
