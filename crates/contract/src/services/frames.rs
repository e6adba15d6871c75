//! Whole frames without associations: a TNC, a modem, AXUDP, a live channel.

use core::marker::PhantomData;

use stackwright_wire::Message;

use super::{Batch, Credit};
use crate::{PathLimits, Service, Word};

/// Whole frames on numbered ports. Each that is delivered was sent as one, if it was not lost; what
/// else is promised, the facts say.
pub struct Frames<M>(PhantomData<M>);

impl<M: Message> Service for Frames<M> {
    const NAME: &'static str = "Frames";
    type Request = FramesRequest<M>;
    type Indication = FramesIndication<M>;
    /// The port.
    type Name = u8;

    #[inline(always)]
    fn requests_several(request: &FramesRequest<M>) -> bool {
        matches!(request, FramesRequest::Send { batch, .. } if batch.segment_size().is_some())
    }

    #[inline(always)]
    fn indicates_several(indication: &FramesIndication<M>) -> bool {
        match indication {
            FramesIndication::Delivered { batch, .. } => batch.segment_size().is_some(),
            _ => false,
        }
    }

    /// The mark stays with the last frame.
    fn split_request(several: &mut FramesRequest<M>) -> Option<FramesRequest<M>> {
        let FramesRequest::Send { port, batch, .. } = several else { return None };
        Some(FramesRequest::Send { port: *port, batch: batch.split_first()?.into(), mark: None })
    }

    fn split_indication(several: &mut FramesIndication<M>) -> Option<FramesIndication<M>> {
        let FramesIndication::Delivered { port, batch } = several else { return None };
        Some(FramesIndication::Delivered { port: *port, batch: batch.split_first()?.into() })
    }

    /// A marked frame has left, as one that is lost on the air has.
    fn refund_request(dropped: &FramesRequest<M>) -> [Option<FramesIndication<M>>; 2] {
        let FramesRequest::Send { port, batch, mark } = dropped else { return [None, None] };
        let (port, credit) = (*port, batch.cost());
        let left = mark.map(|mark| FramesIndication::Left { port, mark });
        [Some(FramesIndication::Credit { port, credit }), left]
    }

    fn refund_indication(dropped: &FramesIndication<M>) -> Option<FramesRequest<M>> {
        let FramesIndication::Delivered { batch, .. } = dropped else { return None };
        Some(FramesRequest::Credit { credit: batch.cost() })
    }
}

/// What may be asked of a frame service.
#[derive(Debug)]
pub enum FramesRequest<M> {
    /// Sends within the credit of the port, which it uses up in octets and in frames.
    Send {
        /// On which port.
        port: u8,
        /// The frames.
        batch: Batch<M>,
        /// Answered by `Left` when the last of the frames was transmitted.
        mark: Option<u16>,
    },
    /// Gives more credit upward, for all ports together. Never zero.
    Credit {
        /// How much more.
        credit: Credit,
    },
}

/// What a frame service tells.
#[derive(Debug)]
pub enum FramesIndication<M> {
    /// Gives more credit downward. Never zero.
    Credit {
        /// On which port.
        port: u8,
        /// How much more.
        credit: Credit,
    },
    /// Delivers frames, within the credit.
    Delivered {
        /// On which port.
        port: u8,
        /// The frames.
        batch: Batch<M>,
    },
    /// Tells what a port takes: before its first credit, and when it changes. Of a port of which it
    /// is not told, the limits are not known.
    Changed {
        /// Which port.
        port: u8,
        /// What it takes.
        path: PathLimits,
    },
    /// The frame with this mark was transmitted; without
    /// [`Guarantees::SENT`](crate::Guarantees::SENT) that is only believed.
    Left {
        /// On which port.
        port: u8,
        /// The mark it was sent with.
        mark: u16,
    },
    /// Told once of each port at the start, and when it changes. Down: what was sent on the port is
    /// lost, its marks are not answered, and its credit is void. Credit upward, which is for all
    /// ports, is void while none is up.
    State {
        /// Which port.
        port: u8,
        /// Whether frames can be sent and received there.
        up: bool,
    },
}

impl<M: Message> Word for FramesRequest<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Send { .. } => "Send",
            Self::Credit { .. } => "Credit",
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Send { batch, .. } = self { Some(batch.as_octets()) } else { None }
    }

    fn messages(&self) -> usize {
        if let Self::Send { batch, .. } = self { batch.count() } else { 0 }
    }

    fn batch_mut(&mut self) -> Option<&mut Batch<M>> {
        if let Self::Send { batch, .. } = self { Some(batch) } else { None }
    }
}

impl<M: Message> Word for FramesIndication<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "Delivered",
            Self::Credit { .. } => "Credit",
            Self::Left { .. } => "Left",
            Self::Changed { .. } => "Changed",
            Self::State { .. } => "State",
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Delivered { batch, .. } = self { Some(batch.as_octets()) } else { None }
    }

    fn messages(&self) -> usize {
        if let Self::Delivered { batch, .. } = self { batch.count() } else { 0 }
    }

    fn batch_mut(&mut self) -> Option<&mut Batch<M>> {
        if let Self::Delivered { batch, .. } = self { Some(batch) } else { None }
    }
}
