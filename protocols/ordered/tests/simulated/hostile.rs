//! Any datagrams of a peer, in between anything that the neighbours may say: nothing panics, what
//! is delivered is in order and within the room, what is held within the window, and each name has
//! one last word.

use proptest::prelude::*;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{Duration, Handle, Participant, PathLimits, Protocol};
use stackwright_ordered::{Config, DatagramKind, OrderedHeader};
use stackwright_wire::Message;

use crate::alone::{Alone, M, message, name};

const WINDOW: usize = 512;

#[derive(Clone, Debug)]
enum Deed {
    Word { label: OrderedHeader, octets: usize },
    Garbage(Vec<u8>),
    Credit,
    EndBelow,
    Wait,
    Send(usize),
    Read(usize),
    Finish,
    Abort,
}

fn places() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..2 * WINDOW as u64, 8 => (0..16_u64).prop_map(|nth| 40 * nth), 1 => any::<u64>(), 1 => u64::MAX - 3..=u64::MAX]
}

fn kinds() -> impl Strategy<Value = DatagramKind> {
    prop_oneof![
        1 => Just(DatagramKind::Open),
        20 => Just(DatagramKind::Octets),
        4 => Just(DatagramKind::Credit),
        3 => Just(DatagramKind::Finish),
        1 => Just(DatagramKind::Heard),
        1 => Just(DatagramKind::Reset),
        1 => Just(DatagramKind::Farewell),
    ]
}

fn deeds() -> impl Strategy<Value = Deed> {
    let word = (kinds(), places(), places(), prop_oneof![0..WINDOW / 4, Just(40)]).prop_map(
        |(kind, offset, credit, octets)| Deed::Word {
            label: OrderedHeader { kind, offset, credit },
            octets,
        },
    );
    prop_oneof![
        30 => word,
        2 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Deed::Garbage),
        3 => Just(Deed::Credit),
        1 => Just(Deed::EndBelow),
        1 => Just(Deed::Wait),
        4 => (0..100_usize).prop_map(Deed::Send),
        6 => (1..300_usize).prop_map(Deed::Read),
        1 => Just(Deed::Finish),
        1 => Just(Deed::Abort),
    ]
}

/// What both neighbours know.
#[derive(Default)]
struct Known {
    up: usize,
    down: usize,
    delivered: u64,
    finished: bool,
    finish_said: bool,
    ended: bool,
    /// The association below on which the peer is, and the room that it has.
    below: Option<(Handle, Credit)>,
}

fn octet(place: u64) -> u8 {
    (place % 251) as u8
}

