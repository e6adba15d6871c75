//! What the stack has told and the application has not asked for yet.

use std::collections::VecDeque;
use std::mem;

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Batch, Code, Credit, Ended, MessageProperties,
};
use stackwright_contract::{
    Arrivals, Command, Handle, Names, Outlet, Participant, Protocol, RequestOf,
};

use crate::events;
use crate::link::{Link, State};
use crate::offered::Offered;
use crate::qlog::Qlog;

/// As many associations are listed as changed before dropped ones are removed from the list.
const LISTED_LEAST: usize = 64;

/// The side above a stack: names, and what was told of them that the application has not taken.
pub(crate) struct Mailbox<V: Offered> {
    pub(crate) names: Arrivals<Listener, Box<Link<V::Message>>, Names<()>>,
    /// How many names were given to associations.
    associations: usize,
    /// Arrivals that were not accepted yet.
    arrived: VecDeque<Handle>,
    /// The most arrivals that are kept before they are accepted, those for which names wait
    /// included.
    arrivals_most: usize,
    listener: Option<Handle>,
    /// First room upward on each association.
    credit: Credit,
    /// What is to be asked when the stack is silent.
    pub(crate) asks: Vec<AssociationRequest<V>>,
    /// Something was told since this was set to `false`.
    pub(crate) told: bool,
    /// Associations on which something happened since they were returned from here, once an
    /// application asks for them.
    changed: Option<VecDeque<Handle>>,
    /// Slots of tasks whose waiting may be over.
    pub(crate) woken: Vec<Handle>,
    /// Associations of which a log is written.
    pub(crate) logged: Vec<Handle>,
}

/// A listener.
pub(crate) struct Listener {
    /// Where it listens, once that is known; not any more, once it was closed.
    local: Result<Option<Participant>, Ended>,
    /// Slots of tasks that wait for that, or for an arrival.
    waits: Vec<Handle>,
}

impl<V: Offered> Mailbox<V> {
    pub(crate) fn new(credit: Credit, arrivals_most: usize) -> Self {
        Mailbox {
            names: Arrivals::default(),
            associations: 0,
            arrived: VecDeque::new(),
            arrivals_most,
            listener: None,
            credit,
            asks: Vec::new(),
            told: false,
            changed: None,
            woken: Vec::new(),
            logged: Vec::new(),
        }
    }

    /// Returns credit upward: streams charge octets only.
    fn up(credit: Credit) -> Credit {
        if V::MESSAGES { credit } else { Credit::of_octets(credit.octets) }
    }

    /// Returns credit downward as a link counts it: streams have it for one message more, always.
    fn down(credit: Credit) -> Credit {
        if V::MESSAGES { credit } else { Credit { messages: usize::MAX, ..credit } }
    }

    /// The end of an association about which nothing is to be told any more.
    fn ending(name: Handle) -> AssociationRequest<V> {
        if V::MESSAGES {
            AssociationRequest::Close { name }
        } else {
            AssociationRequest::Abort { association: name, code: 0 }
        }
    }

    /// A name for a listener, which is asked for.
    pub(crate) fn listen(&mut self, local: Participant) -> Handle {
        let listener = self.names.listen(Listener { local: Ok(None), waits: Vec::new() });
        self.asks.push(AssociationRequest::Listen { listener, local });
        listener
    }

    /// Where a listener listens, once that is known.
    pub(crate) fn local(&self, listener: Handle) -> Option<Result<Participant, Ended>> {
        let listens = self.names.listener(listener);
        listens.map_or(Some(Err(Ended::Unlistened)), |listens| listens.local.transpose())
    }

    /// Stops listening; arrivals that were not accepted are closed.
    pub(crate) fn unlisten(&mut self, listener: Handle) {
        if let Some(listens) = self.names.listener_mut(listener)
            && listens.local.is_ok()
        {
            listens.local = Err(Ended::Unlistened);
            self.asks.push(AssociationRequest::Close { name: listener });
        }
        self.listener = None;
        for guest in mem::take(&mut self.arrived) {
            self.abandon(guest);
        }
    }

    /// A name for an association, which is asked for.
    pub(crate) fn open(&mut self, remote: Participant) -> Handle {
        let association = self.names.open(|_| Box::new(Link::new()));
        self.associations += 1;
        let credit = Self::up(self.credit);
        self.asks.push(AssociationRequest::Open { association, remote, local: None, credit });
        association
    }

    /// Whether there never was more than one association: then all that memory holds is its own.
    pub(crate) fn has_one(&self) -> bool {
        self.associations == 1
    }

    pub(crate) fn link(&mut self, name: Handle) -> Option<&mut Link<V::Message>> {
        self.names.get_mut(name).map(|link| &mut **link)
    }

