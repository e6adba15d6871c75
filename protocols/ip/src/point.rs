//! A link without addresses: what is sent to any neighbour goes to the one at its other end. It
//! stands between [`Ip`](crate::Ip) and a device whose frames are packets: TUN, a tunnel.
//!
//! What arrives is delivered on one association of each version of IP: the one that the first
//! listener of that version awaits.

use stackwright_contract::ask::{Ask, FrameTime, Longest, Question};
use stackwright_contract::services::{
    Batch, Credit, CreditGate, Datagrams, DatagramsIndication, DatagramsRequest, Ended, Frames,
    FramesIndication, FramesRequest, MessageProperties, OwedCredit, QueuedBatch,
};
use stackwright_contract::{
    Address, Arrivals, Batches, Context, Duration, Facts, Handle, IndicationTo, NameAbove, Outlet,
    Participant, PathLimits, Protocol, RequestTo,
};
use stackwright_wire::Message;

use crate::head::PACKET_MOST;

const NAME: &str = "point";

/// The port of a device that has one.
const PORT: u8 = 0;

/// The protocol.
pub struct Point<M: Message> {
    /// Listeners by their own address.
    names: Arrivals<Participant, End>,
    /// Where packets of IPv4, and of IPv6, are delivered.
    arrivals: [Option<Handle>; 2],
    is_up: bool,
    path: PathLimits,
    gate: CreditGate<Datagrams<M>>,
    handled: OwedCredit,
}

/// An association.
struct End {
    remote: Participant,
    /// Upward.
    up: Credit,
    /// Downward, of what has left.
    owed: OwedCredit,
}

impl<M: Message> Default for Point<M> {
    fn default() -> Self {
        Point {
            names: Arrivals::new(),
            arrivals: [None; 2],
            is_up: false,
            path: PathLimits::of_longest(PACKET_MOST),
            gate: CreditGate::default(),
            handled: OwedCredit::default(),
        }
    }
}

/// Returns the place of a version of IP.
fn version(own: Participant) -> Option<usize> {
    match own.address {
        Address::InternetProtocol { host, .. } => Some(usize::from(host.is_ipv6())),
        _ => None,
    }
}

impl<M: Message> Point<M> {
    fn is_ready(&self) -> bool {
        self.is_up && (self.gate.is_open() || self.arrivals != [None; 2])
    }

    /// Lets what arrives have its associations, where names wait for them.
    fn arrive(&mut self, out: &mut dyn Outlet<Self>) {
        for place in 0..2 {
            if self.arrivals[place].is_some() {
                continue;
            }
            let waits = |(listener, own): &(Handle, &Participant)| {
                version(**own) == Some(place) && self.names.awaited(*listener) > 0
            };
            let listener = self.names.listeners().find(waits).map(|(name, own)| (name, *own));
            let Some((listener, local)) = listener else { continue };
            let Some((association, credit)) = self.names.arrive(listener) else { continue };
            self.arrivals[place] = Some(association);
            self.open(association, local, Participant::OTHER_END, credit, out);
        }
    }

    fn open(
        &mut self,
        association: Handle,
        local: Participant,
        remote: Participant,
        up: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        self.names.open(association, End { remote, up, owed: OwedCredit::default() });
        let (credit, path) = (Credit::ROOM, self.path);
        out.indicate(DatagramsIndication::Opened { association, local, remote, credit, path });
    }

    fn end(&mut self, cx: &Context, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        if !self.names.lives(name) {
            return cx.dropped(NAME, "a word for a name that has ended");
        }
        for arrivals in &mut self.arrivals {
            arrivals.take_if(|arrivals| *arrivals == name);
        }
        self.names.end(name, why).for_each(|word| out.indicate(word));
    }

    /// Has packets wait for credit.
    fn wait(&mut self, cx: &Context, name: Handle, batch: Batch<M>) {
        if self.names.get(name).is_none() {
            return cx.dropped(NAME, "a packet for an association that has ended");
        }
        let (properties, back) = (MessageProperties::default(), Some((name, batch.cost())));
        self.gate.wait(QueuedBatch { batch, properties, back });
    }

