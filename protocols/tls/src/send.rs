//! From above, downward: octets become records.

use alloc::vec::Vec;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{
    Batch, Code, Credit, Ended, StreamProperties, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Context, Handle, SecurityError};
use stackwright_wire::{Leaf, Message};

use crate::connection::{Job, OVERHEAD, PAYLOAD_MOST, Step};
use crate::stage::Failure;
use crate::state::{Association, By, Ending, Secured, Stage};
use crate::{NAME, Out, Tls};

/// How many records are written into one block.
const RECORDS_MOST: usize = 4;

impl<M: Message> Tls<M> {
    pub(crate) fn send(
        &mut self,
        cx: &Context,
        name: Handle,
        batch: Batch<M>,
        properties: StreamProperties,
        out: Out<'_, M>,
    ) {
        let Some(association) = self.associations.get_mut(name) else {
            return cx.dropped(NAME, "octets for an association that is over");
        };
        match &mut association.stage {
            Stage::Plain | Stage::Asked(_) => {
                association.below = association.below.saturating_sub(batch.octets());
                out.request(StreamsRequest::Send { association: name, batch, properties });
            }
            Stage::Secure(secured) if secured.ending == Ending::Open => {
                let message = batch.into_octets();
                if !message.leaves().all(|leaf| matches!(leaf, Leaf::Octets(_))) {
                    let why = Failure::Security(SecurityError::Unreadable);
                    return self.fail(cx, name, why, out);
                }
                debug_assert!(
                    message.len() <= secured.given,
                    "{NAME}: a Send on {name:?} keeps within the credit"
                );
                secured.given = secured.given.saturating_sub(message.len());
                secured.waiting_octets += message.len();
                if !message.is_empty() {
                    secured.waiting.push_back(message);
                }
                self.mark(name);
            }
            Stage::Secure(_) | Stage::Over(_) => {
                cx.dropped(NAME, "octets for an association that was finished");
            }
        }
    }

    /// The stream below gives credit.
    pub(crate) fn room(&mut self, name: Handle, credit: Credit, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        association.below += credit.octets;
        match &association.stage {
            Stage::Plain | Stage::Asked(_) => {
                out.indicate(StreamsIndication::Credit { association: name, credit });
            }
            // Before the peer's end, which may be next, it is told that all has left.
            Stage::Secure(secured) if matches!(secured.ending, Ending::Done(_)) => {
                self.tell_room(name, out);
            }
            Stage::Secure(_) => self.mark(name),
            Stage::Over(_) => {}
        }
    }

    /// Gives the layer above as much credit as there is.
    fn tell_room(&mut self, name: Handle, out: Out<'_, M>) {
        let Some((secured, below, _)) = self.secured(name) else { return };
        let more = secured.give(*below);
        if more > 0 {
            let credit = Credit::of_octets(more);
            out.indicate(StreamsIndication::Credit { association: name, credit });
        }
    }

    pub(crate) fn finish(&mut self, name: Handle, out: Out<'_, M>) {
        match self.associations.get_mut(name).map(|association| &mut association.stage) {
            Some(Stage::Secure(secured)) => {
                if secured.ending == Ending::Open {
                    secured.ending = Ending::Asked(By::Finish);
                    self.mark(name);
                }
            }
            Some(Stage::Over(_)) => {}
            _ => out.request(StreamsRequest::Finish { association: name }),
        }
    }

    pub(crate) fn abort(&mut self, name: Handle, code: Code, out: Out<'_, M>) {
        if let Some((Secured { ended_below: Some(_), .. }, ..)) = self.secured(name) {
            return self.last_word(name, Ended::Aborted, out);
        }
        out.request(StreamsRequest::Abort { association: name, code });
    }

    pub(crate) fn close(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let deadline = cx.now() + self.limits.close;
        let Some(Association { stage, .. }) = self.associations.get_mut(name) else {
            return out.request(StreamsRequest::Close { name }); // a listener's
        };
        match stage {
            Stage::Plain | Stage::Asked(_) => out.request(StreamsRequest::Close { name }),
            Stage::Secure(secured) if secured.ended_below.is_some() => {
                self.last_word(name, Ended::Finished, out);
            }
            Stage::Secure(secured) => {
                let ending = match secured.ending {
                    Ending::Open | Ending::Asked(By::Finish) => Ending::Asked(By::Close),
                    // What is announced once is not announced again.
                    Ending::Announced(By::Finish) | Ending::Done(By::Finish) => {
                        Ending::Announced(By::Close)
                    }
                    _ => return cx.dropped(NAME, "close: it was asked before"),
                };
                secured.ending = ending;
                if let Some(ticket) = secured.deadline.replace(self.timers.schedule(deadline, name))
                {
                    self.timers.cancel(ticket);
                }
                self.mark(name);
                self.deliver(cx, name, out);
            }
            Stage::Over(_) => {}
        }
    }

