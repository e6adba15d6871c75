//! What a digipeater has repeated lately: a UI frame that comes back is not repeated again.

use alloc::collections::VecDeque;

use stackwright_contract::{CallSign, Duration, Instant};
use stackwright_wire::Message;
use stackwright_wire::check::Crc16;

use crate::header::Addresses;

/// How long a frame counts as a copy of one before it.
const COPY: Duration = Duration::from_secs(30);
/// Frames that are remembered: more do not leave in that time at 9600 bit/s.
const REMEMBERED_MOST: usize = 256;

/// Frames of the last seconds.
#[derive(Default)]
pub(crate) struct Repeated {
    frames: VecDeque<(Instant, CallSign, CallSign, u16, usize)>,
}

impl Repeated {
    /// Returns whether the same was repeated lately; else remembers it.
    pub(crate) fn is_repeated(
        &mut self,
        addresses: &Addresses,
        rest: &impl Message,
        now: Instant,
    ) -> bool {
        while let Some((until, ..)) = self.frames.front()
            && (*until <= now || self.frames.len() >= REMEMBERED_MOST)
        {
            self.frames.pop_front();
        }
        let mut check = Crc16::new();
        rest.each(|octets| check.add(octets));
        let Addresses { destination, source, .. } = *addresses;
        let frame = (now + COPY, destination, source, check.value(), rest.len());
        let same = self.frames.iter().any(|(_, to, from, its, length)| {
            (*to, *from, *its, *length) == (destination, source, check.value(), rest.len())
        });
        if !same {
            self.frames.push_back(frame);
        }
        same
    }
}
