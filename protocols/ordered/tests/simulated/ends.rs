//! Ends, credit and order, case by case.

use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Duration, Instant, Participant, Protocol};
use stackwright_ordered::{Config, DatagramKind, OrderedHeader};

use crate::alone::{Alone, M, ROOM, message, name};

const FAR: u64 = 1 << 20;

fn label(kind: DatagramKind, offset: u64) -> OrderedHeader {
    OrderedHeader { kind, offset, credit: FAR }
}

fn send(octets: &[u8]) -> StreamsRequest<M> {
    StreamsRequest::Send {
        association: name(0),
        batch: message(octets).into(),
        properties: Default::default(),
    }
}

const FINISH: fn() -> StreamsRequest<M> = || StreamsRequest::Finish { association: name(0) };
const ABORT: fn() -> StreamsRequest<M> = || StreamsRequest::Abort { association: name(0), code: 7 };
const CLOSE: fn() -> StreamsRequest<M> = || StreamsRequest::Close { name: name(0) };

/// After both finishes: we are told that ours was heard, and theirs was answered.
fn finished() -> Alone {
    let mut alone = Alone::open(Config::default(), 100, FAR);
    alone.ask(send(b"octets"));
    alone.ask(FINISH());
    alone.hear(label(DatagramKind::Finish, 0), &[]);
    assert_eq!(
        alone.kinds(),
        [DatagramKind::Open, DatagramKind::Octets, DatagramKind::Finish, DatagramKind::Heard]
    );
    assert_eq!(alone.ended(), None, "it is not known that the peer has all");
    alone.hear(label(DatagramKind::Heard, 0), &[]);
    assert_eq!(alone.ended(), Some(Ended::Finished));
    assert_eq!(
        (alone.kinds(), alone.closes()),
        (vec![DatagramKind::Farewell], 0),
        "our answer may be on its way"
    );
    alone
}

#[test]
fn a_window_full_of_later_octets_waits_for_the_first() {
    let mut alone = Alone::open(Config { window: 64_000, ..Config::default() }, 1000, 0);
    for offset in (1..1000).rev() {
        alone.hear(label(DatagramKind::Octets, offset), &[offset as u8]);
    }
    assert_eq!(alone.ordered.held().collect::<Vec<_>>(), [999]);
    assert_eq!(alone.delivered(), []);
    alone.hear(label(DatagramKind::Octets, 0), &[0]);
    assert!(alone.delivered().iter().enumerate().all(|(place, octet)| *octet == place as u8));
    assert_eq!((alone.delivered().len(), alone.ordered.held().sum::<usize>()), (1000, 0));
    assert_eq!(alone.cx.dropped_count(), 0);
}

#[test]
fn credit_is_told_again_when_half_of_the_window_was_delivered() {
    let mut alone = Alone::open(Config { window: 1000, ..Config::default() }, 1 << 20, 0);
    assert_eq!(alone.sent().last().map(|(label, _)| label.credit), Some(1000));
    for offset in (0..10_000).step_by(100) {
        alone.hear(label(DatagramKind::Octets, offset), &[0; 100]);
    }
    let told: Vec<_> =
        alone.sent().into_iter().map(|(label, _)| (label.kind, label.credit)).collect();
    assert_eq!(told, Vec::from_iter((1..=20).map(|nth| (DatagramKind::Credit, 1000 + 500 * nth))));
}

#[test]
fn who_does_not_read_stops_the_peer() {
    let mut alone = Alone::open(Config { window: 1000, ..Config::default() }, 10, 0);
    let _opening = alone.sent();
    alone.hear(label(DatagramKind::Octets, 0), &[0; 1000]);
    assert_eq!((alone.delivered().len(), alone.ordered.held().sum::<usize>()), (10, 990));
    alone.hear(label(DatagramKind::Octets, 1000), &[0]);
    assert_eq!((alone.cx.dropped_count(), alone.ended()), (1, None), "beyond the credit");
    assert_eq!(alone.sent(), []);
    alone.ask(StreamsRequest::Credit { association: name(0), credit: Credit::of_octets(490) });
    assert_eq!(
        alone.sent(),
        [(OrderedHeader { kind: DatagramKind::Credit, offset: 0, credit: 1500 }, 0)]
    );
}

