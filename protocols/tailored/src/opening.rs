//! What a packet says of the opening of its association.

use alloc::vec::Vec;

use stackwright_wire::{Header as _, Malformed, Message};

use crate::header::{OpeningHashes, OpeningStage, OpeningToken};
use crate::send::put;

/// How far an opening is, and what a packet says of it.
#[derive(Clone, Copy)]
pub(crate) enum Opening {
    Over,
    Asked(OpeningHashes),
    /// The token.
    Answered(u32),
    /// The token.
    Confirmed(u32),
}

impl Opening {
    pub(crate) const fn stage(self) -> OpeningStage {
        match self {
            Opening::Over => OpeningStage::Over,
            Opening::Asked(_) => OpeningStage::Asked,
            Opening::Answered(_) => OpeningStage::Answered,
            Opening::Confirmed(_) => OpeningStage::Confirmed,
        }
    }

    /// Returns how many octets say it.
    pub(crate) const fn octets(stage: OpeningStage) -> usize {
        match stage {
            OpeningStage::Over => 0,
            OpeningStage::Asked => OpeningHashes::LENGTH,
            OpeningStage::Answered | OpeningStage::Confirmed => OpeningToken::LENGTH,
        }
    }

    pub(crate) fn read<M: Message>(stage: OpeningStage, packet: &mut M) -> Result<Self, Malformed> {
        let token = |packet: &mut M| packet.pull::<OpeningToken>().map(|told| told.token);
        Ok(match stage {
            OpeningStage::Over => Opening::Over,
            OpeningStage::Asked => Opening::Asked(packet.pull()?),
            OpeningStage::Answered => Opening::Answered(token(packet)?),
            OpeningStage::Confirmed => Opening::Confirmed(token(packet)?),
        })
    }

    pub(crate) fn put(self, octets: &mut Vec<u8>) {
        match self {
            Opening::Over => {}
            Opening::Asked(hashes) => put(&hashes, octets),
            Opening::Answered(token) | Opening::Confirmed(token) => {
                put(&OpeningToken { token }, octets);
            }
        }
    }
}
