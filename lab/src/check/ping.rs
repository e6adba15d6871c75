//! ping: asks the other side for an echo, and says how long that took.

use stackwright_results::Problem;

use crate::link::{Side, Wire};

/// What it counted.
#[derive(Debug)]
pub(super) struct Pinged {
    /// How many requests it sent.
    pub(super) sent: u64,
    /// How many of them were answered.
    pub(super) answered: u64,
    /// How many answers came once more.
    pub(super) duplicates: u64,
    /// How long each first answer took, in milliseconds, ascending.
    times: Vec<f64>,
}

impl Pinged {
    /// The median of the times, in milliseconds; 0 where nothing was answered.
    pub(super) fn median(&self) -> f64 {
        let middle = self.times.len() / 2;
        match self.times.get(middle) {
            None => 0.0,
            Some(upper) if self.times.len() % 2 == 1 => *upper,
            Some(upper) => (self.times[middle - 1] + upper) / 2.0,
        }
    }
}

/// Sends `count` requests, one each `interval` seconds, and waits a second for the last answers.
///
/// # Errors
///
/// Where its summary is none that is known.
pub(super) fn send(wire: &Wire, count: u32, interval: &str) -> Result<Pinged, Problem> {
    let mut command = wire.command(Side::A, "ping");
    command.args(["-n", "-c", &count.to_string(), "-i", interval, "-W", "1"]);
    command.arg(wire.address(Side::B).to_string()).env("LC_ALL", "C");
    let said =
        command.output().map_err(|error| Problem::new(format!("cannot start ping: {error}")))?;
    let said = String::from_utf8_lossy(&said.stdout);
    read(&said).ok_or_else(|| {
        Problem::new("cannot read the output of ping").advise(said.trim().to_owned())
    })
}

fn read(said: &str) -> Option<Pinged> {
    let mut times: Vec<f64> =
        said.lines().filter(|line| !line.contains("(DUP!)")).filter_map(time).collect();
    times.sort_unstable_by(f64::total_cmp);
    // 1000 packets transmitted, 951 received, +3 duplicates, 4.9% packet loss, time 2101ms
    let summary = said.lines().find(|line| line.contains(" packets transmitted"))?;
    let figure = |what: &str| {
        let part = summary.split(", ").find(|part| part.ends_with(what))?;
        part.split(' ').next()?.trim_start_matches('+').parse().ok()
    };
    let duplicates = figure(" duplicates").unwrap_or(0);
    Some(Pinged {
        sent: figure(" packets transmitted")?,
        answered: figure(" received")?,
        duplicates,
        times,
    })
}

/// 64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=40.7 ms
fn time(line: &str) -> Option<f64> {
    line.split_once("time=")?.1.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_ping_says_is_read() {
        let said = "64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=40.7 ms\n\
                    64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=40.9 ms (DUP!)\n\
                    64 bytes from 10.77.0.2: icmp_seq=3 ttl=64 time=41.2 ms\n\n\
                    3 packets transmitted, 2 received, +1 duplicates, 33.3333% packet loss, time 2002ms\n";
        let pinged = super::read(said).expect("it is a summary");
        assert_eq!((pinged.sent, pinged.answered, pinged.duplicates), (3, 2, 1));
        assert_eq!(pinged.times, [40.7, 41.2]);
        assert!((pinged.median() - 40.95).abs() < 1e-9);
        assert!(super::read("ping: connect: Network is unreachable").is_none());
    }
}
