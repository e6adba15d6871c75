//! Octets between a data association and a file. Credit ties the two together: nothing is read from
//! the disk that the association has no credit for, and nothing from the association that the disk
//! has not written.
//!
//! Where the [form](crate::form) of a transfer is not plain, a codec is between the two. What it
//! makes of octets may be fewer or more, so the disk is read a little at a time, when all that was
//! made before has left, and what arrives is decoded a little at a time, when all that was made
//! before is written.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{
    Credit, Failure, FilesRequest, Keep, Purpose, StreamsRequest,
};
use stackwright_contract::{Context, Handle, Instant};
use stackwright_wire::{Leaf, Message};

use super::state::{
    CODED_AT_ONCE, Data, File, Link, Motion, PeerHalf, READ_AT_ONCE, Transfer, UNSENT_MOST,
    WRITE_AT_ONCE,
};
use super::{Out, Server, Trouble};
use crate::form::{Damage, Decoder, Encoder, Form, Mode, Representation, Structure};

/// What is between a data association and a file.
pub(super) enum Coding<M> {
    /// Nothing: octets and regions pass unread.
    Plain,
    Encode {
        encoder: Box<Encoder>,
        /// What it made, for which there is no credit yet.
        unsent: Option<M>,
    },
    Decode(Box<Decoder>),
}

/// What follows when all was moved that can be.
enum Next {
    Wait,
    /// More can be moved once the client knows its restart marker's place in the file.
    Again {
        marker: Vec<u8>,
        place: u64,
    },
    AllSent,
    AllStored,
    Fail(Trouble, u16, String),
}

impl Next {
    fn damaged(damage: Damage) -> Self {
        let code = if damage == Damage::Truncated { 426 } else { 451 };
        Next::Fail(Trouble::Form(damage), code, format!("The transfer failed: {damage}."))
    }
}

impl<M: Message> Server<M> {
    /// Moves what can be moved.
    pub(super) fn pump(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        loop {
            let Some(state) = self.sessions.get_mut(session) else { return };
            let may_reply = state.control.unsent.len() < UNSENT_MOST;
            let Some(transfer) = state.transfer() else { return };
            match transfer.advance(out) {
                Next::Wait => return,
                // A client that does not read its replies cannot restart there.
                Next::Again { marker, place } if may_reply => {
                    let marker = String::from_utf8_lossy(&marker);
                    self.reply(cx, session, 110, &format!("MARK {marker} = {place}"));
                }
                Next::Again { .. } => {}
                Next::AllSent => return self.all_sent(cx, session, out),
                Next::AllStored => return self.all_stored(cx, session, out),
                Next::Fail(trouble, code, text) => {
                    return self.fail(cx, session, trouble, (code, &text), out);
                }
            }
        }
    }

    /// Ends what is sent on a data association, and the transfer once the kernel has accepted it.
    fn all_sent(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some(Transfer { link: Some(link), form, .. }) = state.transfer() else { return };
        let left = link.credit >= link.credit_most;
        if !link.stays_open(*form) && !mem::replace(&mut link.finished, true) {
            let association = link.association;
            Self::ask_streams(out, StreamsRequest::Finish { association });
        }
        if left {
            self.succeed(cx, session, out);
        }
    }

    /// Gives a stored file its name. In MODE S without TLS the end of the association is that of
    /// the file, and the end of a client looks the same: its system closes both associations, the
    /// control association first, and what it has sent is half a file.
    fn all_stored(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let (ends, is_gone) = (state.control.ends_first(), state.control.is_gone());
        let is_protected = state.protection.data;
        let Some(transfer) = state.transfer() else { return };
        if !is_protected && transfer.form.mode == Mode::Stream {
            if ends {
                return; // QUIT may be in front of that end
            }
            if is_gone {
                return self.forsake(cx, session, out);
            }
        }
        let File::Open(file) = transfer.file else { return };
        transfer.file = File::Keeping(file);
        self.touch(cx, session);
        Self::ask_files(out, FilesRequest::Close { file, keep: Keep::Whole });
    }

