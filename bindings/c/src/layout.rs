//! The structures of the header, octet by octet; it says what each member means.

use std::num::NonZeroU32;
use std::time::Duration;

use stackwright_contract::ask::PathReport;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_endpoint::{Config, Placed};

use crate::failure::Failure;
use crate::pointers::Structure;

/// Other endpoints may listen at the same address.
const SHARED_PORT: u32 = 1;
/// A thread of the library's own runs the stack.
const BACKGROUND: u32 = 2;

/// The most arrivals that wait, each with a name from the start; the most credit, in octets; and
/// the longest that a call polls, in microseconds.
const ARRIVALS_MOST: u32 = 1 << 16;
const CREDIT_MOST: u64 = 1 << 40;
const SPIN_MOST: u32 = 1_000_000;

/// `sw_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says it")]
pub struct Options {
    pub size: usize,
    pub flags: u32,
    pub arrivals: u32,
    pub credit: u64,
    pub spin_us: u32,
    pub reserved: u32,
}

// SAFETY: a size, and integers.
unsafe impl Structure for Options {}

impl Options {
    pub(crate) fn is_background(&self) -> bool {
        self.flags & BACKGROUND != 0
    }

    /// Returns what an endpoint is configured with; 0 is the default.
    pub(crate) fn config(self) -> Result<Config, Failure> {
        let mut config = Config::default();
        let in_range = self.arrivals <= ARRIVALS_MOST
            && self.credit <= CREDIT_MOST
            && self.spin_us <= SPIN_MOST;
        if !in_range || self.flags & !(SHARED_PORT | BACKGROUND) != 0 || self.reserved != 0 {
            return Err(Failure::Invalid);
        }
        config.shared_port = self.flags & SHARED_PORT != 0;
        config.spin = Duration::from_micros(self.spin_us.into());
        if self.arrivals > 0 {
            config.arrivals_most = self.arrivals as usize;
        }
        if self.credit > 0 {
            let octets = usize::try_from(self.credit).map_err(|_| Failure::Invalid)?;
            config.credit = Credit { octets, ..config.credit };
        }
        Ok(config)
    }
}

/// Members of [`Properties`] that have a value.
const NUMBER: u32 = 1;
const PRIORITY: u32 = 2;
/// The message goes on.
const MORE: u32 = 4;

/// `sw_properties`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says it")]
pub struct Properties {
    pub size: usize,
    pub has: u32,
    pub number: u32,
    pub lifetime_us: u32,
    pub priority: u8,
    pub reserved: [u8; 3],
}

// SAFETY: a size, and integers.
unsafe impl Structure for Properties {}

impl Properties {
    /// Returns them as they are sent.
    pub(crate) fn said(self) -> Result<MessageProperties, Failure> {
        if self.has & !(NUMBER | PRIORITY) != 0 || self.reserved != [0; 3] {
            return Err(Failure::Invalid);
        }
        let usual = MessageProperties::default();
        Ok(MessageProperties {
            lifetime: NonZeroU32::new(self.lifetime_us),
            number: (self.has & NUMBER != 0).then_some(self.number),
            priority: if self.has & PRIORITY != 0 { self.priority } else { usual.priority },
            ..usual
        })
    }

    /// Sets them to those of a message that was received, or a part of it.
    pub(crate) fn set(&mut self, placed: &Placed) {
        let MessageProperties { lifetime, number, priority, .. } = placed.properties;
        self.has = PRIORITY;
        self.has |= if number.is_some() { NUMBER } else { 0 };
        self.has |= if placed.whole { 0 } else { MORE };
        self.number = number.unwrap_or_default();
        self.lifetime_us = lifetime.map_or(0, NonZeroU32::get);
        (self.priority, self.reserved) = (priority, [0; 3]);
    }
}

/// `sw_path_report`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says it")]
pub struct PathValues {
    pub size: usize,
    pub longest: u64,
    pub window: u64,
    pub pace: u64,
    pub in_flight: u64,
    pub lost: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub round_trip_us: u32,
    pub variation_us: u32,
    pub least_us: u32,
    pub reserved: u32,
}

// SAFETY: a size, and integers.
unsafe impl Structure for PathValues {}

impl PathValues {
    /// Sets them to what is known; 0 is what is not.
    pub(crate) fn set(&mut self, longest: u32, report: Option<PathReport>) {
        let report = report.unwrap_or_default();
        let microseconds = |time: Option<Duration>| {
            time.map_or(0, |time| u32::try_from(time.as_micros()).unwrap_or(u32::MAX))
        };
        *self = PathValues {
            size: self.size,
            longest: longest.into(),
            window: report.window.unwrap_or_default(),
            pace: report.pace.unwrap_or_default(),
            in_flight: report.in_flight,
            lost: report.lost,
            retransmitted: report.retransmitted,
            timeouts: report.timeouts,
            round_trip_us: microseconds(report.round_trip),
            variation_us: microseconds(report.variation),
            least_us: microseconds(report.least),
            reserved: 0,
        };
    }
}
