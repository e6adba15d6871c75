//! The face of streams: connected octets.

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Address, Context, Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::header::{DigipeaterPath, Modulus, pid};
use crate::link::{Key, Link};
use crate::{Ax25, NAME, Out};

impl<M: Message> Ax25<M> {
    pub(crate) fn tell(out: Out<'_, M>, indication: StreamsIndication<M>) {
        out.indicate(stackwright_contract::Either::Left(indication));
    }

    /// Says the last words of a name, and of those that wait at it.
    pub(crate) fn end_stream(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        self.streams.end(name, why).for_each(|word| Self::tell(out, word));
    }

    pub(crate) fn on_streams(&mut self, cx: &Context, request: StreamsRequest<M>, out: Out<'_, M>) {
        match request {
            StreamsRequest::Listen { listener, local } => self.listen(listener, local, out),
            StreamsRequest::Await { listener, association, credit } => {
                let refused = self.streams.expect(listener, association, credit);
                refused.into_iter().for_each(|word| Self::tell(out, word));
            }
            StreamsRequest::Open { association, remote, local, credit } => {
                if let Err(why) = self.open(cx, association, remote, local, credit, out) {
                    Self::tell(out, StreamsIndication::Ended { name: association, why });
                }
            }
            StreamsRequest::Send { association, batch, properties: _ } => {
                self.ask_link(cx, association, out, |link, env| {
                    link.push(batch.into_octets(), env);
                });
            }
            StreamsRequest::Credit { association, credit } => {
                self.ask_link(cx, association, out, |link, env| link.give(credit.octets, env));
            }
            StreamsRequest::Control { association, command } => {
                if self.streams.lives(association) {
                    let outcome = self.routes.command(command);
                    Self::tell(out, StreamsIndication::Controlled { association, outcome });
                }
            }
            StreamsRequest::Finish { association } => {
                self.ask_link(cx, association, out, |link, env| link.finish(env));
            }
            StreamsRequest::Abort { association, .. } => {
                self.end(cx, association, Ended::Aborted, out);
            }
            StreamsRequest::Close { name } => self.close(cx, name, out),
        }
    }

