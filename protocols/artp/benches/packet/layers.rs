//! The same as layers: what a driver says goes in, words cross from the one to the other, and what
//! comes out is counted.

use std::net::SocketAddr;
use std::sync::Arc;

use stackwright_artp::header::Packet;
use stackwright_artp::{Config, Sessions};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Context, Handle, Instant, Outlet, Participant, PathLimits, Protocol};
use stackwright_transport::slots::Format;
use stackwright_transport::{Associations, Configuration, Slots, Transport};
use stackwright_wire::{BufferTree, Message, Pool};

use crate::ends::{BATCH as STEP, BLOCKS, HEADROOM, message};
use crate::{BATCH, Rounds};

type M = BufferTree;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const NAME: Handle = Handle { index: 1, generation: 0 };
const ROOM: Credit = Credit { octets: 64 << 20, messages: 4096 };

/// What is above and below a layer.
#[derive(Default)]
struct Ends {
    /// The name below, and whether it waits for somebody to arrive.
    below: Option<Handle>,
    listens: Option<Handle>,
    fallen: Vec<M>,
    risen: Vec<M>,
    open: bool,
    /// What the layer above may send.
    credit: Credit,
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>> Outlet<P> for Ends {
    fn indicate(&mut self, indication: DatagramsIndication<M>) {
        match indication {
            DatagramsIndication::Delivered { batch: messages, .. } => self.risen.extend(messages),
            DatagramsIndication::Credit { credit, .. } => self.gives(credit),
            DatagramsIndication::Opened { credit, .. } => {
                self.open = true;
                self.gives(credit);
            }
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { why, .. } => panic!("it ended: {why:?}"),
        }
    }

    fn request(&mut self, request: DatagramsRequest<M>) {
        match request {
            DatagramsRequest::Send { batch: messages, .. } => self.fallen.extend(messages),
            DatagramsRequest::Open { association, .. }
            | DatagramsRequest::Await { association, .. } => {
                self.below = self.below.or(Some(association));
            }
            DatagramsRequest::Listen { listener, .. } => self.listens = Some(listener),
            _ => {}
        }
    }
}

impl Ends {
    fn gives(&mut self, credit: Credit) {
        self.credit.octets += credit.octets;
        self.credit.messages += credit.messages;
    }
}

struct Side<P> {
    layer: P,
    ends: Ends,
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>> Side<P> {
    fn new(layer: P) -> Self {
        Side { layer, ends: Ends::default() }
    }

    fn ask(&mut self, cx: &Context, request: DatagramsRequest<M>) {
        self.layer.handle_request(cx, request, &mut self.ends);
    }

    fn tell(&mut self, cx: &Context, indication: DatagramsIndication<M>) {
        self.layer.handle_indication(cx, indication, &mut self.ends);
    }

    /// A batch is done: what there is to say leaves, and there is room for more below.
    fn settle(&mut self, cx: &Context) {
        if self.layer.next_deadline().is_some_and(|deadline| deadline <= cx.now()) {
            self.layer.handle_timeout(cx, &mut self.ends);
        }
        if self.layer.wants_flush() {
            self.layer.flush(cx, &mut self.ends);
        }
    }
}

/// Two layers, and the words between them.
pub(crate) struct Layers<P> {
    here: Side<P>,
    there: Side<P>,
    cx: Context,
    pool: Arc<Pool<M>>,
    crossing: Vec<M>,
}

impl<C: Configuration<Message = M, Format: Format<M, Front = Packet>>>
    Layers<Transport<Sessions<M, C>>>
{
    pub(crate) fn new(
        config: &Config,
        make: fn(u8, &Config, stackwright_artp::Secrets) -> Slots<C>,
    ) -> Self {
        let pool = Arc::new(Pool::new(HEADROOM + usize::from(config.packet), BLOCKS));
        let side = |secret| {
            let host = Sessions::new(Config { secret: [secret; 16], ..*config }, make);
            Side::new(Transport::new(
                Associations::sharing(host, Arc::clone(&pool)),
                u64::from(secret),
            ))
        };
        let (here, there) = (side(1), side(2));
        let mut layers = Layers { here, there, cx: Context::new(1), pool, crossing: Vec::new() };
        layers.open();
        layers
    }

    fn open(&mut self) {
        let Layers { here, there, cx, .. } = self;
        cx.set_now(Instant::from_nanoseconds(1_000_000_000));
        let local: Participant = SocketAddr::from(([10, 0, 0, 1], 7)).into();
        let remote: Participant = SocketAddr::from(([10, 0, 0, 2], 9)).into();
        there.ask(cx, DatagramsRequest::Listen { listener: LISTENER, local });
        let listener = there.ends.listens.expect("it listens below");
        there.tell(cx, DatagramsIndication::Listening { listener, local });
        there.ask(
            cx,
            DatagramsRequest::Await { listener: LISTENER, association: NAME, credit: ROOM },
        );
        here.ask(
            cx,
            DatagramsRequest::Open { association: NAME, remote: local, credit: ROOM, local: None },
        );
        for (side, local, remote) in [(&mut *here, remote, local), (&mut *there, local, remote)] {
            let association = side.ends.below.expect("it is opened below");
            side.tell(
                cx,
                DatagramsIndication::Opened {
                    association,
                    local,
                    remote,
                    credit: ROOM,
                    path: PathLimits::UNBOUNDED,
                },
            );
        }
        for _ in 0..4 {
            self.exchange();
        }
        assert!(self.here.ends.open && self.there.ends.open, "the session is open");
    }
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>> Layers<P> {
    fn exchange(&mut self) {
        let Layers { here, there, cx, crossing, .. } = self;
        speak(here, there, cx, crossing);
        speak(there, here, cx, crossing);
    }
}

/// One batch of one direction.
fn speak<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>>(
    from: &mut Side<P>,
    to: &mut Side<P>,
    cx: &Context,
    crossing: &mut Vec<M>,
) {
    cx.set_now(cx.now().later(STEP));
    from.settle(cx);
    let (Some(below), Some(association)) = (from.ends.below, to.ends.below) else { return };
    std::mem::swap(&mut from.ends.fallen, crossing);
    let mut credit = Credit { octets: 0, messages: crossing.len() };
    for message in crossing.drain(..) {
        credit.octets += message.len();
        let properties = MessageProperties::default();
        to.tell(
            cx,
            DatagramsIndication::Delivered { association, batch: message.into(), properties },
        );
    }
    if credit.messages > 0 {
        from.tell(cx, DatagramsIndication::Credit { association: below, credit });
    }
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>> Rounds for Layers<P> {
    fn run(&mut self, octets: usize, rounds: u64) -> usize {
        let mut delivered = 0;
        for _ in 0..rounds {
            for _ in 0..BATCH {
                let message = message(&self.pool, octets);
                let credit = &mut self.here.ends.credit;
                (credit.octets, credit.messages) = (credit.octets - octets, credit.messages - 1);
                let properties = MessageProperties::default();
                self.here.ask(
                    &self.cx,
                    DatagramsRequest::Send { association: NAME, batch: message.into(), properties },
                );
            }
            let mut arrived = 0;
            while arrived < BATCH {
                self.exchange();
                let mut credit = Credit::default();
                for message in self.there.ends.risen.drain(..) {
                    credit.octets += message.len();
                    credit.messages += 1;
                    message.reclaim(&self.pool);
                }
                arrived += credit.messages as u64;
                delivered += credit.octets;
                if credit.messages > 0 {
                    self.there
                        .ask(&self.cx, DatagramsRequest::Credit { association: NAME, credit });
                }
            }
        }
        assert_eq!(self.cx.dropped_count(), 0, "nothing is dropped");
        delivered
    }
}
