//! How a stream of octets is cut into portions.

use std::collections::VecDeque;

use stackwright_contract::Context;
use stackwright_wire::Message;

/// The largest portion in octets.
const MOST: usize = 64 << 10;

/// The sizes of the portions in which octets travel and are delivered. A protocol must not depend
/// on them; this shows whether it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunks {
    /// The largest: 64 KiB.
    Large,
    /// One octet at a time.
    Single,
    /// Always this number of octets, as long as there are as many. At least 1.
    Fixed(usize),
    /// Anything from one octet to `most`, each equally likely. At least 1.
    Uniform {
        /// In octets.
        most: usize,
    },
    /// Anything from one octet to 64 KiB, each order of magnitude equally likely.
    Mixed,
}

impl Chunks {
    /// Returns the size of the next portion in octets; never zero.
    pub(crate) fn next(self, cx: &Context) -> usize {
        match self {
            Chunks::Large => MOST,
            Chunks::Single => 1,
            Chunks::Fixed(octets) => octets.max(1),
            Chunks::Uniform { most } => 1 + cx.random(most as u64) as usize,
            Chunks::Mixed => 1 + cx.random(1 << cx.random(1 + u64::from(MOST.ilog2()))) as usize,
        }
    }
}

/// Takes at most `octets` octets from the front of `queue`, in one message; `None` if it is empty.
pub(crate) fn gather<M: Message>(queue: &mut VecDeque<M>, octets: usize) -> Option<M> {
    let mut gathered: Option<M> = None;
    let mut left = octets;
    while left > 0
        && let Some(front) = queue.front_mut()
    {
        let piece = if front.len() > left {
            front.split_to(left)
        } else {
            queue.pop_front().expect("looked at above")
        };
        left -= piece.len();
        match &mut gathered {
            Some(gathered) => gathered.join(piece),
            None => gathered = Some(piece),
        }
    }
    gathered
}