    /// Ends an upload whose client is gone.
    pub(super) fn forsake(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let reply = (426, "The control connection was closed.");
        self.fail(cx, session, Trouble::Form(Damage::Truncated), reply, out);
    }

    /// Notes that the end of a data association has arrived.
    pub(super) fn data_ending(&mut self, session: Handle, association: Handle) {
        if let Some(link) = self.link(session, association)
            && link.half == PeerHalf::Open
        {
            link.half = PeerHalf::Ending;
        }
    }

    pub(super) fn on_data_credit(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        credit: usize,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Data::Arrived(link) | Data::Securing { link, .. } = &mut state.data
            && link.association == association
        {
            link.credit += credit;
            return;
        }
        if let Some(Transfer { link: Some(link), .. }) = state.transfer()
            && link.association == association
        {
            link.credit += credit;
            self.pump(cx, session, out);
        }
    }

    pub(super) fn data_delivered(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        message: M,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        if let Some(link) = self.link(session, association) {
            // Bounded by the credit that was given.
            match &mut link.early {
                Some(early) => early.join(message),
                None => link.early = Some(message),
            }
            self.pump(cx, session, out);
        }
    }

    pub(super) fn data_finished(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some(link) = self.link(session, association) else { return };
        link.half = PeerHalf::Finished;
        // Nothing more comes on an association that was kept for another file.
        if link.kept && link.early.is_none() {
            return self.forget_data(cx, session, out);
        }
        // A client that fetches may close its half early; it still gets the file.
        self.pump(cx, session, out);
    }

    fn link(&mut self, session: Handle, association: Handle) -> Option<&mut Link<M>> {
        let link = self.sessions.get_mut(session)?.link()?;
        (link.association == association).then_some(link)
    }

    pub(super) fn read(&mut self, cx: &Context, session: Handle, message: M, out: Out<'_, M>) {
        self.touch(cx, session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some(transfer) = state.transfer() else { return };
        let Transfer { link: Some(link), motion, coding, octets, .. } = transfer else { return };
        let Motion::Retrieve { next, until, asked, end, .. } = motion else { return };
        let Some(wanted) = asked.pop_front() else { return };
        let length = message.len();
        *end |= length < wanted || *next >= *until && asked.is_empty();
        if let Coding::Encode { encoder, unsent } = coding {
            let Some(encoded) = encode_message(encoder, &message, *end) else {
                let (trouble, text) =
                    (Trouble::File(Failure::Unsupported), "The files cannot be read as octets.");
                return self.fail(cx, session, trouble, (451, text), out);
            };
            *unsent = encoded;
            *octets += length as u64;
        } else {
            link.credit += wanted;
            *octets += length as u64;
            link.send(&mut (length > 0).then_some(message), out);
        }
        self.pump(cx, session, out);
    }

    pub(super) fn written(
        &mut self,
        cx: &Context,
        session: Handle,
        octets: usize,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some(transfer) = state.transfer() else { return };
        let Transfer { link: Some(link), motion, coding, .. } = transfer else { return };
        let Motion::Store { unwritten, .. } = motion else { return };
        *unwritten -= octets;
        // What is decoded gave its credit back when it was.
        if matches!(coding, Coding::Plain) {
            link.give_back(octets, out);
        }
        self.pump(cx, session, out);
    }

    /// Keeps the data association of a transfer for the next one.
    pub(super) fn keep_data(&mut self, session: Handle, link: Link<M>) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.data = Data::Arrived(Link { kept: true, ..link });
        }
    }

    /// Ends a data association on which nothing more is sent or expected, and leaves it to be
    /// closed by the peer.
    pub(super) fn part_data(
        &mut self,
        cx: &Context,
        session: Handle,
        link: &Link<M>,
        out: Out<'_, M>,
    ) {
        if link.half == PeerHalf::Over {
            return;
        }
        if !link.finished {
            Self::ask_streams(out, StreamsRequest::Finish { association: link.association });
        }
        self.linger(cx, session, link.association, out);
    }
}

