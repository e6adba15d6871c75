//! The policy without an exchange: both sides know of the association from elsewhere.

use stackwright_transport::component;
use stackwright_transport::slots::Connection;
use stackwright_transport::words::{Ending, Phase, View};

/// Takes an association that both sides know of from elsewhere: it is open from the start, and is
/// over here when all data sent has arrived. The peer is not told.
///
/// Choose it where something else arranges associations: a control channel, a configuration file.
///
/// ```
/// use stackwright_policies::connection::Agreed;
/// use stackwright_transport::slots::Connection;
/// assert!(Agreed::default().may_send(1400));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreed {
    finishing: bool,
}

impl Connection for Agreed {
    fn finish(&mut self) {
        self.finishing = true;
    }

    fn phase(&self, view: &View) -> Phase {
        if self.finishing && view.idle && view.drained {
            Phase::Ended(Ending::Finished)
        } else {
            Phase::Open
        }
    }
}

component! { Agreed: "connection agreed", "is arranged elsewhere" }
