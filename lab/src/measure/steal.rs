//! Processor time that the machine was not given: another machine on the same hardware had it.

use std::fs;

/// Looks at the kernel's accounts from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steal {
    began: Option<Ticks>,
}

/// Since the machine runs, in ticks of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ticks {
    busy: u64,
    stolen: u64,
}

impl Steal {
    /// Begins.
    pub(crate) fn begin() -> Self {
        Steal { began: now() }
    }

    /// Of the time in which a processor was wanted, the part that was stolen; nothing where the
    /// kernel does not tell.
    pub(crate) fn share(&self) -> f64 {
        let (Some(began), Some(now)) = (self.began, now()) else { return 0.0 };
        let wanted = (now.busy + now.stolen).saturating_sub(began.busy + began.stolen);
        now.stolen.saturating_sub(began.stolen) as f64 / wanted.max(1) as f64
    }
}

fn now() -> Option<Ticks> {
    read(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of proc(5), `stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn read(stat: &str) -> Option<Ticks> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let numbers: Vec<u64> = numbers.map_while(|number| number.parse().ok()).collect();
    let &[user, nice, system, _idle, _waiting, irq, softirq, stolen, ..] = numbers.as_slice()
    else {
        return None;
    };
    Some(Ticks { busy: user + nice + system + irq + softirq, stolen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounts_are_read() {
        assert_eq!(
            read("cpu  1 2 3 400 500 6 7 80 9 10\ncpu0 1"),
            Some(Ticks { busy: 19, stolen: 80 })
        );
        assert_eq!(read("intr 1 2 3"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_share_is_one() {
        assert!((0.0..=1.0).contains(&Steal::begin().share()));
    }
}
