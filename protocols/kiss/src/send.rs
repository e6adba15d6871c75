//! From above, to the line: frames, parameters and questions.

use stackwright_contract::services::{Credit, FramesIndication, OctetsRequest};
use stackwright_contract::{Context, Duration};
use stackwright_wire::{Header, Message};

use crate::escape::{END, Framer, escaped_most};
use crate::frame::EMPTY;
use crate::header::{
    FULL_DUPLEX, KissType, PERSISTENCE, QUEUED, SET_HARDWARE, SLOT_TIME, TX_DELAY, TX_TAIL,
};
use crate::state::{Out, Outgoing, What};
use crate::{ChannelAccess, Config, Kiss, NAME};

/// How long a TNC is left alone after it was brought into KISS, which restarts it.
const ENTERING: Duration = Duration::from_secs(2);

impl<M: Message> Kiss<M> {
    /// Queues a frame of the layer above.
    ///
    /// # Panics
    /// Where it is beyond the credit that was given.
    pub(crate) fn frame(
        &mut self,
        cx: &Context,
        port: u8,
        frame: M,
        mark: Option<u16>,
        out: Out<'_, M>,
    ) {
        if !self.is_up {
            return; // it crossed the word that the line is down
        }
        let octets = frame.len();
        let cost = Credit { octets, messages: 1 };
        let Some(there) = self.ports.get_mut(usize::from(port)) else {
            return cx.dropped(NAME, "a frame for a port that is not used");
        };
        assert!(there.credit.covers(cost), "a Send keeps within the credit of its port");
        if octets == 0 || octets > self.config.longest {
            cx.dropped(NAME, if octets == 0 { EMPTY } else { "a frame longer than is allowed" });
            // As one that is lost on the air.
            mark.into_iter().for_each(|mark| out.indicate(FramesIndication::Left { port, mark }));
            return out.indicate(FramesIndication::Credit { port, credit: cost });
        }
        there.credit -= cost;
        let id = mark.filter(|_| self.config.acknowledged);
        let Config { longest, checked, .. } = self.config;
        let framed = self.memory.framed(longest, port, id, &frame, checked);
        self.memory.reclaim(frame);
        let what = What::Frame { port, octets, mark, acknowledged: id.is_some() };
        self.queue.push_back(Outgoing { octets: framed, what });
    }

    /// Queues what a TNC is told when the line comes up.
    pub(crate) fn greet(&mut self) {
        if !self.config.enter.is_empty() {
            let octets = M::with_headroom(0, &self.config.enter);
            self.queue.push_back(Outgoing { octets, what: What::Enter });
        }
        // What the TNC has got of a frame so far ends here.
        self.command(&[END; 3]);
        let ChannelAccess { tx_delay, persistence, slot_time, tx_tail, full_duplex } =
            self.config.access;
        let units = |time: Duration| time.as_millis().div_ceil(10).min(u8::MAX.into()) as u8;
        let values = [
            (TX_DELAY, tx_delay.map(units)),
            (PERSISTENCE, persistence),
            (SLOT_TIME, slot_time.map(units)),
            (TX_TAIL, tx_tail.map(units)),
            (FULL_DUPLEX, full_duplex.map(u8::from)),
        ];
        for port in 0..self.config.ports {
            for (command, value) in values {
                if let Some(value) = value {
                    self.set(port, command, &[value]);
                }
            }
        }
    }

    /// Asks how much a port has queued.
    pub(crate) fn ask_queued(&mut self, port: u8) {
        self.set(port, SET_HARDWARE, QUEUED);
    }

    fn set(&mut self, port: u8, command: u8, value: &[u8]) {
        let mut block = [0; escaped_most(KissType::LENGTH + QUEUED.len())];
        let mut framer = Framer::new(&mut block);
        let mut kind = [0; KissType::LENGTH];
        KissType { port, command }.encode(&mut kind);
        framer.end();
        framer.add(&kind);
        framer.add(value);
        framer.end();
        let length = framer.length();
        self.command(&block[..length]);
    }

    pub(crate) fn command(&mut self, octets: &[u8]) {
        let octets = M::with_headroom(0, octets);
        self.queue.push_back(Outgoing { octets, what: What::Command });
    }

    /// Whether there is something that may be handed to the line now.
    pub(crate) fn may_speak(&self) -> bool {
        self.line > 0 && self.entered_at.is_none() && !self.queue.is_empty()
    }

    /// Hands on as much as the line has credit for.
    pub(crate) fn speak(&mut self, cx: &Context, out: Out<'_, M>) {
        while self.may_speak()
            && let Some(Outgoing { octets, what }) = self.queue.front_mut()
        {
            let message = octets.split_to(octets.len().min(self.line));
            let (is_whole, what) = (octets.is_empty(), *what);
            self.line -= message.len();
            out.request(OctetsRequest::Send { message });
            if !is_whole {
                continue;
            }
            self.queue.pop_front();
            match what {
                What::Frame { port, octets, mark, acknowledged } => {
                    self.handed_on(cx, port, octets, mark, acknowledged);
                }
                What::Command => {}
                What::Enter => self.entered_at = Some(cx.now() + ENTERING),
            }
        }
    }
}
