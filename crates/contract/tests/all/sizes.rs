//! A word is moved at each boundary that it crosses: what it may weigh.

use stackwright_contract::Nothing;
use stackwright_contract::services::{
    Batch, DatagramsIndication, DatagramsRequest, GroupsIndication, GroupsRequest,
    MessageProperties, StreamsIndication, StreamsRequest,
};
use stackwright_contract::words::{Indication, Request};
use stackwright_wire::{BufferTree, SingleBuffer};

/// The most that a word has, in octets.
const MOST: usize = 112;

#[test]
fn words_are_small() {
    fn sizes<M: stackwright_wire::Message>() -> [(&'static str, usize); 8] {
        [
            ("DatagramsRequest", size_of::<DatagramsRequest<M>>()),
            ("DatagramsIndication", size_of::<DatagramsIndication<M>>()),
            ("StreamsRequest", size_of::<StreamsRequest<M>>()),
            ("StreamsIndication", size_of::<StreamsIndication<M>>()),
            ("GroupsRequest", size_of::<GroupsRequest<M>>()),
            ("GroupsIndication", size_of::<GroupsIndication<M>>()),
            ("Request", size_of::<Request<M, Nothing>>()),
            ("Indication", size_of::<Indication<M, Nothing>>()),
        ]
    }
    let words = [sizes::<BufferTree>(), sizes::<SingleBuffer>()].concat();
    assert!(words.iter().all(|(_, size)| *size <= MOST), "{words:?}");
    let parts =
        [size_of::<BufferTree>(), size_of::<Batch<BufferTree>>(), size_of::<MessageProperties>()];
    assert_eq!(parts, [80, 88, 16]);
}
