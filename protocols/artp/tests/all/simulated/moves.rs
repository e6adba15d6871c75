//! A client whose address changes in mid-session, and a server that forgets it.

use stackwright_artp::{Config, Layer, layer};
use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::Conditions;
use stackwright_wire::BufferTree;

use crate::simulated::scene::{Scene, Talker};

const SERVER: usize = 0;
const CLIENT: usize = 1;

/// One way.
const DELAY: Duration = Duration::from_millis(25);
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// The packets themselves take less.
const MILLISECOND: Duration = Duration::from_millis(1);

/// How many messages are sent in all.
const MESSAGES: u32 = 2000;

fn path() -> Conditions {
    Conditions { delay: DELAY, rate: Some(20_000_000), ..Conditions::IDEAL }
}

/// A transfer to `side`.
fn transfer(to: usize, seed: u64, keepalive: Option<u64>) -> Scene<Layer<BufferTree>> {
    let mut talkers = [Talker::default(), Talker::default()];
    talkers[1 - to] = Talker::with(MESSAGES, 1000);
    let layer = |config, seed| layer(Config { keepalive, ..config }, seed);
    Scene::of(seed, path(), talkers, layer)
}

/// The client moves in the middle of a transfer to `to`. Within three round trips of the first
/// packet that leaves from there, both send and are heard: from then on new messages are on their
/// way.
fn goes_on(to: usize, outside: [u8; 4], shift: u16) {
    for seed in 0..20 {
        // Every other packet is acknowledged as it arrives: then nothing more is to be said.
        let mut moved = (0..2).map(|nth| {
            let mut scene = transfer(to, seed, None);
            scene.hears(to, 500 + 2 * seed as usize + nth);
            scene.moves(outside, shift);
            scene.passes(Duration::from_millis(500));
            scene
        });
        let says = |scene: &Scene<_>| scene.heard_from_elsewhere().is_some();
        let mut scene = moved.find(says).expect("it says something");
        let took = finishes(&mut scene, to);
        assert!(took <= 3 * ROUND_TRIP + DELAY + MILLISECOND, "seed {seed}: {took:?}");
    }
}

/// The rest of a transfer is heard. Returns after what time the first message was, since the first
/// packet left from the new address.
fn finishes(scene: &mut Scene<Layer<BufferTree>>, to: usize) -> Duration {
    scene.hears(to, MESSAGES as usize);
    let begins = scene.heard_from_elsewhere().expect("a packet from there");
    let goes_on = scene.heard_at(to).iter().find(|at| **at > begins).expect("it goes on");
    let took = goes_on.since(begins) + DELAY;
    let mut heard = scene.heard(to).to_vec();
    heard.sort_unstable();
    assert_eq!(heard, Vec::from_iter(0..MESSAGES));
    assert!(scene.both_end());
    let ended = (scene.outcome().1, scene.server_ended());
    assert_eq!(ended, (Some(Ended::Finished), Some(Ended::Finished)));
    assert_eq!(scene.client_layer().associations() + scene.server_layer().associations(), 0);
    took
}

#[test]
fn rebinding_port_of_the_side_that_sends() {
    goes_on(SERVER, [10, 0, 0, 2], 1);
}

#[test]
fn rebinding_port_of_the_side_that_receives() {
    goes_on(CLIENT, [10, 0, 0, 2], 1);
}

#[test]
fn rebinding_address_of_the_side_that_sends() {
    goes_on(SERVER, [10, 0, 0, 3], 0);
}

#[test]
fn rebinding_address_of_the_side_that_receives() {
    goes_on(CLIENT, [10, 0, 0, 3], 0);
}

/// A side that receives, and has acknowledged all, says nothing, and is not found before it does.
#[test]
fn a_side_that_moves_and_is_silent_is_found_by_its_keepalive() {
    for seed in 0..10 {
        let mut scene = transfer(CLIENT, seed, Some(1_000_000_000));
        scene.hears(CLIENT, 501 + 2 * seed as usize);
        scene.moves([10, 0, 0, 2], 1);
        let since = scene.now();
        finishes(&mut scene, CLIENT);
        let took = scene.heard_from_elsewhere().expect("a packet").since(since);
        assert!(took <= Duration::from_secs(1) + DELAY + MILLISECOND, "seed {seed}: {took:?}");
    }
}

/// A server that is there again, with the key that it had, does not know the session.
#[test]
fn a_restart_is_noticed_within_a_round_trip_of_the_next_packet() {
    let keyed = |config, seed| layer(Config { reset_key: Some([7; 32]), ..config }, seed);
    let talkers = [Talker::default(), Talker::with(MESSAGES, 5000)];
    let mut scene = Scene::of(1, path(), talkers, keyed);
    scene.hears(SERVER, 100);
    scene.restarts(keyed);
    let since = scene.now();
    assert!(scene.ends());
    assert_eq!(scene.outcome().1, Some(Ended::Reset(0)));
    let took = scene.now().since(since);
    assert!(took <= ROUND_TRIP, "{took:?}");
}

/// Without that key, what the server says may come from anybody.
#[test]
fn a_restart_without_the_key_is_noticed_by_silence() {
    let talkers = [Talker::default(), Talker::with(MESSAGES, 5000)];
    let mut scene = Scene::of(1, path(), talkers, layer);
    scene.hears(SERVER, 100);
    scene.restarts(layer);
    let since = scene.now();
    assert!(scene.ends());
    assert_eq!(scene.outcome().1, Some(Ended::Expired));
    let took = scene.now().since(since);
    assert!(took >= Duration::from_secs(30), "{took:?}");
}