    /// Takes the next arrival, or tells why there will be none.
    pub(crate) fn arrival(&mut self, listener: Handle) -> Option<Result<Handle, Ended>> {
        let Some(name) = self.arrived.pop_front() else {
            return self.local(listener)?.err().map(Err);
        };
        self.await_arrivals();
        // What happened on it may have been listed and taken before anybody knew it.
        self.list(name);
        Some(Ok(name))
    }

    /// Returns how many arrivals were not accepted yet.
    pub(crate) fn arrivals(&self) -> usize {
        self.arrived.len()
    }

    /// Lets as many names wait for arrivals as more of them are kept.
    fn await_arrivals(&mut self) {
        let Some(listener) = self.listener else { return };
        let credit = Self::up(self.credit);
        while self.names.awaited(listener) + self.arrived.len() < self.arrivals_most
            && let Some(association) = self.names.expect(listener, credit)
        {
            self.associations += 1;
            self.asks.push(AssociationRequest::Await { listener, association, credit });
        }
    }

    /// The application sends no more on a stream.
    pub(crate) fn finish(&mut self, name: Handle) {
        if let Some(link) = self.link(name).filter(|link| link.state == State::Open) {
            link.state = State::Finishing;
            self.asks.push(AssociationRequest::Finish { association: name });
        }
    }

    /// Whether there is an association that has not ended.
    pub(crate) fn has_links(&self) -> bool {
        self.living().next().is_some()
    }

    fn living(&self) -> impl Iterator<Item = (Handle, &Link<V::Message>)> {
        let links = self.names.iter().map(|(name, link)| (name, &**link));
        links.filter(|(_, link)| !matches!(link.state, State::Ended(_)))
    }

    /// Ends at once what cannot end in good order any more: something that was handed over has not
    /// arrived, or not left.
    pub(crate) fn abort_all(&mut self) {
        let waits = |link: &Link<V::Message>| link.waiting() != Credit::NONE;
        let names: Vec<_> =
            self.living().filter(|(_, link)| waits(link)).map(|(name, _)| name).collect();
        let abort = |association| AssociationRequest::Abort { association, code: 0 };
        self.asks.extend(names.into_iter().map(abort));
    }

    /// The application ends an association in good order.
    pub(crate) fn close(&mut self, name: Handle) {
        self.end(name, AssociationRequest::Close { name });
    }

    /// The application ends an association at once.
    pub(crate) fn abort(&mut self, name: Handle, code: Code) {
        self.end(name, AssociationRequest::Abort { association: name, code });
    }

    fn end(&mut self, name: Handle, ask: AssociationRequest<V>) {
        if let Some(link) = self.link(name).filter(|link| link.is_open()) {
            link.state = State::Closing;
            link.inbox.clear();
            self.asks.push(ask);
        }
    }

    /// The application commands a layer of the stack. Returns the command's number.
    pub(crate) fn control(&mut self, name: Handle, command: Command) -> Result<u64, Ended> {
        let Some(link) = self.link(name) else { return Err(Ended::Finished) };
        if let State::Ended(why) = link.state {
            return Err(why);
        }
        let number = link.commands.get_or_insert_default().give();
        self.asks.push(AssociationRequest::Control { association: name, command });
        Ok(number)
    }

    /// Gives credit on an association: one word for all that the application takes in a row.
    #[inline]
    pub(crate) fn takes_more(&mut self, name: Handle, credit: Credit) {
        let more = Self::up(credit);
        match self.asks.last_mut() {
            Some(AssociationRequest::Credit { association, credit }) if *association == name => {
                *credit += more;
            }
            _ => self.asks.push(AssociationRequest::Credit { association: name, credit: more }),
        }
    }

    /// The application wants a log of an association.
    pub(crate) fn log(&mut self, name: Handle, mut qlog: Box<Qlog>) {
        let Some(link) = self.link(name) else { return };
        if let Some(ends) = link.ends {
            qlog.opened(ends);
        }
        match link.state {
            State::Ended(why) => qlog.ended(why),
            _ if link.qlog.replace(qlog).is_none() => self.logged.push(name),
            _ => {}
        }
    }

    /// The application has dropped an association.
    pub(crate) fn abandon(&mut self, name: Handle) {
        let Some(link) = self.link(name) else { return };
        let unread = !mem::take(&mut link.inbox).is_empty();
        link.abandoned = true;
        match link.state {
            State::Ended(_) => drop(self.names.forget(name)),
            State::Closing => {}
            // Our half arrives; what the peer still sends would not.
            State::Finishing if !unread => {}
            State::Opening | State::Open | State::Finishing => {
                link.state = State::Closing;
                self.asks.push(Self::ending(name));
            }
        }
    }

