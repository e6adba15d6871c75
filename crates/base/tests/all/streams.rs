//! A layer that provides a stream and uses one; and one that refuses messages for which nobody is
//! here.

use std::collections::VecDeque;

use stackwright_base::{
    Arrival, Envelope, Features, Hooks, Layer, Origin, Place, Unexpected, events, opening, session,
};
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Batch, Code, Credit, Datagrams, Ended,
    MessageProperties, StreamProperties, Streams, Transfer,
};
use stackwright_contract::{
    Context, Facts, Handle, Outlet, Participant, PathLimits, Protocol, Word as _,
};
use stackwright_wire::{Header, Malformed, Message, SingleBuffer};

type M = SingleBuffer;
type Base = Features<M, session::Present, events::Absent, opening::ActivePassive>;

const ROOM: Credit = Credit { octets: 100, messages: 7 };
const MASK: u8 = 0x20;

/// Octets of a stream have no header.
struct Nothing;

impl Envelope<M> for Nothing {
    fn open(_: &mut M) -> Result<Self, Malformed> {
        Ok(Nothing)
    }

    fn close(&self, _: &mut M) {}
}

/// Turns a bit of every octet, in both directions; what there is no room for above waits here.
struct Masked;

fn masked(mut octets: M) -> M {
    octets.octets_mut().iter_mut().for_each(|octet| *octet ^= MASK);
    octets
}

/// What waits to be delivered, and whether that is all.
#[derive(Default)]
struct Waiting {
    octets: VecDeque<M>,
    all: bool,
}

fn deliver(at: &mut impl Place<Masked>) {
    while at.room().octets > 0
        && let room = at.room().octets
        && let Some(first) = at.association().octets.front_mut()
    {
        let octets = first.split_to(room.min(first.len()));
        if first.is_empty() {
            at.association().octets.pop_front();
        }
        at.deliver(octets, StreamProperties::default());
    }
    let waiting = at.association();
    if waiting.octets.is_empty() && std::mem::take(&mut waiting.all) {
        at.finished();
    }
}

impl Hooks for Masked {
    type Features = Base;
    type Provides = Streams<M>;
    type Uses = Streams<M>;
    type Header = Nothing;
    type Key = ();
    type PassiveKey = ();
    type Association = Waiting;
    type Timer = ();
    const FACTS: Facts = Facts::named("masked");
    const ROOM: Credit = ROOM;

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        (): &(),
        _: Participant,
        _: Origin,
        _: Credit,
    ) -> Waiting {
        Waiting::default()
    }

    fn push(&mut self, at: &mut impl Place<Self>, octets: M, properties: StreamProperties) {
        at.bear(properties);
        at.forward(&Nothing, masked(octets));
    }

    fn pop(&mut self, at: &mut impl Place<Self>, _: Nothing, octets: M) {
        at.association().octets.push_back(masked(octets));
        deliver(at);
    }

    fn room(&mut self, at: &mut impl Place<Self>) {
        deliver(at);
    }

    fn finish(&mut self, at: &mut impl Place<Self>) {
        at.finish_below();
    }

    fn finished_below(&mut self, at: &mut impl Place<Self>) {
        at.association().all = true;
        deliver(at);
    }
}

/// All that is said, word by word.
#[derive(Default)]
pub(crate) struct Ends {
    said: Vec<String>,
    pub(crate) lowers: VecDeque<Handle>,
    /// What was told to be open last, and between whom.
    pub(crate) opened: Option<(Handle, [Participant; 2])>,
    /// Where something was sent last.
    sent: Option<Handle>,
}

fn text(batch: Batch<M>) -> String {
    String::from_utf8_lossy(batch.into_octets().octets()).into_owned()
}

