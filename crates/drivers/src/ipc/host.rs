//! The server's side: one stack, and the applications that use it.

use std::collections::VecDeque;
use std::convert::Infallible;

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Ended, Streams, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{
    Arrivals, Batches, Both, Context, Duration, Either, Facts, Guarantees, Handle, IndicationTo,
    Instant, Life, Names, Nothing, Outlet, Participant, Party, Protocol, RequestOf, Service as _,
    Word as _, earliest,
};

use super::admission::FIRST_ROOM;
use super::application::{Application, Judged, Owned};
use super::fields::Fields;
use super::policy::{AdmissionPolicy, Refused};
use super::quota::{Quota, Usages};
use super::word::{Crossing, Heard, heard_request, hello, of_indication};

/// The name by which a host notes what it refuses.
pub const HOST: &str = "host";

/// So many programs may connect at once.
const AWAITED: usize = 16;
/// So many of them need not have said what they speak yet: one more, and the oldest is ended.
const SILENT_MOST: usize = 64;
/// How long they may take for it.
pub(super) const SILENT_FOR: Duration = Duration::from_secs(1);

/// The applications of a stack that provides `T`, each at the other end of a stream.
///
/// It renumbers: each application has its own names, and the stack hears those of the host. What an
/// assertion demands of a layer, it demands of an application, which else is ended alone. An
/// application that ends, or is killed, takes its names with it: those that it was closing come to
/// their end in good order, and the others are aborted.
pub struct StackHost<T: Crossing> {
    pub(super) gives: Guarantees,
    pub(super) quota: Quota,
    pub(super) policy: AdmissionPolicy,
    pub(super) users: Usages,
    /// Applications that send faster than their user may.
    pub(super) limited: Vec<Handle>,
    pub(super) applications: Arrivals<bool, Box<Application<T>>, Names<()>>,
    listener: Option<Handle>,
    /// Those that have not said what they speak, the oldest first.
    pub(super) silent: VecDeque<(Handle, Instant)>,
    pub(super) names: Names<Owned>,
    /// Octets that are held for all applications.
    held: usize,
    /// Applications for which something was said in this batch.
    busy: Vec<Handle>,
    /// All are to be ended.
    ends: bool,
    /// Why nobody is listened to any more.
    over: Option<Ended>,
}

pub(super) type Out<'a, T> = &'a mut dyn Outlet<StackHost<T>>;

impl<T: Crossing> StackHost<T> {
    /// Makes a host of a stack that promises `gives`, without applications; it listens with its
    /// first batch.
    pub fn new(gives: Guarantees, quota: Quota) -> Self {
        StackHost {
            gives,
            quota,
            policy: AdmissionPolicy::default(),
            users: Usages::default(),
            limited: Vec::new(),
            applications: Arrivals::default(),
            listener: None,
            silent: VecDeque::new(),
            names: Names::new(),
            held: 0,
            busy: Vec::new(),
            ends: false,
            over: None,
        }
    }

    /// Admits the users of `policy`.
    #[must_use]
    pub fn admitting(self, policy: AdmissionPolicy) -> Self {
        StackHost { policy, ..self }
    }

    /// Returns whether it is listened for applications; before the first batch it is not known.
    ///
    /// # Errors
    /// Why it is not.
    pub fn listens(&self) -> Result<bool, Ended> {
        let listens = self.listener.and_then(|listener| self.applications.listener(listener));
        self.over.map_or(Ok(listens.copied().unwrap_or(false)), Err)
    }

    /// Returns how many applications are connected.
    pub fn applications(&self) -> usize {
        self.applications.iter().count()
    }

    /// Returns how many names they have of the stack.
    pub fn names(&self) -> usize {
        self.names.len()
    }

    /// Returns how many octets are held for them.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Ends all applications with the next batch, each of which is told that another server has
    /// taken over.
    pub fn end_applications(&mut self) {
        self.ends = true;
    }