impl<M: Message> Transfer<M> {
    pub(super) fn new(
        path: String,
        file: File,
        purpose: Purpose,
        motion: Motion<M>,
        form: Form,
        began: Instant,
    ) -> Self {
        let encode = |form| match Encoder::new(form) {
            Some(encoder) => Coding::Encode { encoder: Box::new(encoder), unsent: None },
            None => Coding::Plain,
        };
        let coding = match motion {
            Motion::Retrieve { .. } => encode(form),
            // The lines of a listing end with CRLF in every type.
            Motion::List { .. } => encode(Form { representation: Representation::Image, ..form }),
            Motion::Store { .. } => Decoder::new(form)
                .map_or(Coding::Plain, |decoder| Coding::Decode(Box::new(decoder))),
        };
        Transfer {
            path,
            file,
            link: None,
            purpose,
            motion,
            form,
            coding,
            octets: 0,
            least: 0,
            began,
            ending: None,
        }
    }

    /// Takes lines of a listing, each with its CRLF; `last` tells whether no more follow.
    pub(super) fn list(&mut self, lines: &str, last: bool) {
        let Motion::List { text, end, .. } = &mut self.motion else { return };
        *end = last;
        *text = match &mut self.coding {
            Coding::Encode { encoder, .. } => {
                let mut encoded = Vec::new();
                // An encoder makes records of lines that end with LF.
                if self.form.structure == Structure::Record {
                    encoder.feed(lines.replace("\r\n", "\n").as_bytes(), &mut encoded);
                } else {
                    encoder.feed(lines.as_bytes(), &mut encoded);
                }
                if last {
                    encoder.finish(&mut encoded);
                }
                message(&encoded)
            }
            _ => message(lines.as_bytes()),
        };
    }

    fn advance(&mut self, out: Out<'_, M>) -> Next {
        let Transfer { file, link: Some(link), motion, coding, octets, form, least, .. } = self
        else {
            return Next::Wait;
        };
        match (motion, *file) {
            (Motion::Retrieve { next, until, asked, expected, end }, File::Open(file)) => {
                let mut read = |asked: &mut VecDeque<usize>, most: usize, out: Out<'_, M>| {
                    let (offset, left) = (*next, until.saturating_sub(*next));
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(most);
                    if length > 0 {
                        asked.push_back(length);
                        *next = next.saturating_add(length as u64);
                        Server::ask_files(out, FilesRequest::Read { file, offset, length });
                    }
                    length
                };
                if let Coding::Encode { unsent, .. } = coding {
                    link.send(unsent, out);
                    if unsent.is_some() || !asked.is_empty() {
                        return Next::Wait;
                    }
                    if !*end {
                        read(asked, CODED_AT_ONCE, out);
                    }
                } else {
                    // No small reads while larger ones are on their way: the credit they use comes
                    // back.
                    let length = READ_AT_ONCE.min(link.credit_most.div_ceil(2));
                    while !*end && link.credit >= length {
                        match read(asked, length, out) {
                            0 => break,
                            taken => link.credit -= taken,
                        }
                    }
                }
                if !*end || !asked.is_empty() {
                    return Next::Wait;
                }
                // A regular end would pass for the whole file.
                if expected.is_some_and(|expected| *octets < expected) {
                    let text = "The file became shorter while it was sent.".into();
                    return Next::Fail(Trouble::File(Failure::Short), 451, text);
                }
                Next::AllSent
            }
            (Motion::List { text, asked, end, .. }, file) => {
                *octets += link.send(text, out) as u64;
                if let (None, File::Open(file), false, false) = (&text, file, *end, *asked) {
                    *asked = true;
                    Server::ask_files(out, FilesRequest::Next { file });
                }
                if *end && text.is_none() { Next::AllSent } else { Next::Wait }
            }
            (Motion::Store { next, unwritten }, File::Open(file)) => {
                let (arrived, marker, ended) = match coding {
                    Coding::Decode(_) if *unwritten > 0 => return Next::Wait,
                    Coding::Decode(decoder) => {
                        let arrived = match link.decode(decoder, out) {
                            Ok(octets) => message(&octets),
                            Err(damage) => return Next::damaged(damage),
                        };
                        // Only blocks say where the next file begins.
                        let ended = decoder.has_ended();
                        if ended && link.early.is_some() && form.mode != Mode::Block {
                            return Next::damaged(Damage::Trailing);
                        }
                        (arrived, decoder.take_marker(), ended)
                    }
                    _ => {
                        let has_all = link.has_all();
                        let enough = |message: &M| {
                            *unwritten == 0 || has_all || message.len() >= WRITE_AT_ONCE
                        };
                        (link.early.take_if(|message| enough(message)), None, has_all)
                    }
                };
                if let Some(message) = arrived {
                    let (offset, length) = (*next, message.len());
                    *next = next.saturating_add(length as u64);
                    *unwritten += length;
                    *octets += length as u64;
                    Server::ask_files(out, FilesRequest::Write { file, offset, message });
                }
                if let Some(marker) = marker {
                    return Next::Again { marker, place: *next };
                }
                if ended && *unwritten == 0 && *next < *least {
                    let text = "The file has fewer octets than were there before.".into();
                    return Next::Fail(Trouble::File(Failure::Short), 451, text);
                }
                if ended && *unwritten == 0 { Next::AllStored } else { Next::Wait }
            }
            _ => Next::Wait,
        }
    }
}

