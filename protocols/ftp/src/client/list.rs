//! A folder that is listed. The session goes there first: to many servers, an argument of LIST is
//! options or a pattern, and a folder that does not exist is an empty one.

use alloc::format;
use alloc::string::String;
use core::mem;

use stackwright_contract::services::{
    Credit, Failure, FileKind, FilesIndication, FolderEntry, Status, StreamsRequest,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Leaf, Message};

use super::state::{Job, List, Stat, Step, What};
use super::{Client, Out};
use crate::NAME;
use crate::listing::{self, ListedLine};
use crate::reply::Reply;

/// The longest line of a listing that is read, in octets.
const LINE_MOST: usize = 4096;

impl<M: Message> Client<M> {
    /// Goes to the folder that is to be listed.
    pub(super) fn enter(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let facts = self.sessions.get(session).is_some_and(|state| state.features.facts);
        if let Some((_, Job { what: What::List(list), .. })) = self.job_of(session) {
            list.facts = facts;
        }
        let path = self.path_of(session);
        match path.trim_end_matches('/') {
            "" if path.is_empty() => self.arrange(cx, session, out),
            _ if self.is_merged() => self.arrange(cx, session, out),
            "" => self.go_to(cx, session, Step::Enter, "/", out),
            folder => self.go_to(cx, session, Step::Enter, folder, out),
        }
    }

    /// Sends CWD, and PWD before it where the way back is not known.
    pub(super) fn go_to(
        &mut self,
        cx: &Context,
        session: Handle,
        step: Step,
        folder: &str,
        out: Out<'_, M>,
    ) {
        let command = format!("CWD {folder}");
        if self.sessions.get(session).is_some_and(|state| state.home.is_some()) {
            self.say(cx, session, step, &command, out);
        } else {
            self.say_both(cx, session, (Step::Working, "PWD"), (step, &command), out);
        }
    }