impl<H> Outlet<Layer<H>> for Ends
where
    H: Hooks<Provides: Transfer<Message = M>, Uses: Transfer<Message = M>>,
{
    fn indicate(&mut self, word: AssociationIndication<H::Provides>) {
        self.said.push(match word {
            AssociationIndication::Opened { association, local, remote, credit, path } => {
                self.opened = Some((association, [local, remote]));
                format!("opened {}, {}, {}", credit.octets, credit.messages, path.longest)
            }
            AssociationIndication::Delivered { batch, .. } => {
                format!("delivered {}", text(batch))
            }
            AssociationIndication::Credit { credit, .. } => {
                format!("credit {}, {}", credit.octets, credit.messages)
            }
            AssociationIndication::Ended { name, why } => format!("ended {}: {why:?}", name.index),
            AssociationIndication::Finished { .. } => "finished".into(),
            AssociationIndication::Listening { .. } => "listening".into(),
            AssociationIndication::Reported { what, .. } => format!("reported: {what:?}"),
            word => panic!("{}", word.primitive()),
        });
    }

    fn request(&mut self, word: AssociationRequest<H::Uses>) {
        let said = match word {
            AssociationRequest::Open { association, credit, .. } => {
                self.lowers.push_back(association);
                format!("open below, {}", credit.messages)
            }
            AssociationRequest::Await { association, .. } => {
                self.lowers.push_back(association);
                "await below".into()
            }
            AssociationRequest::Send { association, batch, properties } => {
                self.sent = Some(association);
                let expedited = format!("{properties:?}").contains("expedited: true");
                format!("send {}{}", text(batch), if expedited { ", expedited" } else { "" })
            }
            AssociationRequest::Finish { .. } => "finish below".into(),
            AssociationRequest::Close { .. } => "close below".into(),
            AssociationRequest::Listen { .. } => "listen below".into(),
            word => panic!("{}", word.primitive()),
        };
        self.said.push(said);
    }
}

pub(crate) struct Scene<H: Hooks> {
    layer: Layer<H>,
    cx: Context,
    pub(crate) ends: Ends,
}

pub(crate) const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

pub(crate) fn place(last: u8) -> Participant {
    std::net::SocketAddr::from(([10, 0, 0, last], 7)).into()
}

impl<H: Hooks<Provides: Transfer<Message = M>, Uses: Transfer<Message = M>>> Scene<H> {
    pub(crate) fn new(hooks: H) -> Self {
        Scene { layer: Layer::new(hooks, 1), cx: Context::new(1), ends: Ends::default() }
    }

    pub(crate) fn ask(&mut self, word: AssociationRequest<H::Provides>) -> Vec<String> {
        self.layer.handle_request(&self.cx, word, &mut self.ends);
        self.layer.flush(&self.cx, &mut self.ends);
        std::mem::take(&mut self.ends.said)
    }

    pub(crate) fn tell(&mut self, word: AssociationIndication<H::Uses>) -> Vec<String> {
        self.layer.handle_indication(&self.cx, word, &mut self.ends);
        self.layer.flush(&self.cx, &mut self.ends);
        std::mem::take(&mut self.ends.said)
    }

    /// Opens association 1, with this credit upward; gives the name below.
    fn open(&mut self, credit: Credit) -> Handle {
        self.ask(AssociationRequest::Open {
            association: name(1),
            remote: place(9),
            local: None,
            credit,
        });
        self.ends.lowers.pop_front().expect("it was asked for")
    }

    pub(crate) fn opened_below(&mut self, association: Handle, credit: Credit) -> Vec<String> {
        let path = PathLimits::of_longest(1000);
        self.tell(AssociationIndication::Opened {
            association,
            local: place(1),
            remote: place(9),
            credit,
            path,
        })
    }

    pub(crate) fn comes(&mut self, association: Handle, octets: &[u8]) -> Vec<String> {
        let batch = M::with_headroom(0, octets).into();
        self.tell(AssociationIndication::Delivered {
            association,
            batch,
            properties: Default::default(),
        })
    }
}

fn octets(octets: &[u8], segment_size: usize) -> Batch<M> {
    Batch::new(M::with_headroom(0, octets), segment_size)
}

fn streams(up: usize, below: usize) -> (Scene<Masked>, Handle) {
    let mut scene = Scene::new(Masked);
    let lower = scene.open(Credit::of_octets(up));
    let opened = scene.opened_below(lower, Credit::of_octets(below));
    assert_eq!(
        opened,
        [format!("opened 100, 0, {}", u32::MAX)],
        "no bound, no credit for messages"
    );
    (scene, lower)
}

#[test]
fn a_stream_costs_octets_alone_in_both_directions() {
    let (mut scene, lower) = streams(5, 100);
    let properties = StreamProperties { expedited: true };
    let send =
        AssociationRequest::Send { association: name(1), batch: octets(b"abcdefg", 2), properties };
    assert_eq!(scene.ask(send), ["send ABCDEFG, expedited", "credit 7, 0"]);
    assert_eq!(scene.comes(lower, b"ABC"), ["delivered abc"]);
    assert_eq!(scene.comes(lower, b"DEFG"), ["delivered de"], "as far as there is room");
    let credit = Credit::of_octets(1);
    assert_eq!(
        scene.ask(AssociationRequest::Credit { association: name(1), credit }),
        ["delivered f"]
    );
}

