//! Names, and what is known of them: DELE RNFR RNTO MDTM MFMT SIZE MLST, SITE CHMOD, HASH XSHA256
//! RANG AVBL.

use alloc::format;

use stackwright_contract::services::{Attribute, FilesRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::question::{Deed, Question};
use super::super::{Out, Server};
use crate::command::NameCommand;
use crate::form::Mode;
use crate::path;

/// How many digests are computed at once. Each keeps the disk busy for as long as it takes to read
/// the file, or until its client has left.
const DIGESTS_MOST: usize = 4;

impl<M: Message> Server<M> {
    pub(super) fn obey_names(
        &mut self,
        cx: &Context,
        session: Handle,
        command: NameCommand<'_>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let resolved = |argument: &str| path::resolve(&state.folder, argument);
        match command {
            // What a transfer would have is known only where it has the octets of the file.
            NameCommand::Size(_) if !state.form.restarts() || state.form.mode == Mode::Block => {
                self.reply(cx, session, 550, "SIZE needs TYPE I, STRU F, and MODE S or Z.");
            }
            NameCommand::Size(argument) => {
                let question = Question::Size { part: state.autorestart };
                let path = resolved(argument);
                self.ask(cx, session, question, path, out);
            }
            NameCommand::Mdtm(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::Modified, path, out);
            }
            NameCommand::Mlst(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::Facts, path, out);
            }
            NameCommand::Avbl(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::Room, path, out);
            }
            NameCommand::Dele(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::Delete, path, out);
            }
            NameCommand::Rnfr(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::RenameFrom, path, out);
            }
            NameCommand::Rnto(argument) => {
                let to = resolved(argument);
                let Some(from) = state.rename_from.take() else {
                    return self.reply(cx, session, 503, "Say RNFR first.");
                };
                let renamed = (Deed::Renamed, to.clone());
                let request = |token| FilesRequest::Rename { token, from, to };
                self.ask_to_do(cx, session, renamed, request, out);
            }
            NameCommand::Mfmt { modified, path: argument } => {
                let (path, attribute) = (resolved(argument), Attribute::Modified(modified));
                let set = (Deed::Modified(modified), path.clone());
                let request = |token| FilesRequest::Set { token, path, attribute };
                self.ask_to_do(cx, session, set, request, out);
            }
            NameCommand::Chmod { mode, path: argument } => {
                let (path, attribute) = (resolved(argument), Attribute::Mode(mode));
                let set = (Deed::Mode, path.clone());
                let request = |token| FilesRequest::Set { token, path, attribute };
                self.ask_to_do(cx, session, set, request, out);
            }
            NameCommand::Rang(range) => {
                let text = match &range {
                    Some(range) => format!("From octet {} to {}.", range.start, range.end - 1),
                    None => "All octets.".into(),
                };
                (state.restart, state.range) = (0, range);
                self.reply(cx, session, 350, &text);
            }
            NameCommand::Hash(_) | NameCommand::XSha256 { .. } if self.digests >= DIGESTS_MOST => {
                self.reply(cx, session, 450, "Too many digests are being computed; try again.");
            }
            NameCommand::Hash(argument) => {
                let path = resolved(argument);
                let octets = state.range.take().unwrap_or(0..u64::MAX);
                let part = state.autorestart;
                self.digests += 1;
                self.ask(cx, session, Question::Digest { octets, part, hash: true }, path, out);
            }
            NameCommand::XSha256 { path: argument, octets } => {
                let (path, part) = (resolved(argument), state.autorestart);
                let octets = octets.unwrap_or(0..u64::MAX);
                self.digests += 1;
                self.ask(cx, session, Question::Digest { octets, part, hash: false }, path, out);
            }
        }
    }
}
