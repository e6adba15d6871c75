//! The service outside of a graph, lane by lane.

use core::marker::PhantomData;

use crate::Service;

/// What is outside of a graph: the service `B`, once for each lane. The number of lanes is known
/// when the graph is built; they are counted from the left, as in a static stack.
pub struct Outside<B>(PhantomData<B>);

/// A word, or a name, and its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InLane<W> {
    /// Counted from 0.
    pub lane: usize,
    /// The word, or the name.
    pub word: W,
}

impl<B: Service> Service for Outside<B> {
    const NAME: &'static str = B::NAME;
    type Request = InLane<B::Request>;
    type Indication = InLane<B::Indication>;
    type Name = InLane<B::Name>;

    #[inline(always)]
    fn requests_several(request: &Self::Request) -> bool {
        B::requests_several(&request.word)
    }

    #[inline(always)]
    fn indicates_several(indication: &Self::Indication) -> bool {
        B::indicates_several(&indication.word)
    }

    fn split_request(several: &mut Self::Request) -> Option<Self::Request> {
        Some(InLane { lane: several.lane, word: B::split_request(&mut several.word)? })
    }

    fn split_indication(several: &mut Self::Indication) -> Option<Self::Indication> {
        Some(InLane { lane: several.lane, word: B::split_indication(&mut several.word)? })
    }

    fn refund_request(dropped: &Self::Request) -> [Option<Self::Indication>; 2] {
        let lane = dropped.lane;
        B::refund_request(&dropped.word).map(|told| told.map(|word| InLane { lane, word }))
    }

    fn refund_indication(dropped: &Self::Indication) -> Option<Self::Request> {
        Some(InLane { lane: dropped.lane, word: B::refund_indication(&dropped.word)? })
    }
}
