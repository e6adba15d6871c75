//! Jobs without data: digests, room, folders, attributes, names.

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use stackwright_contract::services::{Attribute, Failure, FilesIndication};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::features::{Digest, Features};
use super::receive::failure;
use super::state::{Job, Step, What};
use super::{Client, Out};
use crate::reply::{Reply, ReplyKind};
use crate::time;

/// The SHA-256 of no octets (FIPS 180-4).
const OF_NOTHING: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// What is done, and with which commands.
pub(super) struct Deed {
    pub(super) kind: DeedKind,
    /// The commands that are still to be sent. All but the last must only succeed.
    commands: VecDeque<String>,
}

/// What is done.
pub(super) enum DeedKind {
    /// Asks for a digest of these octets. `count`: how many of them the file has, once it is known.
    Digest {
        octets: Range<u64>,
        part: bool,
        count: Option<u64>,
    },
    Room,
    MakeFolder,
    Set(Attribute),
    Rename {
        to: String,
    },
    /// `refused`: why it is no file that could be removed.
    Remove {
        refused: Option<Failure>,
    },
}

impl Deed {
    pub(super) fn new(kind: DeedKind) -> Self {
        Deed { kind, commands: VecDeque::new() }
    }

    pub(super) fn is_of_part(&self) -> bool {
        matches!(self.kind, DeedKind::Digest { part: true, .. })
    }

    /// Returns the answer to the request under `token`.
    pub(super) fn failed<M>(&self, token: Handle, failure: Failure) -> FilesIndication<M> {
        match self.kind {
            DeedKind::Digest { .. } => FilesIndication::Digested { token, result: Err(failure) },
            DeedKind::Room => FilesIndication::Room { token, result: Err(failure) },
            _ => FilesIndication::Done { token, result: Err(failure) },
        }
    }

    /// Prepares the commands. `None`: the server cannot do that.
    fn prepare(&mut self, path: &str, features: Features) -> Option<()> {
        let path = &*relative(path);
        let command = |verb: &str, path: &str| {
            if path.is_empty() { String::from(verb) } else { format!("{verb} {path}") }
        };
        self.commands.clear();
        match &self.kind {
            DeedKind::Digest { .. } if features.digest == Digest::Absent => return None,
            DeedKind::Room if !features.room => return None,
            DeedKind::Set(Attribute::Modified(_)) if !features.set_modified => return None,
            DeedKind::Digest { .. } => self.commands.push_back(command("SIZE", path)),
            DeedKind::Room => self.commands.push_back(command("AVBL", path)),
            DeedKind::MakeFolder => self.commands.push_back(command("MKD", path)),
            DeedKind::Set(Attribute::Modified(when)) => {
                self.commands.push_back(format!("MFMT {} {path}", time::format(*when)));
            }
            DeedKind::Set(Attribute::Mode(mode)) => {
                self.commands.push_back(format!("SITE CHMOD {mode:03o} {path}"));
            }
            DeedKind::Rename { to } => {
                self.commands.push_back(command("RNFR", path));
                self.commands.push_back(command("RNTO", &relative(to)));
            }
            DeedKind::Remove { .. } => self.commands.push_back(command("DELE", path)),
        }
        Some(())
    }

    /// Adds the commands that ask for the digest of `octets`, of which the file has `count`.
    fn ask_digest(&mut self, path: &str, octets: &Range<u64>, count: u64, size: u64, how: Digest) {
        let path = &*relative(path);
        let end = octets.start + count;
        let whole = count == size;
        if how == Digest::Extension {
            self.commands.push_back(if whole {
                format!("XSHA256 {path}")
            } else {
                format!("XSHA256 \"{path}\" {} {end}", octets.start)
            });
            return;
        }
        if how == Digest::Unselected {
            self.commands.push_back("OPTS HASH SHA-256".into());
        }
        if !whole {
            self.commands.push_back(format!("RANG {} {}", octets.start, end - 1));
        }
        self.commands.push_back(format!("HASH {path}"));
    }
}

/// Returns a path as the server is told it: the root of the files is the folder into which it puts
/// the user. A name that begins with `~` would be somebody's home to some servers, and one that
/// begins with a blank would lose it.
pub(super) fn relative(path: &str) -> Cow<'_, str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    if path.starts_with(['~', ' ']) { Cow::Owned(format!("./{path}")) } else { path.into() }
}

