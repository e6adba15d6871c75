//! What a person, or a program, sees of copies: bars where a person watches, a line for each file
//! otherwise, JSON lines for programs; and what it all came to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::HumanBytes;
use serde_json::json;
use stackwright::contract::ask::PathReport;
use stackwright::copy::SkipReason;

use super::arguments::Connection;
use super::bars::Bars;
use super::left::{AirTime, TimeLeft};
use crate::printable::Printable;
use crate::problem::Problem;
use crate::report::{rate, say, short};

/// Why a report is made of so much: the number of copies, and where their lines go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// Whether there is exactly one file: then it is not summed up.
    pub(crate) is_single: bool,
    /// Whether the file itself goes to standard output.
    pub(crate) output_is_taken: bool,
    /// Whether nothing is done, and only told what would be.
    pub(crate) dry_run: bool,
}

/// A file that is under way.
struct Under {
    url: String,
    /// What it is called once it is there.
    shown: String,
    since: Instant,
    /// Octets of it that are there, or were handed to the transport.
    moved: u64,
    /// By radio, where its length is known.
    left: Option<TimeLeft>,
}

/// What was done so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    copied: u64,
    octets: u64,
    moved: u64,
    same: u64,
    skipped: u64,
    removed: u64,
    failed: u64,
    /// The exit code of the worst that happened.
    worst: u8,
}

pub(crate) struct Report {
    json: bool,
    quiet: bool,
    manner: Manner,
    /// Where a person watches.
    bars: Option<Bars>,
    under: BTreeMap<u64, Under>,
    /// Octets of files that are under way.
    moving: BTreeMap<u64, u64>,
    totals: Totals,
    /// What the link carries that is copied by, if that is known.
    air: Option<AirTime>,
    began: Instant,
    /// The failure of the only file.
    single: Option<Problem>,
    keys: u64,
    /// What was last advised: it is not said again.
    advice: Option<Cow<'static, str>>,
}

impl Report {
    pub(crate) fn new(connection: &Connection, manner: Manner) -> Self {
        let &Connection { json, quiet, .. } = connection;
        let watched = !json && !quiet && io::stderr().is_terminal();
        Report {
            json,
            quiet,
            manner,
            bars: watched.then(|| Bars::new(!manner.is_single)),
            under: BTreeMap::new(),
            moving: BTreeMap::new(),
            totals: Totals::default(),
            air: None,
            began: Instant::now(),
            single: None,
            keys: 0,
            advice: None,
        }
    }

    /// Says by which link is copied from now on.
    pub(super) fn copies_by(&mut self, air: Option<AirTime>) {
        self.air = air;
    }

    /// Returns a key that no file has.
    pub(crate) fn key(&mut self) -> u64 {
        self.keys += 1;
        self.keys
    }

    /// Returns the key of a file that is under way by one of its names, or one that no file has.
    pub(crate) fn key_of(&mut self, name: &str) -> u64 {
        let known = self.under.iter().find(|(_, under)| under.url == name || under.shown == name);
        known.map(|(key, _)| *key).unwrap_or_else(|| self.key())
    }

    /// A file is no longer under way, and comes again.
    pub(crate) fn forget(&mut self, key: u64) {
        self.under.remove(&key);
        self.moving.remove(&key);
        if let Some(bars) = &mut self.bars {
            bars.end(key);
        }
    }

    /// What was taken for the only file is a folder.
    pub(crate) fn has_tree(&mut self) {
        if std::mem::take(&mut self.manner.is_single) && self.bars.is_some() {
            self.bars = Some(Bars::new(true));
        }
    }

    /// A file is under way, and `there` octets of it are there already.
    pub(crate) fn began(
        &mut self,
        key: u64,
        (url, shown): (String, String),
        size: Option<u64>,
        there: u64,
    ) {
        if let Some(bars) = &mut self.bars {
            bars.end(key); // of an earlier try
            bars.begin(key, &shown, size, there, self.air.is_some());
        }
        if self.json {
            let mut told = json!({ "event": "began", "url": url, "size": size });
            if there > 0 {
                told["resumed_at"] = there.into();
            }
            say!("{told}");
        }
        let since = Instant::now();
        let left = self.air.zip(size).map(|(air, size)| TimeLeft::new(air, size, there, since));
        self.under.insert(key, Under { url, shown, since, moved: there, left });
    }

