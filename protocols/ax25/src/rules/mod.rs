//! The rules of the air, between AX.25 and the TNC: what leaves a station is its own or repeated by
//! it, and says in time whose it is (ITU Radio Regulations, article 19; national rules say how
//! often, mostly ten minutes).
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs` | the configuration |
//! | `duty.rs` | how much of the time the station may transmit |
//! | `encryption.rs` | what is recognised as encrypted |
//! | `identification.rs` | when it has to say whose it is |
//!
//! It stands below everything that sends, so that no program gets around it.

mod config;
mod duty;
mod encryption;
mod identification;

pub use config::{AirRulesConfig, Beacon, Identification};

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Batch, Credit, Frames, FramesIndication, FramesRequest};
use stackwright_contract::{
    Context, Duration, Facts, Guarantees, Instant, Outlet, Protocol, Service, earliest,
};
use stackwright_wire::Message;

use crate::PORTS_MOST;
use crate::config::air_time;
use crate::header::{Addresses, ControlField, HEAD_MOST, Modulus, Unnumbered};
use config::Announcement;
use duty::Duty;
use identification::Identifying;

const NAME: &str = "rules of the air";

/// The events that tell each frame that is transmitted, for operators that want to see them, are of
/// this name.
pub const TRANSMITTED: &str = "transmitted";

type Out<'a, M> = &'a mut dyn Outlet<AirRules<M>>;

/// Frames that keep the rules of the air, over those of a TNC.
pub struct AirRules<M: Message> {
    config: AirRulesConfig,
    ports: Vec<Identifying>,
    /// When each beacon leaves next; `None`: its TNC was never there.
    beacons: Vec<Option<Instant>>,
    duty: Duty,
    /// Frames that wait until the station may transmit again. With a duty, the layer above has
    /// credit for one at a time on each port: what it could not send yet is not made, and so never
    /// old.
    waiting: VecDeque<(u8, Batch<M>, Option<u16>)>,
    transmitted: Transmitted,
    /// Credit of the layer above; and what of it was used by frames that were not received, and
    /// does not go further when it comes back.
    above: Credit,
    shown: Credit,
    /// It was told that something encrypted was refused.
    told_encrypted: bool,
    /// When it was told last that frames wait.
    told_waiting: Option<Instant>,
}

/// What a station has transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transmitted {
    /// Frames, identifications included.
    pub frames: u64,
    /// How long they were on the air.
    pub air: Duration,
}

impl<M: Message> AirRules<M> {
    /// Makes the rules of a station.
    ///
    /// # Panics
    /// Where a number of the configuration is out of its range.
    pub fn new(config: AirRulesConfig) -> Self {
        config.check();
        AirRules {
            ports: (0..PORTS_MOST).map(|_| Identifying::default()).collect(),
            beacons: config.beacons.iter().map(|_| None).collect(),
            duty: Duty::new(config.duty),
            waiting: VecDeque::new(),
            transmitted: Transmitted::default(),
            above: Credit::NONE,
            shown: Credit::NONE,
            told_encrypted: false,
            told_waiting: None,
            config,
        }
    }

    /// Returns what was transmitted so far.
    pub const fn transmitted(&self) -> Transmitted {
        self.transmitted
    }

    /// Returns why a frame may not leave.
    fn objection(&self, addresses: Option<&Addresses>) -> Option<&'static str> {
        let own = |call| self.config.calls.contains(&call);
        match addresses {
            None => Some("a frame whose addresses are malformed"),
            Some(Addresses { source, path, .. })
                if !own(*source) && !path.iter().any(|(call, repeated)| repeated && own(call)) =>
            {
                Some("a frame whose source is no call sign of this station")
            }
            Some(_) => None,
        }
    }

    fn send(
        &mut self,
        cx: &Context,
        port: u8,
        batch: Batch<M>,
        mark: Option<u16>,
        out: Out<'_, M>,
    ) {
        if !self.ports.get(usize::from(port)).is_some_and(|port| port.is_up) {
            return; // it crossed the word that the TNC is gone
        }
        let mut octets = [0; READ_MOST];
        let length = batch.as_octets().copy_to(&mut octets);
        let head = Head::decode(&octets[..length]);
        let from_control = octets.get(head.control_at..length).filter(|_| !self.config.encryption);
        let encrypted = from_control.and_then(encryption::recognised);
        if let Some(why) = self.objection(head.addresses.as_ref()) {
            cx.dropped(NAME, why);
            if let Some(Addresses { source, destination, .. }) = head.addresses {
                let what = format_args!("not transmitted: {why}: {source} to {destination}");
                cx.event(NAME, what);
            }
        } else if let Some(what) = encrypted {
            cx.dropped(NAME, what);
            // A link sends it again and again.
            if !core::mem::replace(&mut self.told_encrypted, true) {
                cx.event(NAME, format_args!("not transmitted: {what}"));
            }
        } else if !self.duty.fits(self.air(&batch) + self.identification_air()) {
            let (air, duty) = (self.air(&batch).as_millis(), self.config.duty.unwrap_or(100));
            let what = format_args!("{air} ms on the air, more than {duty} % of ten minutes");
            cx.event(NAME, format_args!("not transmitted: a frame of {what}"));
            cx.dropped(NAME, "a frame longer than all that may be transmitted");
        } else if !self.config.transmit {
            if let Some(Addresses { source, destination, .. }) = head.addresses {
                let octets = batch.octets();
                let air = air_time(octets, self.config.rate).as_millis();
                let what = format_args!("{source} to {destination}, {octets} octets");
                cx.event(NAME, format_args!("not transmitted: {what}, {air} ms on the air"));
            }
        } else {
            if head.ends_link() {
                self.on_link_ends(port);
            }
            self.waiting.push_back((port, batch, mark));
            return self.go_on(cx, out);
        }
        let refused = FramesRequest::Send { port, batch, mark };
        let refund = Frames::<M>::refund_request(&refused);
        refund.into_iter().flatten().for_each(|word| out.indicate(word));
    }

    fn on_link_ends(&mut self, port: u8) {
        if let Some(port) = self.ports.get_mut(usize::from(port)) {
            port.on_link_ends();
        }
    }

    fn air(&self, batch: &Batch<M>) -> Duration {
        air_time(batch.octets(), self.config.rate)
    }

    /// Returns the air time that is kept for an identification.
    fn identification_air(&self) -> Duration {
        match self.config.cost(Announcement::Identification) {
            Credit::NONE => Duration::ZERO,
            cost => air_time(cost.octets, self.config.rate),
        }
    }

    /// Sends what waits, as long as the station may transmit.
    fn go_on(&mut self, cx: &Context, out: Out<'_, M>) {
        let kept = self.identification_air();
        while let Some((_, batch, _)) = self.waiting.front() {
            let air = self.air(batch) + kept;
            if !self.duty.permits(cx.now(), air) {
                return self.tell_waiting(cx, air);
            }
            let Some((port, batch, mark)) = self.waiting.pop_front() else { return };
            self.account(cx, port, batch.as_octets());
            out.request(FramesRequest::Send { port, batch, mark });
            self.lend(port, out);
        }
    }

    fn account(&mut self, cx: &Context, port: u8, frame: &M) {
        let (octets, air) = (frame.len(), air_time(frame.len(), self.config.rate));
        cx.event(TRANSMITTED, format_args!("{}, {octets} octets", Shown(frame)));
        self.transmitted.frames += 1;
        self.transmitted.air += air;
        self.duty.spend(air);
        if let Some(port) = self.ports.get_mut(usize::from(port)) {
            port.on_sent(cx.now());
        }
    }

    fn tell_waiting(&mut self, cx: &Context, air: Duration) {
        let now = cx.now();
        if self.told_waiting.is_none_or(|told| told + duty::PERIOD <= now) {
            self.told_waiting = Some(now);
            let (duty, until) = (self.config.duty.unwrap_or(100), self.duty.permits_at(air));
            let seconds = until.since(now).as_secs() + 1;
            cx.event(
                NAME,
                format_args!("frames wait: {duty} % of the time are used; the next in {seconds} s"),
            );
        }
    }

    /// Gives the layer above credit for its next frame, which the TNC has given.
    fn lend(&mut self, port: u8, out: Out<'_, M>) {
        if let Some(there) = self.ports.get_mut(usize::from(port))
            && there.passed()
        {
            let credit = Credit { octets: 0, messages: 1 };
            out.indicate(FramesIndication::Credit { port, credit });
        }
    }

    /// Says whose the station is, and sends beacons, where that is due and the TNC takes it.
    fn announce(&mut self, cx: &Context, out: Out<'_, M>) {
        let kept = self.identification_air();
        if let Some(every) = self.config.identification().map(|identification| identification.every)
        {
            let cost = self.config.cost(Announcement::Identification);
            for port in 0..self.ports.len() as u8 {
                let due = self.ports[usize::from(port)].is_due(cx.now(), every, cost);
                if due && self.duty.permits(cx.now(), kept) {
                    self.send_own(cx, port, Announcement::Identification, out);
                    let call = self.config.calls[0];
                    cx.event(NAME, format_args!("{call} identifies on port {port}"));
                }
            }
        }
        for nth in 0..self.beacons.len() {
            let air =
                air_time(self.config.cost(Announcement::Beacon(nth)).octets, self.config.rate);
            let due = self.beacon_at(nth).filter(|due| *due <= cx.now());
            if due.is_none() || !self.duty.permits(cx.now(), air + kept) {
                continue;
            }
            let Beacon { port, every, .. } = self.config.beacons[nth];
            // Those that were late are left out.
            self.beacons[nth] = Some(cx.now() + every);
            self.send_own(cx, port, Announcement::Beacon(nth), out);
        }
    }

    /// Returns when a beacon may leave; `None`: the TNC takes none.
    fn beacon_at(&self, nth: usize) -> Option<Instant> {
        let there = self.ports.get(usize::from(self.config.beacons[nth].port))?;
        let takes = there.takes(self.config.cost(Announcement::Beacon(nth)));
        self.beacons[nth].filter(|_| takes && self.config.transmit)
    }

    /// Has the beacons of a port begin, each at a time of its own: stations that are switched on
    /// together do not transmit together.
    fn begin_beacons(&mut self, cx: &Context, port: u8) {
        const WITHIN: Duration = Duration::from_secs(60);
        for (beacon, at) in self.config.beacons.iter().zip(&mut self.beacons) {
            if beacon.port == port && at.is_none() {
                let most = beacon.every.min(WITHIN).as_millis() as u64;
                *at = Some(cx.now() + Duration::from_millis(cx.random(most)));
            }
        }
    }

    fn send_own(&mut self, cx: &Context, port: u8, what: Announcement, out: Out<'_, M>) {
        let Some(frame) = self.config.frame::<M>(what) else { return };
        let cost = self.config.cost(what);
        self.account(cx, port, &frame);
        self.ports[usize::from(port)].on_announced(cost, what == Announcement::Identification);
        // Nobody above has sent it: it is heard there as what it is, a frame of this station.
        if self.above.covers(cost) {
            self.above -= cost;
            self.shown += cost;
            let batch = frame.share().into();
            out.indicate(FramesIndication::Delivered { port, batch });
        }
        out.request(FramesRequest::Send { port, batch: frame.into(), mark: None });
    }
}

/// What the rules read of a frame.
struct Head {
    addresses: Option<Addresses>,
    /// Where the control field begins; nowhere without addresses.
    control_at: usize,
    /// As of a link whose numbers have three bits; the kind is the same in all.
    control: Option<ControlField>,
}

/// Octets that are read of a frame that would leave: its head, and what is recognised behind it.
const READ_MOST: usize = HEAD_MOST + 300;

impl Head {
    fn of<M: Message>(frame: &M) -> Self {
        let mut octets = [0; HEAD_MOST];
        let length = frame.copy_to(&mut octets);
        Head::decode(&octets[..length])
    }

    fn decode(octets: &[u8]) -> Self {
        let decoded = Addresses::decode(octets).ok();
        let control_at = decoded.map_or(usize::MAX, |(_, at)| at);
        let from_control = octets.get(control_at..);
        let control =
            from_control.and_then(|octets| ControlField::decode(octets, Modulus::Eight).ok());
        Head {
            addresses: decoded.map(|(addresses, _)| addresses),
            control_at,
            control: control.map(|(control, _)| control),
        }
    }

    /// Returns whether it is DISC.
    const fn ends_link(&self) -> bool {
        matches!(self.control, Some(ControlField::Unnumbered { kind: Unnumbered::Disc, .. }))
    }
}

/// A frame, as an event tells it: between which stations it is, through which digipeaters, and of
/// which kind. It is read where somebody listens.
struct Shown<'a, M>(&'a M);

impl<M: Message> fmt::Display for Shown<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head { addresses, control, .. } = Head::of(self.0);
        let Some(Addresses { source, destination, path, .. }) = addresses else {
            return f.write_str("no addresses");
        };
        write!(f, "{source} to {destination}")?;
        for (call, repeated) in path.iter() {
            write!(f, ",{call}{}", if repeated { "*" } else { "" })?;
        }
        write!(f, ": {}", control.map_or("?", ControlField::name))
    }
}

impl<M: Message> Protocol for AirRules<M> {
    const FACTS: Facts =
        Facts { passes: Guarantees::ALL, reads_payload: true, ..Facts::named(NAME) };
    type Provides = Frames<M>;
    type Uses = Frames<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch, mark } => self.send(cx, port, batch, mark, out),
            FramesRequest::Credit { mut credit } => {
                self.above += credit;
                let back = Credit {
                    octets: credit.octets.min(self.shown.octets),
                    messages: credit.messages.min(self.shown.messages),
                };
                credit -= back;
                self.shown -= back;
                if credit != Credit::NONE {
                    out.request(FramesRequest::Credit { credit });
                }
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: FramesIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match &indication {
            FramesIndication::State { port, up } => {
                self.waiting.retain(|(waits, ..)| waits != port);
                if let Some(there) = self.ports.get_mut(usize::from(*port)) {
                    there.on_line(*up);
                }
                if *up {
                    self.begin_beacons(cx, *port);
                }
                if self.ports.iter().filter(|port| port.is_up).count() == usize::from(*up) {
                    (self.above, self.shown) = (Credit::NONE, Credit::NONE);
                }
            }
            FramesIndication::Credit { port, credit } => {
                let (port, mut credit) = (*port, *credit);
                let cost = self.config.dearest(port);
                if let Some(there) = self.ports.get_mut(usize::from(port)) {
                    credit -= there.reserve(credit, cost);
                    if self.config.duty.is_some() {
                        there.withhold(core::mem::take(&mut credit.messages));
                        credit.messages += usize::from(there.lends());
                    }
                }
                if credit != Credit::NONE {
                    out.indicate(FramesIndication::Credit { port, credit });
                }
                return self.announce(cx, out);
            }
            FramesIndication::Delivered { port, batch } => {
                let cost = batch.cost();
                self.above.octets = self.above.octets.saturating_sub(cost.octets);
                self.above.messages = self.above.messages.saturating_sub(cost.messages);
                let head = Head::of(batch.as_octets());
                let addresses = head.addresses;
                let is_ours = |call| self.config.calls.contains(&call);
                if head.ends_link() && addresses.is_some_and(|to| is_ours(to.destination)) {
                    self.on_link_ends(*port);
                }
            }
            FramesIndication::Left { .. } | FramesIndication::Changed { .. } => {}
        }
        out.indicate(indication);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.go_on(cx, out);
        self.announce(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let kept = self.identification_air();
        let waits = self.waiting.front();
        let waits = waits.map(|(_, batch, _)| self.duty.permits_at(self.air(batch) + kept));
        let identification = self.config.identification().and_then(|identification| {
            let cost = self.config.cost(Announcement::Identification);
            let every = identification.every;
            let due = self.ports.iter().filter_map(|port| port.due_at(every, cost)).min();
            due.map(|due| due.max(self.duty.permits_at(kept)))
        });
        let beacons = (0..self.beacons.len()).filter_map(|nth| {
            let air =
                air_time(self.config.cost(Announcement::Beacon(nth)).octets, self.config.rate);
            Some(self.beacon_at(nth)?.max(self.duty.permits_at(air + kept)))
        });
        earliest(earliest(waits, identification), beacons.min())
    }

    fn may_exit(&self) -> bool {
        self.waiting.is_empty()
    }

    fn ask(&self, port: u8, question: &mut Question<'_>, below: &dyn Ask<Frames<M>>) {
        below.ask(port, question);
    }
}