    /// Counts what is held for an application anew; ends the one with the most where that is more
    /// than is held for all.
    fn count(&mut self, cx: &Context, who: Handle, out: Out<'_, T>) {
        let Some(application) = self.applications.get_mut(who) else { return };
        let holds = application.channel.held();
        let held = std::mem::replace(&mut application.held, holds);
        let (user, is_over) = (application.user, application.over);
        self.held = self.held - held + holds;
        if let Some(user) = user
            && let Err(why) = self.count_of_user(user, held, holds)
            && !is_over
        {
            return self.refuse(cx, who, &why, out);
        }
        if self.held > self.quota.held_together
            && let Some((most, _)) =
                self.applications.iter().max_by_key(|(_, application)| application.held)
        {
            self.dismiss(cx, most, "more octets than are held for all", out);
        }
    }

    fn await_applications(&mut self, out: Out<'_, T>) {
        let Some(listener) = self.listener else { return };
        let credit = Credit::of_octets(FIRST_ROOM);
        while self.applications.awaited(listener) < AWAITED
            && let Some(association) = self.applications.expect(listener, credit)
        {
            out.request(Either::Right(StreamsRequest::Await { listener, association, credit }));
        }
    }

    fn on_line(&mut self, cx: &Context, word: StreamsIndication<T::Message>, out: Out<'_, T>) {
        match word {
            StreamsIndication::Listening { listener, .. } => {
                self.applications.listener_mut(listener).into_iter().for_each(|told| *told = true);
                self.await_applications(out);
            }
            StreamsIndication::Opened { association: who, remote, credit, .. } => {
                let (longest, user) = (self.quota.longest, self.policy.stranger(remote));
                self.applications
                    .arrived(who, || Box::new(Application::new(longest, credit.octets, user)));
                self.silent.push_back((who, cx.now() + SILENT_FOR));
                self.await_applications(out);
                if let Err(why) = self.admit(who, user, out) {
                    return self.refuse(cx, who, &why, out);
                }
                if self.applications.iter().count() > self.quota.applications {
                    self.dismiss(cx, who, "more applications than are admitted", out);
                } else if self.silent.len() > SILENT_MOST
                    && let Some((oldest, _)) = self.silent.pop_front()
                {
                    self.dismiss(cx, oldest, "more silent ones than are admitted", out);
                }
            }
            StreamsIndication::Credit { association: who, credit } => {
                if let Some(application) = self.applications.get_mut(who) {
                    application.channel.allow(credit.octets);
                    self.send(cx, who, out);
                }
            }
            StreamsIndication::Delivered { association: who, batch, .. } => {
                let credit = Credit::of_octets(batch.octets());
                if let Some(application) = self.applications.get_mut(who)
                    && !application.over
                {
                    application.channel.hear(batch.into_octets());
                    if !self.is_limited(cx, who, credit.octets) {
                        let association = who;
                        out.request(Either::Right(StreamsRequest::Credit { association, credit }));
                    }
                    self.hear(cx, who, out);
                    self.count(cx, who, out);
                }
            }
            StreamsIndication::Finished { association: who } => {
                out.request(Either::Right(StreamsRequest::Close { name: who }));
            }
            StreamsIndication::Ended { name, why } => match self.applications.forget(name) {
                Some(Party::Listener(_)) => (self.listener, self.over) = (None, Some(why)),
                Some(Party::Open(application)) => self.leave(cx, name, &application, out),
                _ => {}
            },
            _ => {}
        }
    }

    /// Handles the words of an application that came whole.
    fn hear(&mut self, cx: &Context, who: Handle, out: Out<'_, T>) {
        while let Some(application) = self.applications.get_mut(who).filter(|it| !it.over) {
            let word = match application.channel.next_word() {
                Ok(None) => return,
                Ok(Some((fields, octets))) => heard_request::<T>(&fields, octets),
                Err(_) => None,
            };
            let is_fine = match word {
                Some(Heard::Hello(_)) if let Some(why) = self.policy.refuses(application.user) => {
                    return self.refuse(cx, who, &why, out);
                }
                Some(Heard::Hello(needed)) if !application.greeted && self.gives.has(needed) => {
                    application.greeted = true;
                    self.silent.retain(|(silent, _)| *silent != who);
                    self.say(cx, who, &hello::<T>(self.gives), None, out);
                    true
                }
                Some(Heard::Word(word)) if application.greeted => self.ask(cx, who, word, out),
                _ => false,
            };
            if !is_fine {
                return self.dismiss(cx, who, "what an application said is no word", out);
            }
        }
    }

