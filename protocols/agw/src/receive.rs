//! From below: the streams of programs, and links.

use alloc::vec::Vec;

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Address, CallSign, Context, Either, Handle, Participant, Party};
use stackwright_wire::Message;

use crate::link::{Link, PID};
use crate::program::{Program, Sent, Waits};
use crate::{Agw, LINKS_MOST, NAME, Out, PROGRAMS_MOST, Stops};

impl<M: Message> Agw<M> {
    pub(crate) fn on_programs(
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
                let program = || Program::new(association, credit.octets);
                if self.programs.arrived(association, program).is_some() {
                    if self.programs() > PROGRAMS_MOST {
                        let what = format_args!("no place for a program at {remote}");
                        cx.event(NAME, what);
                        self.tell_full(association, out);
                        self.leave(cx, association, out);
                        out.request(Either::Left(StreamsRequest::Close { name: association }));
                    } else {
                        cx.event(NAME, format_args!("a program at {remote}"));
                    }
                    self.expect(out);
                }
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                if let Some(program) =
                    self.programs.get_mut(association).filter(|program| !program.ends)
                {
                    program.came(batch.into_octets());
                    self.serve(cx, association, out);
                }
            }
            StreamsIndication::Credit { association, credit } => {
                if let Some(program) = self.programs.get_mut(association) {
                    let was_slow = program.is_slow();
                    program.sent(credit.octets, out);
                    if was_slow && !program.is_slow() {
                        self.goes_on(cx, association, out);
                    }
                }
            }
            // A program that says no more wants no more.
            StreamsIndication::Finished { association } => {
                if self.leave(cx, association, out) {
                    out.request(Either::Left(StreamsRequest::Close { name: association }));
                }
            }
            StreamsIndication::Ended { name, why } => self.program_ended(cx, name, why, out),
            StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
        }
    }

    fn program_ended(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        self.leave(cx, name, out);
        match self.programs.forget(name) {
            Some(Party::Listener(..)) => {
                (self.listener, self.listening) = (None, Some(Err(why)));
                if self.stops == Stops::No {
                    cx.event(NAME, format_args!("not listening: {why}"));
                }
            }
            Some(Party::Open(_)) => cx.event(NAME, format_args!("a program left: {why}")),
            Some(Party::Awaited(_)) | None => {}
        }
        self.expect(out);
    }

    /// A program is gone: its call signs are free, and its links end. Returns whether it was still
    /// there.
    pub(crate) fn leave(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) -> bool {
        let Some(program) = self.programs.get_mut(name) else { return false };
        let was_there = !core::mem::replace(&mut program.ends, true);
        let is_its = |call: &crate::calls::Registration| call.program == name;
        let calls: Vec<CallSign> =
            self.calls.iter().filter(|call| is_its(call)).map(|there| there.call).collect();
        calls.into_iter().for_each(|call| self.unregister(call, name, out));
        for link in self.all_links_mut().filter(|link| link.program == Some(name)) {
            link.orphan(cx.now(), out);
        }
        was_there
    }

    /// A program that was slow has read: its peers may send more, and what it asked is handled.
    fn goes_on(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        for link in self.all_links_mut().filter(|link| link.program == Some(name)) {
            link.give_back(out);
        }
        self.serve(cx, name, out);
    }

    /// Handles what a program sent, up to what has to wait.
    pub(crate) fn serve(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        while let Some(program) = self.programs.get_mut(name)
            && !program.ends
            && program.waits.is_none()
            && !program.is_slow()
            && let Some(header) = program.front()
        {
            if let Some(waits) = self.must_wait(name, &header)
                && let Some(program) = self.programs.get_mut(name)
            {
                program.waits = Some(waits);
                return;
            }
            let Some(program) = self.programs.get_mut(name) else { return };
            match program.next(out) {
                Some(Sent::Frame(header, data)) => self.obey(cx, name, &header, &data, out),
                Some(Sent::TooLong) => {
                    cx.dropped(NAME, "a program whose frame claims more than 64 KiB");
                    self.leave(cx, name, out);
                    let abort = StreamsRequest::Abort { association: name, code: 0 };
                    out.request(Either::Left(abort));
                }
                None => return,
            }
        }
    }

    pub(crate) fn on_links(&mut self, cx: &Context, word: StreamsIndication<M>, out: Out<'_, M>) {
        match word {
            StreamsIndication::Opened { association, local, remote, credit, .. } => {
                let ends = (station(local), station(remote));
                let port = remote.interface().and_then(|port| u8::try_from(port).ok());
                self.link_opened(cx, association, ends, port.unwrap_or(0), credit, out);
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                self.link_delivered(association, batch.into_octets(), out);
            }
            StreamsIndication::Credit { association, credit } => {
                if let Some(link) = self.links.get_mut(association) {
                    link.acknowledged(credit.octets, out);
                    self.resume(cx, association, out);
                }
            }
            StreamsIndication::Ended { name, why } => self.link_ended(cx, name, why, out),
            StreamsIndication::Controlled { association, outcome } => {
                self.on_controlled(cx, association, outcome, out);
            }
            // A link has one end, which its last word tells.
            StreamsIndication::Finished { .. }
            | StreamsIndication::Listening { .. }
            | StreamsIndication::Changed { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
        }
    }

    fn link_opened(
        &mut self,
        cx: &Context,
        name: Handle,
        ends: (Option<CallSign>, Option<CallSign>),
        port: u8,
        credit: Credit,
        out: Out<'_, M>,
    ) {
        if let Some(listener) = self.links.waits_at(name) {
            let Some(call) = self.links.listener(listener).copied() else { return };
            let program = self.registration(call).map(|there| there.program);
            let has_room = self.links() < LINKS_MOST;
            let program = program.filter(|_| has_room);
            let (Some(program), (Some(local), Some(remote))) = (program, ends) else {
                let abort = StreamsRequest::Abort { association: name, code: 0 };
                return Self::ask_links(out, abort);
            };
            let mut link = Link::new(name, program, [local, remote], port, PID);
            link.open(credit.octets, out);
            self.links.arrived(name, || link);
            self.tell_connected(cx, name, true, out);
            return self.await_call(call, out);
        }
        if let Some(link) = self.links.get_mut(name) {
            link.open(credit.octets, out);
            self.tell_connected(cx, name, false, out);
        }
    }

    fn link_delivered(&mut self, name: Handle, octets: M, out: Out<'_, M>) {
        let Some(link) = self.links.get_mut(name) else { return };
        link.owed += octets.len();
        let program = link.program;
        self.tell_data(name, octets, out);
        let reads = program
            .and_then(|program| self.programs.get_mut(program))
            .is_none_or(|program| !program.is_slow());
        if let Some(link) = self.links.get_mut(name).filter(|_| reads) {
            link.give_back(out);
        }
    }

    fn link_ended(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        match self.links.forget(name) {
            Some(Party::Listener(call)) => {
                self.drop_routings(cx, name, out);
                if let Some(there) =
                    self.calls.iter_mut().find(|there| there.listener == Some(name))
                {
                    there.listener = None;
                    cx.event(NAME, format_args!("calls to {call} are not answered: {why}"));
                }
            }
            Some(Party::Open(link)) => {
                self.tell_disconnected(cx, &link, why, out);
                self.resume(cx, name, out);
            }
            Some(Party::Awaited(_)) | None => {}
        }
        // There may have been as many links as may be.
        let calls: Vec<CallSign> = self.calls.iter().map(|there| there.call).collect();
        calls.into_iter().for_each(|call| self.await_call(call, out));
    }

    /// What a program sent may wait for this link.
    fn resume(&mut self, cx: &Context, link: Handle, out: Out<'_, M>) {
        let waits = |program: &Program<M>| program.waits == Some(Waits::Link(link));
        let waiting = self.programs.iter_mut().find(|(_, program)| waits(program));
        if let Some((program, there)) = waiting {
            there.waits = None;
            self.serve(cx, program, out);
        }
    }
}

fn station(participant: Participant) -> Option<CallSign> {
    match participant.address {
        Address::Station { call, .. } => Some(call),
        _ => None,
    }
}
