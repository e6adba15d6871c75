//! What may be said of a measurement.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use stackwright::artp::Congestion;

use super::place::PORT;
use crate::arguments::PACKET;
use crate::problem::Problem;

/// Measure a transport between two processes: how fast, how soon, how many, and how much of a processor.
#[derive(Subcommand)]
// As the commands beside it: what is not asked for costs a short transfer of 100 kB 8 % of its time.
#[command(defer = true)]
pub(crate) enum Perf {
    /// Be the other side: count what comes, answer requests, and tell who measures what arrived.
    Serve(Serve),
    /// Measure: bulk where nothing else is said. What is told is what arrived there.
    Run(Run),
}

impl Perf {
    pub(crate) fn json(&self) -> bool {
        match self {
            Perf::Serve(serve) => serve.json,
            Perf::Run(run) => run.json,
        }
    }
}

#[derive(Args)]
pub(crate) struct Serve {
    /// Where to listen, as artp://ADDR:PORT, udp://…, tcp://… or ordered+artp://…; an address alone is ARTP's. Port 0 takes
    /// any free port.
    #[arg(default_value_t = format!("artp://127.0.0.1:{PORT}"))]
    pub(crate) url: String,
    /// Serve with so many threads, each with a stack and a socket of its own at the same address: who comes is dealt to one of them by
    /// the kernel, and stays there. Of artp, udp and ordered+artp.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) cores: u16,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Say what happens as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone)]
pub(crate) struct Run {
    /// Where `stackwright perf serve` is, as artp://host:port, udp://…, tcp://… or ordered+artp://….
    pub(crate) url: String,
    /// The octets of a message, 16 at least; 10kB, and 64 for requests and associations, where nobody says it.
    #[arg(long, value_parser = octets)]
    pub(crate) size: Option<u64>,
    /// For how long messages are sent; what is on its way then still arrives.
    #[arg(long, default_value = "5s", value_parser = duration)]
    pub(crate) time: Duration,
    /// How much is sent, in place of for how long.
    #[arg(long, value_parser = octets, conflicts_with = "time")]
    pub(crate) octets: Option<u64>,
    /// Open so many associations, exchange one message on each while all are open, and close them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "octets")]
    pub(crate) associations: Option<u32>,
    /// One message, its reply of the same size, the next.
    #[arg(long, conflicts_with = "associations")]
    pub(crate) requests: bool,
    /// Do that so many times over.
    #[arg(long, value_name = "N", requires = "associations", default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Keep all associations open for so long before they are closed, so that somebody can look at what they take; with --json a line says when.
    #[arg(long, requires = "associations", value_parser = duration)]
    pub(crate) hold: Option<Duration>,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// One JSON object on standard output, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What may be chosen of a transport. The two ends agree on the smaller packet and window; a cipher and a key they must share.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Tuning {
    /// Of ARTP, the longest packet in octets; what a path of 1500 takes where nobody says it.
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// Of ARTP, how many packets may be on their way.
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) window: Option<u32>,
    /// The same in octets.
    #[arg(long, value_name = "OCTETS", value_parser = octets, conflicts_with = "window")]
    pub(crate) flight: Option<u64>,
    /// Of ARTP, how many packets are acknowledged at once, unless time is up; where nobody says it, 2 full ones, or up to 32 that hold
    /// as much. Who only receives never measured the way, and waits for two at most, whatever this says.
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub(crate) gather: Option<u32>,
    /// Of ARTP, what bounds what is on its way: cubic (as by default), bbr, new-reno, document.
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    pub(crate) congestion: Option<Congestion>,
    /// Of ARTP, what seals datagrams.
    #[arg(long, value_enum, default_value_t = Cipher::None)]
    pub(crate) cipher: Cipher,
    /// The cipher's key, 64 hexadecimal digits. What is measured with is no secret: there is one that everybody knows.
    #[arg(long, value_name = "HEX", value_parser = key)]
    pub(crate) key: Option<Key>,
    /// Look again and again for so long before sleeping: 50 where each end has a processor of its own halves the time of requests.
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub(crate) spin: Option<u64>,
    /// The first packet number of ARTP: just below 4294967296, it wraps soon.
    #[arg(long, value_name = "NUMBER", hide = true)]
    pub(crate) first: Option<u32>,
    /// The longest message, in octets.
    #[arg(skip)]
    pub(crate) longest: usize,
}

impl Tuning {
    /// The same for messages of so many octets.
    pub(crate) fn with_size(&self, size: Option<u64>) -> Result<Self, Problem> {
        let longest = usize::try_from(size.unwrap_or(0)).unwrap_or(usize::MAX);
        Ok(Tuning { longest, ..*self })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cipher {
    #[default]
    None,
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    #[value(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

pub(crate) type Key = [u8; 32];

fn key(text: &str) -> Result<Key, &'static str> {
    const WRONG: &str = "a key is 64 hexadecimal digits";
    if text.len() != 64 || !text.is_ascii() {
        return Err(WRONG);
    }
    let mut key = Key::default();
    for (place, octet) in key.iter_mut().enumerate() {
        *octet = u8::from_str_radix(&text[2 * place..][..2], 16).map_err(|_| WRONG)?;
    }
    Ok(key)
}

fn congestion(name: &str) -> Result<Congestion, &'static str> {
    name.parse().map_err(|()| "there are document, new-reno, cubic and bbr")
}

/// A number of octets, as `10kB`: decimal, as rates are.
fn octets(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "write it as a number, or with kB, MB, GB or TB behind it";
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        _ => return Err(WRONG),
    };
    let number: u64 = digits.trim_end().parse().map_err(|_| WRONG)?;
    number.checked_mul(unit).filter(|octets| *octets > 0).ok_or(WRONG)
}

/// A duration with its unit, or in seconds, as iperf3 takes it.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map_or_else(|| humantime::parse_duration(text).map_err(|error| error.to_string()), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        assert_eq!(octets("10kB"), Ok(10_000));
        assert_eq!(octets("2 GB"), Ok(2_000_000_000));
        assert_eq!(octets("64"), Ok(64));
        for wrong in ["", "kB", "0", "-1", "1.5kB", "7 XB", "99999999999TB"] {
            assert!(octets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_are_read() {
        assert_eq!(key(&"0f".repeat(32)), Ok([15; 32]));
        assert!(key("0f").is_err() && key(&"0g".repeat(32)).is_err() && key(&"é".repeat(32)).is_err());
    }

    #[test]
    fn a_time_without_a_unit_is_in_seconds() {
        assert_eq!(duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("3ms"), Ok(Duration::from_millis(3)));
        assert!(duration("-1").is_err() && duration("soon").is_err());
    }
}