    /// `slot` waits for something on `name`.
    #[cfg(feature = "tokio")]
    pub(crate) fn await_on(&mut self, name: Handle, slot: Handle) {
        let Some(waits) = self.waits(name) else { return };
        waits.push(slot);
    }

    /// `slot` waits no more.
    #[cfg(feature = "tokio")]
    pub(crate) fn leave(&mut self, name: Handle, slot: Handle) {
        let Some(waits) = self.waits(name) else { return };
        waits.retain(|waits| *waits != slot);
    }

    /// The slots of tasks that wait for something on `name`.
    #[cfg(feature = "tokio")]
    fn waits(&mut self, name: Handle) -> Option<&mut Vec<Handle>> {
        if self.names.get(name).is_some() {
            return self.link(name).map(|link| &mut link.waits);
        }
        self.names.listener_mut(name).map(|listener| &mut listener.waits)
    }

    /// Takes the next association on which something happened since it was last taken. The first
    /// call takes all of them into account.
    pub(crate) fn take_changed(&mut self) -> Option<Handle> {
        let Mailbox { changed, names, .. } = self;
        let changed = changed.get_or_insert_with(|| names.iter().map(|(name, _)| name).collect());
        while let Some(name) = changed.pop_front() {
            if let Some(link) = names.get_mut(name) {
                link.is_listed = false;
                return Some(name);
            }
        }
        None
    }

    /// Lists an association on which something happened, once. Of those that the application has
    /// dropped meanwhile, no more stay listed than there are others.
    #[inline]
    fn list(&mut self, name: Handle) {
        let Mailbox { changed: Some(changed), names, .. } = self else { return };
        if let Some(link) = names.get_mut(name)
            && !mem::replace(&mut link.is_listed, true)
        {
            if changed.len() >= LISTED_LEAST.max(2 * names.len()) {
                changed.retain(|name| names.get(*name).is_some());
            }
            changed.push_back(name);
        }
    }

    #[inline]
    fn wake(&mut self, name: Handle) {
        self.list(name);
        if let Some(link) = self.names.get(name) {
            self.woken.extend_from_slice(&link.waits);
        } else if let Some(listener) = self.names.listener(name) {
            self.woken.extend_from_slice(&listener.waits);
        }
    }

    fn on_indication(&mut self, word: AssociationIndication<V>) {
        self.told = true;
        match word {
            AssociationIndication::Listening { listener, local } => {
                if let Some(listens) = self.names.listener_mut(listener)
                    && listens.local.is_ok()
                {
                    listens.local = Ok(Some(local));
                    self.listener = Some(listener);
                    self.await_arrivals();
                }
                self.wake(listener);
            }
            AssociationIndication::Opened { association: name, local, remote, credit, path } => {
                if self.names.arrived(name, || Box::new(Link::new())).is_some() {
                    self.arrived.push_back(name);
                }
                let Some(link) = self.link(name) else { return };
                link.opened((local, remote), path, Self::down(credit));
                events::opened(name, (local, remote));
                self.wake(name);
                match self.listener {
                    Some(listener) => self.wake(listener),
                    // It arrived while the listener was being closed.
                    None if self.arrived.back() == Some(&name) => {
                        self.arrived.pop_back();
                        self.abandon(name);
                    }
                    None => {}
                }
            }
            AssociationIndication::Credit { association, credit } => {
                if let Some(link) = self.link(association) {
                    link.given_back(Self::down(credit));
                    self.wake(association);
                }
            }
            AssociationIndication::Delivered { association, batch, properties } => {
                self.delivered(association, batch, V::told(properties));
            }
            AssociationIndication::Changed { association, path } => {
                if let Some(link) = self.link(association) {
                    link.path = path;
                }
            }
            AssociationIndication::Controlled { association, outcome } => {
                if let Some(Link { commands: Some(commands), .. }) = self.link(association) {
                    commands.answer(outcome);
                    self.wake(association);
                }
            }
            AssociationIndication::Reported { .. } | AssociationIndication::Ending { .. } => {}
            AssociationIndication::Told { notice, .. } => match notice {},
            AssociationIndication::Finished { association } => {
                if let Some(link) = self.link(association) {
                    link.finished = true;
                    self.wake(association);
                }
            }
            AssociationIndication::Ended { name, why } => self.ended(name, why),
        }
    }

    #[inline]
    fn delivered(
        &mut self,
        association: Handle,
        messages: Batch<V::Message>,
        properties: MessageProperties,
    ) {
        match self.link(association) {
            Some(link) if !link.abandoned => {
                link.delivered(messages, properties);
                self.wake(association);
            }
            // The peer still sends what will never be read, and has to know.
            Some(link) if link.state == State::Finishing => {
                link.state = State::Closing;
                self.asks.push(Self::ending(association));
            }
            _ => {}
        }
    }