#[test]
fn an_old_credit_takes_nothing_back() {
    let mut alone = Alone::open(Config { window: 1000, ..Config::default() }, 100, 100);
    alone.hear(OrderedHeader { kind: DatagramKind::Credit, offset: 0, credit: 70 }, &[]);
    alone.ask(send(&[0; 200]));
    let label = |kind, offset| OrderedHeader { kind, offset, credit: 1000 };
    assert_eq!(
        alone.sent(),
        [(label(DatagramKind::Open, 0), 0), (label(DatagramKind::Octets, 0), 100)]
    );
    alone.hear(OrderedHeader { kind: DatagramKind::Credit, offset: 0, credit: 163 }, &[]);
    assert_eq!(alone.sent(), [], "63 are not enough for any piece");
    alone.hear(OrderedHeader { kind: DatagramKind::Credit, offset: 0, credit: 164 }, &[]);
    assert_eq!(alone.sent(), [(label(DatagramKind::Octets, 100), 64)]);
}

#[test]
fn long_messages_are_cut_and_short_ones_gathered() {
    let mut alone = Alone::open(Config { piece: 1000, ..Config::default() }, 100, 2500);
    let _opening = alone.sent();
    alone.ask(send(&[0; 2600]));
    (0..10).for_each(|_| alone.ask(send(&[0; 50])));
    let lengths =
        |alone: &mut Alone| alone.sent().iter().map(|(_, octets)| *octets).collect::<Vec<_>>();
    assert_eq!(lengths(&mut alone), [1000, 1000, 500]);
    alone.hear(label(DatagramKind::Credit, 0), &[]);
    assert_eq!(lengths(&mut alone), [600]);
}

#[test]
fn what_is_left_of_the_room_below_makes_no_slivers() {
    let mut alone = Alone::new(Config::default());
    let remote = Participant::OTHER_END;
    alone.ask(StreamsRequest::Open {
        association: name(0),
        remote,
        local: None,
        credit: Credit::of_octets(1),
    });
    alone.open_below(0, Credit { octets: 1000, messages: 100 });
    alone.hear(label(DatagramKind::Credit, 0), &[]);
    alone.tell(DatagramsIndication::Credit {
        association: name(0),
        credit: Credit { octets: 17, messages: 1 },
    });
    let _opening = alone.sent();
    alone.ask(send(&[0; 800]));
    alone.ask(send(&[0; 800]));
    assert_eq!(alone.sent().len(), 1);
    alone.tell(DatagramsIndication::Credit {
        association: name(0),
        credit: Credit { octets: 317, messages: 1 },
    });
    assert_eq!(alone.sent().len(), 0, "483 octets are no good part of 1000");
    alone.tell(DatagramsIndication::Credit {
        association: name(0),
        credit: Credit { octets: 50, messages: 0 },
    });
    assert_eq!(alone.sent().iter().map(|(_, octets)| *octets).collect::<Vec<_>>(), [533]);
}

#[test]
fn it_is_closed_below_when_the_peer_is_done_too() {
    let mut alone = finished();
    alone.hear(label(DatagramKind::Farewell, 0), &[]);
    assert_eq!(alone.closes(), 1);
    alone.end_below(0, Ended::Finished);
    assert_eq!((alone.ordered.names(), alone.ordered.next_deadline()), (0, None));
}

