//! How the state of an association changes: it is secured, its handshake is over, it fails.

use alloc::boxed::Box;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Command, CommandError, Context, Fingerprint, Handle, Secure, SecurityError, SessionGroup,
    TlsRole,
};
use stackwright_wire::Message;

use crate::connection::{Connection, reason};
use crate::sessions::Keeps;
use crate::state::{Answer, Association, Ending, Secured, Stage};
use crate::{NAME, Out, Tls};

/// Why an association fails: what its command is answered with, and how it ends.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What rustls says.
    Library(rustls::Error),
    /// What this layer says.
    Security(SecurityError),
    /// The octets ended without an announcement.
    Truncated,
    /// Time is over after `Close`.
    Expired,
}

impl<M: Message> Tls<M> {
    /// Takes over a name that is being opened.
    pub(crate) fn begin(&mut self, name: Handle, credit: usize) {
        let stage = self.limits.from_start.map_or(Stage::Plain, Stage::Asked);
        self.associations.insert(name, Association::new(credit, stage));
    }

    pub(crate) fn opened(&mut self, cx: &Context, name: Handle, credit: usize, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        (association.below, association.below_most) = (credit, credit);
        association.is_open = true;
        if let Stage::Asked(secure) = association.stage {
            self.secure(cx, name, secure, out);
        }
    }

    /// Handles a command.
    pub(crate) fn control(
        &mut self,
        cx: &Context,
        name: Handle,
        command: Command,
        out: Out<'_, M>,
    ) {
        let Some(association) = self.associations.get_mut(name) else {
            return cx.dropped(NAME, "a command for an association that is over");
        };
        let mut again = None;
        let answer = match (&association.stage, command) {
            (Stage::Over(_), _) => {
                return cx.dropped(NAME, "a command for an association that is over");
            }
            (Stage::Plain, Command::Secure(_)) if association.is_unread => {
                Answer::Ready(Err(CommandError::Busy))
            }
            (Stage::Plain, Command::Secure(secure)) => {
                association.stage = Stage::Asked(secure);
                Answer::Handshake
            }
            (Stage::Plain, command) => {
                association.is_unread |= command == Command::Unread;
                out.request(StreamsRequest::Control { association: name, command });
                Answer::FromBelow
            }
            (Stage::Asked(_), Command::Secure(secure)) => {
                association.stage = Stage::Asked(secure);
                Answer::Handshake
            }
            (Stage::Secure(secured), Command::Secure(secure)) if secured.awaits_client() => {
                again = Some(secure);
                Answer::Handshake
            }
            (Stage::Asked(_), command) => Answer::Later(command),
            (Stage::Secure(secured), command) if secured.shaking => Answer::Later(command),
            (Stage::Secure(secured), command) => {
                if secured.ended_below.is_some() {
                    Answer::Ready(Err(CommandError::Busy))
                } else {
                    Self::while_secure(name, command, out)
                }
            }
        };
        association.answers.push_back(answer);
        if let Stage::Asked(secure) = association.stage
            && association.is_open
        {
            again = Some(secure);
        }
        if let Some(secure) = again {
            self.secure(cx, name, secure, out);
        }
        self.tell_answers(name, out);
    }

    /// Handles a command on a secure association.
    fn while_secure(name: Handle, command: Command, out: Out<'_, M>) -> Answer {
        match command {
            // This layer reads payload, so the stream below must not deliver regions.
            Command::Unread => Answer::Ready(Ok(0)),
            Command::Secure(_) => Answer::Ready(Err(CommandError::Busy)),
            command => {
                out.request(StreamsRequest::Control { association: name, command });
                Answer::FromBelow
            }
        }
    }

    /// Takes the answer of the stream below.
    pub(crate) fn controlled(
        &mut self,
        name: Handle,
        outcome: Result<u32, CommandError>,
        out: Out<'_, M>,
    ) {
        let Some(association) = self.associations.get_mut(name) else { return };
        if let Some(answer) =
            association.answers.iter_mut().find(|answer| matches!(answer, Answer::FromBelow))
        {
            *answer = Answer::Ready(outcome);
        }
        self.tell_answers(name, out);
    }