    fn ended(&mut self, name: Handle, why: Ended) {
        self.wake(name);
        if let Some(link) = self.link(name) {
            events::ended(name, why);
            if let Some(qlog) = &mut link.qlog {
                qlog.ended(why);
                self.logged.retain(|logged| *logged != name);
            }
        }
        let listener = self.names.listener_mut(name);
        if let Some(listener) = listener.filter(|listener| listener.local.is_ok()) {
            listener.local = Err(why);
            self.listener = None;
        } else if let Some(link) = self.names.get_mut(name).filter(|link| !link.abandoned) {
            link.state = State::Ended(why);
        } else {
            self.names.forget(name);
        }
    }
}

impl<V: Offered, P: Protocol<Provides = V>> Outlet<P> for Mailbox<V> {
    #[inline]
    fn indicate(&mut self, indication: AssociationIndication<V>) {
        self.on_indication(indication);
    }

    fn request(&mut self, _nothing_is_below: RequestOf<P>) {}
}

#[cfg(test)]
mod tests {
    use stackwright_contract::PathLimits;
    use stackwright_contract::services::{Datagrams, DatagramsRequest};
    use stackwright_wire::BufferTree;

    use super::*;

    #[test]
    fn associations_are_listed_once_and_dropped_ones_do_not_stay() {
        let mut mailbox = Mailbox::<Datagrams<BufferTree>>::new(Credit::default(), 0);
        let happens = |mailbox: &mut Mailbox<_>, association| {
            mailbox.on_indication(AssociationIndication::Credit {
                association,
                credit: Credit { octets: 1, messages: 1 },
            });
        };
        let [one, other] = [0, 1].map(|_| mailbox.open(Participant::OTHER_END));
        let all: Vec<_> = std::iter::from_fn(|| mailbox.take_changed()).collect();
        assert_eq!(all, [one, other], "at first");
        for name in [other, one, other] {
            happens(&mut mailbox, name);
        }
        assert_eq!(mailbox.take_changed(), Some(other));
        happens(&mut mailbox, other);
        let rest: Vec<_> = std::iter::from_fn(|| mailbox.take_changed()).collect();
        assert_eq!(rest, [one, other]);
        for _ in 0..1000 {
            let name = mailbox.open(Participant::OTHER_END);
            happens(&mut mailbox, name);
            mailbox.abandon(name);
            mailbox.ended(name, Ended::Finished);
        }
        assert!(mailbox.changed.as_ref().is_some_and(|listed| listed.len() <= LISTED_LEAST));
        assert_eq!(mailbox.take_changed(), None);
    }

    #[test]
    fn what_happened_on_an_arrival_is_listed_when_it_is_accepted() {
        let mut mailbox = Mailbox::<Datagrams<BufferTree>>::new(Credit::default(), 1);
        let (local, remote) = (Participant::OTHER_END, Participant::OTHER_END);
        let listener = mailbox.listen(local);
        mailbox.on_indication(AssociationIndication::Listening { listener, local });
        let awaited = mailbox.asks.iter().find_map(|ask| match ask {
            AssociationRequest::Await { association, .. } => Some(*association),
            _ => None,
        });
        let association = awaited.expect("one is awaited");
        let (credit, path) = (Credit::default(), PathLimits::UNBOUNDED);
        mailbox.on_indication(AssociationIndication::Opened {
            association,
            local,
            remote,
            credit,
            path,
        });
        while mailbox.take_changed().is_some() {}
        assert!(matches!(mailbox.arrival(listener), Some(Ok(name)) if name == association));
        assert_eq!(mailbox.take_changed(), Some(association));
    }

    #[test]
    fn what_is_taken_in_a_row_is_one_word() {
        let mut mailbox = Mailbox::<Datagrams<BufferTree>>::new(Credit::default(), 0);
        let [one, other] = [0, 1].map(|index| Handle { index, generation: 0 });
        let credit = |octets| Credit { octets, messages: 1 };
        for (name, octets) in [(one, 1), (one, 20), (other, 300), (other, 4000), (one, 50_000)] {
            mailbox.takes_more(name, credit(octets));
        }
        let said: Vec<_> = mailbox
            .asks
            .iter()
            .map(|ask| match ask {
                DatagramsRequest::Credit { association, credit } => {
                    (*association, credit.octets, credit.messages)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(said, [(one, 21, 2), (other, 4300, 2), (one, 50_000, 1)]);
    }
}