#[test]
fn a_program_may_exit_once_the_peer_is_done_too() {
    let mut alone = Alone::open(Config::default(), 100, FAR);
    alone.ask(FINISH());
    assert!(!alone.ordered.may_exit(), "the peer may not have it yet");
    let mut alone = finished();
    assert!(!alone.ordered.may_exit(), "the peer may not have our farewell");
    alone.hear(label(DatagramKind::Farewell, 0), &[]);
    assert!(alone.ordered.may_exit(), "the rest is up to the layer below");
}

#[test]
fn a_farewell_may_overtake_what_it_follows() {
    let mut alone = Alone::open(Config::default(), 100, FAR);
    alone.ask(FINISH());
    alone.hear(label(DatagramKind::Finish, 0), &[]);
    alone.hear(label(DatagramKind::Farewell, 0), &[]);
    assert_eq!((alone.ended(), alone.closes()), (Some(Ended::Finished), 1));
    alone.hear(label(DatagramKind::Heard, 0), &[]);
    alone.end_below(0, Ended::Finished);
    assert_eq!((alone.said.up.len(), alone.ordered.names()), (3, 0), "Opened, Finished, Ended");
}

#[test]
fn lingering_ends_with_the_layer_below_or_with_timeout() {
    let mut alone = finished();
    alone.end_below(0, Ended::Reset(0));
    assert_eq!((alone.ordered.names(), alone.ordered.next_deadline()), (0, None));

    let mut alone = finished();
    let until = Instant::START + Config::default().timeout;
    assert_eq!(alone.ordered.next_deadline(), Some(until));
    alone.cx.set_now(until);
    alone.ordered.handle_timeout(&alone.cx, &mut alone.said);
    assert_eq!((alone.closes(), alone.ordered.next_deadline()), (1, None));
    alone.end_below(0, Ended::Finished);
    assert_eq!(alone.ordered.names(), 0);
}

#[test]
fn an_end_below_is_an_end_with_its_reason() {
    for (below, above) in [(Ended::Expired, Ended::Expired), (Ended::Finished, Ended::Reset(0))] {
        let mut alone = Alone::open(Config::default(), 100, FAR);
        alone.ask(FINISH());
        alone.hear(label(DatagramKind::Finish, 0), &[]);
        alone.end_below(0, below);
        assert_eq!(alone.ended(), Some(above), "nobody knows whether the peer has our finish");
        assert_eq!(alone.ordered.names(), 0);
    }
    let mut alone = Alone::asks(Config::default(), 100);
    alone.end_below(0, Ended::Unreachable);
    assert_eq!(alone.ended(), Some(Ended::Unreachable));
}

#[test]
fn an_abort_is_a_reset_for_the_peer() {
    let mut alone = Alone::open(Config::default(), 100, FAR);
    alone.ask(ABORT());
    assert_eq!((alone.ended(), alone.closes()), (Some(Ended::Aborted), 0));
    let [(open, 0), (reset, 0)] = alone.sent()[..] else { panic!("two words without octets") };
    assert_eq!((open.kind, reset.kind, reset.offset), (DatagramKind::Open, DatagramKind::Reset, 7));
    alone.hear(label(DatagramKind::Octets, 0), b"late");
    alone.hear(label(DatagramKind::Farewell, 0), &[]);
    assert_eq!((alone.closes(), alone.said.up.len()), (1, 2));

    let mut peer = Alone::open(Config::default(), 100, FAR);
    peer.hear(label(DatagramKind::Reset, 7), &[]);
    assert_eq!((peer.ended(), peer.closes()), (Some(Ended::Reset(7)), 1));
    assert_eq!(peer.kinds(), [DatagramKind::Open, DatagramKind::Farewell]);

    let mut refused = Alone::asks(Config::default(), 100);
    refused.hear(label(DatagramKind::Reset, u64::from(u32::MAX)), &[]);
    assert_eq!((refused.ended(), refused.closes()), (Some(Ended::Refused(u32::MAX)), 1));
    assert_eq!(refused.said.up.len(), 1, "it was never open");

    let mut nonsense = Alone::open(Config::default(), 100, FAR);
    nonsense.hear(label(DatagramKind::Reset, 1 << 32), &[]);
    assert_eq!(nonsense.ended(), Some(Ended::Reset(0)));
}

