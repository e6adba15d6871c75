//! The eleven states of RFC 9293 §3.3.2, for people and for tests: nobody keeps them.

use core::fmt;

use stackwright_contract::Instant;
use stackwright_policies::connection::ThreeWayStage;
use stackwright_transport::Association;
use stackwright_transport::words::View;
use stackwright_wire::Message;

use crate::policies::Tcp;

/// A state of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "their names are those of RFC 9293 §3.3.2")]
pub enum TcpState {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

impl TcpState {
    /// Returns the state of a connection. One that is over is in TIME-WAIT where this side closed
    /// first: its station remembers it.
    pub fn of<M: Message>(connection: &Association<Tcp<M>>, now: Instant) -> Self {
        let received_upto = connection.receipts().upto();
        let view = View { now, received_upto, ..View::START };
        let slots = connection.slots();
        TcpState::from_stage(slots.connection().stage(&view), slots.format().closes_first())
    }

    /// Returns the state at a stage of the policy; `closes_first`: our FIN left before the peer's
    /// arrived.
    pub const fn from_stage(stage: ThreeWayStage, closes_first: bool) -> Self {
        use ThreeWayStage::{Asking, Granting, Idle, Open, Over};
        match stage {
            Idle => TcpState::Listen,
            Asking => TcpState::SynSent,
            Granting => TcpState::SynReceived,
            Open { finished: false, heard_all: false, .. } => TcpState::Established,
            Open { finished: false, heard_all: true, .. } => TcpState::CloseWait,
            Open { acknowledged: false, heard_all: false, .. } => TcpState::FinWait1,
            Open { acknowledged: true, heard_all: false, .. } => TcpState::FinWait2,
            Open { acknowledged: false, .. } if closes_first => TcpState::Closing,
            Open { acknowledged: false, .. } => TcpState::LastAck,
            Open { .. } if closes_first => TcpState::TimeWait,
            Open { .. } | Over => TcpState::Closed,
        }
    }
}

impl fmt::Display for TcpState {
    /// Writes the name as RFC 9293 does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TcpState::Listen => "LISTEN",
            TcpState::SynSent => "SYN-SENT",
            TcpState::SynReceived => "SYN-RECEIVED",
            TcpState::Established => "ESTABLISHED",
            TcpState::FinWait1 => "FIN-WAIT-1",
            TcpState::FinWait2 => "FIN-WAIT-2",
            TcpState::CloseWait => "CLOSE-WAIT",
            TcpState::Closing => "CLOSING",
            TcpState::LastAck => "LAST-ACK",
            TcpState::TimeWait => "TIME-WAIT",
            TcpState::Closed => "CLOSED",
        })
    }
}
