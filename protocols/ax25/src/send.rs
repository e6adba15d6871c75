//! Downward: which frame leaves next. Frames of others that are repeated, and answers, come first;
//! then UI frames; then links, in turn, a burst each.

use stackwright_contract::services::{Credit, DatagramsIndication, FramesRequest};
use stackwright_contract::{CallSign, Context, Handle};
use stackwright_wire::Message;

use crate::header::{Addresses, ControlField, DigipeaterPath, HEAD_MOST, Head, Modulus};
use crate::link::{Act, Env, HEADROOM, Link};
use crate::{Ax25, Config, NAME, Out};

/// Answers and repeated frames that may wait; the others ask again.
const REPLIES_MOST: usize = 64;
/// Octets of a control field and a protocol identifier.
const CONTROL_MOST: usize = 3;
/// Marks that may be under way: what a TNC forgets is forgotten here, too.
const MARKS_MOST: usize = 1024;

/// A frame that waits for the TNC: a U frame, or one of another station.
pub(crate) struct Queued<M> {
    pub(crate) port: u8,
    pub(crate) addresses: Addresses,
    pub(crate) control: ControlField,
    pub(crate) pid: Option<u8>,
    pub(crate) information: Option<M>,
    /// The link whose T1 starts when it has left.
    pub(crate) timed: Option<Handle>,
}

/// A frame that waits for the TNC.
pub(crate) enum Reply<M> {
    Own(Queued<M>),
    /// One that is given: everything behind its addresses is as it came.
    Given {
        port: u8,
        addresses: Addresses,
        rest: M,
    },
}

/// Where a frame goes.
enum Course {
    /// To another call sign of this station.
    Within,
    /// To the TNC, as one of this station.
    Out,
    /// To the TNC, as one that was heard.
    Repeated,
}

impl Course {
    fn of(config: &Config, destination: CallSign, path: &DigipeaterPath) -> Self {
        match path.is_empty() {
            true if config.owns(destination) => Course::Within,
            false if path.iter().any(|(_, repeated)| repeated) => Course::Repeated,
            _ => Course::Out,
        }
    }
}

/// A frame of the layer above: UI, or a raw one.
pub(crate) struct Unacknowledged<M> {
    pub(crate) frame: Reply<M>,
    /// Who sent it, and what is given back when it is handed on.
    pub(crate) association: Handle,
    pub(crate) credit: Credit,
}

impl<M> Reply<M> {
    /// Returns the link that asks with it.
    fn asks_for(&self) -> Option<Handle> {
        match self {
            Reply::Own(queued) => queued.timed,
            Reply::Given { .. } => None,
        }
    }

    pub(crate) fn port(&self) -> u8 {
        match self {
            Reply::Own(Queued { port, .. }) | Reply::Given { port, .. } => *port,
        }
    }
}

