//! What may be said of `spec`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
#[command(defer = true)]
pub(crate) enum Spec {
    /// Write a small protocol to begin with: NAME.protocol.
    New(New),
    /// Compile a protocol: say what is wrong with it, or how many states its roles have; check what
    /// it promises.
    Check(Check),
    /// List the states of each role; or draw them.
    Draw(Draw),
    /// Generate Rust: a module that allocates nothing and needs no standard library.
    Gen(Generate),
    /// Run a role by hand: read what it hears from the standard input, a line each.
    ///
    /// A line is the name of an ADU or input, and its values: Data 7 hello. Others are: room,
    /// drained, ended, a time as `spec draw` writes it (after 200 ms), and NAME = VALUE, which is
    /// what the host function NAME answers from then on.
    Run(Role),
    /// Write protocols in the style: indentation, spaces.
    Fmt(Format),
    /// Write test vectors, JSON lines: runs that together pass through each transition.
    Vectors(Role),
    /// Print the hash of what both ends have to have in common.
    Hash(One),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Beginning {
    /// Two ends that ask and answer each other.
    PingPong,
    /// A message at a time, sent again until it is acknowledged.
    StopAndWait,
}

#[derive(Args)]
pub(crate) struct New {
    /// The name: letters and digits, the first of them large.
    pub(crate) name: String,
    /// What it begins with.
    #[arg(long, value_enum, default_value = "stop-and-wait")]
    pub(crate) from: Beginning,
}

#[derive(Args)]
pub(crate) struct One {
    /// The file, NAME.protocol.
    pub(crate) file: PathBuf,
}

#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) of: One,
    /// Check also that an end of this older version and one of the new understand each other.
    #[arg(long, value_name = "OLD")]
    pub(crate) with: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Role {
    /// The file, NAME.protocol.
    pub(crate) file: PathBuf,
    /// Which of its roles [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
}

#[derive(Args)]
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
pub(crate) struct Generate {
    #[command(flatten)]
    pub(crate) of: One,
    /// Add what makes each role a layer over datagrams (stackwright-role).
    #[arg(long)]
    pub(crate) contract: bool,
    /// Write the transport of each phase instead: the policies that its services select, and no
    /// others, for `tailored`.
    #[arg(long, conflicts_with = "contract")]
    pub(crate) transport: bool,
    /// Write into this file instead of the standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing; fail where FILE is not what would be written.
    #[arg(long, requires = "output")]
    pub(crate) check: bool,
}

#[derive(Args)]
pub(crate) struct Format {
    /// The files, NAME.protocol.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; fail where a file is not in the style.
    #[arg(long)]
    pub(crate) check: bool,
}
