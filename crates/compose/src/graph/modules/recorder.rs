//! Turns what passes into packets of a capture.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::marker::PhantomData;
use core::net::{Ipv4Addr, SocketAddr};

use stackwright_contract::services::Ended;
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Context, Handle, Mirror, Service, Word};
use stackwright_wire::Message;
use stackwright_wire::capture::{
    Capture, Control, Ends, Frame, InterfaceId, LinkType, PacketDirection, Payload, TcpSegment,
};

use super::act::{self, Act};
use crate::graph::{Module, NodeOutlet};

/// The octets that wait at most before they are handed over in the middle of a batch; one packet
/// may come on top.
const WAITING_MOST: usize = 64 * 1024;

/// The first dynamic port (RFC 6335 §6): these stand for an association of which the addresses were
/// told before the recorder was pushed.
const DYNAMIC_PORTS: u16 = 49_152;

/// Writes what passes into a capture, pcapng, for Wireshark and for `stackwright dissect`.
///
/// What is sent and delivered becomes packets: of TCP for streams, of UDP for datagrams, between
/// the addresses that `Opened` told; without a header where these are none of the Internet. A
/// stream begins with SYN packets and ends with FIN or RST ones, and its octets are numbered from 1
/// each way. Words that say none of this are no packets. The comment of a packet names the service,
/// the primitive and the association.
///
/// Nothing is held and nothing waits for it: the file's octets go to a sink after each batch, and
/// in its midst when 64 KiB wait. What several recorders write, one after the other, is one file.
///
/// A recorder that comes late does not know the addresses of the associations that are open
/// already: their packets go from an unspecified address to another (RFC 1122 §3.2.1.3), and are
/// numbered from 1 on, too.
pub struct Recorder<M, F: FnMut(Vec<u8>)> {
    capture: Capture,
    /// The name and the description of the boundary.
    boundary: (String, String),
    internet: InterfaceId,
    /// For packets that have no Internet addresses, once there is one.
    line: Option<InterfaceId>,
    /// When the run began, in nanoseconds after 1970 began.
    began: u64,
    associations: Mirror<Association>,
    comment: String,
    sink: F,
    message: PhantomData<fn(M)>,
}

/// What is remembered of an association.
#[derive(Clone, Copy)]
struct Association {
    /// The peer came to us.
    passive: bool,
    /// It was reset, or is not there yet.
    over: bool,
    /// Its last word has passed: what crosses that is dropped by its receiver.
    gone: bool,
    /// From here to there; `None` between participants without Internet addresses.
    ends: Option<Ends>,
    /// The numbers of the next octet, from here and from there.
    numbers: [u32; 2],
}

/// One packet's place in the capture.
#[derive(Clone, Copy)]
struct Place {
    time: u64,
    direction: PacketDirection,
}

impl Association {
    /// Makes one of which nothing was told.
    fn unknown(name: Handle) -> Self {
        let port = DYNAMIC_PORTS | name.index as u16;
        let nobody = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let ends = Some(Ends::between(nobody(port), nobody(0)));
        Association { passive: false, over: false, gone: false, ends, numbers: [1, 1] }
    }

    fn ends(&self, direction: PacketDirection) -> Option<Ends> {
        match direction {
            PacketDirection::Outbound => self.ends,
            PacketDirection::Inbound => self.ends.map(Ends::reversed),
        }
    }
}

impl<M, F: FnMut(Vec<u8>)> Recorder<M, F> {
    /// Records what crosses a boundary. `name` says where that is, as in `ftp client over tcp`;
    /// `above` names the protocol whose octets are carried, as in the catalogue. `began` is when
    /// the run began, in nanoseconds after 1970 began (UTC). `sink` gets the octets of the file.
    pub fn new(name: &str, above: &str, began: u64, sink: F) -> Self {
        let mut capture = Capture::new("stackwright");
        let internet = capture.interface(name, above, LinkType::RAW);
        Recorder {
            capture,
            boundary: (name.into(), above.into()),
            internet,
            line: None,
            began,
            associations: Mirror::new(),
            comment: String::new(),
            sink,
            message: PhantomData,
        }
    }

    fn hand_over(&mut self) {
        if self.capture.waiting() > 0 {
            (self.sink)(self.capture.take());
        }
    }

    /// Writes a packet, and hands over where much waits.
    fn packet(&mut self, interface: InterfaceId, place: Place, frame: &Frame<'_>) {
        self.capture.packet(interface, place.time, place.direction, frame, Some(&self.comment));
        if self.capture.waiting() >= WAITING_MOST {
            self.hand_over();
        }
    }

    /// Writes a packet without a header.
    fn plain(&mut self, place: Place, payload: Payload<'_>) {
        let (name, description) = &self.boundary;
        let add = || self.capture.interface(name, description, LinkType::USER0);
        let line = *self.line.get_or_insert_with(add);
        self.packet(line, place, &Frame::plain(payload));
    }

