//! The associations below: shared by all associations above that have the same peer, and counted.

use alloc::vec::Vec;

use stackwright_contract::services::{
    AssociationRequest, Batch, Credit, CreditBack, CreditGate, OwedCredit, PropertiesOf,
    QueuedBatch, Transfer,
};
use stackwright_contract::{
    Address, Arrivals, Context, Handle, Mirror, Names, Outlet, Participant, PathLimits,
};

use super::{Hooks, Layer, ListenKey, MessageOf, Turns, charged};
use crate::map::{ChainedHash, Keyed, Map, MapKind};

/// A listener below, shared by all enable objects that listen at the same address; without any, its
/// last indication is awaited.
pub(super) struct Listener<K> {
    /// The address that was requested.
    asked: Participant,
    /// The address at which it listens.
    pub(super) local: Option<Participant>,
    pub(super) enabled: Vec<K>,
    /// Whether it stays without any: strangers are heard there.
    stays: bool,
    /// How many names wait above. Each arrival may be a new peer below.
    pub(super) wanted: usize,
}

pub(super) struct Association<T: Transfer> {
    pub(super) remote: Participant,
    /// The listener through which it arrived; `None` for one that we opened.
    pub(super) listener: Option<Handle>,
    /// The names above that use it.
    pub(super) users: Vec<Handle>,
    /// The own address that was asked for, and the one that it has.
    asked: Option<Participant>,
    pub(super) local: Option<Participant>,
    /// The limits of its path.
    pub(super) path: PathLimits,
    /// The names above that wait for more credit.
    pub(super) wanting: Turns,
    gate: CreditGate<T>,
    /// The octets and messages of the credit when nothing is on its way, saturated at 32 bits.
    room_most: [u32; 2],
    /// What was delivered since credit was last given back. A driver that receives much in one
    /// system call has credit for all of it.
    used: OwedCredit,
    /// Whether the half is to be closed once nothing waits, and this was not requested yet.
    finishing: bool,
}

/// The own address, where one was asked for, and the peer's.
type Ends = (Option<Participant>, Participant);

pub(super) struct Lowers<H: Hooks> {
    /// The names given to the layer below, until their last indication.
    pub(super) names: Arrivals<Listener<H::PassiveKey>, (), Names<()>>,
    /// What is open, or being opened, and still used: sending and delivering read only this.
    associations: Mirror<Association<H::Uses>>,
    by_ends: <ChainedHash<Keyed> as MapKind>::Of<Ends, Handle>,
    /// Associations that had no users in this batch: they are closed at its end, unless what came
    /// meanwhile uses them.
    unused: Vec<Handle>,
}

impl<H: Hooks> Lowers<H> {
    pub(super) fn new(seed: u64) -> Self {
        Lowers {
            names: Arrivals::default(),
            associations: Mirror::default(),
            by_ends: Map::new(seed),
            unused: Vec::new(),
        }
    }

    #[inline(always)]
    pub(super) fn association(&mut self, name: Handle) -> Option<&mut Association<H::Uses>> {
        self.associations.get_mut(name)
    }

    /// Returns whether no message waits for credit below.
    pub(super) fn have_sent_all(&self) -> bool {
        self.associations.iter().all(|(_, association)| association.gate.is_idle())
    }

    /// Returns how much may be sent now: nothing if the association is not open, or messages wait.
    pub(super) fn room(&self, name: Handle) -> Credit {
        self.associations.get(name).map_or(Credit::NONE, |association| association.gate.free())
    }

    /// Returns how much may be sent when nothing is on its way.
    pub(super) fn room_most(&self, name: Handle) -> Credit {
        let [octets, messages] =
            self.associations.get(name).map_or([0; 2], |association| association.room_most);
        Credit { octets: octets as usize, messages: messages as usize }
    }

    /// Records that a peer arrived, under a name that waited for it.
    pub(super) fn arrived(
        &mut self,
        name: Handle,
        remote: Participant,
        local: Participant,
        path: PathLimits,
        credit: Credit,
    ) {
        let mut association = Association::new(remote);
        association.listener = self.names.arrived(name, || ());
        self.associations.insert(name, association);
        self.opened(name, local, path, credit);
    }

