//! Every timer, and why:
//!
//! | timer | of | when it expires |
//! | --- | --- | --- |
//! | idle | a session without a job | it says farewell |
//! | patience | a server that is silent, a transfer that stands still | the session is dropped, its job has expired |

use alloc::vec::Vec;

use stackwright_contract::services::Failure;
use stackwright_contract::{Context, Duration, Handle, Instant, earliest};
use stackwright_wire::Message;

use super::state::{Data, Step};
use super::{Client, Out};

/// How long a server may take to close after our farewell, and how long to wait for the replies to ABOR.
const FAREWELL: Duration = Duration::from_secs(5);

impl<M: Message> Client<M> {
    /// Something happened in this session: its patience begins anew.
    pub(super) fn touch(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let patience = match state.step {
            Step::Idle => self.config.idle,
            // The file is open, or whole, and who asked for it takes their time.
            Step::Held => Duration::MAX,
            Step::Complete if matches!(state.data, Data::Absent) => Duration::MAX,
            Step::Quitting | Step::Aborting(_) => FAREWELL,
            _ => self.config.patience,
        };
        state.deadline = cx.now() + patience;
        self.next = earliest(self.next, Some(state.deadline));
    }

    pub(super) fn expire(&mut self, cx: &Context, out: Out<'_, M>) {
        let now = cx.now();
        let due: Vec<Handle> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.deadline <= now)
            .map(|(name, _)| name)
            .collect();
        for session in due {
            match self.sessions.get(session).map(|session| session.step) {
                Some(Step::Idle) => self.quit(cx, session, out),
                Some(_) => self.drop_session(cx, session, Failure::Expired, out),
                None => {}
            }
        }
        self.next = self
            .sessions
            .iter()
            .map(|(_, session)| session.deadline)
            .min()
            .filter(|next| *next < Instant::END);
    }
}