    /// Returns whether it is told how long files still take.
    pub(super) const fn is_timed(&self) -> bool {
        self.air.is_some()
    }

    /// Says how long a file still takes; `path` is what the transport knows of its path.
    pub(super) fn looked(&mut self, key: u64, path: impl FnOnce() -> Option<PathReport>) {
        let Some(Under { url, moved, left: Some(left), .. }) = self.under.get_mut(&key) else {
            return;
        };
        let now = Instant::now();
        let seconds = left.left(*moved, &path().unwrap_or_default(), now).as_secs();
        if let Some(bars) = &self.bars {
            bars.left(key, seconds);
        }
        if self.json && left.is_due(now) {
            say!(
                "{}",
                json!({ "event": "progress", "url": url, "octets": moved, "seconds_left": seconds })
            );
        }
    }

    pub(crate) fn moved(&mut self, key: u64, octets: u64) {
        if let Some(under) = self.under.get_mut(&key) {
            under.moved = octets;
        }
        if let Some(bars) = &self.bars {
            bars.moved(key, octets);
            self.moving.insert(key, octets);
            let moving: u64 = self.moving.values().sum();
            bars.total(self.totals.copied, self.totals.octets + moving);
        }
    }

    /// A file is whole. `took` is known of one that was copied alone.
    pub(crate) fn copied(
        &mut self,
        key: u64,
        names: (String, String),
        octets: u64,
        moved: u64,
        took: Option<Duration>,
    ) {
        let Under { url, shown, since, .. } = self.under.remove(&key).unwrap_or_else(|| Under {
            url: names.0,
            shown: names.1,
            since: Instant::now(),
            moved,
            left: None,
        });
        let took = took.unwrap_or_else(|| since.elapsed());
        self.totals.copied += 1;
        self.totals.octets += octets;
        self.totals.moved += moved;
        self.moving.remove(&key);
        if let Some(bars) = &mut self.bars {
            bars.end(key);
            bars.total(self.totals.copied, self.totals.octets);
        }
        let speed = rate(moved, took);
        if self.json {
            let seconds = took.as_secs_f64();
            let mut told = json!({
                "event": "done", "url": url, "file": shown, "octets": octets, "seconds": seconds,
                "octets_per_second": speed,
            });
            if self.manner.dry_run {
                told["dry_run"] = true.into();
            }
            say!("{told}");
        } else if self.manner.dry_run {
            self.line(&format!("would copy {}: {}", Printable(&shown), HumanBytes(octets)));
        } else if self.manner.is_single || self.bars.is_none() {
            let (moved, speed) = (HumanBytes(moved), HumanBytes(speed));
            self.line(&format!("{}: {moved} in {} ({speed}/s)", Printable(&shown), short(took)));
        }
    }

    pub(crate) fn skipped(&mut self, shown: &str, why: SkipReason) {
        match why {
            SkipReason::Same => self.totals.same += 1,
            _ => self.totals.skipped += 1,
        }
        if is_missing(why) {
            self.totals.worst = self.totals.worst.max(INCOMPLETE);
        }
        if self.json {
            let reason = why.to_string();
            say!("{}", json!({ "event": "skipped", "file": shown, "reason": reason }));
        } else if !matches!(why, SkipReason::Same | SkipReason::Excluded) {
            self.complain(&format!("{}: skipped: {why}", Printable(shown)));
        }
    }

    pub(crate) fn removed(&mut self, shown: &str) {
        self.totals.removed += 1;
        if self.json {
            let mut told = json!({ "event": "removed", "file": shown });
            if self.manner.dry_run {
                told["dry_run"] = true.into();
            }
            say!("{told}");
        } else {
            let deed = if self.manner.dry_run { "would remove" } else { "removed" };
            self.line(&format!("{deed} {}", Printable(shown)));
        }
    }

    /// A file failed; the others go on.
    pub(crate) fn failed(&mut self, key: u64, url: Option<String>, problem: Problem) {
        self.totals.failed += 1;
        self.totals.worst = self.totals.worst.max(problem.exit_code());
        self.moving.remove(&key);
        let under = self.under.remove(&key);
        if let Some(bars) = &mut self.bars {
            bars.end(key);
        }
        if self.manner.is_single {
            self.single = Some(problem);
        } else if self.json {
            let mut told = problem.told();
            if let Some(url) = url.or_else(|| under.map(|under| under.url)) {
                told["url"] = url.into();
            }
            say!("{told}");
        } else {
            self.complain(&problem.to_string());
            let advice = problem.advice();
            if advice != self.advice
                && let Some(advice) = &advice
            {
                self.beside(|| eprintln!("  {advice}"));
            }
            self.advice = advice;
        }
    }

