//! What a peer says, chunk by chunk.

use stackwright_contract::services::{Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Header, Message};

use crate::header::{CHUNK_MOST, ChunkHeader, ChunkKind, ChunkNumber, OpenChunk};
use crate::state::{Half, Owner, Phase, Stream, append, split, with_port};
use crate::{Merged, NAME, Out};

/// How many octets of answers a peer may leave unread.
const UNREAD_MOST: usize = 64 << 10;

/// What a peer did that no peer does.
type Violation = &'static str;

impl<M: Message> Merged<M> {
    pub(crate) fn chunks_arrived(
        &mut self,
        cx: &Context,
        carrier: Handle,
        octets: M,
        out: Out<'_, M>,
    ) {
        if let Some(state) = self.carriers.get_mut(carrier) {
            append(&mut state.arrived, octets);
        }
        loop {
            match self.next_chunk(cx, carrier, out) {
                Ok(true) => {}
                Ok(false) => return,
                Err(violation) => {
                    cx.dropped(NAME, violation);
                    return self.give_up(carrier, out);
                }
            }
        }
    }

    /// Takes one chunk, or as much of it as is here. Returns whether there may be more.
    fn next_chunk(
        &mut self,
        cx: &Context,
        carrier: Handle,
        out: Out<'_, M>,
    ) -> Result<bool, Violation> {
        let Some(state) = self.carriers.get_mut(carrier) else { return Ok(false) };
        if state.phase != Phase::Open {
            return Ok(false);
        }
        if let Some((number, missing)) = state.arriving {
            let Some(data) = split(&mut state.arrived, missing) else { return Ok(false) };
            let left = missing - data.len();
            state.arriving = (left > 0).then_some((number, left));
            self.data_arrived(cx, carrier, number, data, out)?;
            return Ok(true);
        }
        let Some(arrived) = &mut state.arrived else { return Ok(false) };
        let Some(front) = arrived.front(ChunkHeader::LENGTH) else { return Ok(false) };
        let Ok(header) = ChunkHeader::decode(front) else { return Err("a chunk of no kind") };
        let octets = usize::from(header.octets);
        if octets > CHUNK_MOST || header.kind.content().is_some_and(|length| length != octets) {
            return Err("a chunk of the wrong length");
        }
        let is_known = state.has_known(header.stream);
        if header.kind == ChunkKind::Open {
            if is_known || !state.is_of_peer(header.stream.into()) {
                return Err("a stream whose number is not new");
            }
        } else if !is_known {
            return Err("a chunk of a stream that nobody opened");
        }
        let Some(arrived) = &mut state.arrived else { return Ok(false) };
        if header.kind == ChunkKind::Data {
            arrived.advance(ChunkHeader::LENGTH);
            state.arriving = (octets > 0).then_some((header.stream, octets));
            return Ok(true);
        }
        let Some(whole) = arrived.front(ChunkHeader::LENGTH + octets) else { return Ok(false) };
        let content = &whole[ChunkHeader::LENGTH..];
        let open = OpenChunk::decode(content).ok();
        let number = ChunkNumber::decode(content).map_or(0, |it| it.number);
        arrived.advance(ChunkHeader::LENGTH + octets);
        match (header.kind, open) {
            (ChunkKind::Open, Some(open)) => self.opened(carrier, header.stream, &open, out)?,
            (kind, _) => self.word_arrived(cx, carrier, (kind, header.stream), number, out)?,
        }
        Ok(true)
    }

    fn opened(
        &mut self,
        carrier: Handle,
        number: u16,
        open: &OpenChunk,
        out: Out<'_, M>,
    ) -> Result<(), Violation> {
        let Some(state) = self.carriers.get_mut(carrier) else { return Ok(()) };
        if state.waiting() > UNREAD_MOST {
            return Err("a peer that opens streams and does not read");
        }
        state.next_of_peer = u32::from(number) + 2;
        let local = with_port(state.local, open.destination_port).internet();
        let listener = local.and_then(|local| self.listener_at(local, false));
        let Some(state) = self.carriers.get_mut(carrier) else { return Ok(()) };
        let of_peer = state.streams.keys().filter(|it| state.is_of_peer(u32::from(**it))).count();
        let Some(listener) = listener.filter(|_| of_peer < self.config.streams_most) else {
            state.push_number(ChunkKind::Refuse, number, 0);
            self.mark(carrier);
            return Ok(());
        };
        let ports = (open.destination_port, open.source_port);
        let mut stream = Stream::new(Owner::Early(listener), ports, 0);
        stream.promise = open.credit as usize;
        state.streams.insert(number, stream);
        if let Some(door) = self.above.listener_mut(listener) {
            door.early.push_back((carrier, number));
        }
        self.admit(listener, out);
        Ok(())
    }

    fn data_arrived(
        &mut self,
        cx: &Context,
        carrier: Handle,
        number: u16,
        data: M,
        out: Out<'_, M>,
    ) -> Result<(), Violation> {
        let Some(state) = self.carriers.get_mut(carrier) else { return Ok(()) };
        let Some(stream) = state.streams.get_mut(&number) else {
            cx.dropped(NAME, "octets of a stream that was aborted");
            return Ok(());
        };
        if stream.peer_half != Half::Open {
            return Err("octets behind the end of a stream");
        }
        let left = stream.told.checked_sub(data.len());
        stream.told = left.ok_or("more octets than there was credit for")?;
        append(&mut stream.arrived, data);
        if let Some(name) = stream.name() {
            self.deliver(name, out);
        }
        Ok(())
    }

    fn word_arrived(
        &mut self,
        cx: &Context,
        carrier: Handle,
        (kind, number): (ChunkKind, u16),
        value: u32,
        out: Out<'_, M>,
    ) -> Result<(), Violation> {
        let Some(state) = self.carriers.get_mut(carrier) else { return Ok(()) };
        let Some(stream) = state.streams.get_mut(&number) else {
            cx.dropped(NAME, "a word about a stream that was aborted");
            return Ok(());
        };
        let name = stream.name();
        match kind {
            ChunkKind::Credit => {
                stream.promise = stream.promise.saturating_add(value as usize);
                self.mark(carrier);
            }
            ChunkKind::Finish if stream.peer_half != Half::Open => return Err("a second end"),
            ChunkKind::Finish => {
                stream.peer_half = Half::Ending;
                let waits = stream.arrived.is_some();
                if let Some(association) = name {
                    if waits {
                        out.indicate(StreamsIndication::Ending { association });
                    }
                    self.deliver(association, out);
                }
            }
            _ => {
                let why = match kind {
                    ChunkKind::Refuse => Ended::Refused(value),
                    _ => Ended::Reset(value),
                };
                self.remove(carrier, number);
                if let Some(name) = name {
                    self.end(name, why, out);
                }
                self.rest(carrier, out);
            }
        }
        Ok(())
    }

    /// Ends an association whose peer says what is no chunk.
    fn give_up(&mut self, carrier: Handle, out: Out<'_, M>) {
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        state.phase = Phase::Over;
        state.arrived = None;
        if let Some(association) = state.below {
            out.request(StreamsRequest::Abort { association, code: 0 });
        }
        self.lose_streams(carrier, Ended::Reset(0), out);
    }
}
