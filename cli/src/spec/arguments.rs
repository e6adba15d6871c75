//! What may be said of `spec`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
#[command(defer = true)]
pub(crate) enum Spec {
    /// Write a small protocol as a starting point: NAME.protocol.
    New(New),
    /// Compile a protocol: report mistakes, or the number of states of each role; check its
    /// properties.
    Check(Check),
    /// List the states of each role; or draw them.
    Draw(Draw),
    /// Generate Rust: a module that allocates nothing and needs no standard library.
    Gen(Generate),
    /// Run a role by hand: read its inputs from standard input, one per line.
    ///
    /// A line is the name of an ADU or input, and its values: Data 7 hello. Other lines are: room,
    /// drained, ended, a time as `spec draw` writes it (after 200 ms), and NAME = VALUE, which sets
    /// the result of the host function NAME from then on. A last value of type `bytes` is the rest
    /// of the line.
    Run(Role),
    /// Follow a recorded dialogue, from standard input: each line must be a transition of a role.
    ///
    /// `> NAME values` is an ADU that the role sent, `< NAME values` one that it received; other
    /// lines are those of `spec run`. What the role does not await at once is refused, not held.
    Monitor(Monitor),
    /// Format protocols: indentation, spaces.
    Fmt(Format),
    /// Write test vectors, as JSON lines: runs that together cover each transition.
    Vectors(Role),
    /// Print the hash of the properties on which both ends must agree.
    Hash(One),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Beginning {
    /// Two ends that answer each other.
    PingPong,
    /// One message at a time, retransmitted until it is acknowledged.
    StopAndWait,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright spec new Probe --from ping-pong
  stackwright spec check probe.protocol")]
pub(crate) struct New {
    /// The name: letters and digits, beginning with a capital letter.
    pub(crate) name: String,
    /// The template.
    #[arg(long, value_enum, default_value = "stop-and-wait")]
    pub(crate) from: Beginning,
}

#[derive(Args)]
pub(crate) struct One {
    /// The file, NAME.protocol.
    pub(crate) file: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright spec check lookup.protocol
  stackwright spec check lookup.protocol --with old.protocol")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) of: One,
    /// Also check that this older version interoperates with the new one.
    #[arg(long, value_name = "OLD")]
    pub(crate) with: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  printf 'Find printer\\nafter 1000 ms\\n' | stackwright spec run lookup.protocol
  stackwright spec vectors lookup.protocol --role Client")]
pub(crate) struct Role {
    /// The file, NAME.protocol.
    pub(crate) file: PathBuf,
    /// The role [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  printf 'Find printer\\n> Question 0 printer\\n< Answer 0 7\\n' | stackwright spec monitor lookup.protocol")]
pub(crate) struct Monitor {
    #[command(flatten)]
    pub(crate) of: Role,
    /// Let up to N ADUs be sent before the role would send them: a peer that takes several commands
    /// before it replies.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) ahead: usize,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright spec draw lookup.protocol --role Client
  stackwright spec draw lookup.protocol --svg > lookup.svg")]
pub(crate) struct Draw {
    #[command(flatten)]
    pub(crate) of: Role,
    /// Print Graphviz input.
    #[arg(long, conflicts_with = "svg")]
    pub(crate) dot: bool,
    /// Print a picture (SVG); needs Graphviz.
    #[arg(long)]
    pub(crate) svg: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright spec gen lookup.protocol -o lookup.rs
  stackwright spec gen --contract lookup.protocol -o network.rs")]
pub(crate) struct Generate {
    #[command(flatten)]
    pub(crate) of: One,
    /// Also make each role a layer over datagrams (stackwright-role).
    #[arg(long)]
    pub(crate) contract: bool,
    /// Write the transport of each phase instead, for `tailored`: only the policies that its
    /// services select.
    #[arg(long, conflicts_with = "contract")]
    pub(crate) transport: bool,
    /// Write into this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing; fail if FILE differs from the output.
    #[arg(long, requires = "output")]
    pub(crate) check: bool,
}

#[derive(Args)]
pub(crate) struct Format {
    /// The files, NAME.protocol.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; fail if a file is not formatted.
    #[arg(long)]
    pub(crate) check: bool,
}
