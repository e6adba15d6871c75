//! From below, upward: arrivals, the peer's datagrams, ends.

use alloc::boxed::Box;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{Code, Credit, DatagramsRequest, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::incoming::Fault;
use crate::state::{Above, Arrival, Awaited, Below, LastWord, Link, Out, Stage};
use crate::{DatagramKind, NAME, Ordered, OrderedHeader};

impl<M: Message> Ordered<M> {
    pub(crate) fn opened(
        &mut self,
        cx: &Context,
        below: Handle,
        local: Participant,
        remote: Participant,
        credit: Credit,
        out: Out<'_, M>,
    ) {
        // `Opened` may cross the closing of its name.
        let Some(Below::Association { above: name }) = self.below.get(below) else { return };
        let name = *name;
        match self.above.get_mut(name) {
            Some(Above::Association(association)) => {
                association.link = Link::new(credit);
                association.stage = Stage::Asking { local, remote, asked: false };
                self.go_on(cx, name, out);
            }
            // The arrival's first datagram tells its purpose.
            Some(Above::Awaited(awaited)) => {
                let ticket = self.timers.schedule(cx.now() + self.config.timeout, below);
                awaited.arrival = Some(Arrival { local, remote, link: Link::new(credit), ticket });
            }
            Some(Above::Listener { .. }) | None => {}
        }
    }

    pub(crate) fn more_room(
        &mut self,
        cx: &Context,
        below: Handle,
        credit: Credit,
        out: Out<'_, M>,
    ) {
        match self.below.get_mut(below) {
            Some(Below::Association { above: name }) => {
                let name = *name;
                match self.above.get_mut(name) {
                    Some(Above::Association(association)) => {
                        association.link.more(credit);
                        if association.closes.is_some() {
                            self.set_deadline(cx, name); // something has arrived
                        }
                        self.go_on(cx, name, out);
                    }
                    Some(Above::Awaited(Awaited { arrival: Some(arrival), .. })) => {
                        arrival.link.more(credit)
                    }
                    _ => {}
                }
            }
            Some(Below::Lingering(lingering)) => {
                lingering.link.more(credit);
                self.part(below, out);
            }
            _ => {}
        }
    }

    pub(crate) fn delivered(
        &mut self,
        cx: &Context,
        below: Handle,
        mut message: M,
        out: Out<'_, M>,
    ) {
        // What arrived is handled, or held within what was granted, before this returns: the credit
        // is free again.
        let credit = Credit { octets: message.len(), messages: 1 };
        match message.pull::<OrderedHeader>() {
            Ok(label) => self.hear(cx, below, label, message, out),
            Err(_) => cx.dropped(NAME, "a header that cannot be read"),
        }
        if matches!(self.below.get(below), Some(Below::Association { .. } | Below::Lingering(_))) {
            out.request(DatagramsRequest::Credit { association: below, credit });
        }
    }

    fn hear(
        &mut self,
        cx: &Context,
        below: Handle,
        label: OrderedHeader,
        message: M,
        out: Out<'_, M>,
    ) {
        match self.below.get_mut(below) {
            Some(Below::Association { above: name }) => {
                let name = *name;
                match self.above.get(name) {
                    Some(Above::Association(_)) => self.obey(cx, name, label, message, out),
                    Some(Above::Awaited(_)) => self.arrive(cx, name, label, out),
                    Some(Above::Listener { .. }) | None => {}
                }
            }
            Some(Below::Lingering(lingering)) => {
                lingering.unanswered = false;
                lingering.last.dismissed |=
                    matches!(label.kind, DatagramKind::Reset | DatagramKind::Farewell);
                self.part(below, out);
            }
            _ => cx.dropped(NAME, "a word for an association that is over"),
        }
    }

    /// Handles the first datagram of an arrival.
    fn arrive(&mut self, cx: &Context, name: Handle, label: OrderedHeader, out: Out<'_, M>) {
        let Some(Above::Awaited(awaited)) = self.above.get_mut(name) else { return };
        let Awaited { below, credit, .. } = *awaited;
        let Some(Arrival { local, remote, link, ticket }) = awaited.arrival.take() else { return };
        self.timers.cancel(ticket);
        if label.kind != DatagramKind::Open {
            // It belongs to an association that is over here, and arrived late; the name waits for
            // another arrival.
            cx.dropped(NAME, "a word for an association that is over");
            return self.await_another(name, out);
        }
        let mut association = Box::new(self.fresh(below, credit));
        (association.link, association.stage, association.owes_answer) = (link, Stage::Open, true);
        association.outgoing.may_reach(label.credit);
        let credit = association.outgoing.room;
        self.above.remove(name);
        self.above.insert(name, Above::Association(association));
        out.indicate(StreamsIndication::Opened {
            association: name,
            local,
            remote,
            credit: Credit::of_octets(credit),
            path: PathLimits::UNBOUNDED,
        });
        self.go_on(cx, name, out);
    }

    /// Closes the association below; the name above waits under another one.
    pub(crate) fn await_another(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(Above::Awaited(awaited)) = self.above.get(name) else { return };
        let (listener, credit) = (awaited.listener, awaited.credit);
        self.close_below(awaited.below, out);
        self.above.remove(name);
        self.expect(listener, name, credit, out);
    }

    /// Handles a datagram of the peer, on an association that is open below.
    fn obey(
        &mut self,
        cx: &Context,
        name: Handle,
        label: OrderedHeader,
        message: M,
        out: Out<'_, M>,
    ) {
        let Some(Above::Association(association)) = self.above.get_mut(name) else { return };
        // A peer that sends before it was asked, or sends `Open` itself, breaks the protocol; so
        // does one whose datagrams contradict each other.
        let refused = matches!(association.stage, Stage::Asking { .. });
        let impossible = match (association.stage, label.kind) {
            (_, DatagramKind::Open) => Some("it opens what is open"),
            (Stage::Reaching | Stage::Asking { asked: false, .. }, _) => {
                Some("it answers what nobody asked")
            }
            (Stage::Asking { local, remote, .. }, kind) => {
                association.stage = Stage::Open;
                // A reset as the first datagram refuses.
                if kind != DatagramKind::Reset {
                    let credit = association.outgoing.room;
                    out.indicate(StreamsIndication::Opened {
                        association: name,
                        local,
                        remote,
                        credit: Credit::of_octets(credit),
                        path: PathLimits::UNBOUNDED,
                    });
                }
                None
            }
            (Stage::Open, _) => None,
        };
        association.outgoing.may_reach(label.credit);
        let heard = match (impossible, label.kind) {
            (Some(reason), _) => Err(Fault::Impossible(reason)),
            (None, DatagramKind::Open | DatagramKind::Credit) => Ok(()),
            (None, DatagramKind::Octets) => association.incoming.push(label.offset, message),
            (None, DatagramKind::Finish) => association.incoming.finish(label.offset),
            (None, DatagramKind::Heard) => association.hear_heard(),
            (None, DatagramKind::Farewell) => association.hear_farewell(),
            (None, DatagramKind::Reset) => {
                let code = Code::try_from(label.offset).unwrap_or(0);
                let why = if refused { Ended::Refused(code) } else { Ended::Reset(code) };
                return self.end(
                    cx,
                    name,
                    why,
                    Some(LastWord::unanswered(DatagramKind::Farewell)),
                    out,
                );
            }
        };
        match heard {
            Ok(()) => self.go_on(cx, name, out),
            Err(Fault::Idle(reason)) => {
                cx.dropped(NAME, reason);
                self.go_on(cx, name, out); // its credit counts
            }
            Err(Fault::Impossible(reason)) => {
                cx.dropped(NAME, reason);
                // An answer of such a peer is not awaited.
                self.end(
                    cx,
                    name,
                    Ended::Reset(0),
                    Some(LastWord::unanswered(DatagramKind::Reset)),
                    out,
                );
            }
        }
    }

    pub(crate) fn ended(&mut self, cx: &Context, below: Handle, why: Ended, out: Out<'_, M>) {
        match self.below.forget(below) {
            Some(Below::Association { above: name }) => match self.above.get(name) {
                // The peer left without a datagram.
                Some(Above::Awaited(Awaited { arrival: Some(arrival), .. })) => {
                    self.timers.cancel(arrival.ticket);
                    self.await_another(name, out);
                }
                // To the layer below, a clean end is one like any other; here it means a reset.
                Some(Above::Association(_)) if why == Ended::Finished => {
                    self.end(cx, name, Ended::Reset(0), None, out);
                }
                _ => self.end(cx, name, why, None, out),
            },
            Some(Below::Listener { above: name }) => self.end(cx, name, why, None, out),
            Some(Below::Lingering(lingering)) => {
                self.timers.cancel(lingering.ticket);
            }
            Some(Below::Closing) => {}
            None => cx.dropped(NAME, "a word for a name that has ended"),
        }
    }
}
