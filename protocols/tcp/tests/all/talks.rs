//! Connections on bad links: what is promised is kept.

use stackwright_tcp::{Config, Tcp, policies};
use stackwright_transport::Slots;
use stackwright_transport::words::SECOND;
use stackwright_trial::Promise;
use stackwright_trial::setting::{are_the_same_in_runs, pass_narrow_paths, talks, withstands};

use crate::scene::{M, format};

/// One end with short segments, so that messages have several.
fn end(side: usize) -> Slots<Tcp<M>> {
    let config = Config { segment: 600, tries: 12, silence: 600 * SECOND, ..Config::new([0; 16]) };
    policies(format(side, &config), &config)
}

#[test]
fn octets_arrive_in_order_over_links_that_lose_double_reorder_and_alter() {
    talks(end, Promise::Octets);
}

/// TCP as in RFC 793: without any option that both have to know.
#[test]
fn octets_arrive_without_options() {
    let plain = |side| {
        let config = Config {
            segment: 600,
            tries: 12,
            silence: 600 * SECOND,
            sack: false,
            timestamps: false,
            scales: false,
            ..Config::new([0; 16])
        };
        policies(format(side, &config), &config)
    };
    talks(plain, Promise::Octets);
    withstands(plain, Promise::Octets);
}

/// `Config::run` changes no segment.
#[test]
fn segments_that_leave_together_are_those_that_leave_alone() {
    are_the_same_in_runs(end, Promise::Octets, 14);
}

#[test]
fn octets_withstand_what_befalls_any_segment() {
    withstands(end, Promise::Octets);
}

#[test]
fn octets_arrive_over_a_path_that_drops_long_segments() {
    // Only one side closes, and then waits for the other.
    let config = Config { orphaned: SECOND, ..Config::new([0; 16]) };
    pass_narrow_paths(|side| policies(format(side, &config), &config), Promise::Octets);
}
