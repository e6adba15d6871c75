//! From below: arrivals, datagrams, ends.

use stackwright_contract::services::{Credit, DatagramsRequest, Ended, MessageProperties};
use stackwright_contract::{Context, Handle, Participant, Party};
use stackwright_wire::Message;

use crate::state::{Pair, State, Waiting};
use crate::words::{Arrival, Direction, Indication};
use crate::{NAME, Out, Relay};

impl<M, W, F> Relay<M, W, F>
where
    M: Message,
    W: FnMut(Arrival) -> Option<Participant>,
    F: FnMut(Direction, M, MessageProperties) -> Option<(M, MessageProperties)>,
{
    /// Names wait for as many as may still come.
    pub(crate) fn await_arrivals(&mut self, out: Out<'_, M, W, F>) {
        let Some(listener) = self.listener() else { return };
        let free = self.config.pairs_most.saturating_sub(self.pairs.len());
        let credit = self.config.credit;
        while self.names.awaited(listener) < free.min(self.config.awaited_most)
            && let Some(association) = self.names.expect(listener, credit)
        {
            out.request(DatagramsRequest::Await { listener, association, credit });
        }
    }

    pub(crate) fn opened(
        &mut self,
        cx: &Context,
        name: Handle,
        who: Arrival,
        credit: Credit,
        out: Out<'_, M, W, F>,
    ) {
        if self.names.waits_at(name).is_some() {
            self.arrived(name, who, credit, out);
            return self.await_arrivals(out);
        }
        let Some((pair, direction)) = self.names.get(name).copied() else {
            return cx.dropped(NAME, "an opening of a name that is none");
        };
        let Some(pairing) = self.pairs.get_mut(pair) else { return };
        let side = pairing.from(direction);
        (side.credit, side.room_most) = (credit, credit);
        if side.state == State::Opening {
            side.state = State::Open;
        }
        self.go_on(cx, pair, direction.other(), out);
    }

    /// Somebody came: he is led onward, or sent away.
    fn arrived(&mut self, name: Handle, who: Arrival, credit: Credit, out: Out<'_, M, W, F>) {
        let onward = (self.whither)(who);
        let far = self.names.open(|far| {
            (self.pairs.name(Pair::new(who.remote, (name, credit), far)), Direction::Back)
        });
        let Some((pair, _)) = self.names.get(far).copied() else { return };
        self.names.arrived(name, || (pair, Direction::Onward));
        let Some(onward) = onward else {
            self.names.forget(far);
            let Some(pairing) = self.pairs.get_mut(pair) else { return };
            pairing.from(Direction::Back).state = State::Over;
            pairing.from(Direction::Onward).state = State::Closing;
            pairing.first = Some((Direction::Back, Ended::Unreachable));
            return out.request(DatagramsRequest::Close { name });
        };
        out.indicate(Indication::Arrived { peer: who.remote, onward });
        out.request(DatagramsRequest::Open {
            association: far,
            remote: onward,
            credit: self.config.credit,
            local: None,
        });
    }

    pub(crate) fn more_room(
        &mut self,
        cx: &Context,
        name: Handle,
        more: Credit,
        out: Out<'_, M, W, F>,
    ) {
        let Some((pair, direction)) = self.names.get(name).copied() else { return };
        let Some(pairing) = self.pairs.get_mut(pair) else { return };
        let side = pairing.from(direction);
        side.credit += more;
        side.room_most.octets = side.room_most.octets.max(side.credit.octets);
        self.go_on(cx, pair, direction.other(), out);
    }

    pub(crate) fn delivered(
        &mut self,
        cx: &Context,
        name: Handle,
        message: M,
        properties: MessageProperties,
        out: Out<'_, M, W, F>,
    ) {
        let Some((pair, direction)) = self.names.get(name).copied() else { return };
        let octets = message.len();
        let passed = (self.pass)(direction, message, properties);
        let Some(pairing) = self.pairs.get_mut(pair) else { return };
        match passed {
            Some((message, properties)) => {
                pairing.to(direction).waiting.push_back(Waiting { message, properties, octets });
                self.go_on(cx, pair, direction, out);
            }
            None => Self::give_back(pairing, direction, octets, out),
        }
    }

    pub(crate) fn ended(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M, W, F>) {
        match self.names.forget(name) {
            Some(Party::Listener(())) => out.indicate(Indication::NotRelaying { why }),
            Some(Party::Awaited(_)) => {}
            Some(Party::Open((pair, direction))) => {
                let Some(pairing) = self.pairs.get_mut(pair) else { return };
                pairing.from(direction).state = State::Over;
                pairing.first.get_or_insert((direction, why));
                // What waits for it goes nowhere; what came from it goes on its way.
                self.go_on(cx, pair, direction.other(), out);
                self.go_on(cx, pair, direction, out);
                self.leave(pair, out);
            }
            None => cx.dropped(NAME, "a word for a name that has ended"),
        }
    }

    /// Both associations are over: there is room for somebody else.
    fn leave(&mut self, pair: Handle, out: Out<'_, M, W, F>) {
        if !self.pairs.get(pair).is_some_and(Pair::is_over) {
            return;
        }
        if let Some(Pair { peer, first: Some((first, why)), passed, .. }) = self.pairs.forget(pair)
        {
            out.indicate(Indication::Left { peer, first, why, passed });
        }
        self.await_arrivals(out);
    }
}