#[test]
fn a_half_close_follows_what_was_sent_and_what_came() {
    let (mut scene, lower) = streams(2, 1);
    let properties = StreamProperties::default();
    for batch in [octets(b"a", 1), octets(b"b", 1)] {
        scene.ask(AssociationRequest::Send { association: name(1), batch, properties });
    }
    let finish = AssociationRequest::Finish { association: name(1) };
    assert_eq!(scene.ask(finish), [""; 0], "not before what waits for room");
    let credit = Credit::of_octets(1);
    let said = scene.tell(AssociationIndication::Credit { association: lower, credit });
    assert_eq!(said, ["send B", "credit 1, 0", "finish below"]);
    assert_eq!(scene.comes(lower, b"ABC"), ["delivered ab"]);
    assert_eq!(scene.tell(AssociationIndication::Finished { association: lower }), [""; 0]);
    let said = scene.ask(AssociationRequest::Credit { association: name(1), credit });
    assert_eq!(said, ["delivered c", "finished"]);
}

#[test]
fn what_is_reset_before_it_is_open_was_refused() {
    let ended = |name| AssociationIndication::Ended { name, why: Ended::Reset(5) };
    let mut scene = Scene::new(Masked);
    let lower = scene.open(ROOM);
    assert_eq!(scene.tell(ended(lower)), ["ended 1: Refused(5)"]);
    let (mut scene, lower) = streams(9, 9);
    assert_eq!(scene.tell(ended(lower)), ["ended 1: Reset(5)"]);
}

#[test]
fn an_abort_is_answered_as_one() {
    let (mut scene, _) = streams(9, 9);
    let said = scene.ask(AssociationRequest::Abort { association: name(1), code: 5 });
    assert_eq!(said, ["ended 1: Aborted", "close below"]);
}

/// Datagrams whose label alone tells whose they are; an even one moves its association.
struct Roaming;

impl Hooks for Roaming {
    type Features = Base;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = Label;
    type Key = u8;
    type PassiveKey = ();
    type Association = u8;
    type Timer = ();
    const FACTS: Facts = Facts { header_room: 1, ..Facts::named("roaming") };
    const KEY_ALONE: bool = true;

    fn key(header: &Label) -> u8 {
        header.number
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        key: &u8,
        _: Participant,
        _: Origin,
        _: Credit,
    ) -> u8 {
        *key
    }

    fn follows(&mut self, number: &mut u8, remote: Participant, _: &Label) -> bool {
        assert_eq!(remote, place(8));
        number.is_multiple_of(2)
    }

    fn push(&mut self, at: &mut impl Place<Self>, message: M, _: MessageProperties) {
        let number = *at.association();
        at.forward(&Label { number }, message);
    }
}

#[test]
fn a_key_alone_finds_an_association_and_may_move_it() {
    for (key, moves) in [(3, false), (4, true)] {
        let mut scene = Scene::new(Roaming);
        scene.ask(AssociationRequest::Listen { listener: name(0), local: place(1) });
        let awaits =
            AssociationRequest::Await { listener: name(0), association: name(1), credit: ROOM };
        scene.ask(awaits);
        let [first, second] = [0; 2].map(|_| scene.ends.lowers.pop_front().expect("a name below"));
        scene.opened_below(first, ROOM);
        assert_eq!(scene.comes(first, &[key, b'a']).last().expect("it came"), "delivered a");
        let path = PathLimits::UNBOUNDED;
        let (local, remote) = (place(1), place(8));
        let arrived = AssociationIndication::Opened {
            association: second,
            local,
            remote,
            credit: ROOM,
            path,
        };
        scene.tell(arrived);
        let said = scene.comes(second, &[key, b'b']);
        assert!(said.contains(&"delivered b".into()), "{said:?}");
        // Of the two associations below, one is closed: nothing stands on it.
        assert!(said.contains(&"close below".into()), "{said:?}");
        let batch = octets(b"c", 1);
        let properties = MessageProperties::default();
        scene.ask(AssociationRequest::Send { association: name(1), batch, properties });
        assert_eq!(scene.ends.sent, Some(if moves { second } else { first }));
    }
}

