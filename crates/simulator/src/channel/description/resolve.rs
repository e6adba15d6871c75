//! Resolves a description: from what is written to a channel and its stations.

use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};

use stackwright_contract::Duration;
use toml::Spanned;

use super::{
    AccessParameters, ChannelConditions, ChannelDescription, ChannelFlaw, StationDescription,
    Written, WrittenStation,
};
use crate::channel::hdlc::FCS;
use crate::link::description::Probability;
use crate::{Hearing, Profile, Time};

/// How many stations a channel may have.
const STATIONS_MOST: usize = 16;
/// How much faster than on the air a channel may run.
const SPEEDS: RangeInclusive<u32> = 1..=50;
/// The longest frame of KISS, in octets.
const LONGEST_MOST: usize = 4096;
/// What a frame has at most where nothing is said.
const LONGEST: usize = 1024;
/// How many frames may wait in a station at most.
const QUEUE_MOST: usize = 1024;
/// How many wait where nothing is said.
const QUEUE: usize = 64;
/// A flag at each end of a frame.
const FLAGS: usize = 2;
/// TXDELAY where nothing is said (KISS).
const KEY_UP: Duration = Duration::from_millis(500);
/// p where nothing is said (KISS).
const PERSISTENCE: f64 = 0.25;
/// The longest time that KISS can set.
const TIME_MOST: Duration = Duration::from_millis(2550);

fn flaw(at: Range<usize>, says: impl Into<String>) -> ChannelFlaw {
    ChannelFlaw { at: Some(at), says: says.into() }
}

fn whole(says: &str) -> ChannelFlaw {
    ChannelFlaw { at: None, says: says.into() }
}

/// Returns a number, if it is in its range.
fn within<N: Copy + PartialOrd + std::fmt::Display>(
    written: &Spanned<N>,
    name: &str,
    range: RangeInclusive<N>,
) -> Result<N, ChannelFlaw> {
    let number = *written.get_ref();
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = (range.start(), range.end());
    let says = format!("`{name}` is {number}: write a number from {least} to {most}");
    Err(flaw(written.span(), says))
}

/// What is said of the access, by the file or by one station.
struct Said<'a> {
    key_up: &'a Option<Spanned<Time>>,
    tail: &'a Option<Spanned<Time>>,
    slot: &'a Option<Spanned<Time>>,
    persistence: &'a Option<Spanned<Probability>>,
}

impl Said<'_> {
    fn over(&self, access: AccessParameters) -> Result<AccessParameters, ChannelFlaw> {
        let time = |written: &Option<Spanned<Time>>, name: &str, least, before| match written {
            None => Ok(before),
            Some(written) if (least..=TIME_MOST).contains(&written.get_ref().0) => {
                Ok(written.get_ref().0)
            }
            Some(written) => {
                let says = format!(
                    "`{name}` is out of the range of KISS: write \"{} ms\" to \"2550 ms\"",
                    least.as_millis()
                );
                Err(flaw(written.span(), says))
            }
        };
        let persistence = match self.persistence {
            None => access.persistence,
            Some(written) if written.get_ref().0 > 0.0 => written.get_ref().0,
            Some(written) => {
                let says = "a station with `persistence` 0 never sends: write more than 0, up to 1";
                return Err(flaw(written.span(), says));
            }
        };
        Ok(AccessParameters {
            key_up: time(self.key_up, "key-up", Duration::ZERO, access.key_up)?,
            tail: time(self.tail, "tail", Duration::ZERO, access.tail)?,
            slot: time(self.slot, "slot", Duration::from_millis(10), access.slot)?,
            persistence,
            ..access
        })
    }
}

impl Written {
    pub(super) fn resolve(&self) -> Result<ChannelDescription, ChannelFlaw> {
        let base = self.base()?;
        let (key_up, tail, slot) = (&self.key_up, &self.tail, &self.slot);
        let said = Said { key_up, tail, slot, persistence: &self.persistence };
        let access = said.over(base.access())?;
        let speed = self.speed.as_ref().map_or(Ok(1), |speed| within(speed, "speed", SPEEDS))?;
        let longest = self.longest.as_ref();
        let longest =
            longest.map_or(Ok(LONGEST), |most| within(most, "longest", 1..=LONGEST_MOST))?;
        let queue = self.queue.as_ref();
        let queue = queue.map_or(Ok(QUEUE), |most| within(most, "queue", 1..=QUEUE_MOST))?;
        let stations = self.stations(access)?;
        let AccessParameters { key_up, tail, slot, persistence, .. } = access;
        let conditions = ChannelConditions {
            overhead: FLAGS,
            mtu: Some(longest + FCS),
            queue,
            key_up,
            tail,
            slot,
            persistence,
            delay: self.delay.map_or(base.delay, |time| time.0),
            bit_errors: self.bit_errors.map_or(base.bit_errors, |errors| errors.0),
            hearing: self.hearing()?,
            ..base
        };
        let seed = self.seed.unwrap_or(1);
        Ok(ChannelDescription { conditions, speed, seed, longest, stations })
    }

