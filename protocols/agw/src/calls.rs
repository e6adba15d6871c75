//! The call signs that programs have registered: calls to them go to that program.

use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Address, CallSign, Either, Handle};
use stackwright_wire::Message;

use crate::link::{LINK_WINDOW, PID};
use crate::{Agw, Out};

/// A call sign, and the program that has registered it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Registration {
    pub(crate) call: CallSign,
    pub(crate) program: Handle,
    /// The listener below; `None`: AX.25 does not listen for it.
    pub(crate) listener: Option<Handle>,
}

impl<M: Message> Agw<M> {
    /// Registers a call sign. Returns whether it is this program's now.
    pub(crate) fn register(&mut self, call: CallSign, program: Handle, out: Out<'_, M>) -> bool {
        if let Some(there) = self.registration(call) {
            return there.program == program;
        }
        if !self.config.calls.contains(&call) {
            return false;
        }
        let listener = self.links.listen(call);
        self.calls.push(Registration { call, program, listener: Some(listener) });
        let local = Address::Station { call, pid: PID, route: 0 }.into();
        Self::ask_links(out, StreamsRequest::Listen { listener, local });
        self.await_call(call, out);
        true
    }

    /// Makes a call sign free, if this program has it.
    pub(crate) fn unregister(&mut self, call: CallSign, program: Handle, out: Out<'_, M>) {
        let is = |there: &Registration| (there.call, there.program) == (call, program);
        let Some(place) = self.calls.iter().position(is) else { return };
        if let Some(name) = self.calls.remove(place).listener {
            Self::ask_links(out, StreamsRequest::Close { name });
        }
    }

    pub(crate) fn registration(&self, call: CallSign) -> Option<Registration> {
        self.calls.iter().find(|there| there.call == call).copied()
    }

    /// Returns whether this program has registered the call sign.
    pub(crate) fn has(&self, program: Handle, call: CallSign) -> bool {
        self.registration(call).is_some_and(|there| there.program == program)
    }

    /// Awaits the next call of a registered call sign, unless one is awaited. Who comes when there
    /// are as many links as may be hears it.
    pub(crate) fn await_call(&mut self, call: CallSign, out: Out<'_, M>) {
        let Some(Registration { listener: Some(listener), .. }) = self.registration(call) else {
            return;
        };
        if self.links.awaited(listener) > 0 {
            return;
        }
        let credit = Credit::of_octets(LINK_WINDOW);
        let Some(association) = self.links.expect(listener, credit) else { return };
        Self::ask_links(out, StreamsRequest::Await { listener, association, credit });
    }

    pub(crate) fn ask_links(out: Out<'_, M>, request: StreamsRequest<M>) {
        out.request(Either::Right(Either::Left(request)));
    }
}
