//! A protocol that does what it is told by messages, and what is above and below it.

use std::collections::VecDeque;
use std::marker::PhantomData;

use stackwright_base::{
    Arrival, Below, Configuration, Envelope, Features, Hooks, Layer, MessageOf, Origin, Place,
};
use stackwright_base::{events, opening, session};
use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ecn, Ended, MessageProperties,
};
use stackwright_contract::{
    Address, Context, Facts, Handle, Outlet, Participant, PathLimits, Protocol,
};
use stackwright_wire::{Malformed, Message, SingleBuffer};

pub(crate) type M = SingleBuffer;
pub(crate) type Apart = Features<M, session::Present, events::Simple, opening::ActivePassive>;
pub(crate) type Together = Features<M, session::Absent, events::Simple, opening::ActivePassive>;

/// The front of a message, which stays before it: its check, an octet with which all of them cancel
/// out, covers it too.
pub(crate) struct Front {
    pub(crate) channel: u8,
    pub(crate) priority: u8,
}

const FRONT: usize = 3;

impl Envelope<M> for Front {
    fn open(message: &mut M) -> Result<Self, Malformed> {
        match *message.octets() {
            [channel, priority, _, ..] if sum(message.octets()) == 0 => {
                Ok(Front { channel, priority })
            }
            [_, _, _, ..] => Err(Malformed::Check),
            _ => Err(Malformed::TooShort),
        }
    }

    fn close(&self, message: &mut M) {
        let check = self.channel ^ self.priority ^ sum(message.octets());
        message.push_front(FRONT).copy_from_slice(&[self.channel, self.priority, check]);
    }
}

fn sum(octets: &[u8]) -> u8 {
    octets.iter().fold(0, |sum, octet| sum ^ octet)
}

/// So many octets behind their front, as they travel.
pub(crate) fn packet(channel: u8, octets: &[u8]) -> Vec<u8> {
    let mut message = M::with_headroom(FRONT, octets);
    Front { channel, priority: 3 }.close(&mut message);
    message.octets().to_vec()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// What is said of congestion, if anything.
fn marked(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "",
        Ecn::Ect => ", may be marked",
        Ecn::Ce => ", marked",
    }
}

/// Does what the first octet of a message from below says.
pub(crate) struct Obedient<C> {
    /// What it says when it is asked whether an association is open.
    opens: fn(&mut Call) -> Answer,
    first: Credit,
    /// The hooks that were called, each with the channel.
    pub(crate) called: Vec<(&'static str, u8)>,
    /// Whose messages had been popped, whenever that was told.
    pub(crate) popped: Vec<u8>,
    pub(crate) rooms: Vec<Credit>,
    next: u8,
    configuration: PhantomData<fn() -> C>,
}

/// Whether an association is open.
pub(crate) enum Answer {
    AtOnce,
    NotYet,
    Never,
}

/// What it knows of an association.
pub(crate) struct Call {
    pub(crate) channel: u8,
    remote: Participant,
    origin: Origin,
    /// How often it asks again.
    again: u8,
}

impl<C> Obedient<C> {
    pub(crate) fn answering(opens: fn(&mut Call) -> Answer) -> Self {
        Obedient { opens, ..Obedient::default() }
    }

    pub(crate) fn with_first_room(first: Credit) -> Self {
        Obedient { first, ..Obedient::default() }
    }
}

impl<C> Default for Obedient<C> {
    fn default() -> Self {
        let (called, popped, rooms) = (Vec::new(), Vec::new(), Vec::new());
        Obedient {
            opens: |_| Answer::AtOnce,
            first: FIRST,
            called,
            popped,
            rooms,
            next: 0,
            configuration: PhantomData,
        }
    }
}

impl<C: Configuration<Message = M> + 'static> Hooks for Obedient<C> {
    type Features = C;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = Front;
    type Key = u8;
    type PassiveKey = ();
    type Association = Call;
    type Timer = ();
    const FACTS: Facts = Facts { header_room: FRONT, ..Facts::named("obedient") };

    fn first_room(&self) -> Credit {
        self.first
    }

