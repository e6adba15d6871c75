//! UI frames of programs.

use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Address, CallSign, Context, Either, Handle};
use stackwright_wire::Message;

use crate::program::{ProgramName, Waits};
use crate::{Agw, NAME, Out};

/// UI frames of one program that may wait for the TNC; beyond, it is not read.
const EACH_MOST: usize = 2;

/// A UI frame on its way: an association of its own, until it has left.
pub(crate) struct Unproto<M> {
    program: Handle,
    /// It waits until the association is open.
    message: Option<M>,
}

impl<M: Message> Unproto<M> {
    pub(crate) fn waiting(&self) -> usize {
        self.message.as_ref().map_or(0, M::len)
    }
}

impl<M: Message> Agw<M> {
    /// Returns whether the program may send a UI frame now.
    pub(crate) fn takes_unproto(&self, program: Handle) -> bool {
        self.unproto.iter().filter(|(_, unproto)| unproto.program == program).count() < EACH_MOST
    }

    /// Sends a UI frame.
    pub(crate) fn send_unproto(
        &mut self,
        program: Handle,
        [local, remote]: [CallSign; 2],
        (pid, route): (u8, u16),
        data: &[u8],
        out: Out<'_, M>,
    ) {
        let message = Some(M::with_headroom(0, data));
        let association = self.unproto.name(Unproto { program, message });
        let station = |call, route| Address::Station { call, pid, route }.into();
        let (remote, local) = (station(remote, route), Some(station(local, 0)));
        let credit = Credit::NONE;
        let open = DatagramsRequest::Open { association, remote, local, credit };
        Self::ask_unproto(out, open);
    }

    fn ask_unproto(out: Out<'_, M>, request: DatagramsRequest<M>) {
        out.request(Either::Right(Either::Right(request)));
    }

    pub(crate) fn on_unproto(
        &mut self,
        cx: &Context,
        word: DatagramsIndication<M>,
        out: Out<'_, M>,
    ) {
        match word {
            DatagramsIndication::Opened { association, credit, .. } => {
                let unproto = self.unproto.get_mut(association);
                let Some(message) = unproto.and_then(|unproto| unproto.message.take()) else {
                    return;
                };
                if credit.covers(Credit { octets: message.len(), messages: 1 }) {
                    let (batch, properties) = (message.into(), Default::default());
                    let send = DatagramsRequest::Send { association, batch, properties };
                    Self::ask_unproto(out, send);
                } else {
                    cx.dropped(NAME, "a UI frame that is too long");
                    Self::ask_unproto(out, DatagramsRequest::Close { name: association });
                }
            }
            // It has left: that is what its credit tells.
            DatagramsIndication::Credit { association, .. } => {
                Self::ask_unproto(out, DatagramsRequest::Close { name: association });
            }
            DatagramsIndication::Ended { name, .. } => {
                let Some(Unproto { program, message }) = self.unproto.forget(name) else { return };
                if message.is_some() {
                    cx.dropped(NAME, "a UI frame that cannot be sent");
                }
                if let Some(ProgramName::Program(there)) = self.programs.get_mut(program)
                    && there.waits == Some(Waits::Unproto)
                {
                    there.waits = None;
                    self.serve(cx, program, out);
                }
            }
            // There is no listener, and no credit to deliver.
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Delivered { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Controlled { .. } => {}
        }
    }
}