    /// The profile, or a channel of the rate with the defaults of KISS.
    fn base(&self) -> Result<ChannelConditions, ChannelFlaw> {
        let base = match &self.profile {
            None => None,
            Some(name) => match name.get_ref().profile() {
                Some(Profile::Channel(channel)) => Some(channel),
                _ => {
                    let says = "this profile is a link of two stations: write \
                                \"packet-radio-1200\" or \"packet-radio-9600\"";
                    return Err(flaw(name.span(), says));
                }
            },
        };
        let rate = match &self.rate {
            None => None,
            Some(written) => {
                let says = "a radio has a rate: write it, as in \"1200 b/s\"";
                Some(written.get_ref().0.ok_or_else(|| flaw(written.span(), says))?)
            }
        };
        match (base, rate) {
            (Some(base), rate) => Ok(ChannelConditions { rate: rate.unwrap_or(base.rate), ..base }),
            (None, Some(rate)) => {
                let ideal = ChannelConditions::ideal(rate);
                Ok(ChannelConditions { key_up: KEY_UP, persistence: PERSISTENCE, ..ideal })
            }
            (None, None) => Err(whole(
                "the rate is missing: write rate = \"1200 b/s\", or profile = \"packet-radio-1200\"",
            )),
        }
    }

    fn stations(&self, access: AccessParameters) -> Result<Vec<StationDescription>, ChannelFlaw> {
        let mut stations: Vec<StationDescription> = Vec::new();
        for written in &self.station {
            let WrittenStation { name, kiss, key_up, tail, slot, persistence, full_duplex, .. } =
                written.get_ref();
            let called = name.get_ref();
            let is_fit = (1..=16).contains(&called.chars().count())
                && called.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
            if !is_fit {
                let says = "a name has 1 to 16 letters, digits and hyphens, as in \"N0AAA-1\"";
                return Err(flaw(name.span(), says));
            }
            if stations.iter().any(|other| other.name == *called) {
                let says = format!("there are two stations `{called}`: give one another name");
                return Err(flaw(name.span(), says));
            }
            let kiss = kiss.as_ref().map(address).transpose()?;
            if let (Some((at, span)), false) = (&kiss, stations.is_empty())
                && at.port() != 0
                && stations.iter().any(|other| other.kiss == Some(*at))
            {
                let says = format!("two stations listen at {at}: give one another port");
                return Err(flaw(span.clone(), says));
            }
            let access = Said { key_up, tail, slot, persistence }.over(access)?;
            stations.push(StationDescription {
                name: called.clone(),
                kiss: kiss.map(|(at, _)| at),
                access: AccessParameters { full_duplex: full_duplex.unwrap_or(false), ..access },
            });
            if stations.len() > STATIONS_MOST {
                let says = format!("a channel has up to {STATIONS_MOST} stations");
                return Err(flaw(written.span(), says));
            }
        }
        if stations.len() < 2 {
            return Err(whole(
                "a channel needs two stations or more: write a [[station]] with a name for each",
            ));
        }
        Ok(stations)
    }

    fn hearing(&self) -> Result<Hearing, ChannelFlaw> {
        let mut hearing = Hearing::ALL;
        let names = || self.station.iter().map(|station| station.get_ref().name.get_ref());
        for (listener, station) in self.station.iter().enumerate() {
            let Some(hears) = &station.get_ref().hears else { continue };
            for name in hears {
                if !names().any(|known| known == name.get_ref()) {
                    let known: Vec<&str> = names().map(String::as_str).collect();
                    let says = format!(
                        "there is no station `{}`: write one of {}",
                        name.get_ref(),
                        known.join(", ")
                    );
                    return Err(flaw(name.span(), says));
                }
            }
            let deaf_to = names().enumerate().filter(|(speaker, name)| {
                *speaker != listener && !hears.iter().any(|heard| heard.get_ref() == *name)
            });
            hearing =
                deaf_to.fold(hearing, |hearing, (speaker, _)| hearing.without(listener, speaker));
        }
        Ok(hearing)
    }
}

/// Reads an address and port, or a port of this machine.
fn address(written: &Spanned<String>) -> Result<(SocketAddr, Range<usize>), ChannelFlaw> {
    let text = written.get_ref();
    text.parse().map(|address| (address, written.span())).map_err(|_| {
        let says = format!("`{text}` is not an address and port: write \"127.0.0.1:8101\"");
        flaw(written.span(), says)
    })
}
