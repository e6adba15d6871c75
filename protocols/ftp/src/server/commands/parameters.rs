//! How transfers and replies look: TYPE MODE STRU OPTS, ARST NARS, SUPP NSUP.

use alloc::format;

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::Server;
use crate::command::{Mistake, Parameters};
use crate::facts::Facts;
use crate::form::{Form, Mode, Representation};

impl<M: Message> Server<M> {
    pub(super) fn obey_parameters(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Parameters<'_>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let form = state.form;
        match command {
            Parameters::Type(representation) => {
                self.set_form(cx, session, Form { representation, ..form });
            }
            Parameters::Stru(structure) => {
                self.set_form(cx, session, Form { structure, ..form });
            }
            Parameters::Mode(mode) => {
                let level = state.level;
                let mode =
                    if let Mode::Deflate { .. } = mode { Mode::Deflate { level } } else { mode };
                self.set_form(cx, session, Form { mode, ..form });
            }
            Parameters::DeflateLevel(level) => {
                state.level = level;
                if let Mode::Deflate { level: now } = &mut state.form.mode {
                    *now = level;
                }
                self.reply(cx, session, 200, &format!("The level of compression is {level}."));
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

    fn set_form(&mut self, cx: &Context, session: Handle, form: Form) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if !is_carried(form) {
            return self.mistake(cx, session, Mistake::Parameter);
        }
        state.form = form;
        self.reply(cx, session, 200, "So be it.");
    }
}

/// Returns whether transfers have this form: TYPE A sends files as they are.
fn is_carried(form: Form) -> bool {
    Form { representation: Representation::Image, ..form }.is_plain()
}
