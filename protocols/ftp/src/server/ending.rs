//! The end of transfers: whole, broken off, or kept as a part.

use alloc::format;
use core::mem;

use stackwright_contract::services::{Failure, FilesRequest, Keep};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::moving::Coding;
use super::state::{Data, Ending, File, FileUse, Link, Motion, Session, Transfer, Work};
use super::transfer::refusal;
use super::{Indication, Out, Server, TransferDirection, Trouble};
use crate::form::Damage;

impl<M: Message> Server<M> {
    /// Handles the end of a file: a stored file has its name now, or something failed.
    pub(super) fn file_closed(
        &mut self,
        cx: &Context,
        session: Handle,
        result: Result<(), Failure>,
        out: Out<'_, M>,
    ) {
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        let opening = matches!(transfer.file, File::Opening(_));
        transfer.file = File::Absent;
        match (transfer.ending.take(), result) {
            (Some(ending), result) => self.parted(cx, session, ending, result, out),
            (None, Ok(())) => self.succeed(cx, session, out),
            (None, Err(failure)) if opening => self.refuse_transfer(cx, session, failure, out),
            (None, Err(failure)) => {
                self.fail(cx, session, Trouble::File(failure), refusal(failure), out);
            }
        }
    }

    /// Refuses a transfer that has not begun: what was arranged for its data association serves
    /// the next one.
    pub(super) fn refuse_transfer(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let Some(mut transfer) = self.end_transfer(session, Keep::Part, out) else { return };
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Some(link) = transfer.link.take() {
            state.data = Data::Arrived(link);
        }
        let stores = transfer.motion.direction() == TransferDirection::Received;
        let (code, text) = refusal(failure);
        // A name that nothing can be stored under (RFC 959 §5.4).
        let code = if stores && failure == Failure::BadName { 553 } else { code };
        self.reply(cx, session, code, text);
        self.tell(cx, session, transfer, Err(Trouble::File(failure)), out);
        self.obeyed(cx, session, out);
    }

