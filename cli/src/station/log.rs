//! What a station tells its operator, on standard error: with the time of day, and no faster than a
//! person reads.

use std::collections::VecDeque;
use std::fmt::Arguments;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use stackwright::ax25::TRANSMITTED;
use stackwright::contract::{Instant, Listener};
use stackwright::ftp::DIALOGUE;

use crate::report::log;
use crate::tnc::{TncFrames, state_of_tnc};

/// How long a line that says what is not done is not said again.
const AGAIN: Duration = Duration::from_secs(60);
/// How many lines of one protocol may come in that time.
const LINES_MOST: usize = 60;

/// Which TNC of the station acts, of which its line tells.
pub(super) type Acting = Arc<AtomicU8>;

/// The listener.
pub(super) struct Log {
    verbose: bool,
    /// The lines of the TNCs, as the file has them.
    tncs: Vec<String>,
    acting: Acting,
    limits: Vec<(&'static str, Limit)>,
}

impl Log {
    pub(super) fn new(verbose: bool, tncs: Vec<String>, acting: Acting) -> Self {
        Log { verbose, tncs, acting, limits: Vec::new() }
    }
}

impl Listener for Log {
    fn dropped(&mut self, _now: Instant, protocol: &'static str, reason: &'static str) {
        if self.verbose {
            log(protocol, &format_args!("dropped {reason}"));
        }
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: Arguments<'_>) {
        if self.verbose {
            log(protocol, &what);
        } else if [TRANSMITTED, DIALOGUE].contains(&protocol) {
            return; // every frame, and every line of a dialogue
        }
        let mut text = what.to_string();
        if TncFrames::tells_state(protocol) {
            let there = self.tncs.get(usize::from(self.acting.load(Relaxed)));
            text = state_of_tnc(there.map_or("its line", String::as_str), &text);
        } else if self.verbose {
            return;
        }
        let place = self.limits.iter().position(|(its, _)| *its == protocol);
        let place = place.unwrap_or_else(|| {
            self.limits.push((protocol, Limit::default()));
            self.limits.len() - 1
        });
        let (_, limit) = &mut self.limits[place];
        if let Some(left_out) = limit.admit(now, &text) {
            if left_out > 0 {
                log(protocol, &format_args!("({left_out} lines were left out)"));
            }
            log(protocol, &text);
        }
    }
}

/// What one protocol has said lately.
#[derive(Default)]
struct Limit {
    lines: VecDeque<(Instant, String)>,
    left_out: u64,
}

impl Limit {
    /// Returns how many lines were left out before this one; `None`: it is left out, too.
    fn admit(&mut self, now: Instant, text: &str) -> Option<u64> {
        while self.lines.front().is_some_and(|(said, _)| *said + AGAIN <= now) {
            self.lines.pop_front();
        }
        let is_refusal = text.starts_with("not ") || text.starts_with("no place ");
        let is_said = is_refusal && self.lines.iter().any(|(_, line)| line == text);
        if is_said || self.lines.len() >= LINES_MOST {
            self.left_out += 1;
            return None;
        }
        self.lines.push_back((now, text.into()));
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_said_once_a_minute_and_a_flood_is_cut() {
        let mut limit = Limit::default();
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        assert_eq!(limit.admit(at(0), "not transmitted: N0CCC"), Some(0));
        assert_eq!(limit.admit(at(1), "not transmitted: N0CCC"), None);
        assert_eq!(limit.admit(at(2), "not transmitted: N0DDD"), Some(1));
        assert_eq!(limit.admit(at(3), "N0AAA is connected to N0BBB"), Some(0));
        assert_eq!(limit.admit(at(4), "N0AAA is connected to N0BBB"), Some(0));
        assert_eq!(limit.admit(at(60), "not transmitted: N0CCC"), Some(0));
        let said = (0..100_000).filter(|nth| {
            limit.admit(at(61 + nth / 1000), &format!("not transmitted: X{nth}")).is_some()
        });
        let said = said.count();
        assert!((LINES_MOST - 5..=2 * LINES_MOST).contains(&said), "{said}");
        assert!(limit.lines.len() <= LINES_MOST);
    }
}