    /// Sends what waits, within the credit below, and what ends it; gives more credit above.
    pub(crate) fn pump(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some((secured, below, _)) = self.secured(name) else { return };
        secured.is_due = false;
        if secured.ended_below.is_some() {
            return;
        }
        let pumped = loop {
            secured.send_records(name, below, out);
            if !secured.records.is_empty() || secured.shaking {
                break Ok(None);
            }
            if secured.waiting_octets > 0 {
                if *below == 0 {
                    break Ok(None);
                }
                if let Err(error) = secured.encrypt(*below) {
                    break Err(error);
                }
                continue;
            }
            match secured.ending {
                Ending::Open => break Ok(None),
                Ending::Asked(by) => {
                    secured.ending = Ending::Announced(by);
                    let mut records = Vec::new();
                    let written = secured.write(&mut records, &Job::CloseNotify);
                    secured.queue(records);
                    if let Err(error) = written {
                        break Err(error);
                    }
                }
                Ending::Announced(by) => {
                    secured.ending = Ending::Done(by);
                    break Ok(Some(by));
                }
                Ending::Done(_) => break Ok(None),
            }
        };
        match pumped {
            Err(error) => return self.fail(cx, name, Failure::Library(error), out),
            Ok(None) => {}
            Ok(Some(By::Finish)) => out.request(StreamsRequest::Finish { association: name }),
            Ok(Some(By::Close)) => {
                // From here on, the stream below sees to it that it ends in time.
                if let Some(ticket) = secured.deadline.take() {
                    self.timers.cancel(ticket);
                }
                return out.request(StreamsRequest::Close { name });
            }
        }
        self.tell_room(name, out);
        // Writing reads, too: what arrived meanwhile is delivered.
        self.deliver(cx, name, out);
    }
}

impl<M: Message> Secured<M> {
    /// Queues records.
    pub(crate) fn queue(&mut self, records: Vec<u8>) {
        if !records.is_empty() {
            let length = records.len();
            self.records.push_back(M::from_block(records.into(), 0, length));
        }
    }

    /// Sends records within the credit below.
    fn send_records(&mut self, name: Handle, below: &mut usize, out: Out<'_, M>) {
        while *below > 0
            && let Some(front) = self.records.front_mut()
        {
            let octets = front.len().min(*below);
            let message = if octets == front.len() { front.take() } else { front.split_to(octets) };
            if front.is_empty() {
                self.records.pop_front();
            }
            *below -= octets;
            out.request(StreamsRequest::Send {
                association: name,
                batch: message.into(),
                properties: StreamProperties::default(),
            });
        }
    }

    /// Sends the alert of a connection that has failed, if there is one and all of it may leave.
    pub(crate) fn send_alert(&mut self, name: Handle, below: &mut usize, out: Out<'_, M>) -> bool {
        let mut records = Vec::new();
        // rustls writes before it reads: it does not meet the octets that it has failed at again.
        while self.connection.has_records()
            && let (_, Ok(Step::More)) =
                self.connection.step::<M>(&mut [], &mut records, &Job::Nothing, None)
        {}
        let has_alert = !records.is_empty();
        self.queue(records);
        self.send_records(name, below, out);
        has_alert && self.records.is_empty()
    }

    /// Encrypts what waits: as much as there is credit for, but at least one record, of which the
    /// rest then waits for credit.
    fn encrypt(&mut self, below: usize) -> Result<(), rustls::Error> {
        let count = self.waiting_octets.div_ceil(PAYLOAD_MOST);
        let count = count.min(below / (PAYLOAD_MOST + OVERHEAD)).clamp(1, RECORDS_MOST);
        let payload = self.waiting_octets.min(count * PAYLOAD_MOST);
        let mut records = Vec::with_capacity(payload + count * OVERHEAD);
        let mut result = Ok(());
        for _ in 0..count {
            let octets = self.waiting_octets.min(PAYLOAD_MOST);
            if octets == 0 || result.is_err() {
                break;
            }
            self.waiting_octets -= octets;
            result = self.encrypt_record(octets, &mut records);
        }
        self.has_sent = true;
        self.queue(records);
        result
    }

    /// Encrypts the next octets that wait as one record: from where they are, if they are in one
    /// piece.
    fn encrypt_record(
        &mut self,
        octets: usize,
        records: &mut Vec<u8>,
    ) -> Result<(), rustls::Error> {
        let Some(mut front) = self.waiting.pop_front() else { return Ok(()) };
        let result = match front.front(octets) {
            Some(payload) => {
                let result = self.write(records, &Job::Payload(payload));
                front.advance(octets);
                result
            }
            None => {
                let mut payload = alloc::vec![0; octets];
                let mut gathered = 0;
                loop {
                    let copied = front.copy_to(&mut payload[gathered..]);
                    front.advance(copied);
                    gathered += copied;
                    if gathered == octets {
                        break;
                    }
                    match self.waiting.pop_front() {
                        Some(next) => front = next,
                        None => break,
                    }
                }
                self.write(records, &Job::Payload(&payload[..gathered]))
            }
        };
        if !front.is_empty() {
            self.waiting.push_front(front);
        }
        result
    }

    /// Writes once that is possible; what arrived before is read first.
    fn write(&mut self, records: &mut Vec<u8>, job: &Job<'_>) -> Result<(), rustls::Error> {
        let mut read = 0;
        let result = loop {
            let (more, step) = self.connection.step(&mut self.arrived[read..], records, job, None);
            read += more;
            match step {
                Ok(Step::Written) => break Ok(()),
                Ok(Step::Payload(payload)) => self.hold(payload),
                Ok(Step::PeerClosed) => self.peer_closes(),
                Ok(Step::More) => {}
                // The handshake is over: rustls always lets payload be written.
                Ok(Step::Waits) => break Err(rustls::Error::HandshakeNotComplete),
                Err(error) => break Err(error),
            }
        };
        self.arrived.drain(..read);
        result
    }
}
