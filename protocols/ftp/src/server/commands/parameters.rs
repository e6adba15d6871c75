//! How transfers and replies look: TYPE MODE STRU OPTS, ARST NARS, SUPP NSUP.

use alloc::format;

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::Server;
use crate::command::ParameterCommand;
use crate::facts::Facts;
use crate::form::{Mode, Representation};

impl<M: Message> Server<M> {
    pub(super) fn obey_parameters(
        &mut self,
        cx: &Context,
        session: Handle,
        command: ParameterCommand<'_>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match command {
            ParameterCommand::Type(representation) => {
                state.form.representation = representation;
                let text = match representation {
                    Representation::Ascii => "Lines end with CRLF from now on.",
                    Representation::Image => "Files are sent as they are.",
                };
                self.reply(cx, session, 200, text);
            }
            ParameterCommand::Mode(mode) => {
                state.form.mode = match mode {
                    Mode::Deflate { .. } => Mode::Deflate { level: state.level },
                    mode => mode,
                };
                self.reply(cx, session, 200, "The mode is set.");
            }
            ParameterCommand::Stru(structure) => {
                state.form.structure = structure;
                self.reply(cx, session, 200, "The structure is set.");
            }
            ParameterCommand::DeflateLevel(level) => {
                state.level = level;
                if let Mode::Deflate { .. } = state.form.mode {
                    state.form.mode = Mode::Deflate { level };
                }
                self.reply(cx, session, 200, &format!("MODE Z LEVEL set to {level}."));
            }
            ParameterCommand::Facts(facts) => {
                state.facts = Facts::parse(facts).unwrap_or(state.facts);
                let chosen = state.facts.chosen();
                self.answer(cx, session, 200, &chosen);
            }
            ParameterCommand::Digest(Some(name)) if !name.eq_ignore_ascii_case("SHA-256") => {
                self.reply(cx, session, 504, "The digest is SHA-256.");
            }
            ParameterCommand::Digest(_) => self.answer(cx, session, 200, "SHA-256"),
            ParameterCommand::Utf8(true) => self.reply(cx, session, 200, "Names are always UTF-8."),
            ParameterCommand::Utf8(false) => {
                self.reply(cx, session, 504, "Names are always UTF-8.")
            }
            ParameterCommand::Autorestart(autorestart) => {
                state.autorestart = autorestart;
                let text = if autorestart {
                    "Failed uploads are kept, to be resumed."
                } else {
                    "Failed uploads leave no trace."
                };
                self.reply(cx, session, 200, text);
            }
            ParameterCommand::Terse(terse) => {
                state.terse = terse;
                self.reply(cx, session, 200, "Replies have text.");
            }
        }
    }
}