    fn open(
        &mut self,
        _cx: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<u8>, Ended> {
        self.next += 1;
        Below::with(local, remote, self.next)
    }

    fn key(front: &Front) -> u8 {
        front.channel
    }

    fn arrival(
        &mut self,
        _cx: &Context,
        (_local, remote): (Participant, Participant),
        front: &Front,
        message: &mut M,
    ) -> Arrival<MessageOf<Self>> {
        assert!(remote == place(9) || remote == host());
        self.called.push(("arrival", front.channel));
        match message.octets()[FRONT] {
            b'i' => Arrival::Ignored("not today"),
            b'a' => Arrival::Answered(message.split_to(FRONT)),
            _ => Arrival::Welcome,
        }
    }

    fn create(
        &mut self,
        _cx: &Context,
        _name: Handle,
        channel: &u8,
        remote: Participant,
        origin: Origin,
        _: Credit,
    ) -> Call {
        Call { channel: *channel, remote, origin, again: 0 }
    }

    fn opened(&mut self, at: &mut impl Place<Self>) -> bool {
        self.called.push(("opened", at.association().channel));
        let answer = (self.opens)(at.association());
        if let Answer::Never = answer {
            at.end(Ended::Unreachable);
        }
        !matches!(answer, Answer::NotYet)
    }

    fn push(&mut self, at: &mut impl Place<Self>, message: M, properties: MessageProperties) {
        let channel = at.association().channel;
        at.forward(&Front { channel, priority: properties.priority }, message);
    }

    fn pop(&mut self, at: &mut impl Place<Self>, front: Front, mut message: M) {
        message.advance(FRONT);
        match message.octets().first() {
            Some(b'o') => at.opened(),
            Some(b'e') => at.end(Ended::Finished),
            Some(b'l') => {
                at.later();
                at.later();
            }
            Some(b'a') => {
                at.association().again = 1;
                at.later();
            }
            Some(b't') => {
                let now = at.cx().now();
                at.later();
                at.wake((), now);
            }
            Some(b'w') => {
                at.association().again = message.octets()[1] - b'0';
                at.wants_room();
                at.wants_room();
            }
            Some(b's') => {
                let (channel, count) = (at.association().channel, message.octets()[1] - b'0');
                let packets: Vec<u8> =
                    (0..count).flat_map(|nth| packet(channel, &[b'0' + nth])).collect();
                at.send_batch(Batch::new(M::with_headroom(0, &packets), FRONT + 1));
            }
            Some(b'm') => {
                let (channel, came) = (at.association().channel, at.arrived());
                at.bear(came);
                at.send(&Front { channel, priority: 0 }, message);
            }
            Some(b'r') => self.rooms.push(at.room_below()),
            Some(b'?') => {
                let (remote, call) = (at.remote(), at.association());
                assert_eq!(remote, call.remote);
                let text =
                    format!("{:?} {:?}", call.origin, remote.internet().expect("an address"));
                at.deliver(M::with_headroom(0, text.as_bytes()), MessageProperties::default());
            }
            _ => at.deliver(
                message,
                MessageProperties { priority: front.priority, ..MessageProperties::default() },
            ),
        }
    }

    fn popped(&mut self, at: &mut impl Place<Self>) {
        self.popped.push(at.association().channel);
    }

    /// Says one octet, and asks again as often as it was told.
    fn room_came(&mut self, at: &mut impl Place<Self>) {
        let call = at.association();
        let (channel, again) = (call.channel, call.again);
        self.called.push(("room", channel));
        at.send(&Front { channel, priority: 0 }, M::with_headroom(FRONT, b"!"));
        if again > 0 {
            at.association().again -= 1;
            at.wants_room();
        }
    }

    fn room(&mut self, at: &mut impl Place<Self>) {
        let channel = at.association().channel;
        at.send(&Front { channel, priority: 0 }, M::with_headroom(FRONT, b"more"));
    }

    fn expired(&mut self, at: &mut impl Place<Self>, (): ()) {
        self.called.push(("expired", at.association().channel));
    }

    fn batch(&mut self, at: &mut impl Place<Self>) {
        let call = at.association();
        self.called.push(("batch", call.channel));
        if std::mem::take(&mut call.again) > 0 {
            at.later();
        }
    }
}

/// What was said above and below, word by word; what nobody tries here is not noted.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) said: Vec<String>,
    /// Names below that were asked to be opened, or wait for somebody.
    pub(crate) asked: VecDeque<(Handle, Option<Participant>)>,
    /// How many listeners below were asked for.
    pub(crate) listeners: usize,
}

impl<C: Configuration<Message = M> + 'static> Outlet<Layer<Obedient<C>>> for Ends {
    fn indicate(&mut self, indication: DatagramsIndication<M>) {
        match indication {
            DatagramsIndication::Opened { association, credit, .. } => {
                self.said.push(format!("opened {}, room {}", association.index, credit.messages));
            }
            DatagramsIndication::Delivered { association, batch: messages, properties } => {
                // Hooks that deliver one by one have nothing put together.
                let message = messages.into_single();
                let text = String::from_utf8_lossy(message.octets());
                self.said.push(format!(
                    "delivered {}: {text}, {}",
                    association.index, properties.priority
                ));
            }
            DatagramsIndication::Credit { association, credit } => {
                self.said.push(format!("room {}: {}", association.index, credit.octets));
            }
            DatagramsIndication::Ended { name, why } => {
                self.said.push(format!("ended {}: {why:?}", name.index));
            }
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
        }
    }

    fn request(&mut self, request: DatagramsRequest<M>) {
        match request {
            DatagramsRequest::Open { association, remote, .. } => {
                self.asked.push_back((association, Some(remote)))
            }
            DatagramsRequest::Await { association, .. } => {
                self.asked.push_back((association, None))
            }
            DatagramsRequest::Send { batch: messages, properties, .. } => {
                let (channel, several) = (messages.as_octets().octets()[0], messages.count() > 1);
                let text: Vec<_> =
                    messages.into_iter().map(|one| text(&one.octets()[FRONT..])).collect();
                let (said, marked) =
                    (if several { "several" } else { "send" }, marked(properties.ecn));
                self.said.push(format!("{said} on {channel}: {}{marked}", text.join(", ")));
            }
            DatagramsRequest::Credit { credit, .. } => {
                self.said.push(format!("receive {}, {}", credit.octets, credit.messages));
            }
            DatagramsRequest::Close { .. } => self.said.push("close".into()),
            DatagramsRequest::Listen { .. } => self.listeners += 1,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) const FIRST: Credit = Credit { octets: 100, messages: 2 };
pub(crate) const ROOM: Credit = Credit { octets: 1000, messages: 4 };
pub(crate) const NONE: Credit = Credit { octets: 0, messages: 0 };

pub(crate) fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

pub(crate) fn place(last: u8) -> Participant {
    std::net::SocketAddr::from(([10, 0, 0, last], 7)).into()
}

/// A host where there are no ports.
pub(crate) fn host() -> Participant {
    Address::InternetProtocol { host: [10, 0, 0, 9].into(), protocol: 36 }.into()
}

pub(crate) struct Scene<C: Configuration<Message = M> + 'static> {
    pub(crate) layer: Layer<Obedient<C>>,
    pub(crate) cx: Context,
    pub(crate) ends: Ends,
}

