//! What was heard on the ports: stations, for `H`, and octets, for `g`.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

use stackwright_contract::ax25::{Addresses, LinksHeard};
use stackwright_contract::{Duration, Handle, Instant};
use stackwright_wire::Message;

use crate::header::AgwHeader;
use crate::{Agw, Out, StationHeard, StationsHeard};

/// Stations of one port of which a program is told.
const TOLD_MOST: usize = 20;
/// The time in which octets are counted for `g`, and how finely.
const COUNTED: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_secs(10);
/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// What was heard.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) links: LinksHeard,
    stations: StationsHeard,
    /// Octets of a port in a step of time.
    octets: VecDeque<(u8, Instant, u32)>,
}

impl Heard {
    pub(crate) fn note(&mut self, port: u8, addresses: &Addresses, octets: usize, now: Instant) {
        self.stations.note(port, addresses, now);
        self.octets.retain(|(_, since, _)| *since + COUNTED > now);
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let step = self.octets.iter_mut().rev().find(|(its, ..)| *its == port);
        match step.filter(|(_, since, _)| *since + STEP > now) {
            Some((_, _, count)) => *count = count.saturating_add(octets),
            None => self.octets.push_back((port, now, octets)),
        }
    }

    /// Returns how many octets were received on a port in the last two minutes.
    pub(crate) fn octets(&self, port: u8, now: Instant) -> u32 {
        let counts =
            self.octets.iter().filter(|(its, since, _)| *its == port && *since + COUNTED > now);
        counts.fold(0, |sum, (_, _, count)| sum.saturating_add(*count))
    }
}

impl<M: Message> Agw<M> {
    /// Returns the seconds since the midnight of the configuration.
    pub(crate) fn time_of(&self, at: Instant) -> u64 {
        self.config.day.as_secs() + at.since(Instant::START).as_secs()
    }

    /// Tells which stations were heard on a port, the newest first; at least one frame. Behind the
    /// text of AGWPE and its zero octet: how many frames, and through which digipeaters.
    pub(crate) fn tell_heard(&mut self, program: Handle, port: u8, out: Out<'_, M>) {
        let there = self.heard.stations.iter().filter(|station| station.port == port);
        let line = |station: &StationHeard| {
            let StationHeard { call, frames, .. } = station;
            let [first, last] = [station.first, station.last].map(|at| date(self.time_of(at)));
            let mut line = format!("{call}  {first}  {last}\0{frames}");
            station.via().for_each(|call| line += &format!(" {call}"));
            line + "\0"
        };
        let mut texts: VecDeque<String> = there.take(TOLD_MOST).map(line).collect();
        if texts.is_empty() {
            texts.push_back("\0".into());
        }
        for text in texts {
            self.tell(program, AgwHeader { port, ..AgwHeader::of(b'H') }, text.as_bytes(), out);
        }
    }
}

/// Writes seconds since the beginning of 1970 as AGWPE does: `Mon,01Jan2000 21:04:10`.
fn date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let (days, time) = (seconds / DAY, seconds % DAY);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut day) = (1970, days % 146_097); // 400 years
    year += days / 146_097 * 400;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = "";
    for (name, length) in MONTHS {
        let length = length + u64::from(name == "Feb" && is_leap(year));
        month = name;
        if day < length {
            break;
        }
        day -= length;
    }
    let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
    let name = DAYS[(days % 7) as usize];
    format!("{name},{:02}{month}{year} {hours:02}:{minutes:02}:{seconds:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use stackwright_contract::ax25::{DigipeaterPath, Role};

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "Thu,01Jan1970 00:00:00"),
            (946_760_650, "Sat,01Jan2000 21:04:10"),
            (951_782_400, "Tue,29Feb2000 00:00:00"),
            (1_795_738_085, "Fri,27Nov2026 00:08:05"),
            (4_107_542_399, "Sun,28Feb2100 23:59:59"),
            (4_107_542_400, "Mon,01Mar2100 00:00:00"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut heard = Heard::default();
        for nth in 0..10_000u64 {
            let source = format!("X{nth}").parse().expect("a call sign");
            let addresses = Addresses {
                destination: source,
                source,
                role: Role::Command,
                path: DigipeaterPath::DIRECT,
            };
            let now = Instant::START + Duration::from_secs(nth);
            heard.note((nth % 2) as u8, &addresses, 100, now);
            assert!(heard.stations.iter().count() <= 128 && heard.octets.len() <= 26);
        }
        let now = Instant::START + Duration::from_secs(9999);
        assert!((5500..=6500).contains(&heard.octets(0, now)), "{}", heard.octets(0, now));
        assert_eq!(heard.octets(0, now + COUNTED), 0);
    }
}