    /// Records that an association is open; returns whether it is still used.
    pub(super) fn opened(
        &mut self,
        name: Handle,
        local: Participant,
        path: PathLimits,
        credit: Credit,
    ) -> bool {
        let Some(association) = self.association(name) else { return false };
        association.opened(local, path, credit);
        let remote = association.remote;
        // Where there are no ports, two hosts have one association, whoever began it.
        if remote.internet().is_none() {
            for ends in [(None, remote), (Some(local), remote)] {
                if self.shared(ends).is_none() {
                    self.by_ends.install(ends, name);
                }
            }
        }
        true
    }

    /// Removes an association that has ended, whether or not its last indication has come.
    pub(super) fn forget(&mut self, name: Handle) -> Option<Association<H::Uses>> {
        let association = self.associations.remove(name)?;
        for local in [None, association.asked, association.local] {
            let ends = (local, association.remote);
            if self.by_ends.resolve(&ends) == Some(name) {
                self.by_ends.erase(&ends);
            }
        }
        Some(association)
    }

    pub(super) fn listener(&mut self, name: Handle) -> Option<&mut Listener<H::PassiveKey>> {
        self.names.listener_mut(name).filter(|listener| listener.is_used())
    }

    /// Returns the listener at `asked`, for the enable object of `key` too; it is requested if
    /// there is none.
    pub(super) fn listen(
        &mut self,
        asked: Participant,
        key: H::PassiveKey,
        out: &mut impl Outlet<Layer<H>>,
    ) -> Handle {
        // A request for any port asks for a port of its own.
        let any = asked.internet().is_some_and(|address| address.port() == 0);
        let listens = |at: &Listener<H::PassiveKey>| at.asked == asked && at.is_used();
        let there = self.names.listeners().find(|(_, at)| !any && listens(at));
        if let Some((name, _)) = there
            && let Some(listener) = self.listener(name)
        {
            if !listener.enabled.contains(&key) {
                listener.enabled.push(key);
            }
            return name;
        }
        self.request_listener(asked, Vec::from([key]), false, out)
    }

    /// Hears strangers at `asked` from now on.
    #[cold]
    pub(super) fn hear(&mut self, asked: Participant, out: &mut impl Outlet<Layer<H>>) {
        let name = self.request_listener(asked, Vec::new(), true, out);
        self.await_below(name, out);
    }

    fn request_listener(
        &mut self,
        asked: Participant,
        enabled: Vec<H::PassiveKey>,
        stays: bool,
        out: &mut impl Outlet<Layer<H>>,
    ) -> Handle {
        let name = self.names.listen(Listener { asked, local: None, enabled, stays, wanted: 0 });
        out.request(AssociationRequest::Listen { listener: name, local: asked });
        name
    }

    /// Returns whether a listener has an enable object for `key`.
    pub(super) fn is_listener_of(&self, name: Handle, key: &H::PassiveKey) -> bool {
        self.names.listener(name).is_some_and(|at| at.enabled.contains(key))
    }

    /// Returns a listener that has an enable object for `key`, for what comes to `local`.
    pub(super) fn listener_of(&self, key: &H::PassiveKey, local: Participant) -> Option<Handle> {
        let listens = |at: &Listener<_>| at.enabled.contains(key) && takes(at.asked, local);
        self.names.listeners().find(|(_, at)| listens(at)).map(|(name, _)| name)
    }

    /// Returns whether a listener has an enable object for `key` at an address of `asked`.
    pub(super) fn is_taken(&self, asked: Participant, key: &H::PassiveKey) -> bool {
        self.names.listeners().any(|(_, at)| at.enabled.contains(key) && at.asked == asked)
    }

    /// Removes an enable object without listeners above; with the last one of an address, the
    /// listener below is closed.
    pub(super) fn unlisten(&mut self, (name, key): &ListenKey<H>, out: &mut impl Outlet<Layer<H>>) {
        let name = *name;
        let Some(listener) = self.listener(name) else { return };
        listener.enabled.retain(|enabled| enabled != key);
        if !listener.is_used() {
            out.request(AssociationRequest::Close { name });
        }
    }

