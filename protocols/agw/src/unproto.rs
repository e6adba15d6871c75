//! UI frames of programs, which are made here, and raw ones: what AX.25 sends as it is.

use stackwright_contract::ax25::{
    Addresses, ControlField, DigipeaterPath, HEAD_MOST, Head, Modulus, Role, Unnumbered,
};
use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{CallSign, Context, Either, Handle, Participant};
use stackwright_wire::Message;

use crate::link::PID;
use crate::program::Waits;
use crate::{Agw, NAME, Out};

/// UI frames of one program that may wait for the TNC; beyond, it is not read.
const EACH_MOST: usize = 2;

/// The names of AX.25's datagrams.
pub(crate) enum DatagramName<M> {
    /// A UI frame, or a raw one, on its way: an association of its own, until it has left.
    Unproto {
        program: Handle,
        frame: Outgoing,
        /// It waits until the association is open.
        message: Option<M>,
    },
    /// All frames of a port.
    Heard { port: u8 },
}

/// What is known of a frame on its way.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing {
    pub(crate) port: u8,
    pub(crate) source: CallSign,
    /// Octets of its head, where it carries text.
    head: Option<usize>,
}

impl Outgoing {
    /// Returns how many octets of it count, of a frame of this length, and how many may. AX.25
    /// takes a text of the same length through any digipeaters.
    const fn length(self, octets: usize, longest: usize) -> (usize, usize) {
        match self.head {
            Some(head) => (octets - head, longest.saturating_sub(HEAD_MOST)),
            None => (octets, longest),
        }
    }
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
}

impl<M: Message> Agw<M> {
    /// Returns whether the program may send a UI frame now.
    pub(crate) fn takes_unproto(&self, program: Handle) -> bool {
        self.datagrams.iter().filter(|(_, name)| name.is_of(program)).count() < EACH_MOST
    }

    /// Returns how many frames are on their way to a port.
    pub(crate) fn count_unproto(&self, port: u8) -> u32 {
        let is_there = |name: &DatagramName<M>| match name {
            DatagramName::Unproto { frame, .. } => frame.port == port,
            DatagramName::Heard { .. } => false,
        };
        self.datagrams.iter().filter(|(_, name)| is_there(name)).count() as u32
    }

    /// Sends a UI frame. AGWPE asks for no registration of its call sign.
    pub(crate) fn send_unproto(
        &mut self,
        program: Handle,
        port: u8,
        [source, destination]: [CallSign; 2],
        path: DigipeaterPath,
        (pid, text): (u8, &[u8]),
        out: Out<'_, M>,
    ) {
        let addresses = Addresses { destination, source, role: Role::Command, path };
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        // Programs that know nothing of protocol identifiers leave 0 there.
        let pid = if pid == 0 { PID } else { pid };
        let head = Head::new(&addresses, control, Modulus::Eight, Some(pid));
        let octets = head.as_octets();
        let frame = Outgoing { port, source, head: Some(octets.len()) };
        let mut message = M::with_headroom(octets.len(), text);
        message.push_front(octets.len()).copy_from_slice(octets);
        self.send_frame(program, frame, message, out);
    }

    /// Sends a whole frame of a program by an association of its own.
    pub(crate) fn send_whole(
        &mut self,
        program: Handle,
        (port, source): (u8, CallSign),
        octets: &[u8],
        out: Out<'_, M>,
    ) {
        let frame = Outgoing { port, source, head: None };
        self.send_frame(program, frame, M::with_headroom(0, octets), out);
    }

    fn send_frame(&mut self, program: Handle, frame: Outgoing, message: M, out: Out<'_, M>) {
        let message = Some(message);
        let association = self.datagrams.name(DatagramName::Unproto { program, frame, message });
        let remote = Participant::OTHER_END.through(frame.port.into());
        let (local, credit) = (None, Credit::NONE);
        Self::ask_unproto(out, DatagramsRequest::Open { association, remote, local, credit });
    }

    /// A program's frame is dropped: the operator is told, as the program cannot be.
    pub(crate) fn not_transmitted(cx: &Context, source: CallSign, why: core::fmt::Arguments<'_>) {
        cx.event(NAME, format_args!("not transmitted: a frame of {source}: {why}"));
        cx.dropped(NAME, "a frame of a program that cannot be sent");
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
            DatagramsIndication::Opened { association, path, .. } => {
                let Some(DatagramName::Unproto { message, frame, .. }) =
                    self.datagrams.get_mut(association)
                else {
                    return;
                };
                let (Some(message), frame) = (message.take(), *frame) else { return };
                let (octets, most) = frame.length(message.len(), path.longest as usize);
                if octets <= most {
                    let (batch, properties) = (message.into(), Default::default());
                    let send = DatagramsRequest::Send { association, batch, properties };
                    Self::ask_unproto(out, send);
                } else {
                    let what = format_args!("{octets} octets, where a frame takes {most}");
                    Self::not_transmitted(cx, frame.source, what);
                    Self::ask_unproto(out, DatagramsRequest::Close { name: association });
                }
            }
            // It has left: that is what its credit tells.
            DatagramsIndication::Credit { association, .. } => {
                Self::ask_unproto(out, DatagramsRequest::Close { name: association });
            }
            DatagramsIndication::Ended { name, .. } => {
                let Some(DatagramName::Unproto { program, message, frame }) =
                    self.datagrams.forget(name)
                else {
                    return;
                };
                if message.is_some() {
                    Self::not_transmitted(cx, frame.source, format_args!("AX.25 takes no frame"));
                }
                if let Some(there) = self.programs.get_mut(program)
                    && there.waits == Some(Waits::Unproto)
                {
                    there.waits = None;
                    self.serve(cx, program, out);
                }
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                Self::ask_unproto(out, DatagramsRequest::Credit { association, credit });
                if let Some(DatagramName::Heard { port }) = self.datagrams.get(association) {
                    let port = *port;
                    self.on_heard(cx, port, &batch.into_single(), out);
                }
            }
            // There is no listener.
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
        }
    }
}
