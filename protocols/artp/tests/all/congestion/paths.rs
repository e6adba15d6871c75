//! Long, slow and broken paths, with the configuration that nobody chose. Each has some jitter:
//! without any, a timeout that lies at the round trip itself is never too short.

use stackwright_artp::Config;
use stackwright_contract::Duration;

use stackwright_conformance::{Bottleneck, MBIT, Path as Way};

const JITTER: Duration = Duration::from_micros(100);

/// The octets that come with each message of 1000 in its packet: of IPv4, UDP and ARTP.
const WITH_EACH: u64 = 60;

fn of(way: Way) -> Bottleneck {
    Bottleneck::of(&Way { jitter: JITTER, ..way }, &[(Config::new([0; 16]), 0)], 1)
}

/// Where the timeout has no margin above a round trip that its floor does not reach, or a window
/// grows by a packet each round trip.
#[test]
fn a_long_path_is_filled_without_a_timeout() {
    let mut bottleneck = of(Way::new(20 * MBIT, 200, 0.0));
    let got = bottleneck.run(20)[0];
    assert!(got > 0.7, "{got} of the rate");
    assert_eq!((bottleneck.timeouts, bottleneck.duplicates), (0, 0), "{got} of the rate");
}

#[test]
#[ignore = "a quarter of a gigabyte"]
fn a_long_path_that_is_fast_is_filled_without_a_timeout() {
    let mut bottleneck = of(Way::new(100 * MBIT, 200, 0.0));
    let got = bottleneck.run(20)[0];
    println!(
        "{got} of 100 Mb/s, {} timeouts, {} duplicates",
        bottleneck.timeouts, bottleneck.duplicates
    );
    assert!(got > 0.7 && bottleneck.timeouts == 0);
}

/// Where the timeout is bounded below the time that a few frames take.
#[test]
fn a_slow_path_carries_what_it_can() {
    for (bits, messages, least, timeouts) in
        [(9600, 100, 0.8, 2), (4800, 50, 0.75, 4), (1200, 10, 0.4, 8)]
    {
        let rate = bits / 8;
        let mut bottleneck = of(Way::new(rate, 40, 0.0));
        bottleneck.message = 1000;
        let took = bottleneck.takes(1000 * messages).as_secs_f64();
        // From the first that arrives on.
        let wire = ((1000 + WITH_EACH) * (messages - 1)) as f64 / rate as f64;
        let got = (bottleneck.timeouts, bottleneck.duplicates);
        assert!(wire / took > least, "{bits} b/s: {:.2} of the rate, {got:?}", wire / took);
        assert!(got.0 <= timeouts, "{bits} b/s: {got:?} timeouts and duplicates");
    }
}

/// As `Config::silence` says: 30 s and eight timeouts, which take 255 to 319 times the first, but
/// no longer than 90 s; whatever is due to be sent again then.
#[test]
fn a_peer_that_vanishes_is_noticed_in_the_time_that_is_documented() {
    for milliseconds in [20, 300, 600] {
        let mut bottleneck = of(Way::new(MBIT, milliseconds, 0.0));
        bottleneck.run(20);
        let [least, most] = [255.0, 319.0]
            .map(|times| (times * bottleneck.timeout().as_secs_f64()).clamp(30.0, 90.0));
        let took = bottleneck.cut().as_secs_f64();
        assert!(
            (least - 0.2..most + 0.2).contains(&took),
            "{milliseconds} ms: {took} s, and {least} to {most} s were to be"
        );
    }
}
