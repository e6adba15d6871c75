//! What the server tells of itself: HELP FEAT SYST STAT NOOP, SITE HELP.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::question::Question;
use super::super::{Out, Security, Server, TransferDirection};
use super::transfers::without_options;
use crate::command::{Brings, Information, Row, TABLE};
use crate::{path, reply};

impl<M: Message> Server<M> {
    pub(super) fn obey_information(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Information<'_>,
        out: Out<'_, M>,
    ) {
        match command {
            Information::Noop => self.reply(cx, session, 200, "I am here."),
            Information::Syst => self.answer(cx, session, 215, "UNIX Type: L8"),
            Information::Help("") => {
                let lines = TABLE.iter().map(Row::line);
                let help = reply::lines(214, "These commands are known:", lines, "That is all.");
                self.reply_lines(cx, session, &help);
            }
            Information::Help(name) => match Row::named(name.trim()) {
                Some(row) => self.answer(cx, session, 214, row.line().trim_start()),
                None => self.reply(cx, session, 502, "There is no such command: HELP lists them."),
            },
            Information::SiteHelp => {
                let rows = TABLE.iter().filter(|row| row.name.starts_with("SITE "));
                let help = reply::lines(214, "Below SITE:", rows.map(Row::line), "That is all.");
                self.reply_lines(cx, session, &help);
            }
            Information::Feat => {
                let features = reply::lines(211, "Extensions:", self.features(session), "End");
                self.reply_lines(cx, session, &features);
            }
            Information::Stat("") => self.tell_state(cx, session),
            Information::Stat(argument) => {
                let Some(state) = self.sessions.get(session) else { return };
                if state.rights().is_none() {
                    return self.reply(cx, session, 530, "Log in with USER and PASS first.");
                }
                let path = path::resolve(&state.folder, without_options(argument));
                self.ask(cx, session, Question::Recital, path, out);
            }
        }
    }

    /// Returns the lines of FEAT.
    fn features(&self, session: Handle) -> impl Iterator<Item = String> {
        let facts = self.sessions.get(session).map(|state| state.facts).unwrap_or_default();
        let secures = self.config.security != Security::Off;
        TABLE.iter().filter_map(move |row| match row.brings {
            Brings::Feature(feature) => Some(format!(" {feature}")),
            Brings::Secured(feature) if secures => Some(format!(" {feature}")),
            Brings::Facts => Some(format!(" {}", facts.feature())),
            Brings::Nothing | Brings::Secured(_) => None,
        })
    }

    /// Replies to STAT: the state of the session, and of a transfer that runs.
    pub(super) fn tell_state(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let user = match state.rights() {
            None => " Nobody is logged in.",
            Some(rights) if rights.write => " Logged in, and may change files.",
            Some(_) => " Logged in.",
        };
        let mut lines: Vec<String> = vec![
            format!(" Connected from {}.", state.control.peer),
            user.into(),
            format!(" The working folder is {}.", path::quoted(&state.folder)),
        ];
        if let Some(transfer) = state.transfer() {
            let what = match transfer.motion.direction() {
                TransferDirection::Sent => "sent",
                TransferDirection::Received => "received",
                TransferDirection::Listed => "listed",
            };
            let (path, octets) = (&transfer.path, transfer.octets);
            lines.push(format!(" {} is being {what}: {octets} octets so far.", path::quoted(path)));
        }
        // A name may hold what would end the line.
        let lines = lines.into_iter().map(|line| line.replace(['\r', '\n', '\0'], ""));
        let state = reply::lines(211, "The state of this session:", lines, "End");
        self.reply_lines(cx, session, &state);
    }
}