impl<M: Message> Link<M> {
    /// Returns whether the client has sent everything.
    fn has_all(&self) -> bool {
        self.half >= PeerHalf::Finished
    }

    /// Returns whether it stays open behind a transfer in this form: the end of a file in blocks is
    /// marked (RFC 959 §3.4.2).
    pub(super) fn stays_open(&self, form: Form) -> bool {
        form.mode == Mode::Block && !self.finished && !self.has_all()
    }

    /// Sends what there is credit for, and leaves the rest. Returns how many octets left.
    fn send(&mut self, unsent: &mut Option<M>, out: Out<'_, M>) -> usize {
        let Some(mut rest) = unsent.take() else { return 0 };
        let length = rest.len().min(self.credit);
        if length > 0 {
            self.credit -= length;
            let (association, batch) = (self.association, rest.split_to(length).into());
            let properties = Default::default();
            Server::ask_streams(out, StreamsRequest::Send { association, batch, properties });
        }
        *unsent = (!rest.is_empty()).then_some(rest);
        length
    }

    /// Decodes a little of what has arrived, up to a restart marker or to the end of the file, and
    /// gives its credit back.
    fn decode(&mut self, decoder: &mut Decoder, out: Out<'_, M>) -> Result<Vec<u8>, Damage> {
        let mut octets = Vec::new();
        let mut taken = 0;
        if let Some(mut early) = self.early.take() {
            for leaf in early.leaves() {
                // Regions come only where what arrives was declared to be unread.
                let Leaf::Octets(piece) = leaf else { break };
                let here = decoder.feed(piece, CODED_AT_ONCE, &mut octets)?;
                taken += here;
                if here < piece.len() {
                    break;
                }
            }
            early.advance(taken);
            self.early = (!early.is_empty()).then_some(early);
        }
        if self.early.is_none() {
            decoder.feed(&[], CODED_AT_ONCE, &mut octets)?;
            if self.has_all() && !decoder.holds() {
                decoder.finish(&mut octets)?;
            }
        }
        self.give_back(taken, out);
        Ok(octets)
    }

    fn give_back(&self, octets: usize, out: Out<'_, M>) {
        if octets > 0 && !self.has_all() {
            let (association, credit) = (self.association, Credit::of_octets(octets));
            Server::ask_streams(out, StreamsRequest::Credit { association, credit });
        }
    }
}

/// Encodes a part of a file, of which `last` tells whether it is the last. Returns what it has
/// become, or `None` where it is a region, although octets were asked for.
fn encode_message<M: Message>(encoder: &mut Encoder, part: &M, last: bool) -> Option<Option<M>> {
    let mut encoded = Vec::new();
    for leaf in part.leaves() {
        let Leaf::Octets(octets) = leaf else { return None };
        encoder.feed(octets, &mut encoded);
    }
    if last {
        encoder.finish(&mut encoded);
    }
    Some(message(&encoded))
}

fn message<M: Message>(octets: &[u8]) -> Option<M> {
    (!octets.is_empty()).then(|| M::with_headroom(0, octets))
}
