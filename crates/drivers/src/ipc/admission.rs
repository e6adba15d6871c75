//! What a server grants to users that are not its own, and how it refuses the rest.

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Ended, StreamsRequest,
};
use stackwright_contract::{Context, Either, Handle, Instant};
use stackwright_wire::Message as _;

use super::ROOM;
use super::application::{Application, Owned};
use super::host::{HOST, Out, SILENT_FOR, StackHost};
use super::policy::{Refused, UserId};
use super::word::{Crossing, refusal};

/// Octets that are taken from an application before it is known who it is.
pub(super) const FIRST_ROOM: usize = 4 << 10;

impl<T: Crossing> StackHost<T> {
    /// Counts an application of this user, if it is not the server's own, and gives its line the
    /// room that it may have: all, or a tenth of a second at its rate.
    pub(super) fn admit(
        &mut self,
        who: Handle,
        user: Option<UserId>,
        out: Out<'_, T>,
    ) -> Result<(), Refused> {
        let mut room = ROOM;
        if let Some(user) = user {
            let most = self.quota.applications_of_user;
            let usage = self.users.of(user.user);
            usage.applications += 1;
            if usage.applications > most {
                return Err(Refused::Applications { user, most });
            }
            // One that is not admitted hears why when it has said what it speaks.
            let Ok(allowance) = self.policy.allowance(user) else { return Ok(()) };
            let tenth = allowance.rate.map_or(u64::MAX, |rate| rate.get() / 10);
            room = room.min(usize::try_from(tenth).unwrap_or(ROOM));
        }
        if let Some(more @ 1..) = room.checked_sub(FIRST_ROOM) {
            let (association, credit) = (who, Credit::of_octets(more));
            out.request(Either::Right(StreamsRequest::Credit { association, credit }));
        }
        Ok(())
    }

    /// Ends an application, which is told why; it has a second to read it.
    pub(super) fn refuse(&mut self, cx: &Context, who: Handle, why: &Refused, out: Out<'_, T>) {
        let Some(application) = self.applications.get_mut(who).filter(|it| !it.over) else {
            return;
        };
        application.over = true;
        cx.dropped(HOST, "more than a user may have");
        self.say_refusal(cx, who, why, out);
        self.send(cx, who, out);
        self.give_up(cx, who, out);
        self.silent.push_back((who, cx.now() + SILENT_FOR));
        out.request(Either::Right(StreamsRequest::Close { name: who }));
    }

    /// Tells an application why something is refused.
    pub(super) fn say_refusal(
        &mut self,
        cx: &Context,
        who: Handle,
        why: &Refused,
        out: Out<'_, T>,
    ) {
        cx.event(HOST, format_args!("{why}"));
        let sentence = why.to_string();
        let octets = T::Message::with_headroom(0, sentence.as_bytes());
        self.say(cx, who, &refusal(&sentence), Some(octets), out);
    }

    /// Returns whether a request with which a name begins is within what its user may, and whether
    /// it counts as an association.
    ///
    /// # Errors
    /// A sentence on it, if there is one, and the last word on the name.
    pub(super) fn begins(
        &mut self,
        user: UserId,
        request: &AssociationRequest<T>,
    ) -> Result<bool, (Option<Refused>, Ended)> {
        let allowance =
            self.policy.allowance(user).map_err(|why| (Some(why), Ended::Unavailable))?;
        allowance.check(user, request).map_err(|why| (Some(why), Ended::Unavailable))?;
        let (most, usage) = (allowance.associations, self.users.of(user.user));
        if usage.names >= self.quota.names as usize {
            return Err((None, Ended::Exhausted));
        }
        let counts = matches!(request, AssociationRequest::Open { .. });
        if counts && usage.associations >= most {
            return Err((Some(Refused::Associations { user, most }), Ended::Exhausted));
        }
        usage.names += 1;
        usage.associations += usize::from(counts);
        Ok(counts)
    }

    /// Counts an association that a peer has opened; one too many is aborted. Returns whether its
    /// application hears of it.
    pub(super) fn opens(
        &mut self,
        ours: Handle,
        word: &AssociationIndication<T>,
        out: Out<'_, T>,
    ) -> bool {
        let Some(owned) = self.names.get_mut(ours) else { return true };
        if let (Some(user), AssociationIndication::Opened { .. }, false) =
            (owned.user, word, owned.counts)
        {
            let usage = self.users.of(user.user);
            let most = self.policy.allowance(user).map_or(0, |allowance| allowance.associations);
            if usage.associations < most {
                (owned.counts, usage.associations) = (true, usage.associations + 1);
            } else if !owned.closing {
                (owned.refused, owned.closing) = (true, true);
                out.request(Either::Left(AssociationRequest::Abort { association: ours, code: 0 }));
            }
        }
        !owned.refused
    }

    /// A name has ended.
    pub(super) fn ended(&mut self, cx: &Context, owned: &Owned) {
        let Some(UserId { user, .. }) = owned.user else { return };
        let usage = self.users.of(user);
        usage.names -= 1;
        usage.associations -= usize::from(owned.counts);
        self.users.tidy(user, cx.now());
    }

    /// An application has left.
    pub(super) fn left(&mut self, cx: &Context, application: &Application<T>) {
        let Some(UserId { user, .. }) = application.user else { return };
        let usage = self.users.of(user);
        usage.applications -= 1;
        usage.held -= application.held;
        self.users.tidy(user, cx.now());
    }

    /// Counts what is held for a user anew.
    ///
    /// # Errors
    /// It is more than the user may have.
    pub(super) fn count_of_user(
        &mut self,
        user: UserId,
        held: usize,
        holds: usize,
    ) -> Result<(), Refused> {
        let usage = self.users.of(user.user);
        usage.held = usage.held - held + holds;
        let most = self.policy.allowance(user).map_or(usize::MAX, |allowance| allowance.buffers);
        if usage.held > most && holds > held {
            return Err(Refused::Buffers { user, most });
        }
        Ok(())
    }

    /// Counts octets that an application sent; returns whether its line has to wait for their
    /// credit, because they are more than its user's rate allows until now.
    pub(super) fn is_limited(&mut self, cx: &Context, who: Handle, octets: usize) -> bool {
        let Some(application) = self.applications.get_mut(who) else { return false };
        let Some(user) = application.user else { return false };
        let rate = self.policy.allowance(user).ok().and_then(|allowance| allowance.rate);
        let Some(rate) = rate else { return false };
        application.owed += octets;
        application.owed_at = self.users.of(user.user).send(cx.now(), octets, rate);
        if !self.limited.contains(&who) {
            self.limited.push(who);
        }
        true
    }

    /// Returns when the next line may go on.
    pub(super) fn next_payment(&self) -> Option<Instant> {
        let limited = self.limited.iter().filter_map(|who| self.applications.get(*who));
        limited.map(|application| application.owed_at).min()
    }

    /// Gives the credit of lines that may go on.
    pub(super) fn pay(&mut self, cx: &Context, out: Out<'_, T>) {
        let applications = &mut self.applications;
        self.limited.retain(|who| {
            let Some(application) = applications.get_mut(*who) else { return false };
            let waits = application.owed_at > cx.now();
            if !waits {
                let credit = Credit::of_octets(std::mem::take(&mut application.owed));
                out.request(Either::Right(StreamsRequest::Credit { association: *who, credit }));
            }
            waits
        });
    }
}