    /// Answers the commands that wait for a handshake which will not be.
    pub(crate) fn refuse(
        &mut self,
        name: Handle,
        why: SecurityError,
        certificate: Option<Fingerprint>,
        out: Out<'_, M>,
    ) {
        let Some(association) = self.associations.get_mut(name) else { return };
        for answer in &mut association.answers {
            match answer {
                Answer::Handshake => {
                    *answer = Answer::Ready(Err(CommandError::Insecure { why, certificate }));
                }
                Answer::Later(_) => *answer = Answer::Ready(Err(CommandError::Busy)),
                Answer::FromBelow | Answer::Ready(_) => {}
            }
        }
        self.tell_answers(name, out);
    }

    /// Answers the commands that can be answered in order.
    pub(crate) fn tell_answers(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        while let Some(Answer::Ready(outcome)) = association.answers.front() {
            let outcome = *outcome;
            association.answers.pop_front();
            out.indicate(StreamsIndication::Controlled { association: name, outcome });
        }
    }

    /// Begins the handshake of an open association.
    fn secure(&mut self, cx: &Context, name: Handle, secure: Secure, out: Out<'_, M>) {
        self.lineages += 1;
        let (lineage, identity) = (self.lineages, secure.identity as usize);
        let joins = !matches!(secure.sessions, SessionGroup::Begins(_));
        self.clock.set(cx);
        let mut is_used_up = false;
        let made = match secure.role {
            TlsRole::Client => self.clients.get_mut(identity).map(|client| {
                client.sessions.enter(secure.sessions.number());
                // A server that wants each association to resume one session, and gives a ticket or
                // two (as proftpd does), can only be served with TLS 1.2: new groups speak that.
                is_used_up = joins && client.sessions.is_used_up();
                client.is_short_of_tickets |= is_used_up;
                if !joins {
                    let has_only_12 = client.only_12.is_some();
                    client.sessions.begin(client.is_short_of_tickets && has_only_12);
                }
                Connection::client(client, client.sessions.is_only_12())
            }),
            TlsRole::Server => {
                let server = self.servers.get(identity);
                server.map(|server| Connection::server(server, secure.sessions))
            }
        };
        if is_used_up {
            return self.fail(cx, name, Failure::Security(SecurityError::UsedUp), out);
        }
        let Some(association) = self.associations.get_mut(name) else { return };
        let connection = match made {
            Some(Ok(connection)) => connection,
            Some(Err(error)) => return self.fail(cx, name, Failure::Library(error), out),
            None => {
                let why = Failure::Security(SecurityError::Unconfigured);
                return self.fail(cx, name, why, out);
            }
        };
        if let Stage::Secure(secured) = &mut association.stage {
            (secured.connection, secured.group, secured.lineage) =
                (connection, secure.sessions, lineage);
            return;
        }
        let given = (association.below, association.below_most);
        let mut secured = Secured::new(connection, secure, lineage, association.above, given);
        let deadline = cx.now() + self.limits.handshake;
        secured.deadline = Some(self.timers.schedule(deadline, name));
        association.stage = Stage::Secure(Box::new(secured));
        // A client speaks first.
        self.absorb(cx, name, None, out);
    }