#[test]
fn a_close_says_all_that_was_sent_and_discards_what_comes() {
    // No credit above: what comes waits, and the finish behind it.
    let mut alone = Alone::open(Config { window: 600, ..Config::default() }, 4, 64);
    alone.hear(label(DatagramKind::Octets, 0), b"0123456789");
    alone.ask(send(b"octets"));
    alone.ask(send(b"more"));
    let before = alone.said.up.len();
    alone.ask(CLOSE());
    alone.ask(CLOSE());
    alone.ask(StreamsRequest::Credit { association: name(0), credit: Credit::of_octets(1) });
    assert_eq!(alone.cx.dropped_count(), 2, "nothing is asked of what was closed");
    assert_eq!(alone.ordered.held().sum::<usize>(), 0);
    let _credit = alone.sent();
    for nth in 0..20 {
        alone.hear(label(DatagramKind::Octets, 10 + 200 * nth), &[1; 200]);
    }
    assert_eq!(alone.cx.dropped_count(), 2, "what was discarded is credit again");
    alone.hear(label(DatagramKind::Finish, 4010), &[]);
    alone.hear(label(DatagramKind::Heard, 0), &[]);
    assert_eq!(alone.ended(), Some(Ended::Finished));
    assert_eq!(alone.kinds().last(), Some(&DatagramKind::Farewell));
    assert_eq!(alone.said.up.len(), before + 1, "nothing but the last word");
    alone.hear(label(DatagramKind::Farewell, 0), &[]);
    alone.end_below(0, Ended::Finished);
    assert_eq!((alone.ordered.names(), alone.ordered.next_deadline()), (0, None));
}

#[test]
fn a_peer_that_never_finishes_does_not_hold_what_was_closed() {
    let timeout = Duration::from_secs(7);
    let mut alone = Alone::open(Config { timeout, ..Config::default() }, 100, 64);
    alone.ask(send(&[3; 200]));
    alone.ask(CLOSE());
    assert_eq!(alone.ordered.next_deadline(), Some(Instant::START + 3 * timeout), "some has left");
    // Credit lets our half go on, and gives it time; octets of the peer do not.
    let progress = Instant::START + Duration::from_secs(5);
    alone.cx.set_now(progress);
    alone.hear(label(DatagramKind::Credit, 0), &[]);
    alone.cx.set_now(progress + Duration::from_secs(5));
    alone.hear(label(DatagramKind::Octets, 0), b"on and on");
    assert_eq!(alone.ordered.next_deadline(), Some(progress + 3 * timeout));
    let _said = alone.sent();
    alone.cx.set_now(progress + 3 * timeout);
    alone.ordered.handle_timeout(&alone.cx, &mut alone.said);
    assert_eq!((alone.ended(), alone.kinds()), (Some(Ended::Expired), vec![DatagramKind::Reset]));
}

#[test]
fn a_name_that_waits_or_asks_can_be_closed() {
    let mut alone = Alone::asks(Config::default(), 100);
    alone.ask(CLOSE());
    assert_eq!(alone.ended(), Some(Ended::Finished));
    alone.hear(label(DatagramKind::Credit, 0), &[]);
    assert_eq!(alone.kinds(), [DatagramKind::Open, DatagramKind::Reset], "the peer is told");

    let mut alone = Alone::awaits(Config::default());
    alone.ask(StreamsRequest::Close { name: name(1) });
    let [StreamsIndication::Ended { name: ended, why: Ended::Finished }] = alone.said.up[..] else {
        panic!("{:?}", alone.said.up)
    };
    assert_eq!((ended, alone.closes()), (name(1), 1));
}

