//! From the line, upward: frames of the TNC, and what it says of those that it was handed.

use stackwright_contract::Context;
use stackwright_contract::services::{Credit, FramesIndication, OctetsRequest};
use stackwright_wire::{Leaf, Message};

use crate::escape::{Found, TOO_LONG};
use crate::frame::{Said, understand};
use crate::header::QUEUED;
use crate::state::Out;
use crate::{Kiss, LINE_ROOM, NAME};

impl<M: Message> Kiss<M> {
    /// The line came up: the TNC is told its parameters, and the layer above that it may send.
    pub(crate) fn up(&mut self, cx: &Context, out: Out<'_, M>) {
        self.reset();
        self.is_up = true;
        self.greet();
        for (port, there) in (0..).zip(&mut self.ports) {
            there.credit = self.config.room;
            out.indicate(FramesIndication::State { port, up: true });
            out.indicate(FramesIndication::Credit { port, credit: self.config.room });
        }
        out.request(OctetsRequest::Credit { credit: LINE_ROOM });
        cx.event(NAME, format_args!("the line is up"));
    }

    pub(crate) fn down(&mut self, cx: &Context, out: Out<'_, M>) {
        self.reset();
        for port in 0..self.config.ports {
            out.indicate(FramesIndication::State { port, up: false });
        }
        cx.event(NAME, format_args!("the line is down"));
    }

    pub(crate) fn delivered(&mut self, cx: &Context, message: M, out: Out<'_, M>) {
        match &mut self.incoming {
            Some(incoming) => incoming.join(message),
            none => *none = Some(message),
        }
        self.deliver(cx, out);
    }

    /// Delivers frames as far as there is credit above. What comes behind a frame that waits is not
    /// taken apart, and its credit stays here: at most [`LINE_ROOM`] octets and one frame are held.
    pub(crate) fn deliver(&mut self, cx: &Context, out: Out<'_, M>) {
        let mut taken = 0;
        while self.hand_up(out)
            && let Some(incoming) = &mut self.incoming
        {
            let Some(Leaf::Octets(mut octets)) = incoming.leaves().next() else {
                // It is empty, or what no line carries: a region of a file.
                taken += incoming.len();
                self.incoming.take().into_iter().for_each(|taken| self.memory.reclaim(taken));
                continue;
            };
            let before = octets.len();
            let found = self.deframer.take(&mut octets);
            let after = octets.len();
            incoming.advance(before - after);
            taken += before - after;
            match found {
                Some(Found::Frame) => self.hear(cx, out),
                Some(Found::Broken(why)) => cx.dropped(NAME, why),
                None => {}
            }
        }
        // The line may be cut by what was delivered.
        if taken > 0 && self.is_up {
            out.request(OctetsRequest::Credit { credit: taken });
        }
    }

    /// Delivers the frame that waits for credit; returns whether none waits any more.
    fn hand_up(&mut self, out: Out<'_, M>) -> bool {
        let Some((port, data)) = self.waiting.clone() else { return true };
        let cost = Credit { octets: data.len(), messages: 1 };
        if !self.credit.covers(cost) {
            return false;
        }
        self.credit -= cost;
        self.waiting = None;
        let frame = self.memory.frame(&self.deframer.frame()[data], self.config.longest);
        out.indicate(FramesIndication::Delivered { port, batch: frame.into() });
        true
    }

    /// Handles a frame of the TNC.
    fn hear(&mut self, cx: &Context, out: Out<'_, M>) {
        let frame = self.deframer.frame();
        match understand(frame, self.config.checked) {
            Err(why) => cx.dropped(NAME, why),
            Ok(Said::Data { data, .. }) if data.len() > self.config.longest => {
                cx.dropped(NAME, TOO_LONG);
            }
            Ok(Said::Data { port, data }) if port < self.config.ports => {
                self.waiting = Some((port, data));
            }
            Ok(Said::Transmitted { port, id }) if port < self.config.ports => {
                self.transmitted(cx, port, id, out);
            }
            Ok(Said::Hardware { port, setting }) if port < self.config.ports => {
                match frame[setting].strip_prefix(QUEUED).and_then(number) {
                    Some(octets) => self.queued(cx, port, octets),
                    None => cx.dropped(NAME, "a setting of the hardware"),
                }
            }
            Ok(Said::Data { .. } | Said::Transmitted { .. } | Said::Hardware { .. }) => {
                cx.dropped(NAME, "a frame of a port that is not used");
            }
            Ok(Said::Numbered { .. } | Said::Parameter { .. } | Said::Other) => {
                cx.dropped(NAME, "a command, which a TNC does not send");
            }
        }
    }
}

/// Reads a decimal number.
fn number(digits: &[u8]) -> Option<usize> {
    str::from_utf8(digits.trim_ascii()).ok()?.parse().ok()
}