    /// Has as many names wait below as above; and one more, where surplus arrivals are refused.
    pub(super) fn await_below(&mut self, name: Handle, out: &mut impl Outlet<Layer<H>>) {
        let Some(&mut Listener { wanted, .. }) = self.listener(name) else { return };
        let credit = charged::<H::Uses>(Credit::ROOM);
        while self.names.awaited(name) < wanted + H::AWAITS
            && let Some(association) = self.names.expect(name, credit)
        {
            out.request(AssociationRequest::Await { listener: name, association, credit });
        }
    }

    /// Returns the association between `ends`, of which `user` is a user; it is requested if there
    /// is none.
    pub(super) fn share(
        &mut self,
        ends: Ends,
        user: Handle,
        out: &mut impl Outlet<Layer<H>>,
    ) -> Handle {
        match self.shared(ends) {
            Some(name) if self.join(name, user) => name,
            _ => self.open(ends, user, out),
        }
    }

    /// Returns the association between `ends` that those above share.
    pub(super) fn shared(&self, ends: Ends) -> Option<Handle> {
        self.by_ends.resolve(&ends)
    }

    /// Requests an association between `ends`, which is shared from now on; one that was shared
    /// before keeps its users.
    pub(super) fn open(
        &mut self,
        (local, remote): Ends,
        user: Handle,
        out: &mut impl Outlet<Layer<H>>,
    ) -> Handle {
        let mut association = Association::new(remote);
        association.asked = local;
        association.uses(user);
        let name = self.names.open(|_| ());
        self.associations.insert(name, association);
        self.by_ends.install((local, remote), name);
        let credit = charged::<H::Uses>(Credit::ROOM);
        out.request(AssociationRequest::Open { association: name, remote, credit, local });
        name
    }

    /// Adds a user of the association, if it exists.
    pub(super) fn join(&mut self, name: Handle, user: Handle) -> bool {
        let Some(association) = self.association(name) else { return false };
        association.uses(user);
        true
    }

    /// Forgets a user. An association without users is closed at the end of the batch.
    pub(super) fn release(&mut self, name: Handle, user: Handle) {
        let Some(association) = self.association(name) else { return };
        if let Some(place) = association.users.iter().position(|name| *name == user) {
            association.users.swap_remove(place);
        }
        self.look_whether_used(name);
    }

    fn is_unused(&mut self, name: Handle) -> bool {
        self.association(name)
            .is_some_and(|association| association.users.is_empty() && association.gate.is_idle())
    }

    /// Remembers the association if it has no users, and nothing waits to be sent: the next message
    /// of the batch may be the first of another one of the same peer.
    pub(super) fn look_whether_used(&mut self, name: Handle) {
        if self.is_unused(name) && self.unused.last() != Some(&name) {
            self.unused.push(name);
        }
    }

    /// Returns whether associations may have to be closed at the end of the batch.
    pub(super) fn has_unused(&self) -> bool {
        !self.unused.is_empty()
    }

    /// Closes the associations that still have no users, and for which nothing waits to be sent.
    pub(super) fn close_unused(&mut self, out: &mut impl Outlet<Layer<H>>) {
        while let Some(name) = self.unused.pop() {
            if !self.is_unused(name) {
                continue;
            }
            self.forget(name);
            out.request(AssociationRequest::Close { name });
        }
    }

    /// Closes the sending half behind what waits.
    #[cold]
    pub(super) fn finish(&mut self, name: Handle, out: &mut impl Outlet<Layer<H>>) {
        let Some(association) = self.association(name) else { return };
        association.finishing = true;
        self.say_finish(name, out);
    }

    fn say_finish(&mut self, name: Handle, out: &mut impl Outlet<Layer<H>>) {
        if let Some(association) = self.association(name)
            && association.finishing
            && association.gate.is_idle()
        {
            association.finishing = false;
            out.request(AssociationRequest::Finish { association: name });
        }
    }