impl Known {
    fn learn(&mut self, alone: &mut Alone) {
        for indication in alone.said.up.drain(..) {
            assert!(!self.ended || indication.name() != name(1), "nothing behind the last word");
            match indication {
                StreamsIndication::Opened { credit: Credit { octets: credit, .. }, .. } => {
                    self.down = credit
                }
                StreamsIndication::Credit { credit: Credit { octets: credit, .. }, .. } => {
                    self.down += credit
                }
                StreamsIndication::Delivered { batch, .. } => {
                    let message = batch.into_octets();
                    assert!(!self.finished && message.len() <= self.up);
                    self.up -= message.len();
                    message.each(|octets| {
                        for one in octets {
                            assert_eq!(*one, octet(self.delivered), "in order");
                            self.delivered += 1;
                        }
                    });
                }
                StreamsIndication::Changed { .. }
                | StreamsIndication::Controlled { .. }
                | StreamsIndication::Reported { .. }
                | StreamsIndication::Ending { .. } => {}
                StreamsIndication::Finished { .. } => {
                    assert!(!std::mem::replace(&mut self.finished, true))
                }
                StreamsIndication::Ended { name: whose, .. } => self.ended |= whose == name(1),
                StreamsIndication::Listening { .. } => {}
            }
        }
        let mut opened = Vec::new();
        for request in alone.said.down.drain(..) {
            match request {
                DatagramsRequest::Send { association, batch: messages, .. } => {
                    let (open, credit) = self.below.as_mut().expect("it is sent on what is open");
                    assert_eq!(association, *open);
                    let octets = messages.into_single().len();
                    assert!(
                        octets <= credit.octets && credit.messages > 0,
                        "within the room below"
                    );
                    credit.octets -= octets;
                    credit.messages -= 1;
                }
                DatagramsRequest::Credit { association, credit } => {
                    assert!(
                        self.below.is_some_and(|(open, _)| open == association)
                            && credit.messages == 1
                    );
                }
                DatagramsRequest::Close { name: association } => {
                    if self.below.take_if(|(open, _)| *open == association).is_some() {
                        opened.push(DatagramsIndication::Ended {
                            name: association,
                            why: Ended::Finished,
                        });
                    }
                }
                DatagramsRequest::Await { association, .. }
                | DatagramsRequest::Open { association, .. } => {
                    let credit = Credit { octets: 100, messages: 3 };
                    let (local, remote) = (Participant::OTHER_END, Participant::OTHER_END);
                    opened.push(DatagramsIndication::Opened {
                        association,
                        local,
                        remote,
                        credit,
                        path: PathLimits::UNBOUNDED,
                    });
                }
                DatagramsRequest::Listen { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        for indication in opened {
            if let DatagramsIndication::Opened { association, credit, .. } = &indication {
                self.below = Some((*association, *credit));
            }
            alone.tell(indication);
            self.learn(alone);
        }
    }
}

fn play(opens: bool, deeds: Vec<Deed>) {
    let timeout = Duration::from_secs(1);
    let mut alone = Alone::new(Config { window: WINDOW, room: 50, piece: 30, timeout });
    let mut known = Known { up: 50, ..Known::default() };
    let (listener, association, remote) = (name(0), name(1), Participant::OTHER_END);
    if opens {
        alone.ask(StreamsRequest::Open {
            association,
            remote,
            local: None,
            credit: Credit::of_octets(known.up),
        });
    } else {
        alone.ask(StreamsRequest::Listen { listener, local: remote });
        alone.ask(StreamsRequest::Await {
            listener,
            association,
            credit: Credit::of_octets(known.up),
        });
    }
    known.learn(&mut alone);
    for deed in deeds {
        let below = known.below.map(|(below, _)| below);
        let deliver = |alone: &mut Alone, message: M| {
            if let Some(association) = below {
                alone.tell(DatagramsIndication::Delivered {
                    association,
                    batch: message.into(),
                    properties: MessageProperties::default(),
                });
            }
        };
        match deed {
            Deed::Word { label, octets } => {
                let places =
                    (0..octets as u64).map(|place| octet(label.offset.wrapping_add(place)));
                let mut message = message(&places.collect::<Vec<_>>());
                message.push(&label);
                deliver(&mut alone, message);
            }
            Deed::Garbage(octets) => {
                // Not octets that look like a piece: those would be another stream.
                if octets.first() != Some(&(DatagramKind::Octets as u8)) {
                    deliver(&mut alone, message(&octets));
                }
            }
            Deed::Credit => {
                if let Some((association, credit)) = &mut known.below {
                    let more =
                        Credit { octets: 100 - credit.octets, messages: 3 - credit.messages };
                    let association = *association;
                    *credit = Credit { octets: 100, messages: 3 };
                    if more != Credit::default() {
                        alone.tell(DatagramsIndication::Credit { association, credit: more });
                    }
                }
            }
            Deed::EndBelow => {
                if let Some((name, _)) = known.below.take() {
                    alone.tell(DatagramsIndication::Ended { name, why: Ended::Expired });
                }
            }
            Deed::Wait => {
                let later = alone.cx.now() + timeout;
                alone.cx.set_now(later);
                alone.ordered.handle_timeout(&alone.cx, &mut alone.said);
            }
            Deed::Send(octets) if !known.finish_said => {
                let octets = octets.min(known.down);
                known.down -= octets;
                let message = M::with_headroom(64, &vec![7; octets]);
                alone.ask(StreamsRequest::Send {
                    association,
                    batch: message.into(),
                    properties: Default::default(),
                });
            }
            Deed::Send(_) => {}
            Deed::Read(credit) => {
                // Before it is open, nobody reads.
                if known.down > 0 || known.delivered > 0 {
                    known.up += credit;
                    alone.ask(StreamsRequest::Credit {
                        association,
                        credit: Credit::of_octets(credit),
                    });
                }
            }
            Deed::Finish => {
                known.finish_said = true;
                alone.ask(StreamsRequest::Finish { association });
            }
            Deed::Abort => alone.ask(StreamsRequest::Abort { association, code: 0 }),
        }
        known.learn(&mut alone);
        assert!(alone.ordered.held().all(|held| held <= WINDOW), "within the window");
    }
    alone.ask(StreamsRequest::Abort { association, code: 0 });
    alone.ask(StreamsRequest::Close { name: listener });
    known.learn(&mut alone);
    assert!(known.ended, "the last word comes");
    let later = alone.cx.now() + timeout;
    alone.cx.set_now(later);
    alone.ordered.handle_timeout(&alone.cx, &mut alone.said);
    known.learn(&mut alone);
    assert_eq!((alone.ordered.associations(), alone.ordered.next_deadline()), (0, None));
    assert_eq!(
        alone.ordered.names(),
        usize::from(!opens),
        "but the listener, of which nobody has said that it ended"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_peer_says_no_rule_is_broken(opens: bool, deeds in prop::collection::vec(deeds(), 0..120)) {
        play(opens, deeds);
    }
}
