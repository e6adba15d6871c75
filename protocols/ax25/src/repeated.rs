//! What a digipeater has repeated lately: a UI frame that comes back is not repeated again, and of
//! a flood of them only as many are repeated as can be remembered.

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
    /// Remembers a frame that is to be repeated.
    ///
    /// # Errors
    /// Why it is not to be: the same was repeated lately, or more than can be remembered.
    pub(crate) fn admit(
        &mut self,
        addresses: &Addresses,
        rest: &impl Message,
        now: Instant,
    ) -> Result<(), &'static str> {
        while self.frames.front().is_some_and(|(until, ..)| *until <= now) {
            self.frames.pop_front();
        }
        let mut check = Crc16::new();
        rest.each(|octets| check.add(octets));
        let Addresses { destination, source, .. } = *addresses;
        let frame = (now + COPY, destination, source, check.value(), rest.len());
        let same = self.frames.iter().any(|(_, to, from, its, length)| {
            (*to, *from, *its, *length) == (destination, source, check.value(), rest.len())
        });
        if same {
            return Err("a frame that was repeated before");
        }
        if self.frames.len() >= REMEMBERED_MOST {
            return Err("a frame to be repeated beyond those that can be remembered");
        }
        self.frames.push_back(frame);
        Ok(())
    }
}
