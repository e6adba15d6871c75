//! Drafts that are sent together.

use std::collections::BTreeSet;

use stackwright_contract::services::{Batch, Credit, DatagramsRequest, MessageProperties};
use stackwright_contract::{Duration, Protocol};
use stackwright_wire::Message as _;

use crate::runs::talk::{LENGTH, M, MUCH, NAME, Said, Side, Talk, UP, octets};

/// A conversation whose window is wide.
fn wide(together: bool, broken: Option<usize>) -> Talk {
    widen(Talk::new(together, broken))
}

fn widen(mut talk: Talk) -> Talk {
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit: MUCH });
    for _ in 0..100 {
        talk.sides[0].say(&talk.cx, &[0; LENGTH]);
        pass(&mut talk, 4);
    }
    while talk.sides[1].said.came.len() < 100 {
        pass(&mut talk, 1);
    }
    talk.sides[1].said.came.clear();
    talk.sides[1].said.numbers.clear();
    talk
}

fn pass(talk: &mut Talk, milliseconds: usize) {
    for _ in 0..milliseconds {
        talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
        talk.speak(0);
        talk.speak(1);
    }
}

/// Messages of equal octets, from this one on, drafted and sent together. Gives how many they are.
fn say_together(talk: &mut Talk, first: u8, most: usize) -> usize {
    let all = talk.sides[0].reserve(LENGTH, most).expect("it knows how its packets lie");
    let (Side { layer, said }, mut all) = (&mut talk.sides[0], all.into_octets());
    let (mut segments, mut octet) = (all.segments_mut(), first);
    while segments.len() > 0 {
        segments.split_to(LENGTH).for_each(|(_, segment)| segment.fill(octet));
        octet = octet.wrapping_add(1);
    }
    let (messages, properties) = (Batch::new(all, LENGTH), MessageProperties::default());
    let credit = messages.cost();
    (said.credit.messages, said.credit.octets) =
        (said.credit.messages - credit.messages, said.credit.octets - credit.octets);
    layer.handle_request(
        &talk.cx,
        DatagramsRequest::Send { association: NAME, batch: messages, properties },
        said,
    );
    credit.messages
}

/// A conversation whose window takes several runs at one moment, over a layer that takes so much.
fn wider(credit: Credit) -> Talk {
    let mut talk = widen(Talk::on(true, None, credit));
    for said in 1.. {
        assert!(said < 10_000, "the window grows");
        talk.sides[0].say(&talk.cx, &[0; LENGTH]);
        pass(&mut talk, 1);
        if drafted(&talk, usize::MAX) > RUN {
            break;
        }
    }
    // Not so long that it begins anew.
    pass(&mut talk, 20);
    talk.sides[1].said.came.clear();
    talk
}

/// How many messages are in 64 kB.
const RUN: usize = 6;

/// How many messages are drafted at once, of so many.
fn drafted(talk: &Talk, most: usize) -> usize {
    talk.sides[0].reserve(LENGTH, most).map_or(0, |all| all.count())
}

/// The runs that leave now: how long their packets are, and these.
fn leave(talk: &mut Talk) -> Vec<(usize, M)> {
    let Side { layer, said } = &mut talk.sides[0];
    layer.handle_timeout(&talk.cx, said);
    layer.flush(&talk.cx, said);
    let runs = said.down.drain(..).filter_map(|asked| match asked {
        DatagramsRequest::Send { batch: messages, .. } if messages.count() > 1 => {
            Some((messages.longest(), messages.into_octets()))
        }
        _ => None,
    });
    runs.collect()
}

/// What is drafted together leaves together, from where it was written, and is what it is message
/// by message: also where it is several runs for the driver.
#[test]
fn drafts_that_are_sent_together_are_the_packets_of_each_in_one_piece() {
    let made: [(fn() -> Talk, usize); 2] = [(|| wide(true, None), RUN), (|| wider(MUCH), 2 * RUN)];
    for (make, messages) in made {
        let mut talk = make();
        assert_eq!(say_together(&mut talk, 1, 100), messages);
        let runs = leave(&mut talk);
        let [(stride, together)] = &runs[..] else { panic!("{} runs", runs.len()) };
        assert_eq!(together.leaves().count(), 1, "in one piece");

        let mut talk = make();
        talk.packets[0].clear();
        (1..=messages as u8).for_each(|octet| talk.sides[0].say_in_place(&talk.cx, octet, LENGTH));
        talk.speak(0);
        let each: Vec<_> = talk.packets[0].clone();
        let all = messages * LENGTH.div_ceil(1200);
        assert!(
            each.len() == all || messages == RUN,
            "all of them, if the window is wide enough for several runs"
        );
        assert!(each.iter().all(|packet| packet.len() == *stride), "they are even");
        assert!(octets(together) == each.concat(), "octet for octet");
    }
}

/// No message lies in two runs, and no more of them are drafted than may leave at one moment.
#[test]
fn drafts_are_of_whole_runs() {
    let (narrow, wider) = (wide(true, None), wider(MUCH));
    for most in 1..3 * RUN {
        assert_eq!(drafted(&narrow, most), most.min(RUN));
        assert_eq!(drafted(&wider, most), if most < 2 * RUN { most.min(RUN) } else { 2 * RUN });
    }
}