    fn ask_link(
        &mut self,
        cx: &Context,
        name: Handle,
        out: Out<'_, M>,
        ask: impl FnOnce(&mut Link<M>, &mut crate::link::Env<'_, M>),
    ) {
        // Before an arrival there is only credit to give.
        let Some(link) = self.streams.get(name).copied() else {
            return cx.dropped(NAME, "a word for a name that is not open");
        };
        self.with_link(cx, link, out, ask);
    }

    fn listen(&mut self, listener: Handle, local: Participant, out: Out<'_, M>) {
        let call = match local.address {
            Address::Station { call, .. } if self.config.owns(call) => call,
            Address::Station { .. } => {
                let why = Ended::Unavailable;
                return Self::tell(out, StreamsIndication::Ended { name: listener, why });
            }
            _ => self.config.call,
        };
        if self.streams.listeners().any(|(_, local)| *local == call) {
            let why = Ended::Unavailable;
            return Self::tell(out, StreamsIndication::Ended { name: listener, why });
        }
        self.streams.listen(listener, call);
        let local = Address::Station { call, pid: pid::NONE, route: 0 }.into();
        Self::tell(out, StreamsIndication::Listening { listener, local });
    }

    fn open(
        &mut self,
        cx: &Context,
        association: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: Credit,
        out: Out<'_, M>,
    ) -> Result<(), Ended> {
        let Address::Station { call: remote, route, .. } = remote.address else {
            return Err(Ended::Unreachable);
        };
        let local = match local.map(|local| local.address) {
            None => self.config.call,
            Some(Address::Station { call, .. }) if self.config.owns(call) => call,
            Some(_) => return Err(Ended::Unavailable),
        };
        let route = self.routes.get(route).ok_or(Ended::Unreachable)?;
        let key = Key { port: route.port, local, remote };
        let (version, learned) = self.known(remote);
        let (credit, path) = (credit.octets, route.path);
        if let Some(before) = self.find(key) {
            // It may be one whose name above has gone, and that is being released.
            let link = self.links.get_mut(before).filter(|link| link.above.is_none());
            let link = link.ok_or(Ended::Unavailable)?;
            link.reopen(version, credit, learned, &self.config);
            link.path = path;
            link.above = Some(association);
            self.streams.open(association, before);
            return Ok(());
        }
        // Two call signs of the station reach each other; one does not call itself.
        let is_loop = self.config.owns(remote) && (remote == local || !path.is_empty());
        if is_loop || !self.has_room(cx, out) {
            return Err(Ended::Unavailable);
        }
        let mut acts = core::mem::take(&mut self.acts);
        let mut env = Self::env(cx, &self.config, &self.pool, &mut acts);
        let mut link = Link::open(key, path, version, credit, learned, &mut env);
        self.acts = acts;
        link.above = Some(association);
        let name = self.links.name(link);
        self.streams.open(association, name);
        self.perform(cx, name, Some(association), out);
        Ok(())
    }

    /// Returns whether there is a place for one more link, made where the oldest gives way.
    fn has_room(&mut self, cx: &Context, out: Out<'_, M>) -> bool {
        let gives_way = |name: &Handle| self.links.get(*name).is_some_and(Link::gives_way);
        if self.links.len() >= self.config.links_most
            && let Some(name) = (0..).map_while(|place| self.links.at(place)).find(gives_way)
        {
            self.with_link(cx, name, out, Link::give_way);
        }
        self.links.len() < self.config.links_most
    }

    /// A peer asks for a link. Returns whether it was accepted.
    pub(crate) fn arrive(
        &mut self,
        cx: &Context,
        key: Key,
        path: DigipeaterPath,
        opening: (Modulus, bool),
        out: Out<'_, M>,
    ) -> bool {
        let listener = self.streams.listeners().find(|(_, local)| **local == key.local);
        let Some((listener, _)) = listener else { return false };
        if !self.has_room(cx, out) {
            let Key { local, remote, .. } = key;
            let what =
                format_args!("{remote} is refused by {local}: there are as many links as may be");
            cx.event(NAME, what);
            cx.dropped(NAME, "a peer beyond the most links");
            return false;
        }
        let Some((association, credit)) = self.streams.arrive(listener) else { return false };
        let (_, learned) = self.known(key.remote);
        let mut acts = core::mem::take(&mut self.acts);
        let mut env = Self::env(cx, &self.config, &self.pool, &mut acts);
        let mut link = Link::accept(key, path, opening, credit.octets, learned, &mut env);
        self.acts = acts;
        link.above = Some(association);
        let name = self.links.name(link);
        self.streams.open(association, name);
        self.perform(cx, name, Some(association), out);
        true
    }

    /// Tells that a link is open.
    pub(crate) fn opened(&mut self, association: Handle, link: Handle, out: Out<'_, M>) {
        let Some(link) = self.links.get(link) else { return };
        let Key { port, local, remote } = link.key;
        let route = self.routes.number(crate::Route { port, path: link.path });
        let station = |call, route| -> Participant {
            let address = Address::Station { call, pid: pid::NONE, route };
            Participant::from(address).through(port.into())
        };
        Self::tell(
            out,
            StreamsIndication::Opened {
                association,
                local: station(local, 0),
                remote: station(remote, route),
                credit: Credit::of_octets(self.config.buffer),
                path: PathLimits { frame_time: self.frame_time(port), ..PathLimits::UNBOUNDED },
            },
        );
    }

    fn end(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        if let Some(link) = self.streams.get(name).copied() {
            self.with_link(cx, link, out, |link, env| link.abort(why, env));
        } else if self.streams.lives(name) {
            self.end_stream(name, why, out);
        } else {
            cx.dropped(NAME, "a word for a name that has ended");
        }
    }

    fn close(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(link) = self.streams.get(name).copied() else {
            return self.end(cx, name, Ended::Finished, out);
        };
        self.with_link(cx, link, out, |link, env| link.close(env));
    }
}