impl<M: Message> Client<M> {
    pub(super) fn begin_deed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(features) = self.sessions.get(session).map(|state| state.features) else { return };
        let Some((_, Job { path, what: What::Deed(deed), .. })) = self.job_of(session) else {
            return;
        };
        if deed.prepare(path, features).is_none() {
            return self.refuse(cx, session, Failure::Unsupported, out);
        }
        // One command, whatever its reply: the next job need not wait for it.
        if matches!(deed.kind, DeedKind::Set(_))
            && let Some(command) = deed.commands.pop_front()
        {
            return self.say_ahead(cx, session, &command, out);
        }
        self.next_command(cx, session, out);
    }

    fn next_command(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, Job { what: What::Deed(deed), .. })) = self.job_of(session) else { return };
        if let Some(command) = deed.commands.pop_front() {
            self.say(cx, session, Step::Deed, &command, out);
        }
    }

    pub(super) fn deed_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let features = &mut state.features;
        let how = features.digest;
        let Some((token, Job { path, what: What::Deed(deed), .. })) =
            state.job.and_then(|name| Some((name, self.jobs.get_mut(name)?)))
        else {
            return;
        };
        match reply.kind() {
            ReplyKind::Preliminary => return,
            ReplyKind::Completion | ReplyKind::Intermediate => {}
            ReplyKind::Transient | ReplyKind::Permanent => {
                let why = failure(reply);
                let why = match &mut deed.kind {
                    // It may be a folder.
                    DeedKind::Remove { refused: refused @ None } => {
                        *refused = Some(why);
                        let command = format!("RMD {}", relative(path));
                        deed.commands.push_back(command);
                        return self.next_command(cx, session, out);
                    }
                    DeedKind::Remove { refused: Some(file) } => match why {
                        Failure::NotEmpty => Failure::NotEmpty,
                        _ => *file,
                    },
                    _ => why,
                };
                return self.refuse(cx, session, why, out);
            }
        }
        if let DeedKind::Digest { octets, count: count @ None, .. } = &mut deed.kind {
            let Some(size) = reply.text.trim().parse::<u64>().ok().filter(|_| reply.code == 213)
            else {
                return self.refuse(cx, session, Failure::Garbled, out);
            };
            let here = octets.end.min(size).saturating_sub(octets.start.min(size));
            *count = Some(here);
            if here == 0 {
                let answer = FilesIndication::Digested { token, result: Ok((OF_NOTHING, 0)) };
                return self.deed_done(cx, session, answer, out);
            }
            let octets = octets.clone();
            deed.ask_digest(path, &octets, here, size, how);
            return self.next_command(cx, session, out);
        }
        if !deed.commands.is_empty() {
            return self.next_command(cx, session, out);
        }
        let answer = match deed.kind {
            DeedKind::Digest { count, .. } => {
                if features.digest == Digest::Unselected {
                    features.digest = Digest::Selected;
                }
                let result = find_digest(&reply.text).zip(count).ok_or(Failure::Garbled);
                FilesIndication::Digested { token, result }
            }
            DeedKind::Room => {
                let room = reply.text.split_ascii_whitespace().next();
                let room = room.and_then(|room| room.parse().ok()).ok_or(Failure::Garbled);
                FilesIndication::Room { token, result: room }
            }
            _ => FilesIndication::Done { token, result: Ok(()) },
        };
        self.deed_done(cx, session, answer, out);
    }

    /// Handles the reply to the command of a job that was sent ahead.
    pub(super) fn ahead_done(&mut self, job: Handle, reply: &Reply, out: Out<'_, M>) {
        match reply.kind() {
            ReplyKind::Transient | ReplyKind::Permanent => {
                self.job_failed(job, failure(reply), out);
            }
            _ => {
                self.jobs.remove(job);
                out.indicate(FilesIndication::Done { token: job, result: Ok(()) });
            }
        }
    }

    fn deed_done(
        &mut self,
        cx: &Context,
        session: Handle,
        answer: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        self.jobs.remove(answer.name());
        self.free(cx, session, out);
        out.indicate(answer);
    }
}

/// Finds the 64 hexadecimal digits of a SHA-256 in the text of a reply.
fn find_digest(text: &str) -> Option<[u8; 32]> {
    let is_digest =
        |word: &&str| word.len() == 64 && word.bytes().all(|octet| octet.is_ascii_hexdigit());
    let word = text.split_ascii_whitespace().find(is_digest)?;
    let mut digest = [0; 32];
    for (octet, digits) in digest.iter_mut().zip(word.as_bytes().chunks(2)) {
        let digits = core::str::from_utf8(digits).ok()?;
        *octet = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_found_wherever_it_is() {
        let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852B855";
        for text in
            [String::from(digits), format!("SHA-256 0-0 {digits} a b"), format!("\n {digits}\nEnd")]
        {
            assert_eq!(find_digest(&text), Some(OF_NOTHING));
        }
        assert_eq!(find_digest(&digits[1..]), None);
        assert_eq!(find_digest(&format!("{digits}0")), None);
    }
}