    /// Sends a message, or several in one request; returns them if there is no credit for all of
    /// them yet, or others wait already.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        name: Handle,
        batch: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Uses>,
        out: &mut impl Outlet<Layer<H>>,
    ) -> Result<(), Batch<MessageOf<H>>> {
        let cost = H::Uses::cost(&batch);
        if !self.association(name).is_some_and(|association| association.gate.pass(cost)) {
            return Err(batch);
        }
        out.request(AssociationRequest::Send { association: name, batch, properties });
        Ok(())
    }

    /// Queues a message until there is credit; `back` then gets credit back. A message for which no
    /// name gets credit back is not bounded by the layer above: if much waits already, it is
    /// dropped.
    #[cold]
    pub(super) fn queue(
        &mut self,
        cx: &Context,
        name: Handle,
        batch: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Uses>,
        back: CreditBack,
    ) {
        let queued = QueuedBatch { batch, properties, back };
        if !self.association(name).is_some_and(|association| association.gate.wait(queued)) {
            cx.dropped(H::FACTS.name, "a message of our own for which there is no room below");
        }
    }

    /// Adds credit below: waiting messages leave, and `back` is told which names get their credit
    /// back. Returns whether a name waits for credit.
    #[inline]
    pub(super) fn more_room<O: Outlet<Layer<H>>>(
        &mut self,
        name: Handle,
        credit: Credit,
        out: &mut O,
        back: impl FnMut(Handle, Credit, &mut O),
    ) -> bool {
        let Some(association) = self.association(name) else { return false };
        association.gate.allow(credit);
        let wanted = !association.wanting.is_empty();
        if !association.gate.is_idle() {
            self.send_backlog(name, out, back);
        }
        wanted
    }

    #[cold]
    fn send_backlog<O: Outlet<Layer<H>>>(
        &mut self,
        name: Handle,
        out: &mut O,
        mut back: impl FnMut(Handle, Credit, &mut O),
    ) {
        let Some(association) = self.association(name) else { return };
        while let Some(QueuedBatch { batch, properties, back: whose }) =
            association.gate.next_ready()
        {
            out.request(AssociationRequest::Send { association: name, batch, properties });
            if let Some((above, credit)) = whose {
                back(above, credit, out);
            }
        }
        self.say_finish(name, out);
        self.look_whether_used(name);
    }
}

impl<K> Listener<K> {
    fn is_used(&self) -> bool {
        self.stays || !self.enabled.is_empty()
    }
}

/// Returns whether what listens at `asked` takes what comes to the own address `local`: of layers
/// without ports, all hosts have an address that stands for any.
fn takes(asked: Participant, local: Participant) -> bool {
    match (asked.address, local.address) {
        (
            Address::InternetProtocol { host: asked, .. },
            Address::InternetProtocol { host: local, .. },
        ) => asked.is_unspecified() || asked == local,
        _ => true,
    }
}

impl<T: Transfer> Association<T> {
    pub(super) fn new(remote: Participant) -> Self {
        Association {
            remote,
            listener: None,
            users: Vec::new(),
            asked: None,
            local: None,
            path: PathLimits::UNBOUNDED,
            wanting: Turns::default(),
            gate: CreditGate::default(),
            room_most: [0; 2],
            used: OwedCredit::default(),
            finishing: false,
        }
    }

    pub(super) fn opened(&mut self, local: Participant, path: PathLimits, credit: Credit) {
        (self.local, self.path) = (Some(local), path);
        self.gate.allow(credit);
        self.room_most = [credit.octets, credit.messages]
            .map(|credit| u32::try_from(credit).unwrap_or(u32::MAX));
    }

    /// Adds a user. Nearly all associations have one.
    pub(super) fn uses(&mut self, user: Handle) {
        if self.users.capacity() == 0 {
            self.users.reserve_exact(1);
        }
        self.users.push(user);
    }

    /// Counts what was delivered: its credit is given back once it is worth a request.
    #[inline]
    pub(super) fn delivered<H: Hooks<Uses = T>>(
        &mut self,
        itself: Handle,
        credit: Credit,
        out: &mut impl Outlet<Layer<H>>,
    ) {
        if let Some(credit) = self.used.add(credit) {
            Self::give_back(itself, credit, out);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back<H: Hooks<Uses = T>>(
        association: Handle,
        credit: Credit,
        out: &mut impl Outlet<Layer<H>>,
    ) {
        out.request(AssociationRequest::Credit { association, credit });
    }

    /// Returns the next name that waits for credit, while there is some.
    pub(super) fn next_wanting(&mut self) -> Option<Handle> {
        let Credit { octets, messages } = self.gate.free();
        if octets > 0 && (messages > 0 || !T::MESSAGES) { self.wanting.next() } else { None }
    }
}
