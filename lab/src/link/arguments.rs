//! The command line of `lab link`.

use std::ffi::OsString;

use serde_json::Value;

use super::field::field;

/// Joins two network namespaces by a modelled link, over which any program runs
///
/// Both ends are Linux's own: its TCP, its UDP, every program. What is said here holds both ways, and comes before what the profile
/// or the file says. Without a command, the link stays until Ctrl-C.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A link known by name (`wan`, `geo`, …), or a file that describes one (`mine.toml`). Without either, a link that does
    /// nothing
    #[arg(value_name = "PROFILE")]
    pub(super) link: Option<String>,
    /// How fast it is, like `100 Mb/s`: of IP packets, and of framing where there is some
    #[arg(long, value_parser = field("rate"))]
    rate: Option<Value>,
    /// How long a packet is under way, like `20 ms`
    #[arg(long, value_parser = field("delay"))]
    delay: Option<Value>,
    /// How much longer it may be, by chance
    #[arg(long, value_parser = field("jitter"))]
    jitter: Option<Value>,
    /// What may wait for its turn, like `64 kB` or `50 packets`
    #[arg(long, value_parser = field("queue"))]
    queue: Option<Value>,
    /// Which packets are lost: a probability, or like `{ every = 10 }`
    #[arg(long, value_parser = field("loss"))]
    loss: Option<Value>,
    /// The probability that a packet arrives twice
    #[arg(long, value_parser = field("duplicate"))]
    duplicate: Option<Value>,
    /// Which packets are held back so that others overtake them, like `{ probability = 0.01, by = "5 ms" }`
    #[arg(long, value_parser = field("reorder"))]
    reorder: Option<Value>,
    /// The probability that one bit of a packet's payload is altered
    #[arg(long, value_parser = field("corrupt"))]
    corrupt: Option<Value>,
    /// The probability of each bit of the payload to be altered
    #[arg(long, value_parser = field("bit-errors"))]
    bit_errors: Option<Value>,
    /// The longest IP packet, in octets; below 1280 there is no IPv6
    #[arg(long, value_parser = field("mtu"))]
    mtu: Option<Value>,
    /// Octets of framing that go with each packet, and take time
    #[arg(long, value_parser = field("overhead"))]
    overhead: Option<Value>,
    /// What the link's chances follow from
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// JSON lines for programs: one when the link is up, one at its end
    #[arg(long)]
    pub(super) json: bool,
    /// For a program that started this one: a line on standard input asks for the counts, its end ends the link
    #[arg(long, hide = true, requires = "json")]
    pub(super) attended: bool,
    /// The link, as a program writes it
    #[arg(long, hide = true, conflicts_with = "link")]
    pub(super) profile: Option<String>,
    /// Runs this at the first end, ends when it ends, and with its exit code
    #[arg(last = true)]
    pub(super) command: Vec<OsString>,
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
