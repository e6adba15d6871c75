//! UI frames of programs.

use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Address, CallSign, Context, Either, Handle, Participant};
use stackwright_wire::Message;

use crate::program::{ProgramName, Waits};
use crate::{Agw, NAME, Out};

/// UI frames of one program that may wait for the TNC; beyond, it is not read.
const EACH_MOST: usize = 2;

/// The names of AX.25's datagrams.
pub(crate) enum DatagramName<M> {
    /// A UI frame, or a raw one, on its way: an association of its own, until it has left.
    Unproto {
        program: Handle,
        /// It waits until the association is open.
        message: Option<M>,
    },
    /// All frames of a port, for programs that monitor.
    Heard { port: u8, closes: bool },
}

impl<M: Message> DatagramName<M> {
    pub(crate) fn waiting(&self) -> usize {
        match self {
            DatagramName::Unproto { message, .. } => message.as_ref().map_or(0, M::len),
            DatagramName::Heard { .. } => 0,
        }
    }

    /// Returns whether it is a frame of this program.
    fn is_of(&self, program: Handle) -> bool {
        matches!(self, DatagramName::Unproto { program: its, .. } if *its == program)
    }

    /// Returns whether it hears this port.
    pub(crate) fn hears(&self, port: u8) -> bool {
        matches!(self, DatagramName::Heard { port: its, .. } if *its == port)
    }
}

impl<M: Message> Agw<M> {
    /// Returns whether the program may send a UI frame now.
    pub(crate) fn takes_unproto(&self, program: Handle) -> bool {
        self.datagrams.iter().filter(|(_, name)| name.is_of(program)).count() < EACH_MOST
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
        let station = |call, route| Address::Station { call, pid, route }.into();
        self.send_by(program, station(remote, route), Some(station(local, 0)), data, out);
    }

    /// Sends a frame of a program by an association of its own.
    pub(crate) fn send_by(
        &mut self,
        program: Handle,
        remote: Participant,
        local: Option<Participant>,
        data: &[u8],
        out: Out<'_, M>,
    ) {
        let message = Some(M::with_headroom(0, data));
        let association = self.datagrams.name(DatagramName::Unproto { program, message });
        let credit = Credit::NONE;
        let open = DatagramsRequest::Open { association, remote, local, credit };
        Self::ask_unproto(out, open);
    }

    pub(crate) fn ask_unproto(out: Out<'_, M>, request: DatagramsRequest<M>) {
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
                let Some(DatagramName::Unproto { message, .. }) =
                    self.datagrams.get_mut(association)
                else {
                    return;
                };
                let Some(message) = message.take() else { return };
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
                let (program, message) = match self.datagrams.forget(name) {
                    Some(DatagramName::Unproto { program, message }) => (program, message),
                    Some(DatagramName::Heard { .. }) => return self.hear_ports(out),
                    None => return,
                };
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
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                Self::ask_unproto(out, DatagramsRequest::Credit { association, credit });
                if let Some(DatagramName::Heard { port, .. }) = self.datagrams.get(association) {
                    let port = *port;
                    self.on_heard(cx, port, &batch.into_single(), out);
                }
            }
            // There is no listener.
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Ending { .. } => {}
        }
    }
}
