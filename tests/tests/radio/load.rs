//! How much of a processor a station needs while it transfers at 9600 bit/s, by the clock.
//!
//! ```text
//! cargo build --release
//! cargo test -p stackwright-tests --test radio -- station/load --ignored --nocapture
//! ```

use std::time::Instant;

use libtest_mimic::Trial;

use crate::channel::channel_of;
use crate::process::Process;
use crate::programs::{line, program};
use crate::trial;

const RATE: u32 = 9600;
/// They come back, too: some 25 s on the air.
const OCTETS: &str = "9216";

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("station/load", "python3", load).with_ignored_flag(true)]
}

fn load() {
    let (_channel, tncs) = channel_of(RATE, 1, 0.0);
    let calls = ["N0AAA", "N0BBB"];
    let stations = [0, 1].map(|place| Process::at_rate(calls[place], tncs[place], RATE));
    let (_answers, mut ready) = program(&[&stations[1].agw.to_string(), "answers", "N0BBB"]);
    assert_eq!(line(&mut ready), "ready");
    let before = [0, 1].map(|place| stations[place].processor());
    let begun = Instant::now();
    let port = stations[0].agw.to_string();
    let (_calls, mut out) = program(&[&port, "calls", "N0AAA", "N0BBB", OCTETS]);
    assert_eq!(line(&mut out), "equal 0");
    let elapsed = begun.elapsed();
    let shares = [0, 1].map(|place| {
        let used = stations[place].processor() - before[place];
        100.0 * used.as_secs_f64() / elapsed.as_secs_f64()
    });
    println!(
        "{OCTETS} octets there and back in {:.1} s: the stations took {:.2} % and {:.2} % of a core",
        elapsed.as_secs_f64(),
        shares[0],
        shares[1]
    );
    assert!(shares.iter().all(|share| *share < 1.0), "{shares:?}");
}
