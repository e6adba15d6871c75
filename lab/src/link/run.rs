//! `lab link`: makes the ends, carries packets until somebody has enough, and removes everything.

use std::os::fd::AsFd as _;
use std::process::ExitCode;

use stackwright_contract::{Duration, Instant};
use stackwright_results::Problem;
use stackwright_simulator::Profile;

use super::Arguments;
use super::attendance::{Attendance, Question};
use super::carry::Carrier;
use super::command::Running;
use super::described;
use super::ends;
use super::shown::Shown;
use super::signals::Signals;

/// What a device's MTU is where the link sets none.
const MTU: u32 = 1500;
/// The least that IPv4 can do with (RFC 791 §3.2).
const MTU_LEAST: u32 = 68;
/// The most that it can name.
const MTU_MOST: u32 = 65_535;
/// How often the counts are shown, and at the latest somebody is asked whether it is enough.
const SHOWN_EACH: Duration = Duration::from_secs(1);

/// Runs it.
///
/// # Errors
///
/// Where it cannot be made, the command cannot be run, or a device disappears. Nothing is left
/// behind then either.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let profile = described::profile(arguments)?;
    let mtu = mtu(&profile)?;
    let noted = |error| Problem::new(format!("cannot catch signals: {error}"));
    // First, so that whoever interrupts the making of the ends finds them removed.
    let signals = Signals::note().map_err(noted)?;
    let ends = ends::make(mtu)?;
    let shown = Shown::new(arguments.json, !arguments.command.is_empty());
    let attendance = match arguments.attended {
        true => Some(Attendance::listen(signals.waker().map_err(noted)?)),
        false => None,
    };
    shown.up(&ends, mtu, !arguments.command.is_empty());
    let mut command = Running::start(&ends[0].namespace, &arguments.command)?;
    let mut carrier = Carrier::new(ends, profile, arguments.seed);

    let mut show = Instant::START + SHOWN_EACH;
    let code = loop {
        if carrier.turn(show, signals.as_fd())? {
            signals.clear();
        }
        match attendance.as_ref().and_then(Attendance::question) {
            Some(Question::Counts) => shown.counts(&carrier.report()),
            Some(Question::End) => break ExitCode::SUCCESS,
            None => {}
        }
        match (&mut command, signals.stop()) {
            (None, None) => {}
            (None, Some(_)) => break ExitCode::SUCCESS,
            (Some(command), stop) => {
                if let Some(code) = command.ended(stop, carrier.now())? {
                    break code;
                }
            }
        }
        if carrier.now() >= show {
            show = carrier.now() + SHOWN_EACH;
            shown.second(&carrier.report());
        }
    };
    shown.ended(&carrier.last_report());
    Ok(code)
}

/// The devices': the less of both ways.
fn mtu(profile: &Profile) -> Result<u32, Problem> {
    let least = match profile {
        Profile::Link { forward, back } => forward.mtu.into_iter().chain(back.mtu).min(),
        Profile::Channel(channel) => channel.mtu,
    };
    let mtu = least.map_or(MTU, |mtu| u32::try_from(mtu).unwrap_or(u32::MAX));
    if (MTU_LEAST..=MTU_MOST).contains(&mtu) {
        return Ok(mtu);
    }
    Err(Problem::usage(format!(
        "an MTU of {mtu} octets is not possible: use {MTU_LEAST} to {MTU_MOST}"
    )))
}
