//! Stacks of several adapters in one world: an archive keeps on its disk what comes on its streams.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{
    Credit, Files, FilesIndication, FilesRequest, Keep, Purpose, StreamProperties, Streams,
    StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Both, Context, Duration, Either, Facts, Guarantees, Handle, IndicationTo, Nothing, Outlet,
    Protocol, RequestTo,
};
use stackwright_simulator::{
    Asks, Conditions, Heard, SimulatedDisk, SimulatedStreams, Tree, World,
};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const FIRST: Handle = Handle { index: 0, generation: 0 };
const SECOND: Handle = Handle { index: 1, generation: 0 };
const WINDOW: usize = 100;

/// Keeps what one caller says, under one name: octets are taken as fast as the disk writes them.
#[derive(Default)]
struct Archive<M> {
    offset: u64,
    message: std::marker::PhantomData<M>,
}

impl<M: Message> Protocol for Archive<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::WHOLE_FILES),
        ..Facts::named("archive")
    };
    type Provides = Nothing;
    type Uses = Both<Streams<M>, Files<M>>;

    fn handle_request(&mut self, _: &Context, request: RequestTo<Self>, _: &mut impl Outlet<Self>) {
        match request {}
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        told: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match told {
            Either::Left(StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                let octets = message.len() as u64;
                out.request(Either::Right(FilesRequest::Write {
                    file: FIRST,
                    offset: self.offset,
                    message,
                }));
                self.offset += octets;
            }
            Either::Left(StreamsIndication::Finished { .. }) => {
                out.request(Either::Right(FilesRequest::Close { file: FIRST, keep: Keep::Whole }));
                out.request(Either::Left(StreamsRequest::Finish { association: SECOND }));
            }
            Either::Right(FilesIndication::Written { octets, .. }) => {
                out.request(Either::Left(StreamsRequest::Credit {
                    association: SECOND,
                    credit: Credit::of_octets(octets),
                }));
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.next_deadline() != Some(cx.now()) {
            return;
        }
        self.offset = 0;
        let purpose = Purpose::Create { from: 0 };
        out.request(Either::Right(FilesRequest::Open {
            file: FIRST,
            path: "kept".into(),
            purpose,
        }));
        let local = SocketAddr::new(SERVER, 9).into();
        out.request(Either::Left(StreamsRequest::Listen { listener: FIRST, local }));
        out.request(Either::Left(StreamsRequest::Await {
            listener: FIRST,
            association: SECOND,
            credit: Credit::of_octets(WINDOW),
        }));
    }

    fn next_deadline(&self) -> Option<stackwright_contract::Instant> {
        (self.offset == u64::MAX).then(Default::default)
    }
}

/// Gives the trace's hash.
fn kept<M: Message>(seed: u64) -> u64 {
    let payload: Vec<u8> = (0..5000).map(|nth: u32| nth as u8).collect();
    let tree = Tree::shared();
    let mut world = World::<M>::new(seed);
    world.keep_trace();
    let delay = Duration::from_millis(3);
    world.network_mut().set_conditions(Conditions {
        delay,
        loss: 0.05.into(),
        ..Conditions::IDEAL
    });
    let lowers = Beside::new(SimulatedStreams::new(SERVER), SimulatedDisk::new(tree.clone()));
    let archive = Archive { offset: u64::MAX, message: std::marker::PhantomData };
    let heard = Heard::<std::convert::Infallible>::default();
    let server = world.add(SERVER, Over::new(archive, lowers), heard);
    let said = payload.clone();
    let caller =
        move |_: &Context, told: StreamsIndication<M>, asks: &mut Asks<SimulatedStreams<M>>| {
            if let StreamsIndication::Opened { association, .. } = told {
                let message = M::with_headroom(0, &said);
                asks.push_back(StreamsRequest::Send {
                    association,
                    batch: message.into(),
                    properties: StreamProperties { expedited: true },
                });
                asks.push_back(StreamsRequest::Finish { association });
            }
        };
    let client = world.add(CLIENT, SimulatedStreams::new(CLIENT), caller);
    let remote = SocketAddr::new(SERVER, 9).into();
    world.ask(
        client,
        StreamsRequest::Open {
            association: FIRST,
            remote,
            local: None,
            credit: Credit::of_octets(1),
        },
    );
    let complete = |_: &World<M>| tree.borrow().octets("kept").as_ref() == Some(&payload);
    assert!(world.run_until(complete, Duration::from_secs(3600)));
    assert!(tree.borrow().most_held() <= WINDOW, "credit bounds what waits for the disk");
    assert!(world.stack(server).lower.right.open_files() == 0);
    let hash = world.trace().hash();
    assert!(world.trace().lines().iter().any(|line| line.what.contains("urgent")));
    hash
}

#[test]
fn streams_and_a_disk_under_one_protocol() {
    for seed in 0..20 {
        assert_eq!(kept::<SingleBuffer>(seed), kept::<BufferTree>(seed));
    }
}

#[test]
#[should_panic(expected = "10.0.0.1 is the address of another adapter already")]
fn an_address_is_one_adapters() {
    let mut world = World::<SingleBuffer>::new(0);
    let heard = Heard::<StreamsIndication<SingleBuffer>>::default;
    world.add(SERVER, SimulatedStreams::new(SERVER), heard());
    world.add(SERVER, SimulatedStreams::new(SERVER), heard());
}

#[test]
#[should_panic(expected = "which is not the address of its adapter")]
fn an_adapter_speaks_from_its_own_address() {
    let mut world = World::<SingleBuffer>::new(0);
    let heard = Heard::<StreamsIndication<SingleBuffer>>::default();
    let client = world.add(CLIENT, SimulatedStreams::new(SERVER), heard);
    let remote = SocketAddr::new(SERVER, 9).into();
    world.ask(
        client,
        StreamsRequest::Open {
            association: FIRST,
            remote,
            local: None,
            credit: Credit::of_octets(1),
        },
    );
}