#[test]
fn a_reset_does_not_overtake_the_opening() {
    let mut alone = Alone::asks(Config::default(), 100);
    alone.ask(ABORT());
    assert_eq!((alone.ended(), alone.kinds()), (Some(Ended::Aborted), vec![DatagramKind::Open]));
    alone.hear(label(DatagramKind::Octets, 0), b"overtook the answer");
    assert_eq!(alone.kinds(), [DatagramKind::Reset]);
    alone.hear(label(DatagramKind::Farewell, 0), &[]);
    assert_eq!(alone.closes(), 1);
}

#[test]
fn what_was_not_said_below_is_closed_at_once() {
    let mut alone = Alone::new(Config::default());
    let remote = Participant::OTHER_END;
    alone.ask(StreamsRequest::Open {
        association: name(0),
        remote,
        local: None,
        credit: Credit::of_octets(1),
    });
    alone.ask(ABORT());
    alone.open_below(0, ROOM); // it crossed
    assert_eq!((alone.ended(), alone.closes(), alone.sent().len()), (Some(Ended::Aborted), 1, 0));
}

#[test]
fn a_late_word_of_another_association_takes_no_name() {
    let mut alone = Alone::awaits(Config::default());
    alone.open_below(1, ROOM);
    alone.hear_on(1, label(DatagramKind::Credit, 0), &[]);
    assert_eq!((alone.cx.dropped_count(), alone.closes(), alone.said.up.len()), (1, 1, 0));
    // The name waits under another one below.
    alone.open_below(2, ROOM);
    alone.hear_on(2, label(DatagramKind::Open, 0), &[]);
    assert!(
        matches!(alone.said.up[..], [StreamsIndication::Opened { association, .. }] if association == name(1))
    );
    assert_eq!(alone.kinds(), [DatagramKind::Credit]);
}

#[test]
fn an_arrival_that_says_nothing_gives_its_name_back() {
    let timeout = Duration::from_secs(7);
    let mut alone = Alone::awaits(Config { timeout, ..Config::default() });
    alone.open_below(1, ROOM);
    alone.cx.set_now(Instant::START + timeout);
    alone.ordered.handle_timeout(&alone.cx, &mut alone.said);
    assert_eq!(alone.closes(), 1);
    alone.open_below(2, ROOM);
    alone.end_below(2, Ended::Reset(0)); // he leaves without a word
    alone.open_below(2, ROOM);
    let asked = |request: &&DatagramsRequest<_>| matches!(request, DatagramsRequest::Await { .. });
    assert_eq!(alone.said.down.iter().filter(asked).count(), 3);
    assert!(alone.said.up.is_empty());
    alone.ask(StreamsRequest::Close { name: name(0) });
    let ended = |why: &StreamsIndication<_>| {
        matches!(why, StreamsIndication::Ended { why: Ended::Unlistened, .. })
    };
    assert!(alone.said.up.len() == 2 && alone.said.up.iter().all(ended), "{:?}", alone.said.up);
    assert_eq!(alone.ordered.associations(), 0);
}

#[test]
fn contradictions_end_it() {
    let words: [&[OrderedHeader]; 6] = [
        &[label(DatagramKind::Open, 0)],
        &[label(DatagramKind::Heard, 0)],
        &[label(DatagramKind::Farewell, 0)],
        &[label(DatagramKind::Finish, u64::MAX)],
        &[label(DatagramKind::Octets, 5), label(DatagramKind::Finish, 5)],
        &[label(DatagramKind::Octets, 0), label(DatagramKind::Finish, 0)],
    ];
    for words in words {
        let mut alone = Alone::open(Config::default(), 1, FAR);
        words.iter().for_each(|label| {
            alone.hear(*label, if label.kind == DatagramKind::Octets { b"x" } else { b"" })
        });
        assert_eq!((alone.ended(), alone.closes()), (Some(Ended::Reset(0)), 1), "{words:?}");
        assert_eq!(alone.kinds(), [DatagramKind::Open, DatagramKind::Reset]);
    }
    // Both open, and neither answers.
    let mut alone = Alone::asks(Config::default(), 1);
    alone.hear(label(DatagramKind::Open, 0), &[]);
    assert_eq!((alone.ended(), alone.closes()), (Some(Ended::Reset(0)), 1));
    assert_eq!(alone.kinds(), [DatagramKind::Open, DatagramKind::Reset]);
}