/// Where there is room below for some of the messages that were drafted together, they wait for the
/// rest of it: what left of them could not be written before any more. They wait once, and not for
/// what never comes.
#[test]
fn drafts_wait_for_room_below() {
    let packets = |runs: &[(usize, M)]| {
        runs.iter().map(|(stride, run)| run.len() / stride).collect::<Vec<_>>()
    };
    let give_back = |talk: &mut Talk, octets, messages| {
        talk.sides[0].give_back(&talk.cx, Credit { octets, messages });
    };
    let mut talk = wider(Credit { octets: 200_000, messages: 1000 });
    let all = 2 * RUN * LENGTH.div_ceil(1200);
    // The first of them take most of it.
    for expected in [&[all][..], &[]] {
        assert_eq!(say_together(&mut talk, 1, 100), 2 * RUN);
        assert_eq!(packets(&leave(&mut talk)), expected);
    }
    give_back(&mut talk, 60_000, 50);
    assert_eq!(packets(&leave(&mut talk)), [all]);

    assert_eq!(say_together(&mut talk, 1, 100), 2 * RUN);
    assert_eq!(packets(&leave(&mut talk)), []);
    give_back(&mut talk, 10_000, 10);
    let left = packets(&leave(&mut talk));
    assert!((1..all).contains(&left.iter().sum()), "as much as there is room for: {left:?}");
}

/// What has to be copied does not take with it what need not be: the first of messages that lie
/// together would leave with it, and the others could not be written any more, nor what follows
/// them.
#[test]
fn drafts_behind_what_is_copied_leave_from_where_they_lie() {
    let mut talk = wide(true, None);
    talk.sides[0].say(&talk.cx, &[9; LENGTH]);
    assert_eq!([1, 3].map(|first| say_together(&mut talk, first, 2)), [2, 2]);
    let Side { layer, said } = &mut talk.sides[0];
    layer.handle_timeout(&talk.cx, said);
    layer.flush(&talk.cx, said);
    let runs = said.down.drain(..).filter_map(|asked| match asked {
        DatagramsRequest::Send { batch: messages, .. } => {
            Some((messages.count(), messages.into_octets().leaves().count()))
        }
        _ => None,
    });
    let each = LENGTH.div_ceil(1200);
    let expected = [(each, 1), (4 * each, 2)];
    assert_eq!(
        runs.collect::<Vec<_>>(),
        expected,
        "packets, and the pieces of memory in which they lie"
    );
}

/// Whatever the window takes of them, and whatever of them is lost.
#[test]
fn drafts_that_are_sent_together_arrive_as_messages() {
    for (together, broken) in
        [(true, None), (false, None), (true, Some(0)), (true, Some(9)), (false, Some(20))]
    {
        for narrow in [false, true] {
            let mut talk =
                if narrow { Talk::new(together, broken) } else { wide(together, broken) };
            for side in [0, 1, 0] {
                talk.speak(side);
            }
            talk.sides[1]
                .ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit: MUCH });
            let mut sent = 0;
            for most in [6, 1, 2, 5, 3, 4, 6, 6] {
                sent += say_together(&mut talk, sent as u8, most);
                pass(&mut talk, usize::from(sent % 2 == 0));
            }
            assert_eq!(sent, 33);
            // What is lost more than once waits for longer each time.
            pass(&mut talk, 60_000);
            let Said { came, numbers, together: at_once, .. } = &talk.sides[1].said;
            let each: BTreeSet<u8> = came.iter().map(|came| came[0]).collect();
            assert!(came.iter().all(|came| *came == [came[0]; LENGTH]), "whole: {broken:?}");
            // By their numbers they are in order.
            let first = numbers[came.len() - 33..].iter().min().expect("they have numbers");
            let numbered = numbers[came.len() - 33..].iter().zip(&came[came.len() - 33..]);
            assert!(
                numbered.clone().all(|(number, came)| number - first == came[0].into()),
                "{broken:?}"
            );
            if !narrow {
                // Where something is lost, it depends on what is behind it.
                assert!(*at_once == 0 || together, "{broken:?}: they were sent one by one");
                let expected = together && broken.is_none();
                assert!(*at_once > 0 || !expected, "several go up at once where nothing is lost");
            }
            assert!(
                each.iter().copied().eq(0..33) && came.len() == 33,
                "each once: {broken:?}, {each:?}"
            );
            let credit = talk.sides[0].said.credit;
            assert_eq!(
                (credit.messages, credit.octets),
                (4096, 10 << 20),
                "all room is given back"
            );
        }
    }
}

/// Where the application has room for some of them only, the others wait.
#[test]
fn of_messages_that_come_together_as_many_go_up_as_there_is_room_for() {
    let mut talk = Talk::new(true, None);
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    let take = |talk: &mut Talk, messages| {
        let credit = Credit { octets: messages * LENGTH, messages };
        talk.sides[1].ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit });
    };
    for _ in 0..100 {
        talk.sides[0].say(&talk.cx, &[0; LENGTH]);
        pass(&mut talk, 4);
        take(&mut talk, 1);
    }
    talk.sides[1].said.came.clear();
    assert_eq!(say_together(&mut talk, 1, 6), 6);
    pass(&mut talk, 10);
    let came = |talk: &Talk| talk.sides[1].said.came.iter().map(|came| came[0]).collect::<Vec<_>>();
    assert_eq!(came(&talk), [1, 2, 3], "there is room for {}", UP.messages);
    take(&mut talk, 2);
    assert_eq!(came(&talk), [1, 2, 3, 4, 5]);
    take(&mut talk, 9);
    assert_eq!(came(&talk), [1, 2, 3, 4, 5, 6]);
    assert_eq!(say_together(&mut talk, 7, 6), 6);
    pass(&mut talk, 10);
    assert_eq!(came(&talk).len(), 12, "at once");
    assert_eq!(talk.sides[1].said.together, 1);
}
