//! The hub, and what stands around it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use stackwright_contract::services::{
    Credit, Ended, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Context, Either, Handle, Outlet, PathLimits, Protocol};
use stackwright_kiss::{Hub, HubConfig};
use stackwright_wire::{Message, Pool};

use super::M;

#[derive(Default)]
pub(super) struct Said {
    pub(super) up: Vec<FramesIndication<M>>,
    pub(super) down: VecDeque<Either<StreamsRequest<M>, FramesRequest<M>>>,
}

impl Outlet<Hub<M>> for Said {
    fn indicate(&mut self, indication: FramesIndication<M>) {
        self.up.push(indication);
    }

    fn request(&mut self, request: Either<StreamsRequest<M>, FramesRequest<M>>) {
        self.down.push_back(request);
    }
}

/// A program at its end of the stream.
#[derive(Default)]
pub(super) struct Program {
    /// What it received, and what its stream would take more.
    pub(super) came: Vec<u8>,
    pub(super) reads: bool,
    pub(super) unread: usize,
    /// What the hub lets it send.
    pub(super) may_send: usize,
    pub(super) closed: bool,
    pub(super) aborted: bool,
}

pub(super) struct Rig {
    pub(super) cx: Context,
    pub(super) hub: Hub<M>,
    pub(super) said: Said,
    pub(super) listener: Option<Handle>,
    pub(super) awaited: Option<(Handle, usize)>,
    pub(super) programs: Vec<(Handle, Program)>,
    /// What the TNC was handed: port, frame, mark.
    pub(super) sent: Vec<(u8, Vec<u8>, Option<u16>)>,
    /// What the hub takes of the TNC.
    pub(super) credit: Credit,
}

pub(super) fn octets(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

pub(super) fn local() -> SocketAddr {
    "127.0.0.1:8001".parse().expect("an address")
}

impl Rig {
    pub(super) fn new(config: HubConfig) -> Self {
        let mut rig = Rig {
            cx: Context::new(1),
            hub: Hub::new(config, Arc::new(Pool::new(4096, 4))),
            said: Said::default(),
            listener: None,
            awaited: None,
            programs: Vec::new(),
            sent: Vec::new(),
            credit: Credit::NONE,
        };
        assert!(rig.hub.wants_flush());
        rig.hub.flush(&rig.cx, &mut rig.said);
        rig.settle();
        let (listener, local) = (rig.listener.expect("it listens"), local().into());
        rig.programs_say(StreamsIndication::Listening { listener, local });
        assert_eq!(rig.hub.listening(), Some(Ok(local)));
        rig
    }

    /// With a TNC that takes `credit` on each port.
    pub(super) fn up(config: HubConfig, credit: Credit) -> Self {
        let mut rig = Rig::new(config);
        for port in 0..config.ports {
            rig.tnc_says(FramesIndication::State { port, up: true });
            rig.tnc_says(FramesIndication::Credit { port, credit });
        }
        rig.said.up.clear();
        rig
    }

    pub(super) fn tnc_says(&mut self, word: FramesIndication<M>) {
        self.hub.handle_indication(&self.cx, Either::Right(word), &mut self.said);
        self.settle();
    }

    pub(super) fn programs_say(&mut self, word: StreamsIndication<M>) {
        self.hub.handle_indication(&self.cx, Either::Left(word), &mut self.said);
        self.settle();
    }

    pub(super) fn above_says(&mut self, word: FramesRequest<M>) {
        self.hub.handle_request(&self.cx, word, &mut self.said);
        self.settle();
    }

    pub(super) fn settle(&mut self) {
        while let Some(request) = self.said.down.pop_front() {
            match request {
                Either::Right(FramesRequest::Credit { credit }) => self.credit += credit,
                Either::Right(FramesRequest::Send { port, batch, mark }) => {
                    self.sent.push((port, octets(batch.as_octets()), mark));
                }
                Either::Left(StreamsRequest::Listen { listener, local: there }) => {
                    assert_eq!(there, local().into());
                    self.listener = Some(listener);
                }
                Either::Left(StreamsRequest::Await { association, credit, .. }) => {
                    assert!(self.awaited.is_none(), "one name is enough");
                    self.awaited = Some((association, credit.octets));
                }
                Either::Left(StreamsRequest::Send { association, batch, .. }) => {
                    let octets = octets(batch.as_octets());
                    let program = self.program(association);
                    if program.reads {
                        program.came.extend_from_slice(&octets);
                        let credit = Credit::of_octets(octets.len());
                        self.programs_say(StreamsIndication::Credit { association, credit });
                    } else {
                        program.unread += octets.len();
                    }
                }
                Either::Left(StreamsRequest::Credit { association, credit }) => {
                    self.program(association).may_send += credit.octets;
                }
                Either::Left(StreamsRequest::Close { name }) => self.program(name).closed = true,
                Either::Left(StreamsRequest::Abort { association: name, .. }) => {
                    self.program(name).aborted = true;
                    let why = Ended::Aborted;
                    self.programs_say(StreamsIndication::Ended { name, why });
                }
                Either::Left(other) => panic!("{other:?}"),
            }
        }
    }

    pub(super) fn program(&mut self, name: Handle) -> &mut Program {
        let found = self.programs.iter_mut().find(|(there, _)| *there == name);
        &mut found.expect("it has connected").1
    }

    /// A program connects, whose stream takes a megabyte.
    pub(super) fn connect(&mut self) -> Handle {
        let (association, may_send) = self.awaited.take().expect("one is awaited");
        let program = Program { reads: true, may_send, ..Program::default() };
        self.programs.push((association, program));
        self.programs_say(StreamsIndication::Opened {
            association,
            local: local().into(),
            remote: local().into(),
            credit: Credit::of_octets(1 << 20),
            path: PathLimits::UNBOUNDED,
        });
        association
    }

    /// A program sends, as far as it may; returns how much.
    pub(super) fn say(&mut self, association: Handle, octets: &[u8]) -> usize {
        let program = self.program(association);
        let length = octets.len().min(program.may_send);
        program.may_send -= length;
        if length > 0 {
            let batch = M::with_headroom(0, &octets[..length]).into();
            let properties = Default::default();
            self.programs_say(StreamsIndication::Delivered { association, batch, properties });
        }
        length
    }

    pub(super) fn heard(&mut self, frame: &[u8]) {
        let batch = M::with_headroom(0, frame).into();
        self.tnc_says(FramesIndication::Delivered { port: 0, batch });
    }

    pub(super) fn came(&mut self, name: Handle) -> Vec<u8> {
        std::mem::take(&mut self.program(name).came)
    }
}
