//! Keeps one journal: when it is written, and what is believed of it afterwards.
//!
//! ```text
//! octets of the part ─▸ synced ─▸ journal with their number and checks ─▸ synced ─▸ renamed
//! ```
//!
//! Whatever ends the program or the power between any two of them, the journal tells of no more
//! octets than the disk has. Where it nevertheless does, because the disk has lost some, the checks
//! of the last blocks tell.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use stackwright_wire::check::Crc32c;

use super::{BLOCKS, Journal, State};

/// How long a transfer takes before it has a journal: one that ends sooner would only wait for the
/// disk. If it is killed before, the same command goes on with its part.
const AFTER: Duration = Duration::from_secs(2);
/// The most octets a second of a transfer that gets one while it is under way: what arrives quicker
/// is quickly fetched again, and to sync it would make it wait for the disk. It gets one when it is
/// interrupted in good order.
const RATE: u64 = 8_000_000;
/// After how many octets more a journal is written again.
const OCTETS: u64 = 64 << 10;
/// After how long it is written again, whatever has arrived.
const INTERVAL: Duration = Duration::from_secs(30);
/// The share of the time that may be spent on it: a twentieth. So the journal of a quick transfer
/// is further behind than [`OCTETS`].
const SHARE: u32 = 20;

/// The disk, and the clock.
pub(super) trait Store {
    fn now(&self) -> Instant;
    /// The length of the part; `None` where there is none.
    fn part(&self) -> io::Result<Option<u64>>;
    fn read_part(&self, octets: Range<u64>) -> io::Result<Vec<u8>>;
    fn sync_part(&mut self) -> io::Result<()>;
    fn cut_part(&mut self, octets: u64) -> io::Result<()>;
    /// Syncs the target, which has its name.
    fn sync_target(&mut self) -> io::Result<()>;
    /// Replaces the journal, or leaves it as it was.
    fn write(&mut self, journal: &str) -> io::Result<()>;
    fn remove(&mut self) -> io::Result<()>;
}

pub(super) struct Keeper<S> {
    pub(super) store: S,
    pub(super) journal: Journal,
    /// Whether the target is one file of this machine.
    has_part: bool,
    /// Whether there is a journal on the disk.
    is_kept: bool,
    since: Instant,
    /// When it was last written, and how long that took.
    last: Instant,
    took: Duration,
    /// How many octets there are by now.
    moved: u64,
}

impl<S: Store> Keeper<S> {
    /// Keeps a journal that is not on the disk.
    pub(super) fn new(store: S, journal: Journal, has_part: bool) -> Self {
        let (now, moved, took) = (store.now(), journal.known, Duration::ZERO);
        Keeper { store, journal, has_part, is_kept: false, since: now, last: now, took, moved }
    }

    /// Keeps a journal that was read from the disk: the part is cut to what is known of it.
    pub(super) fn found(store: S, journal: Journal, has_part: bool) -> io::Result<Self> {
        let mut keeper = Keeper { is_kept: true, ..Keeper::new(store, journal, has_part) };
        if has_part {
            keeper.cut_part()?;
        }
        Ok(keeper)
    }

    fn cut_part(&mut self) -> io::Result<()> {
        let Keeper { store, journal, .. } = self;
        let length = store.part()?;
        let mut good = 0;
        while let (Some(length), Some(crc)) = (length, journal.crc.pop()) {
            let Some(block) = journal.blocks(1).next() else { break };
            let Range { start, end } = block;
            if end <= length && crc_of(&store.read_part(block)?) == crc {
                journal.crc.push(crc);
                good = end;
                break;
            }
            journal.known = start;
        }
        journal.known = good;
        self.moved = good;
        if length.is_some_and(|length| length > good) {
            store.cut_part(good)?;
        }
        Ok(())
    }

    /// The transfer is under way, and `there` octets are there already. Returns why they are fewer
    /// than were known, if that has a reason that a person wants to know.
    pub(super) fn began(
        &mut self,
        size: Option<u64>,
        modified: Option<u64>,
        there: u64,
    ) -> io::Result<Option<&'static str>> {
        let mtime = modified.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
        let mtime = mtime.map(|time| time.to_string());
        let Journal { known, .. } = self.journal;
        let changed = |was: bool| was && known > 0;
        let why = if there > 0 || known == 0 {
            None
        } else if changed(self.journal.size.is_some() && self.journal.size != size) {
            Some("it has another size now")
        } else if changed(self.journal.mtime.is_some() && self.journal.mtime != mtime) {
            Some("it was modified meanwhile")
        } else {
            Some("what was there is not known to be its beginning")
        };
        if there < known {
            self.journal.known = 0;
            self.journal.crc.clear();
        }
        (self.journal.size, self.journal.mtime) = (size, mtime);
        self.begins()?;
        self.moved = there;
        Ok(why)
    }

    /// A folder's transfer is under way.
    pub(super) fn begins(&mut self) -> io::Result<()> {
        self.journal.attempts += 1;
        self.journal.state = State::Running;
        if self.is_kept { self.write() } else { Ok(()) }
    }

    /// That many octets are there.
    pub(super) fn moved(&mut self, octets: u64) -> io::Result<()> {
        self.moved = octets;
        let now = self.store.now();
        let passed = now.duration_since(self.last);
        let grown = octets.saturating_sub(self.journal.known);
        let is_due = match self.is_kept {
            false => {
                let age = now.duration_since(self.since);
                age >= AFTER && grown <= RATE * age.as_secs()
            }
            true => passed >= INTERVAL || grown >= OCTETS && passed >= self.took * SHARE,
        };
        if is_due && grown > 0 { self.write_known(octets) } else { Ok(()) }
    }

    /// The transfer pauses. Returns whether there is anything to go on with.
    pub(super) fn pause(&mut self, state: State) -> io::Result<bool> {
        let octets = if self.has_part { self.store.part()?.unwrap_or(0) } else { self.moved };
        if octets == 0 && !self.is_kept {
            return Ok(false);
        }
        self.journal.state = state;
        self.write_known(octets)?;
        Ok(true)
    }

    /// The transfer is done: its journal is removed when what it was about is on the disk.
    pub(super) fn done(&mut self) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        if self.has_part {
            self.store.sync_target()?;
        }
        self.is_kept = false;
        self.store.remove()
    }

    /// Syncs these octets, and then says that they are there.
    fn write_known(&mut self, octets: u64) -> io::Result<()> {
        let began = self.store.now();
        let mut journal = Journal { known: octets, crc: Vec::new(), ..self.journal.clone() };
        if self.has_part && octets > 0 {
            self.store.sync_part()?;
            for block in journal.blocks(BLOCKS) {
                journal.crc.push(crc_of(&self.store.read_part(block)?));
            }
        }
        self.journal = journal;
        self.write()?;
        self.took = self.last.duration_since(began);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.store.write(&self.journal.text())?;
        self.is_kept = true;
        self.last = self.store.now();
        Ok(())
    }
}

fn crc_of(octets: &[u8]) -> String {
    format!("{:08x}", Crc32c::of(octets))
}
