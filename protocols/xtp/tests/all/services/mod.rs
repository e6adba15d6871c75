//! What each service costs and keeps, between two stations of a world.

mod closing;
mod scene;
mod sweep;

use stackwright_contract::Duration;
use stackwright_contract::services::{DatagramsRequest, Ended};
use stackwright_simulator::{Conditions, Deed, Event, World};
use stackwright_wire::Message;
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, Transaction, UnacknowledgedDatagram,
};

use scene::{
    ANSWERS, ASKS, BELOW, CLIENT, LISTENS, M, Manner, REQUEST, SAYS_ONE, SERVER, Scene, Service,
    name,
};

#[test]
fn an_acknowledged_datagram_takes_two_packets() {
    let mut scene =
        Scene::<AcknowledgedDatagram>::new(1, Conditions::IDEAL, 1, [SAYS_ONE, LISTENS]);
    scene.run(200);
    assert_eq!(scene.packets(), (1, 1));
    assert_eq!(scene.side(scene.server).heard, [REQUEST]);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Finished)]);
    }
}

#[test]
fn an_unacknowledged_datagram_takes_one_packet() {
    let mut scene =
        Scene::<UnacknowledgedDatagram>::new(1, Conditions::IDEAL, 1, [SAYS_ONE, LISTENS]);
    scene.run(200);
    assert_eq!(scene.packets(), (1, 0));
    assert_eq!(scene.side(scene.server).heard, [REQUEST]);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Finished)]);
    }
}

#[test]
fn what_nobody_acknowledges_rises_and_ends_though_its_end_is_lost() {
    let says = Manner { times: 20, ..SAYS_ONE };
    for seed in 0..100 {
        let conditions = Conditions { loss: 0.3.into(), ..Conditions::IDEAL };
        let mut scene = Scene::<UnacknowledgedDatagram>::new(seed, conditions, 1, [says, LISTENS]);
        scene.run(200);
        let server = scene.side(scene.server);
        assert!(server.heard.len() <= 20 && server.opened <= 1, "seed {seed}");
        assert_eq!(server.opened as usize, server.ended.len(), "seed {seed}");
        assert_eq!(scene.packets().1, 0, "seed {seed}: nobody answers");
    }
}

#[test]
fn a_transaction_is_a_request_and_its_answer() {
    let mut scene = Scene::<Transaction>::new(1, Conditions::IDEAL, 1, [ASKS, ANSWERS]);
    scene.run(200);
    assert_eq!(scene.side(scene.server).heard, [REQUEST]);
    assert_eq!(scene.side(scene.client).heard, [[9; 3000]]);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Finished)]);
    }
}

/// Links that lose, double and reorder: each request is heard once.
fn each_is_heard_once<S: Service>(manners: [Manner; 2], answered: bool) {
    for seed in 0..100 {
        let conditions = Conditions {
            loss: 0.1.into(),
            duplicate: 0.1,
            jitter: Duration::from_millis(seed % 30),
            ..Conditions::IDEAL
        };
        let mut scene = Scene::<S>::new(seed, conditions, 8, manners);
        scene.run(400);
        let (client, server) = (scene.side(scene.client), scene.side(scene.server));
        assert_eq!((server.heard.len(), server.opened), (8, 8), "seed {seed}");
        assert_eq!(client.heard.len(), if answered { 8 } else { 0 }, "seed {seed}");
        for side in [client, server] {
            assert_eq!(side.ended.len(), 8, "seed {seed}: {:?}", side.ended);
            let finished = side.ended.iter().all(|(_, why)| *why == Ended::Finished);
            assert!(finished, "seed {seed}: {:?}", side.ended);
        }
    }
}

#[test]
fn acknowledged_datagrams_are_heard_once_on_bad_links() {
    each_is_heard_once::<AcknowledgedDatagram>([SAYS_ONE, LISTENS], false);
}

#[test]
fn requests_are_heard_and_answered_once_on_bad_links() {
    each_is_heard_once::<Transaction>([ASKS, ANSWERS], true);
}

#[test]
fn a_copy_of_a_first_makes_no_other_context() {
    let by = Duration::from_secs(20);
    let twice = vec![Event { nth: 0, deed: Deed::Duplicate { by } }];
    let manners = [SAYS_ONE, LISTENS];
    let mut scene = Scene::<AcknowledgedDatagram>::scripted(manners, (CLIENT, SERVER), twice);
    scene.run(100);
    let server = scene.side(scene.server);
    assert_eq!((server.heard.len(), server.opened), (1, 1));
    assert_eq!(scene.packets().1, 2, "the copy is answered as the first was");
}

/// They belong to no context yet and are dropped, but nobody is told that: they come again when the
/// first timeout has passed, and that is all the harm.
#[test]
fn data_that_overtake_the_first_packet_come_once_and_a_timeout_later() {
    let says = Manner { opening: &OCTETS, times: 1, ..LISTENS };
    let took = |by: u64| {
        let by = Duration::from_millis(by);
        let late = vec![Event { nth: 0, deed: Deed::HoldBack { by } }];
        let manners = [says, LISTENS];
        let mut scene = Scene::<Connection>::scripted(manners, (CLIENT, SERVER), late);
        let (begin, server) = (scene.world.now(), scene.server);
        let all = |world: &World<M>| !world.application(server).heard.is_empty();
        assert!(scene.world.run_until(all, Duration::from_secs(20)), "after {by:?}");
        let took = scene.world.now().since(begin);
        scene.run(200);
        let heard = scene.side(server);
        assert_eq!((&heard.heard[..], heard.opened), (&[OCTETS.to_vec()][..], 1), "after {by:?}");
        assert_eq!((&heard.ended, &scene.side(scene.client).ended), (&vec![], &vec![]));
        (took, scene.packets().0)
    };
    let (usual, packets) = took(0);
    for by in [5, 20, 100, 500, 900] {
        let (late, more) = took(by);
        // The first timeout is a second.
        assert!(late <= usual + Duration::from_secs(1), "{by} ms: {late:?} for {usual:?}");
        assert!(more <= packets + 8, "{by} ms: {more} packets for {packets}");
    }
}