    pub(crate) fn again(&mut self, problem: &Problem, pause: Duration, tries: u32, most: u32) {
        if !self.json {
            let seconds = pause.as_secs();
            self.complain(&format!("{problem}; trying again in {seconds} s ({tries} of {most})"));
        }
    }

    /// Something that a person wants to know, and that is no failure.
    pub(crate) fn note(&self, text: &str) {
        if self.json {
            say!("{}", json!({ "event": "note", "text": text }));
        } else {
            self.complain(text);
        }
    }

    fn line(&self, text: &str) {
        if self.quiet || self.manner.output_is_taken {
            return;
        }
        self.beside(|| say!("{text}"));
    }

    fn beside(&self, say: impl FnOnce()) {
        match &self.bars {
            Some(bars) => bars.beside(say),
            None => say(),
        }
    }

    fn complain(&self, text: &str) {
        self.beside(|| eprintln!("stackwright: {text}"));
    }

    /// Says what it all came to.
    ///
    /// # Errors
    /// If anything failed.
    pub(crate) fn end(mut self) -> Result<(), Problem> {
        self.bars = None;
        if let Some(problem) = self.single {
            return Err(problem);
        }
        let took = self.began.elapsed();
        if !self.manner.is_single {
            if self.json {
                say!("{}", self.totals.told(took));
            } else {
                self.line(&self.totals.summary(took, self.manner.dry_run));
            }
        }
        match self.totals.worst {
            0 => Ok(()),
            code => Err(Problem::Told { code }),
        }
    }
}

/// The exit code where nothing failed, and not all is there.
const INCOMPLETE: u8 = 1;

/// Whether something is missing in the copy that a person expects there: not where an option or the
/// kind of thing says that it is left alone.
fn is_missing(why: SkipReason) -> bool {
    use SkipReason::{BadName, Doubtful, TooDeep, TooLong, TooMany, Unread};
    matches!(why, BadName | Doubtful | TooDeep | TooLong | TooMany | Unread)
}

impl Totals {
    fn told(&self, took: Duration) -> serde_json::Value {
        let Totals { copied, octets, moved, same, skipped, removed, failed, .. } = self;
        json!({
            "event": "summary", "copied": copied, "same": same, "skipped": skipped,
            "removed": removed, "failed": failed, "octets": octets, "seconds": took.as_secs_f64(),
            "octets_per_second": rate(*moved, took),
        })
    }

    fn summary(&self, took: Duration, dry_run: bool) -> String {
        let files = |count: u64| format!("{count} {}", if count == 1 { "file" } else { "files" });
        let mut text = if dry_run {
            format!("{} to copy, {}", files(self.copied), HumanBytes(self.octets))
        } else if self.copied == 0 {
            "nothing copied".into()
        } else {
            let (moved, speed) = (HumanBytes(self.moved), HumanBytes(rate(self.moved, took)));
            format!("{} copied, {moved} in {} ({speed}/s)", files(self.copied), short(took))
        };
        let more = [
            (self.same, "the same already"),
            (self.skipped, "skipped"),
            (self.removed, if dry_run { "to remove" } else { "removed" }),
            (self.failed, "failed"),
        ];
        for (count, what) in more.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!(", {count} {what}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_tells_what_there_was() {
        let mut totals = Totals { copied: 1, octets: 3000, moved: 2048, ..Totals::default() };
        let second = Duration::from_secs(1);
        assert_eq!(totals.summary(second, false), "1 file copied, 2.00 KiB in 1.00 s (2.00 KiB/s)");
        (totals.same, totals.failed, totals.removed) = (2, 1, 3);
        assert_eq!(
            totals.summary(second, true),
            "1 file to copy, 2.93 KiB, 2 the same already, 3 to remove, 1 failed"
        );
        let told = totals.told(second);
        assert_eq!((told["failed"].as_u64(), told["octets"].as_u64()), (Some(1), Some(3000)));
    }
}
