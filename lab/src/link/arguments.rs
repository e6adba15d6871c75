//! The command line of `lab link`.

use std::ffi::OsString;

use serde_json::Value;
use stackwright_simulator::{NamedProfile, Profile};

use super::field::field;

const EXAMPLES: &str = "
Examples:
  sudo lab link geo -- iperf3 -c 10.77.0.2
  sudo lab link --rate '10 Mb/s' --delay '20 ms' --loss 0.01";

/// Connect two network namespaces by a modelled link, for any program (needs root)
///
/// Both ends use Linux's network stack. Options apply to both directions, and override the profile
/// or the file. Without a command, the link stays until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{}{EXAMPLES}", profiles()))]
pub(crate) struct Arguments {
    /// A named profile (wan, geo, …) or a file that describes a link (mine.toml) [default: an ideal
    /// link]
    #[arg(value_name = "PROFILE")]
    pub(super) link: Option<String>,
    /// The rate, such as "100 Mb/s", of IP packets and framing
    #[arg(long, value_parser = field("rate"))]
    rate: Option<Value>,
    /// The one-way delay, such as "20 ms"
    #[arg(long, value_parser = field("delay"))]
    delay: Option<Value>,
    /// The most random delay added, such as "2 ms"
    #[arg(long, value_parser = field("jitter"))]
    jitter: Option<Value>,
    /// The length of the queue, such as "64 kB" or "50 packets"
    #[arg(long, value_parser = field("queue"))]
    queue: Option<Value>,
    /// Packet loss: a probability, or a model such as "{ every = 10 }"
    #[arg(long, value_parser = field("loss"))]
    loss: Option<Value>,
    /// The probability that a packet is duplicated
    #[arg(long, value_parser = field("duplicate"))]
    duplicate: Option<Value>,
    /// Reordering, such as '{ probability = 0.01, by = "5 ms" }'
    #[arg(long, value_parser = field("reorder"))]
    reorder: Option<Value>,
    /// The probability that one bit of a packet's payload is inverted
    #[arg(long, value_parser = field("corrupt"))]
    corrupt: Option<Value>,
    /// The bit error rate of the payload
    #[arg(long, value_parser = field("bit-errors"))]
    bit_errors: Option<Value>,
    /// The MTU in octets; below 1280 there is no IPv6
    #[arg(long, value_parser = field("mtu"))]
    mtu: Option<Value>,
    /// Framing octets per packet, which take time on the link
    #[arg(long, value_parser = field("overhead"))]
    overhead: Option<Value>,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print JSON lines: one when the link is up, one at its end
    #[arg(long)]
    pub(super) json: bool,
    /// For a program that started this one: a line on standard input asks for the counts, its end
    /// ends the link
    #[arg(long, hide = true, requires = "json")]
    pub(super) attended: bool,
    /// The link, as written by a program
    #[arg(long, hide = true, conflicts_with = "link")]
    pub(super) profile: Option<String>,
    /// A command to run at the first end; the link ends with it, and with its exit code
    #[arg(last = true)]
    pub(super) command: Vec<OsString>,
}

/// Returns the named profiles, one per line.
fn profiles() -> String {
    let line = |known: &NamedProfile| format!("  {:<18} {}\n", known.name, known.about);
    ["Profiles:\n".to_owned()].into_iter().chain(Profile::ALL.iter().map(line)).collect()
}

impl Arguments {
    /// What is said of the link itself, by the names that files use.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let all = [
            ("rate", &self.rate),
            ("delay", &self.delay),
            ("jitter", &self.jitter),
            ("queue", &self.queue),
            ("loss", &self.loss),
            ("duplicate", &self.duplicate),
            ("reorder", &self.reorder),
            ("corrupt", &self.corrupt),
            ("bit-errors", &self.bit_errors),
            ("mtu", &self.mtu),
            ("overhead", &self.overhead),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }
}