    /// Handles a word of an application; returns whether it may say that.
    fn ask(
        &mut self,
        cx: &Context,
        who: Handle,
        mut word: AssociationRequest<T>,
        out: Out<'_, T>,
    ) -> bool {
        let Some(application) = self.applications.get_mut(who) else { return true };
        let theirs = *word.name_mut().expect("each request has one");
        let refused = |why| AssociationIndication::<T>::Ended { name: theirs, why };
        if word.life() == Life::Begins {
            if theirs.index >= self.quota.names || self.names.len() >= self.quota.names_together {
                self.tell(cx, who, refused(Ended::Exhausted), out);
                return true;
            }
            if !application.names.is_vacant(theirs.index) {
                return false;
            }
            if let Some(listener) = word.listener_mut() {
                let ours = application.names.get(*listener).copied();
                let lives = |ours: &Handle| self.names.get(*ours).is_some_and(|at| at.listens);
                let Some(ours) = ours.filter(lives) else {
                    self.tell(cx, who, refused(Ended::Unlistened), out);
                    return true;
                };
                *listener = ours;
            }
            let user = application.user;
            let mut owned = Owned::new(who, user, theirs, &word);
            if owned.judge(&word) != Judged::Passes {
                return false;
            }
            if let Some(user) = user {
                match self.begins(user, &word) {
                    Ok(counts) => owned.counts = counts,
                    Err((sentence, why)) => {
                        if let Some(sentence) = sentence {
                            self.say_refusal(cx, who, &sentence, out);
                        }
                        self.tell(cx, who, refused(why), out);
                        return true;
                    }
                }
            }
            let Some(application) = self.applications.get_mut(who) else { return true };
            let ours = self.names.name(owned);
            application.names.insert(theirs, ours);
            word.name_mut().into_iter().for_each(|name| *name = ours);
            out.request(Either::Left(word));
            return true;
        }
        let Some(&ours) = application.names.get(theirs) else {
            cx.dropped(HOST, "a word on a name that has ended");
            return true;
        };
        let judged = self.names.get_mut(ours).map_or(Judged::Void, |owned| owned.judge(&word));
        match judged {
            Judged::Passes => {
                word.name_mut().into_iter().for_each(|name| *name = ours);
                out.request(Either::Left(word));
            }
            Judged::Void => {
                let refund = T::refund_request(&word).into_iter().flatten();
                refund.for_each(|word| self.tell(cx, who, word, out));
            }
            Judged::Breaks => {}
        }
        judged != Judged::Breaks
    }

    /// Tells an application of its name what the stack tells of the host's.
    fn on_stack(&mut self, cx: &Context, mut word: AssociationIndication<T>, out: Out<'_, T>) {
        let ours = word.name();
        let Some(owned) = self.names.get_mut(ours) else {
            return cx.dropped(HOST, "a word on a name that has ended");
        };
        owned.hear(&word);
        let (theirs, application) = (owned.theirs, owned.application);
        if word.life() == Life::Ends {
            if let Some(owned) = self.names.forget(ours) {
                self.ended(cx, &owned);
            }
        } else if !self.opens(ours, &word, out) {
            return;
        }
        let Some(who) = application else { return };
        if word.life() == Life::Ends
            && let Some(application) = self.applications.get_mut(who)
        {
            application.names.remove(theirs);
        }
        word.name_mut().into_iter().for_each(|name| *name = theirs);
        self.tell(cx, who, word, out);
    }

    pub(super) fn tell(
        &mut self,
        cx: &Context,
        who: Handle,
        word: AssociationIndication<T>,
        out: Out<'_, T>,
    ) {
        let fields = of_indication(&word);
        let carried = match word {
            AssociationIndication::Delivered { batch, .. } => Some(batch.into_octets()),
            _ => None,
        };
        self.say(cx, who, &fields, carried, out);
    }

