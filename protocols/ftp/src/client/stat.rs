//! The status of a file: MLST, or the commands that were there before it. It is also what a listing
//! of a file tells.

use alloc::format;
use alloc::string::String;

use stackwright_contract::services::{Failure, FileKind, FileVersion, FilesIndication, Status};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::deed::relative;
use super::receive::failure;
use super::state::{Job, List, Stat, Step, What};
use super::{Client, Out};
use crate::listing::facts;
use crate::reply::Reply;
use crate::time;

impl<M: Message> Client<M> {
    pub(super) fn ask_status(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(features) = self.sessions.get(session).map(|state| state.features) else { return };
        let Some((path, stat)) = self.status_of(session) else { return };
        let (path, part) = (path.clone(), stat.part);
        if features.facts && !part {
            self.say_with_path(cx, session, Step::Facts, "MLST", &path, out);
        } else if path.trim_matches('/').is_empty() {
            // The folder into which the server puts the user is there.
            self.stated(cx, session, Ok(Status::new(FileKind::Folder, 0)), out);
        } else {
            self.say_with_path(cx, session, Step::Size, "SIZE", &path, out);
        }
    }

    /// Handles the reply to MLST.
    pub(super) fn facts_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        match reply.code {
            200..300 => {
                let status = facts::find_status(&reply.text).ok_or(Failure::Garbled);
                self.stated(cx, session, status, out);
            }
            500..=504 => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.features.facts = false;
                }
                self.ask_status(cx, session, out);
            }
            _ => self.stated(cx, session, Err(failure(reply)), out),
        }
    }

    pub(super) fn size_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let is_known = self.sessions.get(session).is_some_and(|state| state.pipelines);
        let Some((path, stat)) = self.status_of(session) else { return };
        let path = path.clone();
        match reply.text.trim().parse().ok().filter(|_| reply.code == 213) {
            Some(size) => {
                stat.status = Status::new(FileKind::File, size);
                // Some servers tell a size of folders, too: CWD decides.
                if !stat.is_file && !is_known {
                    return self.ask_folder(cx, session, &path, out);
                }
                self.ask_time(cx, session, &path, out);
            }
            None if stat.is_file => self.stated(cx, session, Err(failure(reply)), out),
            // It may be a folder.
            None => {
                stat.refused = Some(failure(reply));
                self.ask_folder(cx, session, &path, out);
            }
        }
    }

    fn ask_folder(&mut self, cx: &Context, session: Handle, path: &str, out: Out<'_, M>) {
        let folder = relative(path);
        self.go_to(cx, session, Step::Folder, folder.trim_end_matches('/'), out);
    }

    /// Asks when a file of known size was modified.
    fn ask_time(&mut self, cx: &Context, session: Handle, path: &str, out: Out<'_, M>) {
        let asks = self.tells_times();
        let Some((_, stat)) = self.status_of(session) else { return };
        if asks && !stat.part {
            return self.say_with_path(cx, session, Step::Modified, "MDTM", path, out);
        }
        let status = stat.status;
        self.stated(cx, session, Ok(status), out);
    }

    /// Handles the reply to MDTM: where the time is not told, it is not known.
    pub(super) fn modified_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        self.times_told(reply);
        let Some((_, stat)) = self.status_of(session) else { return };
        let stamp = Some(reply.text.trim()).filter(|_| reply.code == 213);
        stat.status.modified = stamp.and_then(time::parse);
        stat.status.version = stamp.and_then(|stamp| version(stat.status.size, stamp));
        let status = stat.status;
        self.stated(cx, session, Ok(status), out);
    }

    /// Handles the reply to CWD where a folder is asked for.
    pub(super) fn folder_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let entered = matches!(reply.code, 200..300);
        let is_file = match self.status_of(session) {
            Some((path, Stat { refused: None, .. })) if !entered => Some(path.clone()),
            _ => None,
        };
        if let Some(path) = is_file {
            return self.ask_time(cx, session, &path, out);
        }
        if let Some(state) = self.sessions.get_mut(session) {
            state.away |= entered;
        }
        // What SIZE was refused with tells more, unless the server does not know SIZE.
        let refused = match self.job_of(session) {
            Some((_, Job { what: What::Stat(Stat { refused: Some(refused), .. }), .. }))
                if *refused != Failure::Unsupported =>
            {
                *refused
            }
            _ => failure(reply),
        };
        let status = if entered { Ok(Status::new(FileKind::Folder, 0)) } else { Err(refused) };
        self.stated(cx, session, status, out);
    }

    /// Returns the path that a session asks about, and what is known of it.
    fn status_of(&mut self, session: Handle) -> Option<(&String, &mut Stat)> {
        match self.job_of(session)?.1 {
            Job { path, what: What::Stat(stat), .. } => Some((path, stat)),
            Job { path, what: What::List(List { of_file: Some(stat), .. }), .. } => {
                Some((path, stat))
            }
            _ => None,
        }
    }

    fn stated(
        &mut self,
        cx: &Context,
        session: Handle,
        result: Result<Status, Failure>,
        out: Out<'_, M>,
    ) {
        let Some((token, job)) = self.job_of(session) else { return };
        if matches!(job.what, What::List(_)) {
            return self.listed_file(cx, session, result, out);
        }
        self.jobs.remove(token);
        self.free(cx, session, out);
        out.indicate(FilesIndication::Stated { token, result });
    }
}

/// Returns the version of a file of which SIZE and MDTM tell this, where that is a time.
pub(super) fn version(size: u64, stamp: &str) -> Option<FileVersion> {
    time::parse(stamp).map(|_| FileVersion::of(format!("{size} {stamp}").as_bytes()))
}