    pub(super) fn succeed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(mut transfer) = self.end_transfer(session, Keep::Nothing, out) else { return };
        let mut code = 226;
        match transfer.link.take() {
            Some(link) if link.stays_open(transfer.form) => {
                code = 250; // the association stays open (RFC 959 §3.3)
                self.keep_data(session, link);
            }
            Some(link) => self.part_data(cx, session, &link, out),
            None => {}
        }
        let text = match &transfer.coding {
            Coding::Decode(decoder) if decoder.is_suspect() => {
                "Transfer complete; you marked some of it as suspect."
            }
            _ => "Transfer complete.",
        };
        self.reply(cx, session, code, text);
        self.tell(cx, session, transfer, Ok(()), out);
        self.obeyed(cx, session, out);
    }

    /// Ends a transfer that is not whole; what waits is obeyed next.
    pub(super) fn fail(
        &mut self,
        cx: &Context,
        session: Handle,
        trouble: Trouble,
        reply: (u16, &str),
        out: Out<'_, M>,
    ) {
        self.break_off(cx, session, trouble, reply, out);
        self.obeyed(cx, session, out);
    }

    /// Breaks a transfer off: the peer sees a reset, and a file that was being stored leaves no
    /// trace, or is kept as a part where the client said so.
    pub(super) fn break_off(
        &mut self,
        cx: &Context,
        session: Handle,
        trouble: Trouble,
        (code, text): (u16, &str),
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let cut = matches!(trouble, Trouble::Data(_) | Trouble::Form(Damage::Truncated));
        if state.autorestart && cut {
            let ending = Ending { trouble, code, text: text.into() };
            if self.keep_part(cx, session, ending, out) {
                return;
            }
        }
        let Some(mut transfer) = self.end_transfer(session, Keep::Nothing, out) else { return };
        self.cut_off(cx, transfer.link.take(), out);
        self.forget_data(cx, session, out);
        self.reply(cx, session, code, text);
        self.tell(cx, session, transfer, Err(trouble), out);
    }

    /// Resets a data association.
    fn cut_off(&mut self, cx: &Context, link: Option<Link<M>>, out: Out<'_, M>) {
        if let Some(Link { association, .. }) = link {
            self.reset(cx, association, out);
        }
    }

    /// Keeps what was stored as a part, and ends the transfer when that is done: the size of the
    /// part may be the client's next question. Returns whether there is something to keep.
    fn keep_part(
        &mut self,
        cx: &Context,
        session: Handle,
        ending: Ending,
        out: Out<'_, M>,
    ) -> bool {
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return false;
        };
        let Some(file) = transfer.part() else { return false };
        (transfer.file, transfer.ending) = (File::Parting(file), Some(ending));
        let link = transfer.link.take();
        self.cut_off(cx, link, out);
        self.forget_data(cx, session, out);
        self.touch(cx, session);
        Self::ask_files(out, FilesRequest::Close { file, keep: Keep::Part });
        true
    }

    /// Ends a transfer whose part is kept, or could not be.
    fn parted(
        &mut self,
        cx: &Context,
        session: Handle,
        ending: Ending,
        result: Result<(), Failure>,
        out: Out<'_, M>,
    ) {
        let Some(transfer) = self.end_transfer(session, Keep::Nothing, out) else { return };
        match result {
            Ok(()) => self.answer(cx, session, ending.code, &ending.text),
            Err(failure) => {
                let (code, text) = refusal(failure);
                self.reply(cx, session, code, text);
            }
        }
        self.tell(cx, session, transfer, Err(ending.trouble), out);
        self.obeyed(cx, session, out);
    }

    /// Interrupts the transfer (CCSDS 717.0 §3.3): what was stored is kept, and the reply says how
    /// many octets that is. It is the reply to the transfer, too.
    pub(super) fn interrupt_transfer(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        let at = match (&transfer.motion, transfer.part()) {
            (Motion::Store { next, .. }, Some(_)) => *next,
            (Motion::Store { .. }, None) => 0,
            _ => transfer.octets,
        };
        let text = format!("Transfer interrupted at {at}.");
        let (trouble, code) = (Trouble::GivenUp, 256);
        let ending = Ending { trouble, code, text: text.clone() };
        if self.keep_part(cx, session, ending, out) {
            return;
        }
        let Some(mut transfer) = self.end_transfer(session, Keep::Nothing, out) else { return };
        self.cut_off(cx, transfer.link.take(), out);
        self.forget_data(cx, session, out);
        self.answer(cx, session, code, &text);
        self.tell(cx, session, transfer, Err(trouble), out);
    }

    /// Ends the transfer of a session that is gone.
    pub(super) fn lose_transfer(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let keep = if state.autorestart { Keep::Part } else { Keep::Nothing };
        let Some(mut transfer) = self.end_transfer(session, keep, out) else { return };
        match transfer.link.take() {
            // All was sent, and arrives; only the kernel has not said so.
            Some(link) if link.finished => self.part_data(cx, session, &link, out),
            link => self.cut_off(cx, link, out),
        }
        self.tell(cx, session, transfer, Err(Trouble::GivenUp), out);
    }

    /// Ends an earlier upload of the same file by the same user at the same address: its client has
    /// begun anew, and nothing of it that is still on its way may reach the part. Returns whether
    /// there was one, whose file is closed before that of this session is opened.
    pub(super) fn take_over(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) -> bool {
        let Some(upload) = self.sessions.get(session).and_then(Session::upload) else {
            return false;
        };
        let found = self.sessions.iter().find_map(|(other, state)| match &state.work {
            Work::Transfer(Transfer { file, .. })
                if other != session && state.upload() == Some(upload) =>
            {
                match *file {
                    File::Awaiting(file)
                    | File::Opening(file)
                    | File::Open(file)
                    | File::Parting(file) => Some((other, file)),
                    // It is whole.
                    File::Keeping(_) | File::Absent => None,
                }
            }
            _ => None,
        });
        let Some((earlier, file)) = found else { return false };
        let Some(mut transfer) = self.end_transfer(earlier, Keep::Part, out) else { return false };
        self.cut_off(cx, transfer.link.take(), out);
        self.forget_data(cx, earlier, out);
        // Not 426: a client that tries again would take it over in its turn, and so on.
        self.reply(cx, earlier, 553, "A later session stores that file.");
        self.tell(cx, earlier, transfer, Err(Trouble::GivenUp), out);
        self.touch(cx, earlier);
        if let Some(use_) = self.files.get_mut(file) {
            *use_ = FileUse::TakenOver { by: session };
        }
        if let Some(transfer) = self.sessions.get_mut(session).and_then(Session::transfer) {
            transfer.file = File::Awaiting(file);
        }
        true
    }

    /// Takes the transfer from its session. A file that is open is closed; `keep` says what becomes
    /// of one that can be kept as a part.
    fn end_transfer(
        &mut self,
        session: Handle,
        keep: Keep,
        out: Out<'_, M>,
    ) -> Option<Transfer<M>> {
        let state = self.sessions.get_mut(session)?;
        state.transfer()?;
        let Work::Transfer(transfer) = mem::replace(&mut state.work, Work::Idle) else {
            return None;
        };
        let keep = if transfer.part().is_some() { keep } else { Keep::Nothing };
        match transfer.file {
            File::Absent => {}
            // Closed already.
            File::Awaiting(file) | File::Keeping(file) | File::Parting(file) => {
                self.forget_file(file);
            }
            File::Opening(file) | File::Open(file) => {
                self.forget_file(file);
                Self::ask_files(out, FilesRequest::Close { file, keep });
            }
        }
        Some(transfer)
    }

    /// Expects nothing but the end of this file.
    fn forget_file(&mut self, file: Handle) {
        if let Some(use_) = self.files.get_mut(file) {
            *use_ = FileUse::Forgotten;
        }
    }

    fn tell(
        &mut self,
        cx: &Context,
        session: Handle,
        transfer: Transfer<M>,
        result: Result<(), Trouble>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get(session) else { return };
        out.indicate(Indication::Transferred {
            peer: state.control.peer.into(),
            direction: transfer.motion.direction(),
            path: transfer.path,
            octets: transfer.octets,
            took: cx.now().since(transfer.began),
            result,
        });
    }

    /// Aborts the transfer, at the request of the client or because it is gone.
    pub(super) fn abort_transfer(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.break_off(cx, session, Trouble::GivenUp, (426, "The transfer was aborted."), out);
    }
}
