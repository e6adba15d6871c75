//! Progress bars of a terminal: one for each file under way, as far as there is room, and one for
//! all.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::names;
use crate::printable::Printable;

/// The most bars of files at once.
const SHOWN_MOST: usize = 8;

/// How many letters of a file's name are shown: the last ones.
const NAME_MOST: usize = 28;

/// The bars, by the key of a file.
pub(super) struct Bars {
    multi: MultiProgress,
    files: BTreeMap<u64, ProgressBar>,
    /// Of all files, where there are several.
    total: Option<ProgressBar>,
}

impl Bars {
    pub(super) fn new(several: bool) -> Self {
        let multi = MultiProgress::new();
        let total = several.then(|| {
            let bar = hidden(None);
            bar.set_style(style("{spinner} {msg}  {bytes}  {bytes_per_sec}"));
            multi.add(bar)
        });
        Bars { multi, files: BTreeMap::new(), total }
    }

    /// A file is under way, of which `there` octets are there already. Where it `is_timed`, its
    /// caller says how long it still takes.
    pub(super) fn begin(
        &mut self,
        key: u64,
        name: &str,
        size: Option<u64>,
        there: u64,
        is_timed: bool,
    ) {
        if self.files.len() >= SHOWN_MOST {
            return;
        }
        let bar = hidden(size);
        let left = if is_timed { "{msg}" } else { "{eta}" };
        let ends = format!(
            "{{percent:>3}} %  {{bytes}} of {{total_bytes}}  {{bytes_per_sec}}  {left} left"
        );
        bar.set_style(match (size, &self.total) {
            (None, _) => style("{spinner} {prefix}  {bytes}  {bytes_per_sec}"),
            (Some(_), None) => style(&format!("{{bar:30}} {ends}")),
            (Some(_), Some(_)) => style(&format!("{{prefix:28}} {{bar:16}} {ends}")),
        });
        bar.set_prefix(shortened(names::split(name).1));
        bar.set_position(there);
        bar.reset_eta();
        let bar = match &self.total {
            Some(total) => self.multi.insert_before(total, bar),
            None => self.multi.add(bar),
        };
        self.files.insert(key, bar);
    }

    pub(super) fn moved(&self, key: u64, octets: u64) {
        if let Some(bar) = self.files.get(&key) {
            bar.set_position(octets);
        }
    }

    pub(super) fn left(&self, key: u64, seconds: u64) {
        if let Some(bar) = self.files.get(&key) {
            bar.set_message(HumanDuration(Duration::from_secs(seconds)).to_string());
        }
    }

    pub(super) fn end(&mut self, key: u64) {
        if let Some(bar) = self.files.remove(&key) {
            bar.finish_and_clear();
            self.multi.remove(&bar);
        }
    }

    /// Shows what was done so far.
    pub(super) fn total(&self, files: u64, octets: u64) {
        if let Some(bar) = &self.total {
            bar.set_message(format!("{files} {}", if files == 1 { "file" } else { "files" }));
            bar.set_position(octets);
        }
    }

    /// Runs `say`, which writes to the terminal, while no bar is there.
    pub(super) fn beside(&self, say: impl FnOnce()) {
        self.multi.suspend(say);
    }

    pub(super) fn clear(&mut self) {
        self.files.values().for_each(ProgressBar::finish_and_clear);
        self.total.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// What fails ends without them, too.
impl Drop for Bars {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A bar that is not shown: one that changes before it has its place would stay where it was.
fn hidden(size: Option<u64>) -> ProgressBar {
    ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden())
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template that is tested")
}

/// The end of a name, which differs more than its beginning.
fn shortened(name: &str) -> String {
    let name = Printable(name).to_string();
    let letters = name.chars().count();
    if letters <= NAME_MOST {
        return name;
    }
    std::iter::once('…').chain(name.chars().skip(letters - NAME_MOST + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_valid_and_few_bars_are_shown() {
        for several in [false, true] {
            let mut bars = Bars::new(several);
            for key in 0..20 {
                bars.begin(key, "name", (key % 2 == 0).then_some(10), 3, key % 3 == 0);
                bars.left(key, 70);
                bars.moved(key, 5);
            }
            assert_eq!(bars.files.len(), SHOWN_MOST);
            bars.total(1, 7);
            bars.end(0);
            bars.begin(20, "name", Some(1), 0, false);
            assert_eq!(bars.files.len(), SHOWN_MOST);
            bars.clear();
        }
    }

    #[test]
    fn long_names_keep_their_end() {
        let name = shortened(&format!("{}/end.txt", "x".repeat(50)));
        assert!(name.ends_with("/end.txt") && name.starts_with('…'));
        assert_eq!(name.chars().count(), NAME_MOST);
    }
}