    /// Notes that the handshake is over: its command is answered, and those that waited for it are
    /// handled.
    pub(crate) fn shaken(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let Stage::Secure(secured) = &mut association.stage else { return };
        secured.shaking = false;
        if !secured.closes()
            && let Some(ticket) = secured.deadline.take()
        {
            self.timers.cancel(ticket);
        }
        let resumes = secured.connection.resumes();
        let outcome = match (&secured.connection, secured.group) {
            (_, SessionGroup::Begins(group)) => {
                if let Connection::Server(_) = secured.connection {
                    self.groups.insert(group, secured.lineage);
                }
                Secure::FULL
            }
            (Connection::Client(_), _) if resumes => Secure::RESUMED,
            (Connection::Client(_), _) => Secure::FULL,
            (Connection::Server(_), group) => {
                let first = self.groups.get(&group.number()).copied();
                let server = self.servers.get(secured.identity);
                match (first, server) {
                    (Some(first), _) if resumes && first == secured.lineage => Secure::RESUMED,
                    (Some(first), Some(server))
                        if server.sessions.are_spent(first, keeps(group)) =>
                    {
                        Secure::SPENT
                    }
                    _ => Secure::FULL,
                }
            }
        };
        cx.event(NAME, format_args!("{name:?} is secure: {:?}", secured.connection.facts()));
        for answer in &mut association.answers {
            match answer {
                Answer::Handshake => *answer = Answer::Ready(Ok(outcome)),
                Answer::Later(command) => *answer = Self::while_secure(name, *command, out),
                Answer::FromBelow | Answer::Ready(_) => {}
            }
        }
        self.tell_answers(name, out);
    }

    /// Ends an association that cannot go on: the peer is told by an alert where rustls has one,
    /// and by a reset elsewhere.
    pub(crate) fn fail(
        &mut self,
        cx: &Context,
        name: Handle,
        mut failure: Failure,
        out: Out<'_, M>,
    ) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let (mut certificate, mut shakes, mut spoke, mut has_alert) = (None, true, false, false);
        let mut ended_below = None;
        if let Stage::Secure(secured) = &mut association.stage {
            (shakes, spoke, ended_below) = (secured.shaking, secured.spoke, secured.ended_below);
            if let Failure::Library(error) = &failure {
                if matches!(error, rustls::Error::InvalidCertificate(_))
                    && let Connection::Client(_) = secured.connection
                    && let Some(client) = self.clients.get(secured.identity)
                {
                    certificate = client.verifier.take_shown();
                }
                let can_send = ended_below.is_none() && !matches!(secured.ending, Ending::Done(_));
                has_alert = can_send && secured.send_alert(name, &mut association.below, out);
            }
            // It speaks TLS 1.3 alone: each group lasts as long as its tickets.
            if let Connection::Client(_) = secured.connection
                && secured.shaking
                && matches!(secured.group, SessionGroup::Begins(_))
                && let Some(client) = self.clients.get_mut(secured.identity)
            {
                client.sessions.enter(secured.group.number());
                if client.sessions.is_only_12() {
                    client.only_12 = None;
                    failure = Failure::Security(SecurityError::UsedUp);
                }
            }
        }
        let why = match &failure {
            Failure::Library(error) => reason(error, spoke),
            Failure::Security(why) => *why,
            Failure::Truncated | Failure::Expired => SecurityError::Cut,
        };
        cx.event(NAME, format_args!("{name:?} fails: {failure:?}, certificate {certificate:?}"));
        let end = match failure {
            Failure::Truncated if !shakes => Ended::Truncated,
            Failure::Expired => Ended::Expired,
            Failure::Library(rustls::Error::DecryptError) if !shakes => Ended::Forged,
            _ => Ended::Insecure(why),
        };
        let stage = core::mem::replace(&mut association.stage, Stage::Over(end));
        if let Stage::Secure(secured) = stage {
            self.forget(&secured);
        }
        self.refuse(name, why, certificate, out);
        match ended_below {
            Some(_) => self.ended(name, end, out),
            // Behind a close, an alert still leaves; a reset could overtake it.
            None if has_alert => out.request(StreamsRequest::Close { name }),
            None => out.request(StreamsRequest::Abort { association: name, code: 0 }),
        }
    }
}

/// Returns which of its tickets a client may keep at the least. One that borrowed before was given
/// no others, and often remembers one alone.
fn keeps(group: SessionGroup) -> Keeps {
    if let SessionGroup::Borrows(_) = group { Keeps::Last } else { Keeps::All }
}
