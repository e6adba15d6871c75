//! `demo radio`: a text between two radio stations, on a channel that is this program.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};
use stackwright::ax25::header::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Unnumbered, pid,
};
use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright::contract::CallSign;
use stackwright::contract::services::Ended;

use super::hex;
use super::station::Station;
use crate::channel::lines::Lines;
use crate::channel::picture;
use crate::channel::timeline::Timeline;
use crate::problem::Problem;
use crate::report::say;

/// The channel: the third station is hidden from the first, so that they collide at the second.
const CHANNEL: &str = include_str!("radio.toml");
/// What is sent.
const TEXT: &str = include_str!("radio.txt");
/// After how long it is given up.
const MOST: Duration = Duration::from_secs(50);
/// How often the hidden station sends, by the clock.
const BEACONS: Duration = Duration::from_millis(400);
/// How often what happened is shown.
const LOOK: Duration = Duration::from_millis(20);
/// Before and behind a frame of KISS, and the type of one that carries data.
const FEND: u8 = 0xc0;
const DATA: u8 = 0;
/// The width of the picture where there is no terminal.
const COLUMNS: usize = 100;

pub(super) fn run(svg: Option<&Path>) -> Result<(), Problem> {
    let description = ChannelDescription::read(CHANNEL).expect("it is part of the program");
    let channel = RadioChannel::start(&description)?;
    let [near, far, hidden] = [0, 1, 2].map(|station| {
        let call: CallSign = description.stations[station].name.parse().expect("a call sign");
        (call, channel.tnc(station).expect("each has a TNC"))
    });
    let rate = description.conditions.rate * 8;
    let speed = description.speed;
    say!(
        "{} sends a text of {} octets to {}, by AX.25 over KISS, on a channel of {rate} bit/s.",
        near.0,
        TEXT.len(),
        far.0
    );
    say!(
        "{} does not hear {} and sends, too: they collide. Bits are altered. The time of the air runs {speed} times as fast.\n",
        hidden.0,
        near.0
    );
    let by_clock = u32::try_from(rate * u64::from(speed)).ok().and_then(NonZeroU32::new);
    let by_clock = by_clock.expect("it is part of the program");
    let station = |(call, tnc)| Station::new(call, tnc, by_clock, speed, MOST);
    let (receiver, sender) = (station(far)?, station(near)?);
    let mut timeline = Timeline::new(&description);
    let done = AtomicBool::new(false);
    let (came, ended, took) = thread::scope(|scope| {
        let begin = Instant::now();
        let receives = scope.spawn(|| receiver.receive(far.0));
        let sends = scope.spawn(|| sender.send(far.0, TEXT.as_bytes()));
        beacon(scope, hidden, &done);
        let mut lines = Lines::new(false, true);
        let mut show = |timeline: &mut Timeline| {
            for activity in channel.live().activities() {
                timeline.add(activity, |happened, timeline| lines.say(happened, timeline));
            }
        };
        while !(sends.is_finished() && receives.is_finished()) {
            show(&mut timeline);
            thread::sleep(LOOK);
        }
        done.store(true, Relaxed);
        let took = begin.elapsed();
        show(&mut timeline);
        (receives.join(), sends.join(), took)
    });
    let (came, ended) = (came.expect("no panic")?, ended.expect("no panic")?);
    let (sent, came) = (digest(&SHA256, TEXT.as_bytes()), digest(&SHA256, &came));
    let frames = timeline.stations.iter().flat_map(|lane| &lane.sent);
    let (mut all, mut lost, mut again) = (0, 0, 0);
    for frame in frames {
        all += 1;
        lost += usize::from(!(frame.altered.is_empty() && frame.collided.is_empty()));
        again += usize::from(frame.told.again);
    }
    let columns = terminal_size().filter(|_| stdout().is_terminal()).unwrap_or(COLUMNS);
    say!("\n{}\n", picture::text(&timeline, columns));
    if let Some(file) = svg {
        picture::write(&timeline, file)?;
        say!("The picture is in {}.", file.display());
    }
    say!(
        "{all} frames in {:.1} s by the clock: {lost} were lost at a station, {again} were sent again.",
        took.as_secs_f64()
    );
    if sent.as_ref() != came.as_ref() || ended != Some(Ended::Finished) {
        return Err(Problem::Altered);
    }
    say!("SHA-256 of the text, equal at both ends: {}…", &hex(came.as_ref())[..16]);
    say!("What to try next:");
    say!("  stackwright demo radio --svg air.svg         the picture, with what each frame was");
    say!(
        "  stackwright channel FILE                     such a channel for your own programs; FILE is TOML"
    );
    say!("  stackwright monitor tcp://127.0.0.1:8101     what a station of it hears");
    Ok(())
}

fn terminal_size() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Sends a frame to all again and again, as a program that knows nothing but KISS.
fn beacon<'a>(scope: &'a Scope<'a, '_>, (call, tnc): (CallSign, SocketAddr), done: &'a AtomicBool) {
    scope.spawn(move || {
        let destination = "QST".parse().expect("a call sign");
        let path = DigipeaterPath::DIRECT;
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        let addresses = Addresses { destination, source: call, role: Role::Command, path };
        let head = Head::new(&addresses, control, Modulus::Eight, Some(pid::NONE));
        // Neither call signs nor this text have an octet that KISS escapes.
        let frame = [&[FEND, DATA], head.as_octets(), b"hidden from the sender", &[FEND]].concat();
        let Ok(mut tnc) = TcpStream::connect(tnc) else { return };
        while !done.load(Relaxed) && tnc.write_all(&frame).is_ok() {
            thread::sleep(BEACONS);
        }
    });
}
