//! `spec`: protocols from a specification.
//!
//! | file | what |
//! | --- | --- |
//! | `arguments.rs` | what may be said of it |
//! | `begin.rs` | a first text |
//! | `check.rs` | what it promises is checked |
//! | `make.rs` | what is made of a text: pictures, Rust, vectors, a text in the style |
//! | `run.rs`, `host.rs` | a role is run by hand |
//! | `monitor.rs` | a role follows a transcript |
//! | `transport.rs` | the transports that phases select, as Rust |

mod arguments;
mod begin;
mod check;
mod host;
mod make;
mod monitor;
mod run;
mod transport;

pub(crate) use arguments::Spec;

use crate::problem::Problem;

pub(crate) fn run(spec: &Spec) -> Result<(), Problem> {
    match spec {
        Spec::New(new) => begin::new(new),
        Spec::Check(check) => check::check(check),
        Spec::Draw(draw) => make::draw(draw),
        Spec::Gen(generate) => make::generate(generate),
        Spec::Run(run) => run::run(run),
        Spec::Monitor(monitor) => monitor::monitor(monitor),
        Spec::Fmt(format) => make::format(format),
        Spec::Vectors(vectors) => make::vectors(vectors),
        Spec::Hash(hash) => make::hash(hash),
    }
}