    /// Returns the association for packets that begin like this, if it has credit.
    #[inline(always)]
    fn arrivals(&mut self, batch: &mut Batch<M>, cost: Credit) -> Result<Handle, &'static str> {
        let first = batch.front(1).map_or(0, |front| front[0] >> 4);
        let arrivals = match first {
            4 => self.arrivals[0],
            6 => self.arrivals[1],
            _ => None,
        };
        match arrivals.and_then(|name| Some((name, self.names.get_mut(name)?))) {
            Some((name, end)) if end.up.covers(cost) => {
                end.up -= cost;
                Ok(name)
            }
            Some(_) => Err("a packet for which there is no credit"),
            None => Err("a packet of a version that nobody listens for"),
        }
    }

    #[inline(always)]
    fn delivered(&mut self, cx: &Context, mut batch: Batch<M>, out: &mut impl Outlet<Self>) {
        let cost = batch.cost();
        match self.arrivals(&mut batch, cost) {
            Ok(association) => {
                let properties = MessageProperties::default();
                out.indicate(DatagramsIndication::Delivered { association, batch, properties });
            }
            Err(reason) => cx.dropped(NAME, reason),
        }
        if let Some(credit) = self.handled.add(cost) {
            out.request(FramesRequest::Credit { credit });
        }
    }

    fn credit(&mut self, credit: Credit, out: &mut dyn Outlet<Self>) {
        self.gate.allow(credit);
        if self.is_up {
            self.arrive(out);
        }
        while let Some(QueuedBatch { batch, back, .. }) = self.gate.next_ready() {
            out.request(FramesRequest::Send { port: PORT, batch, mark: None });
            // It may have ended meanwhile.
            if let Some((association, credit)) = back
                && let Some(end) = self.names.get_mut(association)
                && let Some(credit) = end.owed.add(credit)
            {
                out.indicate(DatagramsIndication::Credit { association, credit });
            }
        }
    }

    fn state(&mut self, cx: &Context, up: bool, out: &mut dyn Outlet<Self>) {
        if up == core::mem::replace(&mut self.is_up, up) {
            return;
        }
        if up {
            self.handled = OwedCredit::default();
            return out.request(FramesRequest::Credit { credit: Credit::ROOM });
        }
        self.gate.shut();
        loop {
            let Some((name, _)) = self.names.iter().next() else { break };
            self.end(cx, name, Ended::Unreachable, out);
        }
    }
}

impl<M: Message> Point<M> {
    /// Handles all requests but those on the straight path.
    #[inline(never)]
    fn on_request(&mut self, cx: &Context, request: RequestTo<Self>, out: &mut dyn Outlet<Self>) {
        match request {
            DatagramsRequest::Send { association, batch, .. } => {
                self.wait(cx, association, batch);
            }
            DatagramsRequest::Listen { listener, local } => {
                self.names.listen(listener, local);
                if version(local).is_none() {
                    return self.end(cx, listener, Ended::Unavailable, out);
                }
                out.indicate(DatagramsIndication::Listening { listener, local });
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                let local = local.unwrap_or(Participant::OTHER_END);
                if self.is_ready() {
                    return self.open(association, local, remote, credit, out);
                }
                let why = Ended::Unreachable;
                out.indicate(DatagramsIndication::Ended { name: association, why });
            }
            other => {
                let ends = self.names.answer(other, |end| &mut end.up, |word| out.indicate(word));
                if let Some((name, why)) = ends {
                    self.end(cx, name, why, out);
                } else if self.is_ready() {
                    self.arrive(out); // a name may wait now
                }
            }
        }
    }

    /// Handles all indications but the frequent one.
    #[inline(never)]
    fn on_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut dyn Outlet<Self>,
    ) {
        match indication {
            FramesIndication::Credit { port: PORT, credit } => self.credit(credit, out),
            FramesIndication::State { port: PORT, up } => self.state(cx, up, out),
            FramesIndication::Changed { port: PORT, path } => {
                self.path = path;
                for (association, _) in self.names.iter() {
                    out.indicate(DatagramsIndication::Changed { association, path });
                }
            }
            FramesIndication::Delivered { batch, .. } => {
                cx.dropped(NAME, "a frame of another port");
                out.request(FramesRequest::Credit { credit: batch.cost() });
            }
            _ => {} // nothing was sent there
        }
    }
}

impl<M: Message> Protocol for Point<M> {
    const FACTS: Facts = Facts::named(NAME);
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Frames<M>;

    #[inline(always)]
    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        // The straight path: packets that may leave now.
        if let DatagramsRequest::Send { association, batch, .. } = &request
            && let (name, cost) = (*association, batch.cost())
            && let Some(end) = self.names.get_mut(name)
            && self.gate.pass(cost)
            && let DatagramsRequest::Send { batch, .. } = request
        {
            let back = end.owed.add(cost);
            out.request(FramesRequest::Send { port: PORT, batch, mark: None });
            if let Some(credit) = back {
                out.indicate(DatagramsIndication::Credit { association: name, credit });
            }
            return;
        }
        self.on_request(cx, request, out);
    }

    #[inline(always)]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            FramesIndication::Delivered { port: PORT, batch } => self.delivered(cx, batch, out),
            other => self.on_indication(cx, other, out),
        }
    }

    fn may_exit(&self) -> bool {
        self.gate.is_idle()
    }

    fn ask(&self, about: NameAbove<Self>, question: &mut Question<'_>, _: &dyn Ask<Frames<M>>) {
        let Some(end) = self.names.get(about) else { return };
        let PathLimits { longest, frame_time, .. } = self.path;
        question
            .answer::<Longest>(|_| Some(longest as usize))
            .answer::<FrameTime>(|_| Some(Duration::from_micros(frame_time.into())))
            .answer::<stackwright_contract::ask::Peer>(|_| Some(end.remote));
    }
}