    /// Packets of a stream: one, or as many as the payload takes.
    fn segments(
        &mut self,
        place: Place,
        association: &mut Association,
        control: Control,
        urgent: bool,
        payload: Payload<'_>,
    ) {
        let length = payload.len() as u32; // numbers wrap, and so may a length
        let Some(ends) = association.ends(place.direction) else {
            if length > 0 {
                self.plain(place, payload);
            }
            return;
        };
        let [from, to] = match place.direction {
            PacketDirection::Outbound => [0, 1],
            PacketDirection::Inbound => [1, 0],
        };
        let [sequence, expected] = [association.numbers[from], association.numbers[to]];
        // The first packet of all has nothing to acknowledge.
        let first = control == Control::Synchronise && expected == 0;
        let acknowledgement = (!first).then_some(expected);
        let segment = TcpSegment { sequence, acknowledgement, urgent, control };
        for frame in Frame::segments(ends, segment, payload) {
            self.packet(self.internet, place, &frame);
        }
        let counts = matches!(control, Control::Synchronise | Control::Finish);
        association.numbers[from] = sequence.wrapping_add(length).wrapping_add(u32::from(counts));
    }

    /// Writes both SYN packets, that of the opener first.
    fn opened(&mut self, time: u64, association: &mut Association) {
        association.numbers = [0, 0];
        let mut directions = [PacketDirection::Outbound, PacketDirection::Inbound];
        if association.passive {
            directions.reverse();
        }
        for direction in directions {
            let place = Place { time, direction };
            self.segments(place, association, Control::Synchronise, false, Payload::default());
        }
    }

    /// Writes the end of a stream. Every end but `Finished` is a reset: it reaches the peer as one,
    /// or was one.
    fn ended(&mut self, time: u64, association: &mut Association, why: Ended) {
        let direction = match why {
            _ if association.over => return,
            Ended::Finished | Ended::Unlistened => return,
            Ended::Reset(_) => PacketDirection::Inbound,
            _ => PacketDirection::Outbound,
        };
        self.segments(
            Place { time, direction },
            association,
            Control::Reset,
            false,
            Payload::default(),
        );
    }

    /// Writes what a word does, and remembers what it tells.
    fn note(
        &mut self,
        cx: &Context,
        direction: PacketDirection,
        service: &str,
        act: Act,
        word: &mut impl Word<Message = M>,
    ) where
        M: Message,
    {
        let time = self.began.saturating_add(cx.now().nanoseconds());
        let place = Place { time, direction };
        let name = word.name_mut().copied();
        let payload = word.message().map(Payload::of).unwrap_or_default();
        self.comment.clear();
        // Writing into a string cannot fail.
        let _ = write!(self.comment, "{service} {}", word.primitive());
        let Some(name) = name else {
            if matches!(act, Act::Line) {
                self.plain(place, payload);
            }
            return;
        };
        let _ = write!(self.comment, ", association {}.{}", name.index, name.generation);
        let known = self.associations.get(name).copied();
        let mut association = known.unwrap_or_else(|| Association::unknown(name));
        let about = &mut association;
        match act {
            _ if about.gone => return,
            Act::Nothing | Act::Line => return,
            // Until it is opened there is nothing to reset.
            Act::Begins { passive } => (about.passive, about.over) = (passive, true),
            Act::Opened { local, remote, stream } => {
                let addresses = local.internet().zip(remote.internet());
                about.ends = addresses.map(|(local, remote)| Ends::between(local, remote));
                about.over = false;
                if stream {
                    self.opened(time, about);
                }
            }
            Act::Octets { urgent } => self.segments(place, about, Control::Absent, urgent, payload),
            Act::Finishes => self.segments(place, about, Control::Finish, false, payload),
            Act::Resets if about.over => {}
            Act::Resets => {
                self.segments(place, about, Control::Reset, false, payload);
                about.over = true;
            }
            Act::Datagram => {
                let ends = about.ends(direction);
                // One that is longer than any of UDP is written all the same.
                match ends.and_then(|ends| Frame::datagram(ends, payload.clone())) {
                    Some(frame) => self.packet(self.internet, place, &frame),
                    None => self.plain(place, payload),
                }
            }
            Act::Ended { why, stream } => {
                // Of a name of which nothing is known it may be a listener's.
                if stream && known.is_some() {
                    self.ended(time, about, why);
                }
                about.gone = true;
            }
        }
        // Another's last word may have passed before the recorder came.
        self.associations.vacate(name);
        self.associations.insert(name, association);
    }
}

/// What waits is handed over before it goes.
impl<M, F: FnMut(Vec<u8>)> Drop for Recorder<M, F> {
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl<M, B, F> Module<M, B> for Recorder<M, F>
where
    M: Message,
    B: Service + 'static,
    F: FnMut(Vec<u8>) + 'static,
{
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        let act = act::of_request(&request);
        self.note(cx, PacketDirection::Outbound, request.service(), act, &mut request);
        outlet.ask(0, request);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        let act = act::of_indication(&indication);
        self.note(cx, PacketDirection::Inbound, indication.service(), act, &mut indication);
        outlet.tell(0, indication);
    }

    fn flush(&mut self, _cx: &Context, _mouth: &mut NodeOutlet<'_, M, B>) {
        self.hand_over();
    }

    fn wants_flush(&self) -> bool {
        self.capture.waiting() > 0
    }
}