impl<M: Message> Ax25<M> {
    pub(crate) fn env<'a>(
        cx: &'a Context,
        config: &'a crate::Config,
        pool: &'a stackwright_wire::Pool<M>,
        acts: &'a mut alloc::collections::VecDeque<Act<M>>,
    ) -> Env<'a, M> {
        Env { cx, config, pool, acts }
    }

    /// Has a link do something, and does what it says.
    pub(crate) fn with_link<R>(
        &mut self,
        cx: &Context,
        name: Handle,
        out: Out<'_, M>,
        ask: impl FnOnce(&mut Link<M>, &mut Env<'_, M>) -> R,
    ) -> Option<R> {
        let link = self.links.get_mut(name)?;
        let above = link.above;
        let mut env = Env { cx, config: &self.config, pool: &self.pool, acts: &mut self.acts };
        let answer = ask(link, &mut env);
        self.perform(cx, name, above, out);
        Some(answer)
    }

    /// Does what a link says.
    pub(crate) fn perform(
        &mut self,
        cx: &Context,
        name: Handle,
        above: Option<Handle>,
        out: Out<'_, M>,
    ) {
        use stackwright_contract::services::StreamsIndication as Told;
        self.due = true;
        while let Some(act) = self.acts.pop_front() {
            match (act, above) {
                (Act::Say { kind, role, poll, information, timed }, _) => {
                    let Some(link) = self.links.get(name) else { continue };
                    let queued = Queued {
                        port: link.key.port,
                        addresses: link.addresses(role),
                        control: ControlField::unnumbered(kind, poll),
                        pid: None,
                        information,
                        timed: timed.then_some(name),
                    };
                    self.reply(cx, queued);
                }
                (_, None) => {} // nobody hears of it any more
                (Act::Opened, Some(association)) => self.opened(association, name, out),
                (Act::Deliver(octets), Some(association)) => {
                    let (batch, properties) = (octets.into(), Default::default());
                    Self::tell(out, Told::Delivered { association, batch, properties });
                }
                (Act::Credit(octets), Some(association)) => {
                    let credit = Credit::of_octets(octets);
                    Self::tell(out, Told::Credit { association, credit });
                }
                (Act::Finished, Some(association)) => {
                    Self::tell(out, Told::Finished { association });
                }
                (Act::Ended(why), Some(association)) => {
                    if let Some(link) = self.links.get_mut(name) {
                        link.above = None;
                    }
                    self.end_stream(association, why, out);
                }
            }
        }
        let Some(link) = self.links.get(name).filter(|link| link.is_over()) else { return };
        let (remote, learned) = (link.key.remote, link.learned());
        self.links.forget(name);
        self.learn(remote, learned);
    }

    /// Queues a frame that answers, or asks to open or to release.
    pub(crate) fn reply(&mut self, cx: &Context, queued: Queued<M>) {
        if queued.information.as_ref().map_or(0, M::len) > self.config.longest {
            return cx.dropped(NAME, "an answer that is too long"); // to TEST
        }
        // What is timed is bounded by the number of links.
        if queued.timed.is_none() && self.replies.len() >= REPLIES_MOST {
            return cx.dropped(NAME, "an answer beyond those that wait");
        }
        if let Some(link) = queued.timed {
            // What the link asked before, and was not sent, is of no use any more.
            self.replies.retain(|reply| reply.asks_for() != Some(link));
        }
        self.replies.push_back(Reply::Own(queued));
        self.due = true;
    }

    /// Queues a frame of another station.
    pub(crate) fn repeat(&mut self, cx: &Context, port: u8, addresses: Addresses, rest: M) {
        if rest.len() > self.config.longest + CONTROL_MOST {
            return cx.dropped(NAME, "a frame to be repeated that is too long");
        }
        if self.replies.len() >= REPLIES_MOST {
            return cx.dropped(NAME, "a frame to be repeated beyond those that wait");
        }
        // Behind those that are repeated before it, and before answers.
        let is_answer = |reply: &Reply<M>| matches!(reply, Reply::Own(_));
        let place = self.replies.iter().position(is_answer).unwrap_or(self.replies.len());
        self.replies.insert(place, Reply::Given { port, addresses, rest });
        self.due = true;
    }

    /// Hands frames on, as far as there is credit.
    pub(crate) fn transmit(&mut self, cx: &Context, out: Out<'_, M>) {
        self.due = false;
        for port in 0..self.ports.len() as u8 {
            if self.is_up(port) {
                self.transmit_on(cx, port, out);
            }
        }
    }

    fn transmit_on(&mut self, cx: &Context, port: u8, out: Out<'_, M>) {
        while let Some(place) = self.replies.iter().position(|reply| reply.port() == port)
            && self.fits(port)
        {
            if let Some(reply) = self.replies.remove(place) {
                self.send_reply(cx, reply, out);
            }
        }
        while let Some(place) = self.ui.iter().position(|queued| queued.frame.port() == port)
            && self.fits(port)
            && let Some(queued) = self.ui.remove(place)
        {
            let Unacknowledged { frame, association, credit } = queued;
            self.send_reply(cx, frame, out);
            if self.datagrams.lives(association) {
                let told = DatagramsIndication::Credit { association, credit };
                Self::tell_datagrams(out, told);
            }
        }
        for _ in 0..self.links.len() {
            let turn = self.ports[usize::from(port)].turn;
            let Some(name) = self.links.at(turn).or_else(|| self.links.at(0)) else { break };
            let is_here = self.links.get(name).is_some_and(|link| link.key.port == port);
            if is_here && !self.send_burst(cx, name, out) {
                break; // it goes on with this one
            }
            self.ports[usize::from(port)].turn = (turn + 1) % self.links.len().max(1);
        }
    }

    /// Sends what one link has to say. Returns `false` where there is no more credit.
    fn send_burst(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) -> bool {
        loop {
            let Some(link) = self.links.get(name).filter(|link| link.wants_to_send()) else {
                if self.links.get(name).is_some_and(Link::is_releasable) {
                    self.with_link(cx, name, out, Link::release_when_drained);
                }
                return true;
            };
            let port = link.key.port;
            if !self.fits(port) {
                return false;
            }
            let Some(link) = self.links.get_mut(name) else { return true };
            let mut env = Env { cx, config: &self.config, pool: &self.pool, acts: &mut self.acts };
            let course = Course::of(env.config, link.key.remote, &link.path);
            let Some(frame) = link.next_frame(&mut env) else { return true };
            let timed = frame.timed.then_some(name);
            self.hand_on(cx, port, frame.octets, (course, timed), out);
        }
    }

    /// Returns whether any frame of this station may be handed on.
    fn fits(&self, port: u8) -> bool {
        let longest = Credit { octets: HEAD_MOST + self.config.longest, messages: 1 };
        self.ports.get(usize::from(port)).is_some_and(|port| port.credit.covers(longest))
    }

    fn send_reply(&mut self, cx: &Context, reply: Reply<M>, out: Out<'_, M>) {
        match reply {
            Reply::Own(queued) => self.send_queued(cx, queued, out),
            Reply::Given { port, addresses, rest } => {
                let mut octets = [0; HEAD_MOST];
                let length = addresses.encode(&mut octets);
                let mut frame = rest;
                frame.push_front(length).copy_from_slice(&octets[..length]);
                let course = Course::of(&self.config, addresses.destination, &addresses.path);
                self.hand_on(cx, port, frame, (course, None), out);
            }
        }
    }

    fn send_queued(&mut self, cx: &Context, queued: Queued<M>, out: Out<'_, M>) {
        let Queued { port, addresses, control, pid, information, timed, .. } = queued;
        let head = Head::new(&addresses, control, Modulus::Eight, pid);
        let mut frame =
            information.unwrap_or_else(|| M::from_block(self.pool.take(), HEADROOM, HEADROOM));
        let octets = head.as_octets();
        frame.push_front(octets.len()).copy_from_slice(octets);
        let course = Course::of(&self.config, addresses.destination, &addresses.path);
        self.hand_on(cx, port, frame, (course, timed), out);
    }

    fn hand_on(
        &mut self,
        cx: &Context,
        port: u8,
        frame: M,
        (course, timed): (Course, Option<Handle>),
        out: Out<'_, M>,
    ) {
        let says_left = self.ports[usize::from(port)].says_left;
        let mark = timed.map(|link| {
            self.mark = self.mark.wrapping_add(1);
            if self.marks.len() >= MARKS_MOST {
                self.marks.pop_front();
            }
            self.marks.push_back((port, self.mark, link));
            if let Some(link) = self.links.get_mut(link) {
                link.marked(self.mark, says_left, cx.now(), &self.config);
            }
            self.mark
        });
        match course {
            Course::Within => return self.looped.push_back((port, frame, mark)),
            Course::Out => self.hear_raw(port, &frame, out),
            Course::Repeated => {} // it was heard
        }
        self.ports[usize::from(port)].credit -= Credit { octets: frame.len(), messages: 1 };
        out.request(FramesRequest::Send { port, batch: frame.into(), mark });
    }

    /// Delivers frames from one call sign of the station to another, none of which is transmitted.
    pub(crate) fn deliver_looped(&mut self, cx: &Context, out: Out<'_, M>) {
        while let Some((port, frame, mark)) = self.looped.pop_front() {
            if let Some(mark) = mark {
                self.on_left(cx, port, mark);
            }
            let mut octets = [0; HEAD_MOST];
            let length = frame.copy_to(&mut octets);
            if let Ok((addresses, at)) = Addresses::decode(&octets[..length]) {
                self.on_arrived(cx, port, addresses, at, frame, out);
            }
        }
    }

    /// A frame has left the antenna.
    pub(crate) fn on_left(&mut self, cx: &Context, port: u8, mark: u16) {
        let there = self.marks.iter().position(|(at, its, _)| (*at, *its) == (port, mark));
        let Some((_, _, link)) = there.and_then(|there| self.marks.remove(there)) else {
            return cx.dropped(NAME, "a mark that was not given");
        };
        if let Some(link) = self.links.get_mut(link) {
            link.left(mark, cx.now());
        }
    }
}
