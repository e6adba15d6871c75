//! A name that is over hears nothing more, also where the layer below answers late; and who listens
//! in one place does not listen in another.

use stackwright_base::{
    Configuration, Features, Hooks, Layer, MessageOf, Origin, Place, events, opening, session,
};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Facts, Handle, Outlet, Participant, PathLimits, Protocol};
use stackwright_wire::{Header, Message, SingleBuffer};

type M = SingleBuffer;
type Apart = Features<M, session::Present, events::Absent, opening::ActivePassive>;
type Together = Features<M, session::Absent, events::Absent, opening::ActivePassive>;

/// One association for each peer.
struct Plain<C>(std::marker::PhantomData<fn() -> C>);

/// Tells nothing.
#[derive(Header)]
struct Label {
    /// Anything.
    number: u8,
}

impl<C: Configuration<Message = M> + 'static> Hooks for Plain<C> {
    type Features = C;
    type Provides = Datagrams<MessageOf<Self>>;
    type Uses = Datagrams<MessageOf<Self>>;
    type Header = Label;
    type Key = ();
    type PassiveKey = ();
    type Association = ();
    type Timer = ();
    const FACTS: Facts = Facts { header_room: 1, ..Facts::named("plain") };

    fn create(&mut self, _: &Context, _: Handle, (): &(), _: Participant, _: Origin, _: Credit) {}

    fn push(&mut self, at: &mut impl Place<Self>, message: MessageOf<Self>, _: MessageProperties) {
        at.forward(&Label { number: 0 }, message);
    }
}

/// Above and below: keeps what is said, and answers when it is told to.
#[derive(Default)]
struct Ends {
    told: Vec<DatagramsIndication<M>>,
    asked: Vec<DatagramsRequest<M>>,
}

impl<C: Configuration<Message = M> + 'static> Outlet<Layer<Plain<C>>> for Ends {
    fn indicate(&mut self, indication: DatagramsIndication<M>) {
        self.told.push(indication);
    }

    fn request(&mut self, request: DatagramsRequest<M>) {
        self.asked.push(request);
    }
}

const ROOM: Credit = Credit { octets: 1000, messages: 4 };

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn place(last: u8) -> Participant {
    std::net::SocketAddr::from(([10, 0, 0, last], 7)).into()
}

struct Scene<C: Configuration<Message = M> + 'static> {
    layer: Layer<Plain<C>>,
    cx: Context,
    ends: Ends,
}

impl<C: Configuration<Message = M> + 'static> Scene<C> {
    fn new() -> Self {
        Scene {
            layer: Layer::new(Plain(std::marker::PhantomData), 1),
            cx: Context::new(1),
            ends: Ends::default(),
        }
    }

    fn ask(&mut self, request: DatagramsRequest<M>) {
        self.layer.handle_request(&self.cx, request, &mut self.ends);
        self.layer.flush(&self.cx, &mut self.ends);
    }

    fn open(&mut self, index: u32, last: u8) {
        self.ask(DatagramsRequest::Open {
            association: name(index),
            remote: place(last),
            credit: ROOM,
            local: None,
        });
    }

    fn close(&mut self, index: u32) {
        self.ask(DatagramsRequest::Close { name: name(index) });
    }

    /// The layer below opens all that it was asked for, late.
    fn opens_below(&mut self) {
        for request in std::mem::take(&mut self.ends.asked) {
            if let DatagramsRequest::Open { association, remote, .. } = request {
                let word = DatagramsIndication::Opened {
                    association,
                    local: place(1),
                    remote,
                    credit: ROOM,
                    path: PathLimits::UNBOUNDED,
                };
                self.layer.handle_indication(&self.cx, word, &mut self.ends);
            }
        }
    }

    /// It ends all that it is asked to close.
    fn closes_below(&mut self) {
        for request in std::mem::take(&mut self.ends.asked) {
            if let DatagramsRequest::Close { name: association } = request {
                let word = DatagramsIndication::Ended { name: association, why: Ended::Finished };
                self.layer.handle_indication(&self.cx, word, &mut self.ends);
            }
        }
    }

    /// Who was opened, and who heard his last word.
    fn heard(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut opened, mut ended) = (Vec::new(), Vec::new());
        for word in &self.ends.told {
            match word {
                DatagramsIndication::Opened { association, .. } => opened.push(association.index),
                DatagramsIndication::Ended { name, .. } => ended.push(name.index),
                _ => {}
            }
        }
        (opened, ended)
    }
}