    pub(super) fn say(
        &mut self,
        cx: &Context,
        who: Handle,
        fields: &Fields,
        carried: Option<T::Message>,
        out: Out<'_, T>,
    ) {
        let Some(application) = self.applications.get_mut(who) else { return };
        application.channel.say(fields, carried);
        if !std::mem::replace(&mut application.busy, true) {
            self.busy.push(who);
        }
        if application.channel.waits() > self.quota.waiting {
            self.dismiss(cx, who, "an application did not read what came for it", out);
        }
        self.count(cx, who, out);
    }

    pub(super) fn send(&mut self, cx: &Context, who: Handle, out: Out<'_, T>) {
        let Some(application) = self.applications.get_mut(who) else { return };
        application.busy = false;
        while let Some(part) = application.channel.next_part() {
            let (association, batch, properties) = (who, part.into(), Default::default());
            out.request(Either::Right(StreamsRequest::Send { association, batch, properties }));
        }
        self.count(cx, who, out);
    }

    /// Ends an application.
    fn dismiss(&mut self, cx: &Context, who: Handle, why: &'static str, out: Out<'_, T>) {
        cx.dropped(HOST, why);
        self.give_up(cx, who, out);
        out.request(Either::Right(StreamsRequest::Abort { association: who, code: 0 }));
    }

    /// Nothing is said for an application any more, though its last word is still to come.
    pub(super) fn give_up(&mut self, cx: &Context, who: Handle, out: Out<'_, T>) {
        if let Some(application) = self.applications.get_mut(who) {
            let gone = std::mem::replace(&mut **application, Application::over());
            self.leave(cx, who, &gone, out);
        }
    }

    /// An application is gone.
    fn leave(&mut self, cx: &Context, who: Handle, application: &Application<T>, out: Out<'_, T>) {
        self.silent.retain(|(silent, _)| *silent != who);
        self.limited.retain(|limited| *limited != who);
        self.held -= application.held;
        self.left(cx, application);
        for (_, ours) in application.names.iter() {
            let Some(owned) = self.names.get_mut(*ours) else { continue };
            owned.application = None;
            let end = match (owned.closing, owned.listens) {
                (true, _) => continue,
                (false, true) => AssociationRequest::Close { name: *ours },
                (false, false) => AssociationRequest::Abort { association: *ours, code: 0 },
            };
            out.request(Either::Left(end));
        }
    }
}

impl<T: Crossing> Protocol for StackHost<T> {
    // No region of a file crosses.
    const FACTS: Facts = Facts { reads_payload: true, ..Facts::named(HOST) };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Nothing;
    type Uses = Both<T, Streams<T::Message>>;

    fn handle_request(&mut self, _: &Context, request: Infallible, _: &mut impl Outlet<Self>) {
        match request {}
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match word {
            Either::Left(word) => self.on_stack(cx, word, out),
            Either::Right(word) => self.on_line(cx, word, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some((who, _)) = self.silent.front().copied().filter(|(_, at)| *at <= cx.now()) {
            self.dismiss(cx, who, "an application did not say what it speaks", out);
        }
        self.pay(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.silent.front().map(|(_, at)| *at), self.next_payment())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.listener.is_none() && self.over.is_none() {
            let listener = self.applications.listen(false);
            self.listener = Some(listener);
            let local = Participant::OTHER_END;
            out.request(RequestOf::<Self>::Right(StreamsRequest::Listen { listener, local }));
        }
        if std::mem::take(&mut self.ends) {
            let all: Vec<_> = self.applications.iter().map(|(who, _)| who).collect();
            all.into_iter().for_each(|who| self.refuse(cx, who, &Refused::Replaced, out));
        }
        for who in std::mem::take(&mut self.busy) {
            self.send(cx, who, out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.ends || !self.busy.is_empty() || self.listener.is_none() && self.over.is_none()
    }
}