/// A forged source gets no more than three octets for one.
fn a_stranger_costs<S: Service>() {
    let pours = Manner { answer: &[1; 1000], opening: &[2; 1000], times: 30, ..LISTENS };
    let says = Manner { closes_when_said: false, ..SAYS_ONE };
    // The client hears nothing at all.
    let deaf = (0..10_000).map(|nth| Event { nth, deed: Deed::Lose }).collect();
    let mut scene = Scene::<S>::scripted([says, pours], (SERVER, CLIENT), deaf);
    scene.run(400);
    let network = scene.world.network();
    let payload = |from, to| {
        let traffic = network.traffic(from, to);
        traffic.octets - traffic.packets * BELOW
    };
    let (heard, said) = (payload(CLIENT, SERVER), payload(SERVER, CLIENT));
    assert!(heard > 0 && said > 0, "{heard}, {said}");
    assert!(said <= 3 * heard, "service {}: {said} octets for {heard}", S::NUMBER);
}

#[test]
fn a_stranger_costs_three_octets_for_one() {
    a_stranger_costs::<Connection>();
    a_stranger_costs::<Transaction>();
    a_stranger_costs::<AcknowledgedDatagram>();
}

static OCTETS: [u8; 9000] = [5; 9000];

/// The bound on what a stranger costs is met by a question, not by a silence that only a timeout
/// ends.
#[test]
fn a_side_that_answers_much_or_speaks_first_waits_for_no_timeout() {
    for said in [0, 1, 20, 21, 100, 500, 1400, 4000, 9000] {
        for heard in [0, 1, 60, 100, 500, 1400] {
            let asks = Manner { opening: &OCTETS[..heard], times: (heard > 0).into(), ..LISTENS };
            let speaks = Manner { opening: &OCTETS[..said], times: (said > 0).into(), ..LISTENS };
            let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, [asks, speaks]);
            // The first timeout is a second.
            let over = scene.world.run_until(|_| false, Duration::from_millis(900));
            assert!(!over, "nothing ends it but time");
            let [client, server] = [scene.client, scene.server].map(|side| scene.side(side));
            let arrived = [client, server].map(|side| side.heard.concat().len());
            assert_eq!(arrived, [said, heard]);
        }
    }
}

/// Each of the first packets is lost once, and nothing waits longer than the first timeout.
#[test]
fn what_is_said_is_said_again_by_its_own_timeout() {
    let speaks = Manner { opening: REQUEST, times: 1, ..LISTENS };
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        for nth in 0..8 {
            for manners in [[LISTENS, speaks], [speaks, LISTENS], [speaks, ANSWERS]] {
                let lost = vec![Event { nth, deed: Deed::Lose }];
                let mut scene = Scene::<Connection>::scripted(manners, (from, to), lost);
                let over = scene.world.run_until(|_| false, Duration::from_millis(2500));
                assert!(!over, "nothing ends it but time");
                let heard = [scene.client, scene.server].map(|side| scene.side(side).heard.len());
                let said = manners.map(|manner| manner.times);
                let answers = if manners[1].answer.is_empty() { 0 } else { 1 };
                assert_eq!(heard, [said[1] + answers, said[0]], "{nth} from {from}");
            }
        }
    }
}

/// What is said after a silence is not forgotten if it is lost.
#[test]
fn what_is_lost_after_a_silence_is_said_again() {
    for nth in 0..6 {
        for silence in [1, 10, 30] {
            let manners = [SAYS_ONE, LISTENS];
            let manners = manners.map(|manner| Manner { closes_when_said: false, ..manner });
            let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, manners);
            scene.run(silence);
            let lost = vec![Event { nth, deed: Deed::Lose }];
            scene.world.network_mut().script(SERVER, CLIENT, lost);
            let association = name(0);
            let batch = M::with_headroom(128, REQUEST).into();
            let properties = Default::default();
            let send = DatagramsRequest::Send { association, batch, properties };
            scene.world.ask(scene.server, send);
            scene.run(3);
            assert_eq!(scene.side(scene.client).heard, [REQUEST], "{nth}, {silence} s");
        }
    }
}

#[test]
fn an_idle_peer_is_asked_and_a_vanished_one_is_told_of() {
    let says = Manner { closes_when_said: false, ..SAYS_ONE };
    let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, [says, LISTENS]);
    scene.run(600);
    let before = scene.packets();
    assert!(before.0 > 20, "{before:?}: it is asked every 20 s");
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [], "it is there");
    }
    scene.world.network_mut().set_conditions(Conditions { loss: 1.0.into(), ..Conditions::IDEAL });
    scene.run(120);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Expired)]);
    }
}