#[test]
fn who_is_refused_is_not_opened_later() {
    let mut scene = Scene::<Apart>::new();
    scene.open(0, 2);
    scene.open(1, 2); // a peer has only one
    scene.opens_below();
    assert_eq!(scene.heard(), (vec![0], vec![1]));
}

#[test]
fn who_closes_before_it_is_open_is_not_opened_later() {
    let mut scene = Scene::<Together>::new();
    scene.open(0, 2);
    scene.open(1, 2);
    scene.close(0);
    scene.opens_below();
    assert_eq!(scene.heard(), (vec![1], vec![0]));
}

#[test]
fn a_shared_endpoint_leaves_nothing_behind() {
    let mut scene = Scene::<Together>::new();
    scene.open(0, 2);
    scene.open(1, 3); // joins the endpoint that there is, whoever is meant
    scene.opens_below();
    assert_eq!(scene.heard().0, [0, 1]);
    scene.close(0);
    scene.close(1);
    scene.closes_below();
    assert_eq!((scene.heard().1, scene.layer.names()), (vec![0, 1], 0));
}

#[test]
fn names_that_wait_end_with_their_own_listener() {
    let mut scene = Scene::<Apart>::new();
    for listener in [0, 1] {
        scene.ask(DatagramsRequest::Listen { listener: name(listener), local: place(1) });
        let association = name(10 + listener);
        scene.ask(DatagramsRequest::Await { listener: name(listener), association, credit: ROOM });
    }
    scene.ask(DatagramsRequest::Close { name: name(0) });
    assert_eq!(scene.heard().1, [10, 0], "the other listener's name waits on");
    scene.ask(DatagramsRequest::Close { name: name(1) });
    assert_eq!(scene.heard().1, [10, 0, 11, 1]);
}

#[test]
fn who_listens_in_two_places_hears_who_comes_to_each() {
    let mut scene = Scene::<Apart>::new();
    for listener in [1, 2] {
        scene.ask(DatagramsRequest::Listen {
            listener: name(listener),
            local: place(listener as u8),
        });
        let association = name(10 + listener);
        scene.ask(DatagramsRequest::Await { listener: name(listener), association, credit: ROOM });
    }
    let mut places = Vec::new();
    for request in std::mem::take(&mut scene.ends.asked) {
        match request {
            DatagramsRequest::Listen { listener, local } => places.push((listener, local)),
            DatagramsRequest::Await { listener, association, .. }
                if Some(listener) == places.last().map(|at| at.0) =>
            {
                // Somebody comes to the place that was asked for last, and says something.
                let local = places.last().expect("it was asked for").1;
                let came = DatagramsIndication::Opened {
                    association,
                    local,
                    remote: place(9),
                    credit: ROOM,
                    path: PathLimits::UNBOUNDED,
                };
                scene.layer.handle_indication(&scene.cx, came, &mut scene.ends);
                let message = M::with_headroom(0, &[0]);
                let said = DatagramsIndication::Delivered {
                    association,
                    batch: message.into(),
                    properties: MessageProperties::default(),
                };
                scene.layer.handle_indication(&scene.cx, said, &mut scene.ends);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(places.iter().map(|(_, local)| *local).collect::<Vec<_>>(), [place(1), place(2)]);
    assert_eq!(scene.heard().0, [11, 12]);
}
