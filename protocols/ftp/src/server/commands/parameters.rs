//! How transfers and replies look: TYPE MODE STRU OPTS, ARST NARS, SUPP NSUP.

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::Server;
use crate::command::{Mistake, Mode, Parameters, Structure};
use crate::facts::Facts;

impl<M: Message> Server<M> {
    pub(super) fn obey_parameters(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Parameters<'_>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match command {
            Parameters::Type(_) => self.reply(cx, session, 200, "Files are sent as they are."),
            Parameters::Mode(Mode::Stream) | Parameters::Stru(Structure::File) => {
                self.reply(cx, session, 200, "So be it.");
            }
            Parameters::Mode(_) | Parameters::Stru(_) | Parameters::DeflateLevel(_) => {
                self.mistake(cx, session, Mistake::Parameter);
            }
            Parameters::Facts(facts) => {
                state.facts = Facts::parse(facts);
                let chosen = state.facts.chosen();
                self.answer(cx, session, 200, &chosen);
            }
            Parameters::Digest(Some(name)) if !name.eq_ignore_ascii_case("SHA-256") => {
                self.reply(cx, session, 504, "The digest is SHA-256.");
            }
            Parameters::Digest(_) => self.answer(cx, session, 200, "SHA-256"),
            Parameters::Utf8(true) => self.reply(cx, session, 200, "Names are always UTF-8."),
            Parameters::Utf8(false) => self.reply(cx, session, 504, "Names are always UTF-8."),
            Parameters::Autorestart(autorestart) => {
                state.autorestart = autorestart;
                let text = if autorestart {
                    "Failed uploads are kept, to be resumed."
                } else {
                    "Failed uploads leave no trace."
                };
                self.reply(cx, session, 200, text);
            }
            Parameters::Terse(terse) => {
                state.terse = terse;
                self.reply(cx, session, 200, "Replies have text.");
            }
        }
    }
}