impl<C: Configuration<Message = M> + 'static> Scene<C> {
    pub(crate) fn new(hooks: Obedient<C>) -> Self {
        Scene { layer: Layer::new(hooks, 1), cx: Context::new(1), ends: Ends::default() }
    }

    /// The names 1 to `count` with one peer, open over an association below with so much room,
    /// which is given too.
    pub(crate) fn opened(count: u32, credit: Credit) -> (Self, Handle) {
        let mut scene = Scene::new(Obedient::default());
        for index in 1..=count {
            scene.open(index);
        }
        let lower = scene.opens_below(credit);
        scene.said();
        (scene, lower)
    }

    pub(crate) fn ask(&mut self, request: DatagramsRequest<M>) {
        self.layer.handle_request(&self.cx, request, &mut self.ends);
    }

    pub(crate) fn tell(&mut self, word: DatagramsIndication<M>) {
        self.layer.handle_indication(&self.cx, word, &mut self.ends);
    }

    pub(crate) fn open(&mut self, index: u32) {
        self.ask(DatagramsRequest::Open {
            association: name(index),
            remote: place(9),
            credit: ROOM,
            local: None,
        });
    }

    pub(crate) fn close(&mut self, index: u32) {
        self.ask(DatagramsRequest::Close { name: name(index) });
    }

    /// Says so many octets from above.
    pub(crate) fn say(&mut self, index: u32, octets: &[u8], priority: u8) {
        let (association, message) = (name(index), M::with_headroom(FRONT, octets));
        let properties = MessageProperties { priority, ..MessageProperties::default() };
        self.ask(DatagramsRequest::Send { association, batch: message.into(), properties });
    }

    /// Listens, with one name that waits.
    pub(crate) fn listen(&mut self, index: u32) {
        self.ask(DatagramsRequest::Listen { listener: name(0), local: place(1) });
        self.ask(DatagramsRequest::Await {
            listener: name(0),
            association: name(index),
            credit: ROOM,
        });
    }

    /// The layer below opens what it was asked for first, or somebody comes; gives the name below.
    pub(crate) fn opens_below(&mut self, credit: Credit) -> Handle {
        let (association, remote) = self.ends.asked.pop_front().expect("it was asked for");
        let (local, remote) = (place(1), remote.unwrap_or(place(9)));
        self.tell(DatagramsIndication::Opened {
            association,
            local,
            remote,
            credit,
            path: PathLimits::UNBOUNDED,
        });
        association
    }

    pub(crate) fn room_below(&mut self, association: Handle, messages: usize) {
        self.tell(DatagramsIndication::Credit {
            association,
            credit: Credit { octets: 100 * messages, messages },
        });
    }

    /// A message arrives.
    pub(crate) fn comes(&mut self, association: Handle, channel: u8, octets: &[u8]) {
        self.comes_bearing(association, channel, octets, Ecn::NotEct);
    }

    /// One that says this of congestion.
    pub(crate) fn comes_bearing(
        &mut self,
        association: Handle,
        channel: u8,
        octets: &[u8],
        ecn: Ecn,
    ) {
        let message = M::with_headroom(0, &packet(channel, octets));
        let properties = MessageProperties { ecn, ..MessageProperties::default() };
        self.tell(DatagramsIndication::Delivered {
            association,
            batch: message.into(),
            properties,
        });
    }

    /// The batch is done.
    pub(crate) fn ends(&mut self) {
        self.layer.flush(&self.cx, &mut self.ends);
    }

    pub(crate) fn times_out(&mut self) {
        self.layer.handle_timeout(&self.cx, &mut self.ends);
    }

    /// What was said since this was asked last.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ends.said)
    }

    /// How often the hook was called, for which channels.
    pub(crate) fn called(&self, hook: &str) -> Vec<u8> {
        let called = self.layer.hooks().called.iter();
        called.filter(|(what, _)| *what == hook).map(|(_, channel)| *channel).collect()
    }
}
