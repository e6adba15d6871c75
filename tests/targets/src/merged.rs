//! Streams inside an association: a peer says any chunks, and the layer above any words.

use std::collections::BTreeMap;

use stackwright::merged::{Config, Merged};
use stackwright_contract::services::{
    Credit, Ended, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Handle, Participant, PathLimits};
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Message as _};

use crate::Input;

type M = BufferTree;

const LISTENER: Handle = name(0);
const AWAITED: u32 = 4;
const CREDIT: Credit = Credit::of_octets(1000);

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn at(last: u8) -> Participant {
    ([10, 0, 0, last], 21).into()
}

/// Takes what was said: the names that live, each with its credit upward.
fn settle(lone: &mut LoneStack<Merged<M>>, living: &mut BTreeMap<Handle, usize>) {
    for told in lone.told(Some) {
        let credit = living.get_mut(&told.name()).expect("nothing follows the last word");
        match told {
            Told::Delivered { batch, .. } => {
                *credit = credit.checked_sub(batch.octets()).expect("within the credit");
            }
            Told::Ended { name, .. } => drop(living.remove(&name)),
            _ => {}
        }
    }
}

/// What a peer says and what is asked above, in turn.
pub fn merged(octets: &[u8]) {
    let mut input = Input(octets);
    let mut lone = LoneStack::new(Merged::<M>::new(Config::default()), 7);
    let mut living = BTreeMap::from([(LISTENER, 0)]);
    lone.ask(Ask::Listen { listener: LISTENER, local: at(1) });
    for index in 1..=AWAITED {
        living.insert(name(index), CREDIT.octets);
        let association = name(index);
        lone.ask(Ask::Await { listener: LISTENER, association, credit: CREDIT });
    }
    lone.tell(Told::Listening { listener: name(0), local: at(1) });
    // The first name below after the listener's waits for the peer.
    let (association, credit) = (name(1), Credit::of_octets(usize::from(input.octet())));
    let [local, remote] = [at(1), at(2)];
    let path = PathLimits::UNBOUNDED;
    lone.tell(Told::Opened { association, local, remote, credit, path });
    let mut opened = AWAITED;
    while !input.0.is_empty() {
        let which = name(u32::from(input.octet() % 16));
        let lives = living.get_mut(&which).filter(|_| which != LISTENER);
        match (input.octet() % 12, lives) {
            (0, _) => {
                let (kind, stream) = (input.octet() % 8, input.octet() % 16);
                let length = input.octet() % 24;
                let header = [kind, 0, stream, 0, length];
                let said = [&header[..], input.take(length.into())].concat();
                let batch = M::with_headroom(0, &said).into();
                lone.tell(Told::Delivered { association, batch, properties: Default::default() });
            }
            (1, _) => {
                let length = usize::from(input.octet());
                let batch = M::with_headroom(0, input.take(length)).into();
                lone.tell(Told::Delivered { association, batch, properties: Default::default() });
            }
            (2, _) if opened < 15 => {
                opened += 1;
                living.insert(name(opened), CREDIT.octets);
                let (association, remote) = (name(opened), at(2));
                lone.ask(Ask::Open { association, remote, local: None, credit: CREDIT });
            }
            (3, _) => lone.wait(u64::from(input.number())),
            (4, _) => {
                let credit = Credit::of_octets(1 + usize::from(input.octet()));
                lone.tell(Told::Credit { association, credit });
            }
            (5, Some(_)) => {
                let (batch, properties) =
                    (M::with_headroom(0, &[5; 99]).into(), Default::default());
                lone.ask(Ask::Send { association: which, batch, properties });
            }
            (6, Some(more)) => {
                *more += CREDIT.octets;
                lone.ask(Ask::Credit { association: which, credit: CREDIT });
            }
            (7, Some(_)) => lone.ask(Ask::Finish { association: which }),
            (8, Some(_)) => lone.ask(Ask::Abort { association: which, code: 1 }),
            (9, Some(_)) => lone.ask(Ask::Close { name: which }),
            (10, _) if input.octet() == 0 => lone.tell(Told::Finished { association }),
            _ => {}
        }
        settle(&mut lone, &mut living);
    }
    lone.tell(Told::Ended { name: association, why: Ended::Expired });
    lone.ask(Ask::Close { name: LISTENER });
    lone.wait(100_000);
    settle(&mut lone, &mut living);
    for name in living.keys().copied().collect::<Vec<_>>() {
        lone.ask(Ask::Abort { association: name, code: 0 });
        settle(&mut lone, &mut living);
    }
    assert!(living.is_empty(), "each name has its last word: {living:?}");
}
