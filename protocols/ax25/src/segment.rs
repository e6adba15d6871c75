//! Segments (§6.6): messages longer than an I frame carries, between two stations that agreed.

use stackwright_wire::{Header, Message};

use crate::header::pid;

/// The head of a segment, behind the protocol identifier of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct SegmentHeader {
    /// Whether it is the first; the message's own protocol identifier follows then.
    pub first: bool,
    /// How many segments follow it.
    #[bits(7)]
    pub left: u8,
}

/// The most segments of one message.
pub const SEGMENTS_MOST: usize = 128;

/// The most octets of one message: segments as long as an I frame is where XID says nothing.
const MESSAGE_MOST: usize = SEGMENTS_MOST * 256;

/// Returns how many segments a message of `octets` octets has whose I frames carry `longest`;
/// `None`: it has too many.
pub fn count(octets: usize, longest: usize) -> Option<usize> {
    // The protocol identifier travels with the first segment.
    let segments = (octets + 1).div_ceil(longest.checked_sub(1).filter(|room| *room > 1)?);
    (segments <= SEGMENTS_MOST).then_some(segments)
}

/// Takes the next segment off the front of a message of which `left` segments are left, and puts
/// its head before it.
///
/// # Panics
/// Where fewer segments are left than [`count`] says.
pub fn next<M: Message>(message: &mut M, own_pid: Option<u8>, left: usize, longest: usize) -> M {
    let room = longest - 1 - usize::from(own_pid.is_some());
    let mut segment = message.split_to(room.min(message.len()));
    if let Some(own_pid) = own_pid {
        segment.push_front(1)[0] = own_pid;
    }
    segment.push(&SegmentHeader { first: own_pid.is_some(), left: (left - 1) as u8 });
    segment
}

/// Puts segments together again. It holds at most [`SEGMENTS_MOST`] of them, and 32 KiB.
#[derive(Debug)]
pub struct Reassembly<M> {
    begun: Option<Begun<M>>,
}

#[derive(Debug)]
struct Begun<M> {
    pid: u8,
    left: u8,
    octets: M,
}

impl<M> Default for Reassembly<M> {
    fn default() -> Self {
        Reassembly { begun: None }
    }
}

/// Why a segment was dropped, and what came before it with it.
pub const OUT_OF_PLACE: &str = "a segment that does not continue the one before it";

impl<M: Message> Reassembly<M> {
    /// Takes a segment in order, and returns the message that it completes with its protocol
    /// identifier.
    ///
    /// # Errors
    /// It does not continue the one before it; what was begun is dropped.
    pub fn take(&mut self, mut segment: M) -> Result<Option<(u8, M)>, &'static str> {
        let begun = self.begun.take();
        let SegmentHeader { first, left } = segment.pull().map_err(|_| OUT_OF_PLACE)?;
        let whole = match begun {
            _ if first => {
                let pid = *segment.front(1).ok_or(OUT_OF_PLACE)?.first().ok_or(OUT_OF_PLACE)?;
                if pid == pid::SEGMENT {
                    return Err(OUT_OF_PLACE); // a segment of segments
                }
                segment.advance(1);
                Begun { pid, left, octets: segment }
            }
            Some(Begun { octets, .. }) if octets.len() + segment.len() > MESSAGE_MOST => {
                return Err("a segment of a message that is too long");
            }
            Some(mut begun) if begun.left.checked_sub(1) == Some(left) => {
                begun.octets.join(segment);
                Begun { left, ..begun }
            }
            _ => return Err(OUT_OF_PLACE),
        };
        if whole.left == 0 {
            return Ok(Some((whole.pid, whole.octets)));
        }
        self.begun = Some(whole);
        Ok(None)
    }

    /// Returns how many octets are held.
    pub fn held(&self) -> usize {
        self.begun.as_ref().map_or(0, |begun| begun.octets.len())
    }

    /// Drops what was begun.
    pub fn clear(&mut self) {
        self.begun = None;
    }
}