    /// Handles the reply to PWD.
    pub(super) fn working_replied(&mut self, cx: &Context, session: Handle, reply: &Reply) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // Without the way back, the session is of no use for another job.
        state.home = quoted(&reply.text).filter(|_| reply.code == 257);
        if let Some(then) = state.then.take() {
            state.step = then;
        }
        self.touch(cx, session);
    }

    /// Handles the refusal of a transfer: of a listing, it may mean something else.
    pub(super) fn transfer_refused(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let is_merged = self.is_merged();
        let Some((_, Job { what: What::List(list), .. })) = self.job_of(session) else {
            return self.session_job_failed(cx, session, super::receive::failure(reply), out);
        };
        if is_merged {
            self.drop_data(cx, session, out);
            return self.not_entered(cx, session, super::receive::failure(reply), out);
        }
        let is_empty =
            matches!(reply.code, 450 | 550) && reply.text.to_ascii_lowercase().contains("no files");
        if is_empty {
            self.end_listing(cx, session, out);
        } else if matches!(reply.code, 500..=504) && mem::take(&mut list.facts) {
            // It offered MLST only, or not even that.
            if let Some(state) = self.sessions.get_mut(session) {
                state.features.facts = false;
            }
            self.drop_data(cx, session, out);
            self.arrange(cx, session, out);
        } else {
            self.session_job_failed(cx, session, super::receive::failure(reply), out);
        }
    }

    /// Handles the refusal of CWD, or of MLSD with a path: what cannot be entered may be a file.
    pub(super) fn not_entered(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        match self.job_of(session) {
            Some((_, Job { path, what: What::List(list), .. })) if !path.ends_with('/') => {
                let refused = Some(failure);
                let stat = Stat { refused, is_file: true, ..Stat::new(false) };
                list.of_file = Some(stat);
                self.ask_status(cx, session, out);
            }
            _ => self.session_job_failed(cx, session, failure, out),
        }
    }

    /// Lists a file, which is its one entry.
    pub(super) fn listed_file(
        &mut self,
        cx: &Context,
        session: Handle,
        status: Result<Status, Failure>,
        out: Out<'_, M>,
    ) {
        let Some((_, Job { path, what: What::List(list), .. })) = self.job_of(session) else {
            return;
        };
        match status {
            Ok(status) if status.kind != FileKind::Folder => {
                let name = path.rsplit('/').next().unwrap_or_default();
                list.entries.push(FolderEntry::new(name, status));
                list.is_doubtful = true; // a folder that may not be entered can look like that
                self.end_listing(cx, session, out);
            }
            _ => {
                let refused = list.of_file.as_ref().and_then(|stat| stat.refused);
                self.refuse(cx, session, refused.unwrap_or(Failure::NotFound), out);
            }
        }
    }

    /// Ends a listing for which no data comes.
    fn end_listing(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((file, Job { opened, what: What::List(list), .. })) = self.job_of(session) else {
            return;
        };
        list.end = true;
        if !mem::replace(opened, true) {
            out.indicate(FilesIndication::Opened {
                file,
                size: None,
                modified: None,
                version: None,
            });
        }
        self.drop_data(cx, session, out);
        if let Some(state) = self.sessions.get_mut(session) {
            state.step = Step::Complete;
        }
        self.touch(cx, session);
        self.answer_next(file, file, out);
    }

    pub(super) fn next_entries(&mut self, cx: &Context, file: Handle, out: Out<'_, M>) {
        let Some(Job { session, what: What::List(list), .. }) = self.jobs.get_mut(file) else {
            return cx.dropped(NAME, "next: no such folder");
        };
        list.wanted = true;
        let association = session
            .and_then(|session| self.sessions.get(session))
            .and_then(|session| session.data.association());
        self.answer_next(file, association.unwrap_or(file), out);
    }

    pub(super) fn listing_arrived(
        &mut self,
        cx: &Context,
        file: Handle,
        association: Handle,
        message: &M,
        out: Out<'_, M>,
    ) {
        let now = self.epoch(cx);
        let Some(Job { what: What::List(list), .. }) = self.jobs.get_mut(file) else { return };
        list.withheld += message.len();
        list.gather(cx, message, now);
        self.untimed |= list.is_untimed();
        self.answer_next(file, association, out);
    }

    fn answer_next(&mut self, file: Handle, association: Handle, out: Out<'_, M>) {
        let Some(Job { what: What::List(list), .. }) = self.jobs.get_mut(file) else { return };
        if list.wanted && (list.end || !list.entries.is_empty()) {
            list.wanted = false;
            let entries = mem::take(&mut list.entries);
            let left_out = mem::take(&mut list.left_out);
            let is_doubtful = list.is_doubtful;
            out.indicate(FilesIndication::Entries { file, entries, left_out, is_doubtful });
        }
        // Credit is given back when the entries were taken, or when none was complete.
        if list.withheld > 0 && list.entries.is_empty() && !list.end {
            let credit = mem::take(&mut list.withheld);
            out.request(StreamsRequest::Credit { association, credit: Credit::of_octets(credit) });
        }
    }

    /// Handles the end of a listing: it is all that is in the folder if nothing speaks against
    /// that.
    pub(super) fn listed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let now = self.epoch(cx);
        let is_known = self.sessions.get(session).is_some_and(|state| state.pipelines);
        let Some((_, Job { what: What::List(list), .. })) = self.job_of(session) else { return };
        // The last line may lack its end; or more than that.
        if !list.partial.is_empty() {
            list.complete(cx, now);
            list.is_doubtful = true;
        }
        let is_empty = list.read == 0 && !list.has_itself;
        list.is_doubtful |= list.is_denied || is_empty && list.blocks > 0;
        if list.read == 0 && list.unknown > 0 {
            // Nothing was understood: that is no empty folder.
            let failure = list.system.map_or(Failure::Garbled, Failure::UnknownListing);
            self.session_job_failed(cx, session, failure, out);
        } else if list.read == 0 && list.is_denied {
            self.refuse(cx, session, Failure::Broken, out);
        } else if is_empty && !is_known {
            // Not every server says so where it cannot read a folder.
            self.say(cx, session, Step::Recital, "STAT .", out);
        } else {
            self.all_listed(cx, session, out);
        }
    }

    /// Handles the reply to STAT: the folder of an empty list has none of the names that it tells.
    pub(super) fn recited(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let is_entry = |line: &str| {
            matches!(listing::parse(line.trim_start().as_bytes(), None), ListedLine::Entry(_))
        };
        let has_entries = matches!(reply.code, 211..=213) && reply.text.lines().any(is_entry);
        if let Some((_, Job { what: What::List(list), .. })) = self.job_of(session) {
            list.is_doubtful |= has_entries;
        }
        if let Some(state) = self.sessions.get_mut(session) {
            state.step = Step::Complete;
        }
        self.all_listed(cx, session, out);
    }

    fn all_listed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((file, Job { what: What::List(list), .. })) = self.job_of(session) else { return };
        list.end = true;
        self.untimed |= list.is_untimed();
        self.touch(cx, session);
        self.answer_next(file, file, out);
    }

    /// Returns the time, in seconds since 1970, where it is known.
    fn epoch(&self, cx: &Context) -> Option<u64> {
        self.config.epoch.map(|epoch| epoch + cx.now().nanoseconds() / 1_000_000_000)
    }
}

