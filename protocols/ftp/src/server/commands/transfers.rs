//! Transfers: RETR STOR APPE STOU, LIST NLST MLSD, REST ALLO. Those that end one are obeyed before
//! its end.

use alloc::format;

use stackwright_contract::services::Purpose;
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::question::{Question, Style};
use super::super::transfer::NO_RESTART;
use super::super::{Out, Server};
use crate::command::Transfers;
use crate::path;
use stackwright_contract::path::split;
use stackwright_contract::pattern::{NoPattern, Pattern};

impl<M: Message> Server<M> {
    pub(super) fn obey_transfers(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Transfers<'_>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let resolved = |argument: &str| path::resolve(&state.folder, argument);
        match command {
            Transfers::Rest(offset) if offset > 0 && !state.form.restarts() => {
                self.reply(cx, session, 501, NO_RESTART);
            }
            Transfers::Rest(offset) => {
                (state.restart, state.range) = (offset, None);
                self.reply(cx, session, 350, &format!("The next transfer begins at {offset}."));
            }
            Transfers::Abor => {
                self.forget_data(cx, session, out);
                self.reply(cx, session, 225, "There is no transfer to abort.");
            }
            Transfers::Intr => self.reply(cx, session, 226, "There is no transfer to interrupt."),
            Transfers::Allo => self.reply(cx, session, 202, "That is not needed here."),
            Transfers::Retr(argument) => {
                let path = resolved(argument);
                self.retrieve(cx, session, path, out);
            }
            Transfers::Stor(_) | Transfers::Appe(_) | Transfers::Stou(_)
                if state.range.take().is_some() =>
            {
                self.reply(cx, session, 503, "RANG is for RETR and HASH.");
            }
            Transfers::Stor(argument) => {
                let path = resolved(argument);
                if state.autorestart && state.restart > 0 {
                    self.ask(cx, session, Question::Resume, path, out);
                } else {
                    self.store(cx, session, path, out);
                }
            }
            Transfers::Appe(_) | Transfers::Stou(_) if state.restart > 0 => {
                state.restart = 0;
                self.reply(cx, session, 503, "REST is for RETR and STOR.");
            }
            Transfers::Appe(argument) => {
                let path = resolved(argument);
                self.store_as(cx, session, path, Purpose::Append, out);
            }
            Transfers::Stou(argument) => {
                let name = if argument.is_empty() { "stou" } else { argument };
                let path = resolved(&format!("{name}.{:016x}", cx.random(u64::MAX)));
                self.store_as(cx, session, path, Purpose::New, out);
            }
            Transfers::List(argument) => {
                self.list_matching(cx, session, argument, |pattern, _| Style::Long(pattern), out);
            }
            Transfers::Nlst(argument) => {
                self.list_matching(cx, session, argument, Style::Names, out);
            }
            Transfers::Mlsd(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, Question::List(Style::Facts), path, out);
            }
        }
    }

    /// Lists what the argument of LIST or NLST names: a folder, a file, or the names in a folder
    /// that are of a pattern.
    fn list_matching(
        &mut self,
        cx: &Context,
        session: Handle,
        argument: &str,
        style: impl FnOnce(Option<Pattern>, alloc::string::String) -> Style,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get(session) else { return };
        let argument = without_options(argument);
        let (folder, last) = split(argument);
        let (path, style) = match Pattern::parse(last) {
            Ok(pattern) => {
                (path::resolve(&state.folder, argument), style(Some(pattern), folder.into()))
            }
            Err(NoPattern::Name) => {
                (path::resolve(&state.folder, argument), style(None, Default::default()))
            }
            Err(NoPattern::TooMuch) => {
                return self.reply(cx, session, 501, "That pattern is too much work.");
            }
        };
        self.ask(cx, session, Question::List(style), path, out);
    }
}

/// Returns LIST's argument without the options that clients pass on from their command line
/// (`LIST -la folder`).
pub(super) fn without_options(argument: &str) -> &str {
    let mut rest = argument.trim_start();
    while rest.starts_with('-') {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}
