//! What leaves at the end of a batch, what is delivered, and how streams end.

use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{Code, Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::header::ChunkKind;
use crate::state::{Half, Owner, Phase, Stream, split};
use crate::{Merged, Out};

impl<M: Message> Merged<M> {
    /// Has the end of the batch look at a carrier.
    pub(crate) fn mark(&mut self, carrier: Handle) {
        if let Some(state) = self.carriers.get_mut(carrier)
            && !mem::replace(&mut state.is_due, true)
        {
            self.due.push(carrier);
        }
    }

    pub(crate) fn send_gathered(&mut self, _: &Context, out: Out<'_, M>) {
        for carrier in mem::take(&mut self.due) {
            self.send_of(carrier, out);
        }
    }

    /// Sends what a carrier has: a chunk of each stream in turn, as long as there is credit.
    fn send_of(&mut self, carrier: Handle, out: Out<'_, M>) {
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        state.is_due = false;
        let (Some(association), Phase::Open) = (state.below, state.phase) else { return };
        let turn = state.turn;
        let later = state.streams.range(turn..).skip_while(|(number, _)| **number == turn);
        let mut numbers: Vec<u16> = later.map(|(number, _)| *number).collect();
        numbers.extend(state.streams.range(..=turn).map(|(number, _)| *number));
        let mut goes_on = true;
        while mem::take(&mut goes_on) {
            for &number in &numbers {
                let octets = state.push_data(number);
                goes_on |= octets > 0;
                let name = state.streams.get(&number).and_then(Stream::name);
                if let Some(association) = name.filter(|_| octets > 0) {
                    let credit = Credit::of_octets(octets);
                    out.indicate(StreamsIndication::Credit { association, credit });
                }
            }
        }
        numbers.iter().for_each(|number| state.push_words(*number));
        let credit = state.credit;
        if let Some(message) = split(&mut state.unsent, credit).filter(|it| !it.is_empty()) {
            state.credit -= message.len();
            out.request(StreamsRequest::Send {
                association,
                batch: message.into(),
                properties: Default::default(),
            });
        }
        if state.opened_here && state.streams.is_empty() && state.unsent.is_none() {
            state.phase = Phase::Over;
            return out.request(StreamsRequest::Close { name: association });
        }
        let ended = |state: &Stream<M>| if state.is_over() { state.name() } else { None };
        let over: Vec<Handle> = state.streams.values().filter_map(ended).collect();
        for name in over {
            self.deliver(name, out);
        }
    }

    /// Delivers what has arrived as far as there is credit, then the end, and the last word where
    /// that was all.
    pub(crate) fn deliver(&mut self, association: Handle, out: Out<'_, M>) {
        let Some(&(carrier, number)) = self.above.get(association) else { return };
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        let Some(stream) = state.streams.get_mut(&number) else { return };
        if stream.closes.is_some() {
            stream.arrived = None;
        }
        let octets = stream.arrived.as_ref().map_or(0, M::len).min(stream.up);
        if octets > 0
            && let Some(part) = split(&mut stream.arrived, octets)
        {
            stream.up -= octets;
            let (batch, properties) = (part.into(), Default::default());
            out.indicate(StreamsIndication::Delivered { association, batch, properties });
        }
        if stream.arrived.is_none() && stream.peer_half == Half::Ending {
            stream.peer_half = Half::Ended;
            if stream.closes.is_none() {
                out.indicate(StreamsIndication::Finished { association });
            }
        }
        if stream.is_over() {
            state.streams.remove(&number);
            self.end(association, Ended::Finished, out);
            self.rest(carrier, out);
        }
        self.mark(carrier);
    }

    /// Forgets a stream, and that it waits at a listener.
    pub(crate) fn remove(&mut self, carrier: Handle, number: u16) -> Option<Stream<M>> {
        let stream = self.carriers.get_mut(carrier)?.streams.remove(&number)?;
        if let Owner::Early(listener) = stream.owner
            && let Some(door) = self.above.listener_mut(listener)
        {
            door.early.retain(|early| *early != (carrier, number));
        }
        Some(stream)
    }

    /// Ends a stream for the peer at once.
    pub(crate) fn cut(&mut self, carrier: Handle, number: u16, kind: ChunkKind, code: Code) {
        let was_there = self.remove(carrier, number).is_some();
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        // Before it was open, the peer knows nothing of it.
        if was_there && state.phase == Phase::Open {
            state.push_number(kind, number, code);
            self.mark(carrier);
        }
    }

    /// Ends an association that was opened here and has no streams any more, behind all that was
    /// said.
    pub(crate) fn rest(&mut self, carrier: Handle, out: Out<'_, M>) {
        self.mark(carrier);
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        if !state.streams.is_empty() {
            return;
        }
        match (state.phase, state.below) {
            (Phase::Over, None) => {
                self.carriers.forget(carrier);
                self.await_peers(out);
            }
            (Phase::Opening, Some(association)) => {
                state.phase = Phase::Over;
                out.request(StreamsRequest::Abort { association, code: 0 });
            }
            _ => {}
        }
    }

    /// Ends the streams of an association that is over, but for those that lack nothing of it.
    pub(crate) fn lose_streams(&mut self, carrier: Handle, why: Ended, out: Out<'_, M>) {
        let Some(state) = self.carriers.get(carrier) else { return };
        let has_all = |stream: &Stream<M>| {
            stream.half == Half::Ended && stream.peer_half != Half::Open && stream.name().is_some()
        };
        let lost = state.streams.iter().filter(|(_, stream)| !has_all(stream));
        let lost: Vec<u16> = lost.map(|(number, _)| *number).collect();
        for number in lost {
            let name = self.remove(carrier, number).and_then(|stream| stream.name());
            if let Some(name) = name {
                self.end(name, why, out);
            }
        }
        self.rest(carrier, out);
    }

    /// Gives up streams that were closed and whose peer does not come to its end.
    pub(crate) fn expire(&mut self, cx: &Context, out: Out<'_, M>) {
        if self.next.is_none_or(|next| next > cx.now()) {
            return;
        }
        let mut late = Vec::new();
        self.next = None;
        for (carrier, state) in self.carriers.iter() {
            for (number, stream) in &state.streams {
                match stream.closes {
                    Some(until) if until <= cx.now() => late.push((carrier, *number)),
                    until => self.next = stackwright_contract::earliest(self.next, until),
                }
            }
        }
        for (carrier, number) in late {
            let name = self.carriers.get(carrier).and_then(|it| it.streams.get(&number)?.name());
            self.cut(carrier, number, ChunkKind::Abort, 0);
            if let Some(name) = name {
                self.end(name, Ended::Expired, out);
            }
            self.rest(carrier, out);
        }
    }
}
