//! A congestion judge of one's own, beside NewReno, CUBIC and BBR: it adds two packets to its
//! window each round trip, and keeps three quarters of it after a loss. How it was written stands
//! in `docs/a-judge-of-ones-own.md`.
//!
//! ```text
//! cargo run --release -p stackwright-examples --bin my-judge
//! ```

use std::process::ExitCode;

use stackwright::transport::Acknowledged;
use stackwright::transport::slots::Congestion;
use stackwright::transport::words::View;

struct Mine {
    packet: u64,
    window: u64,
    /// What is lost of the packets before this number is no news: it was cut for.
    cut_upto: u64,
}

impl Congestion for Mine {
    fn window(&self) -> u64 {
        self.window
    }

    fn on_acknowledged(&mut self, _: &View, acknowledged: &Acknowledged) {
        self.window += 2 * self.packet * acknowledged.octets / self.window;
    }

    fn on_lost(&mut self, view: &View, _: u64) {
        if view.settled_upto >= self.cut_upto {
            self.window = (self.window * 3 / 4).max(2 * self.packet);
            self.cut_upto = view.sent_upto;
        }
    }

    fn on_timeout(&mut self, view: &View) {
        (self.window, self.cut_upto) = (self.packet, view.sent_upto);
    }
}

fn main() -> ExitCode {
    stackwright_conformance::main("mine", |packet| {
        Box::new(Mine { packet, window: 10 * packet, cut_upto: 0 })
    })
}