#[test]
fn the_second_to_finish_says_farewell_at_once() {
    let mut alone = Alone::open(Config::default(), 100, FAR);
    alone.ask(FINISH());
    alone.hear(label(DatagramKind::Heard, 0), &[]);
    assert_eq!(alone.ended(), None, "the peer may go on");
    alone.hear(label(DatagramKind::Finish, 0), &[]);
    assert_eq!((alone.ended(), alone.closes()), (Some(Ended::Finished), 0));
    assert_eq!(alone.kinds(), [DatagramKind::Open, DatagramKind::Finish, DatagramKind::Farewell]);
}

#[test]
fn what_is_said_twice_or_too_much_is_dropped() {
    let mut alone = Alone::open(Config { window: 600, ..Config::default() }, 2, FAR);
    alone.hear(label(DatagramKind::Octets, 0), b"0123456789");
    alone.hear(label(DatagramKind::Octets, 20), b"0123456789");
    for (offset, octets) in [
        (0, &b"01"[..]),
        (5, b"5"),
        (9, b"9012"),
        (15, b"567890"),
        (20, b"0123456789"),
        (15, &[0; 20]),
        (50, b""),
        (601, b"12"),
        (u64::MAX, b"12"),
    ] {
        let before = alone.cx.dropped_count();
        alone.hear(label(DatagramKind::Octets, offset), octets);
        assert_eq!((alone.cx.dropped_count(), alone.ended()), (before + 1, None), "{offset}");
    }
    alone.hear(label(DatagramKind::Finish, 30), &[]);
    alone.hear(label(DatagramKind::Finish, 30), &[]);
    alone.hear(label(DatagramKind::Octets, 30), b"0");
    assert_eq!((alone.cx.dropped_count(), alone.ended()), (11, None));
    alone.hear(label(DatagramKind::Octets, 10), b"0123456789");
    alone.ask(StreamsRequest::Credit { association: name(0), credit: Credit::of_octets(100) });
    assert_eq!(alone.delivered(), b"012345678901234567890123456789");
    assert!(matches!(alone.said.up.last(), Some(StreamsIndication::Finished { .. })));
}

#[test]
fn a_small_piece_counts_as_a_larger_one() {
    let mut alone = Alone::open(Config { window: 6400, ..Config::default() }, 1, FAR);
    for nth in 0..101 {
        assert_eq!(alone.cx.dropped_count(), 0);
        alone.hear(label(DatagramKind::Octets, 1 + 2 * nth), b"x");
    }
    assert_eq!((alone.cx.dropped_count(), alone.ordered.held().sum::<usize>()), (1, 100));

    let mut peer = Alone::open(Config::default(), 1, 6400);
    let _opening = peer.sent();
    (0..101).for_each(|_| peer.ask(send(b"x")));
    assert_eq!(peer.sent().len(), 100);
}

#[test]
fn nobody_is_given_a_port_of_his_choice() {
    let mut alone = Alone::new(Config::default());
    let [any, chosen] =
        [0, 20].map(|port| Some(std::net::SocketAddr::from(([10, 0, 0, 1], port)).into()));
    let remote = Participant::OTHER_END;
    alone.ask(StreamsRequest::Open {
        association: name(0),
        remote,
        local: chosen,
        credit: Credit::of_octets(1),
    });
    assert_eq!((alone.ended(), alone.said.down.len()), (Some(Ended::Unavailable), 0));
    alone.ask(StreamsRequest::Open {
        association: name(1),
        remote,
        local: any,
        credit: Credit::of_octets(1),
    });
    assert_eq!(alone.said.down.len(), 1);
}