/// Datagrams with a label; messages for which nobody is here are answered with so many octets.
struct Refusing(usize);

#[derive(Header)]
struct Label {
    /// Tells an association from the others.
    number: u8,
}

impl Hooks for Refusing {
    type Features = Base;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = Label;
    type Key = u8;
    type PassiveKey = ();
    type Association = ();
    type Timer = ();
    const FACTS: Facts = Facts { header_room: 1, ..Facts::named("refusing") };
    const REFUSES: bool = true;

    fn key(header: &Label) -> u8 {
        header.number
    }

    fn arrival(
        &mut self,
        _: &Context,
        _: (Participant, Participant),
        _: &Label,
        _: &mut M,
    ) -> Arrival<M> {
        Arrival::Welcome
    }

    fn refuse(
        &mut self,
        _: &Context,
        (_, remote): (Participant, Participant),
        header: &Label,
        _: &mut M,
        _: Unexpected,
    ) -> Option<M> {
        assert_eq!(remote, place(9));
        (header.number < 9).then(|| M::with_headroom(0, &vec![b'n'; self.0]))
    }

    fn create(&mut self, _: &Context, _: Handle, _: &u8, _: Participant, _: Origin, _: Credit) {}

    fn push(&mut self, at: &mut impl Place<Self>, message: M, _: MessageProperties) {
        at.forward(&Label { number: 0 }, message);
    }

    fn abort(&mut self, at: &mut impl Place<Self>, code: Code) -> bool {
        at.send(&Label { number: 0 }, M::with_headroom(8, code.to_string().as_bytes()));
        true
    }
}

/// Somebody listens, and one name waits.
fn refusing(octets: usize) -> Scene<Refusing> {
    let mut scene = Scene::new(Refusing(octets));
    let said = scene.ask(AssociationRequest::Listen { listener: name(0), local: place(1) });
    assert_eq!(said, ["listen below", "await below"], "one more than above");
    let awaits =
        AssociationRequest::Await { listener: name(0), association: name(1), credit: ROOM };
    assert_eq!(scene.ask(awaits), ["await below"]);
    scene
}

#[test]
fn a_message_for_which_no_name_waits_is_refused() {
    let mut scene = refusing(3);
    let [first, second] = [0; 2].map(|_| scene.ends.lowers.pop_front().expect("a name below"));
    assert_eq!(scene.opened_below(first, ROOM), ["await below"]);
    let [opened, delivered] = &scene.comes(first, b"\x01hello")[..] else {
        panic!("it is welcome")
    };
    assert_eq!((&opened[..6], &delivered[..]), ("opened", "delivered hello"));
    assert_eq!(scene.comes(first, b"\x02hello"), ["send nnn"], "another of the same peer");
    assert_eq!(scene.comes(first, b"\x09hello"), [""; 0], "there is nothing to say to that");
    assert_eq!(scene.comes(first, b"\x01still"), ["delivered still"]);
    assert_eq!(scene.opened_below(second, ROOM), [""; 0], "another name waits already");
    assert_eq!(
        scene.comes(second, b"\x01hello"),
        ["send nnn", "close below"],
        "and of nobody's peer"
    );
}

#[test]
fn a_refusal_is_no_longer_than_the_message_or_64_octets() {
    for (refusal, message, answered) in
        [(64, 2, true), (65, 2, false), (100, 101, true), (102, 100, false)]
    {
        let mut scene = refusing(refusal);
        let lower = scene.ends.lowers.pop_front().expect("a name below");
        scene.opened_below(lower, Credit { octets: 1000, messages: 9 });
        scene.comes(lower, b"\x01");
        let said = scene.comes(lower, &[vec![2], vec![0; message]].concat());
        assert_eq!(said.len(), usize::from(answered), "{refusal} for {message}");
        // The message itself, and the refusal.
        assert_eq!(scene.cx.dropped_count(), 2 - u64::from(answered));
    }
}

#[test]
fn of_messages_a_half_close_is_nothing_and_an_abort_may_say_its_code() {
    let mut scene = Scene::new(Refusing(3));
    let lower = scene.open(ROOM);
    scene.opened_below(lower, ROOM);
    assert_eq!(scene.ask(AssociationRequest::Finish { association: name(1) }), [""; 0]);
    let said = scene.ask(AssociationRequest::Abort { association: name(1), code: 42 });
    assert_eq!(said, ["send \x0042", "ended 1: Aborted", "close below"]);
}
