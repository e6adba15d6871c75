//! Runs the built-in congestion judges through the conformance kit:
//! `cargo run --release -p stackwright-conformance -- cubic`.

use std::process::ExitCode;

use clap::Parser;
use stackwright_artp::Congestion;
use stackwright_conformance::{Options, conclude};

#[derive(Parser, Debug)]
#[command(about = "Runs a congestion judge over many paths, beside NewReno, CUBIC and BBR")]
struct Arguments {
    /// `cubic`, `bbr`, `new-reno` or `document`
    #[arg(value_parser = judge, default_value = "cubic")]
    judge: Congestion,
    #[command(flatten)]
    options: Options,
}

fn judge(name: &str) -> Result<Congestion, &'static str> {
    name.parse().map_err(|()| "choose cubic, bbr, new-reno or document")
}

fn main() -> ExitCode {
    let Arguments { judge, options } = Arguments::parse();
    conclude(judge, &options)
}