/// Returns whether a reply that says by its code that a folder was listed says otherwise in its
/// words, as vsftpd does (`226 Transfer done (but failed to open directory).`). Names of the folder
/// may be in them, too.
pub(super) fn denies(text: &str, path: &str) -> bool {
    const BEGINNINGS: [&str; 16] = [
        "fail",
        "denied",
        "denial",
        "error",
        "incomplete",
        "abort",
        "truncat",
        "unable",
        "cannot",
        "can't",
        "couldn't",
        "refus",
        "interrupt",
        "partial",
        "permission",
        "timeout",
    ];
    let (text, path) = (text.to_lowercase(), path.to_lowercase());
    let mut is_negated = false;
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_name = word.contains('/') || path.split(['/', ' ']).any(|name| name == word);
        let denies = word == "not" || BEGINNINGS.iter().any(|begin| word.starts_with(begin));
        let negates = matches!(word, "no" | "0" | "without" | "zero");
        let was_negated = mem::replace(&mut is_negated, negates);
        denies && !is_name && !was_negated
    })
}

impl List {
    /// Returns whether a file that was read last has no time.
    fn is_untimed(&self) -> bool {
        let last = self.entries.last().map(|entry| &entry.status);
        last.is_some_and(|status| status.kind == FileKind::File && !status.is_timed())
    }

    /// Cuts lines, and parses them.
    fn gather<M: Message>(&mut self, cx: &Context, message: &M, now: Option<u64>) {
        for leaf in message.leaves() {
            let Leaf::Octets(octets) = leaf else { continue };
            for &octet in octets {
                if octet == b'\n' {
                    self.complete(cx, now);
                } else if self.partial.len() < LINE_MOST {
                    self.partial.push(octet);
                } else {
                    self.overlong = true;
                }
            }
        }
    }

    fn complete(&mut self, cx: &Context, now: Option<u64>) {
        let partial = mem::take(&mut self.partial);
        let line = partial.strip_suffix(b"\r").unwrap_or(&partial);
        let told = match mem::take(&mut self.overlong) {
            true => ListedLine::Unknown,
            false if self.facts => listing::facts::parse(line),
            false => listing::parse(line, now),
        };
        let text = String::from_utf8_lossy(line);
        match told {
            ListedLine::Entry(entry) => {
                self.read += 1;
                self.entries.push(entry);
            }
            ListedLine::Nothing => match listing::sum(&text) {
                Some(blocks) => self.blocks = self.blocks.max(blocks),
                None => self.has_itself = true,
            },
            ListedLine::Unknown => {
                self.unknown += 1;
                self.system = self.system.or_else(|| listing::system(line));
                self.left_out.push(text.into_owned());
                cx.dropped(NAME, listing::UNREADABLE);
            }
        }
    }
}

/// Returns the path in the text of a reply to PWD, in which quotes are doubled (RFC 959, appendix
/// II).
fn quoted(text: &str) -> Option<String> {
    let mut path = String::new();
    let mut rest = text.split_once('"')?.1;
    loop {
        let (before, behind) = rest.split_once('"')?;
        path.push_str(before);
        match behind.strip_prefix('"') {
            Some(behind) => {
                path.push('"');
                rest = behind;
            }
            None => break,
        }
    }
    let sound = !path.is_empty() && !path.contains(['\r', '\n', '\0', '\u{fffd}']);
    sound.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::{denies, quoted};

    #[test]
    fn words_may_deny_what_the_code_says() {
        for denial in [
            "Transfer done (but failed to open directory).",
            "Output truncated to 2000 matches",
            "Closing data connection: permission denied",
            "Listing incomplete.",
            "ABORTED",
            "The folder could not be read",
        ] {
            assert!(denies(denial, "/pub"), "{denial}");
        }
        for success in [
            "Directory send OK.",
            "Transfer complete, 0 errors.",
            "Done without error",
            "-Options: -a -l\n3 matches total",
            "Listing of /pub/errors is complete",
            "Listed Errors.",
        ] {
            assert!(!denies(success, "/pub/errors"), "{success}");
        }
    }

    #[test]
    fn the_working_folder_is_read() {
        assert_eq!(quoted("\"/\" is the folder").as_deref(), Some("/"));
        assert_eq!(quoted(" \"/a \"\"b\"\"\"").as_deref(), Some("/a \"b\""));
        for wrong in ["", "/", "\"/", "\"\"", "\"/\u{fffd}\""] {
            assert_eq!(quoted(wrong), None, "{wrong}");
        }
    }
}
