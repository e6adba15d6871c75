//! From below: frames of the TNC, upward and to every program; and what the programs say.

use alloc::vec::Vec;

use stackwright_contract::services::{
    Batch, Credit, Ended, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Context, Either, Handle, Party};
use stackwright_wire::{Header, Message};

use super::client::Client;
use super::send::{Outstanding, Queued, Source};
use super::{CLIENTS_MOST, Hub, NAME, Out};
use crate::escape::{Found, Framer, TOO_LONG, escaped_most};
use crate::frame::{OVERHEAD, Said, understand};
use crate::header::{ACKNOWLEDGED, KissAcknowledgement, KissType, QUEUED, SET_HARDWARE};

const NOT_READ: &str = "a frame for a program that does not read";

impl<M: Message> Hub<M> {
    pub(super) fn on_tnc(&mut self, cx: &Context, word: FramesIndication<M>, out: Out<'_, M>) {
        match word {
            FramesIndication::State { port, up } => self.state(cx, port, up, out),
            FramesIndication::Credit { port, credit } => {
                if let Some(there) = self.ports.get_mut(usize::from(port)) {
                    there.credit += credit;
                    there.handed = there.handed.saturating_sub(credit.octets);
                    self.pump(cx, out);
                }
            }
            FramesIndication::Delivered { port, batch } => {
                let credit = batch.cost();
                self.share(cx, port, batch.into_single(), None, out);
                out.request(Either::Right(FramesRequest::Credit { credit }));
            }
            FramesIndication::Left { port, mark } => self.left(port, mark, out),
            FramesIndication::Changed { .. } => out.indicate(word),
        }
    }

    fn state(&mut self, cx: &Context, port: u8, up: bool, out: Out<'_, M>) {
        let were_up = self.ports.iter().any(|port| port.is_up);
        let Some(there) = self.ports.get_mut(usize::from(port)) else { return };
        there.is_up = up;
        (there.credit, there.handed, there.above) = (Credit::NONE, 0, self.config.room);
        let mut waiting = Vec::new();
        for Queued { frame, source } in there.queue.drain(..) {
            self.memory.reclaim(frame);
            if let Source::Client(name, _) = source {
                waiting.push(name);
            }
        }
        self.outstanding.retain(|outstanding| outstanding.port != port);
        let are_up = self.ports.iter().any(|port| port.is_up);
        if were_up != are_up {
            self.credit = Credit::NONE;
        }
        out.indicate(FramesIndication::State { port, up });
        if up {
            let credit = self.config.room;
            out.indicate(FramesIndication::Credit { port, credit });
        }
        if are_up && !were_up {
            let credit = Credit { octets: self.config.longest * 64, messages: 64 };
            out.request(Either::Right(FramesRequest::Credit { credit }));
        }
        for name in &waiting {
            if let Some(client) = self.clients.get_mut(*name) {
                client.waits = false;
            }
        }
        // Without a TNC, what they send is lost; it must not be sent much later.
        waiting.into_iter().for_each(|name| self.serve(cx, name, out));
    }

    /// Hands a frame to the layer above and to every program, except to the one that sent it. What
    /// one of them sent, the others receive with `echo` only.
    pub(super) fn share(
        &mut self,
        cx: &Context,
        port: u8,
        frame: M,
        from: Option<Source>,
        out: Out<'_, M>,
    ) {
        if port >= self.config.ports || frame.len() > self.config.longest {
            return cx.dropped(NAME, "a frame that is too long, or of a port that is not shared");
        }
        if self.clients() > 0 && (from.is_none() || self.config.echo) {
            let framed = self.memory.framed(self.config.longest, port, None, &frame, false);
            for (name, client) in self.clients.iter_mut() {
                if !matches!(from, Some(Source::Client(from, _)) if from == name)
                    && !client.send(framed.share(), out)
                {
                    cx.dropped(NAME, NOT_READ);
                }
            }
            self.memory.reclaim(framed);
        }
        let batch = Batch::from(frame);
        match batch.cost() {
            _ if matches!(from, Some(Source::Above(_))) => {}
            cost if self.credit.covers(cost) => {
                self.credit -= cost;
                return out.indicate(FramesIndication::Delivered { port, batch });
            }
            _ if self.hears => cx.dropped(NAME, "a frame for a layer above that does not read"),
            _ => {}
        }
        self.memory.reclaim(batch.into_single());
    }

    /// A frame was transmitted: who sent it is told.
    fn left(&mut self, port: u8, mark: u16, out: Out<'_, M>) {
        let is_it = |outstanding: &Outstanding| outstanding.mark == mark;
        let Some(place) = self.outstanding.iter().position(is_it) else { return };
        let Some(Outstanding { source, .. }) = self.outstanding.remove(place) else { return };
        match source {
            Source::Above(Some(mark)) => out.indicate(FramesIndication::Left { port, mark }),
            Source::Client(name, Some(id)) => {
                let mut head = [0; KissType::LENGTH + KissAcknowledgement::LENGTH];
                KissType { port, command: ACKNOWLEDGED }.encode(&mut head);
                KissAcknowledgement { id }.encode(&mut head[KissType::LENGTH..]);
                self.answer(name, &head, &[], out);
            }
            Source::Above(None) | Source::Client(_, None) => {}
        }
    }

