//! Packets that cross the boundary below together: both sides come to what they come to where each
//! crosses by itself.

mod drafts;
mod talk;

use std::collections::BTreeSet;

use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Duration, Protocol as _};
use stackwright_wire::Message as _;

use talk::{LENGTH, M, NAME, Side, Talk, octets};

const MESSAGES: u8 = 40;

/// What came of a conversation.
#[derive(PartialEq, Debug)]
struct Outcome {
    ended: [Option<Ended>; 2],
    dropped: u64,
    packets: [usize; 2],
}

/// Messages from here to there, and then the end; gives how many runs there were, too.
fn outcome(
    together: bool,
    in_place: bool,
    broken: Option<usize>,
) -> (Outcome, [Vec<Vec<u8>>; 2], usize) {
    let mut talk = Talk::new(together, broken);
    let (mut sent, mut taken) = (0, 0);
    for turn in 0.. {
        assert!(turn < 100_000, "it has come to no end");
        talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
        let credit = talk.sides[0].said.credit;
        if sent < MESSAGES && credit.messages > 0 && credit.octets >= LENGTH {
            sent += 1;
            if in_place {
                talk.sides[0].say_in_place(&talk.cx, sent, LENGTH);
            } else {
                talk.sides[0].say(&talk.cx, &[sent; LENGTH]);
            }
        }
        talk.speak(0);
        talk.speak(1);
        // The application takes one in a turn.
        let came = talk.sides[1].said.came.len();
        if taken < came {
            taken += 1;
            let credit = Credit { octets: LENGTH, messages: 1 };
            talk.sides[1].ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit });
        }
        if came == usize::from(MESSAGES) && sent == MESSAGES {
            sent += 1;
            talk.sides[0].ask(&talk.cx, DatagramsRequest::Close { name: NAME });
        }
        if talk.sides.iter().all(|side| side.said.ended.is_some()) {
            break;
        }
    }
    let ended = [0, 1].map(|side| talk.sides[side].said.ended);
    let packets = [0, 1].map(|side| talk.packets[side].len());
    let came = &talk.sides[1].said.came;
    // ARTP has no order: who lost a packet comes later.
    let each: BTreeSet<u8> = came.iter().map(|came| came[0]).collect();
    assert!(came.iter().all(|came| *came == [came[0]; LENGTH]), "whole");
    assert!(each.iter().copied().eq(1..=MESSAGES) && came.len() == each.len(), "each once");
    (Outcome { ended, dropped: talk.cx.dropped_count(), packets }, talk.packets, talk.runs)
}

#[test]
fn a_conversation_in_runs_is_the_conversation_in_packets() {
    for broken in [None, Some(0), Some(3), Some(6)] {
        let (together, runs_packets, runs) = outcome(true, false, broken);
        let (apart, packets, _) = outcome(false, false, broken);
        assert!(runs > 10, "{runs} runs");
        assert_eq!(together.ended, [Some(Ended::Finished); 2]);
        assert_eq!(together.dropped > 0, broken.is_some(), "{broken:?}");
        assert_eq!(together, apart, "{broken:?}");
        assert!(runs_packets == packets, "octet for octet: {broken:?}");
        let (in_place, runs_in_place, _) = outcome(true, true, broken);
        assert_eq!(in_place, apart, "{broken:?}");
        assert!(runs_in_place == packets, "octet for octet, in place: {broken:?}");
    }
}

#[test]
fn what_comes_with_the_answer_is_heard_after_it() {
    let mut talk = Talk::new(true, None);
    talk.speak(0);
    talk.sides[1].say(&talk.cx, b"at once");
    let Side { layer, said } = &mut talk.sides[1];
    layer.handle_timeout(&talk.cx, said);
    layer.flush(&talk.cx, said);
    let sends = said.down.drain(..).filter_map(|asked| match asked {
        DatagramsRequest::Send { batch: messages, .. } => Some(octets(&messages.into_single())),
        _ => None,
    });
    let packets: Vec<_> = sends.collect();
    assert!(
        packets.len() == 2 && packets[1].len() <= packets[0].len(),
        "the answer, and what is said"
    );
    let association = talk.sides[0].said.below.expect("it is open");
    let messages = Batch::new(M::with_headroom(0, &packets.concat()), packets[0].len());
    let told = DatagramsIndication::Delivered {
        association,
        batch: messages,
        properties: MessageProperties::default(),
    };
    talk.sides[0].tell(&talk.cx, told);
    assert_eq!(talk.sides[0].said.came, [b"at once"]);
}
