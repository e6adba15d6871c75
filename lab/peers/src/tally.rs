//! What the receiver counts, and when it has been enough.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::control::{Count, Mouth, Verdict};
use crate::watch::Watch;

/// The octets of one run at its receiving end. Whoever counts the last one, or hears that time is
/// over, tells the sender.
#[derive(Debug)]
pub(crate) struct Tally {
    octets: AtomicU64,
    goal: Option<u64>,
    first: OnceLock<Instant>,
    watch: Watch,
    told: AtomicBool,
    mouth: Mutex<Mouth>,
    over: CancellationToken,
    gone: CancellationToken,
}

impl Tally {
    pub(crate) fn new(goal: Option<u64>, watch: Watch, mouth: Mouth) -> Self {
        Tally {
            octets: AtomicU64::new(0),
            goal,
            first: OnceLock::new(),
            watch,
            told: AtomicBool::new(false),
            mouth: Mutex::new(mouth),
            over: CancellationToken::new(),
            gone: CancellationToken::new(),
        }
    }

    /// The application got so many octets.
    pub(crate) fn count(&self, octets: usize) {
        self.first.get_or_init(Instant::now);
        let all = self.octets.fetch_add(octets as u64, Ordering::Relaxed) + octets as u64;
        if self.goal.is_some_and(|goal| all >= goal) {
            self.close();
        }
    }

    /// Tells the sender what was counted until now; only the first call does.
    pub(crate) fn close(&self) {
        let begin = self.first.get().copied().unwrap_or_else(Instant::now);
        self.tell(&Verdict::Counted(Count {
            octets: self.octets.load(Ordering::Relaxed),
            seconds: begin.elapsed().as_secs_f64(),
            processor: self.watch.lap().processor,
        }));
    }

    /// Tells the sender why nothing will be counted.
    pub(crate) fn fail(&self, why: &str) {
        self.tell(&Verdict::Failed(why.to_owned()));
    }

    fn tell(&self, verdict: &Verdict) {
        if !self.told.swap(true, Ordering::Relaxed) {
            // A sender that is gone needs no answer.
            let _ = self.mouth.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).say(verdict);
        }
        self.over.cancel();
    }

    /// Whether nothing more counts.
    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }

    /// The sender is gone: nobody waits for a count.
    pub(crate) fn abandon(&self) {
        self.told.store(true, Ordering::Relaxed);
        self.over.cancel();
        self.gone.cancel();
    }

    /// Whether the sender is gone. Until then what the transport holds is kept, so that no sender
    /// sees a reset that is in truth the end.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    pub(crate) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// For those that block: waits until the sender is gone.
    pub(crate) fn wait_until_gone(&self) {
        while !self.is_gone() {
            thread::sleep(Duration::from_millis(10));
        }
    }
}