    /// Sends a program what is no frame of the air; it is lost to one that does not read.
    fn answer(&mut self, name: Handle, head: &[u8], rest: &[u8], out: Out<'_, M>) {
        let Some(client) = self.clients.get_mut(name) else { return };
        let mut block = [0; escaped_most(32)];
        let mut framer = Framer::new(&mut block);
        framer.end();
        framer.add(head);
        framer.add(rest);
        framer.end();
        let length = framer.length();
        client.send(M::with_headroom(0, &block[..length]), out);
    }

    pub(super) fn on_programs(
        &mut self,
        cx: &Context,
        word: StreamsIndication<M>,
        out: Out<'_, M>,
    ) {
        match word {
            StreamsIndication::Listening { local, .. } => {
                self.listening = Some(Ok(local));
                cx.event(NAME, format_args!("listening at {local}"));
            }
            StreamsIndication::Opened { association, remote, credit, .. } => {
                let client = || Client::new(association, credit.octets, self.config.longest);
                if self.clients.arrived(association, client).is_some() {
                    // KISS has no word for it.
                    if self.clients() > CLIENTS_MOST {
                        cx.event(NAME, format_args!("no place for a program at {remote}"));
                        if let Some(client) = self.clients.get_mut(association) {
                            client.ends = true;
                        }
                        out.request(Either::Left(StreamsRequest::Close { name: association }));
                    } else {
                        cx.event(NAME, format_args!("a program at {remote}"));
                    }
                    self.expect(out);
                }
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                if let Some(client) = self.clients.get_mut(association) {
                    client.came(batch.into_octets());
                    self.serve(cx, association, out);
                    self.pump(cx, out);
                }
            }
            StreamsIndication::Credit { association, credit } => {
                if let Some(client) = self.clients.get_mut(association) {
                    client.sent(credit.octets, out);
                }
            }
            StreamsIndication::Finished { association } => {
                if let Some(client) = self.clients.get_mut(association)
                    && !core::mem::replace(&mut client.ends, true)
                {
                    out.request(Either::Left(StreamsRequest::Close { name: association }));
                }
            }
            StreamsIndication::Ended { name, why } => self.ended(cx, name, why, out),
            StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
        }
    }

    fn ended(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        match self.clients.forget(name) {
            Some(Party::Listener(..)) => {
                (self.listener, self.listening) = (None, Some(Err(why)));
                cx.event(NAME, format_args!("not listening: {why}"));
            }
            Some(Party::Open(_)) => cx.event(NAME, format_args!("a program is gone: {why}")),
            Some(Party::Awaited(_)) | None => {}
        }
        self.expect(out);
    }

    /// Handles what a program said, up to a frame that waits for the TNC.
    pub(super) fn serve(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        while let Some(client) = self.clients.get_mut(name)
            && let Some(found) = client.next(&self.memory, out)
        {
            let said = match found {
                Found::Frame => understand(client.deframer.frame(), false),
                Found::Broken(why) => Err(why),
            };
            let longest = self.config.longest;
            let (port, id, data) = match said {
                Err(why) => {
                    cx.dropped(NAME, why);
                    continue;
                }
                Ok(Said::Data { port, data }) => (port, None, data),
                Ok(Said::Numbered { port, id, data }) => (port, Some(id), data),
                Ok(Said::Hardware { port, setting }) => {
                    let asks = &client.deframer.frame()[setting] == QUEUED;
                    if asks && let Some(there) = self.ports.get(usize::from(port)) {
                        let queued = there.handed + there.waiting();
                        let kind = (port << 4) | SET_HARDWARE;
                        let mut digits = [0; 20];
                        let digits = decimal(queued, &mut digits);
                        let head = [&[kind][..], QUEUED].concat();
                        self.answer(name, &head, digits, out);
                    }
                    continue;
                }
                // The TNC's parameters are those of its owner, who may read these.
                Ok(Said::Parameter { port, command, value }) => {
                    if let Some(there) = self.ports.get_mut(usize::from(port)) {
                        there.access.set(command, value);
                    }
                    continue;
                }
                // It stays in KISS.
                Ok(Said::Transmitted { .. } | Said::Other) => continue,
            };
            let why = match () {
                () if data.len() > longest => TOO_LONG,
                () if port >= self.config.ports => "a frame for a port that is not shared",
                () if !self.ports[usize::from(port)].is_up => "a frame while there is no TNC",
                () => "",
            };
            if !why.is_empty() {
                cx.dropped(NAME, why);
                continue;
            }
            client.waits = true;
            let frame = self.memory.frame(&client.deframer.frame()[data], longest + OVERHEAD);
            self.queue(port, Queued { frame, source: Source::Client(name, id) });
        }
    }
}

/// Writes a number in decimal digits.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}
