//! What was applied of each replica's operations: one that was applied is not applied again, and
//! its reply is still known.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::pieces::{Front, push_counted};

/// Replicas whose operations are remembered: each start of a replica is another.
const ORIGINS_MOST: usize = 64;
/// Replies that are kept of each: as many as it has operations on their way.
pub(crate) const REPLIES_MOST: usize = 1024;
/// Longer replies are not kept: what is long was read, and is read again.
const REPLY_MOST: usize = 64;

/// A part of the state.
#[derive(Default)]
pub(crate) struct Applied {
    count: u64,
    origins: BTreeMap<u64, Origin>,
}

#[derive(Default)]
struct Origin {
    /// When its last was applied, in operations.
    when: u64,
    last: u64,
    replies: VecDeque<(u64, Vec<u8>)>,
}

/// What is known of an operation.
pub(crate) enum Known {
    /// It was not applied.
    New,
    /// It was, with this reply.
    Done(Vec<u8>),
    /// It was, or its replica was forgotten.
    Lost,
}

impl Applied {
    pub(crate) fn know(&self, origin: u64, number: u64) -> Known {
        match self.origins.get(&origin) {
            Some(origin) if number > origin.last => Known::New,
            Some(origin) => {
                let reply = origin.replies.iter().find(|(of, _)| *of == number);
                reply.map_or(Known::Lost, |(_, reply)| Known::Done(reply.clone()))
            }
            None if self.origins.len() < ORIGINS_MOST => Known::New,
            None => Known::Lost,
        }
    }

    /// Returns whether this operation may be applied now: then it counts as applied.
    pub(crate) fn begin(&mut self, origin: u64, number: u64) -> bool {
        self.count += 1;
        if !self.origins.contains_key(&origin) && self.origins.len() >= ORIGINS_MOST {
            let oldest = self.origins.iter().min_by_key(|(_, origin)| origin.when);
            if let Some(oldest) = oldest.map(|(oldest, _)| *oldest) {
                self.origins.remove(&oldest);
            }
        }
        let origin = self.origins.entry(origin).or_default();
        let is_new = number > origin.last;
        if is_new {
            (origin.last, origin.when) = (number, self.count);
        }
        is_new
    }

    pub(crate) fn keep(&mut self, origin: u64, number: u64, reply: &[u8]) {
        let Some(origin) = self.origins.get_mut(&origin) else { return };
        if reply.len() <= REPLY_MOST {
            if origin.replies.len() == REPLIES_MOST {
                origin.replies.pop_front();
            }
            origin.replies.push_back((number, reply.into()));
        }
    }

    pub(crate) fn snapshot(&self, octets: &mut Vec<u8>) {
        octets.extend(self.count.to_be_bytes());
        octets.extend((self.origins.len() as u32).to_be_bytes());
        for (name, origin) in &self.origins {
            for part in [*name, origin.when, origin.last] {
                octets.extend(part.to_be_bytes());
            }
            octets.extend((origin.replies.len() as u32).to_be_bytes());
            for (number, reply) in &origin.replies {
                octets.extend(number.to_be_bytes());
                push_counted(octets, reply);
            }
        }
    }

    pub(crate) fn restored(front: &mut Front<'_>) -> Option<Self> {
        let (count, origins) = (front.u64()?, front.u32()?);
        let mut applied = Applied { count, origins: BTreeMap::new() };
        for _ in 0..origins {
            let (name, when, last) = (front.u64()?, front.u64()?, front.u64()?);
            let mut origin = Origin { when, last, replies: VecDeque::new() };
            for _ in 0..front.u32()? {
                let number = front.u64()?;
                origin.replies.push_back((number, front.counted()?.into()));
            }
            applied.origins.insert(name, origin);
        }
        Some(applied)
    }
}
