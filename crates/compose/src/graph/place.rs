//! One node and its neighbours, and the joint that it has with its lowers.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use stackwright_contract::words::{Indication, Port, Request};
use stackwright_contract::{Batches, Facts, Service};
use stackwright_wire::Message;

use super::Node;

/// What is above a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Above {
    /// What is above the whole graph, at this port of its service.
    Top(usize),
    /// The upper at this place, at this port.
    Place(usize, usize),
    /// Nothing stands there, so nothing is ever told.
    Nothing,
}

/// What is below a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Below {
    /// What is below the whole graph, in this lane.
    Lane(usize),
    /// The lower at this place, at this port.
    Place(usize, usize),
}

/// What put a node where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The program.
    Named,
    /// The builder: a fork or a join.
    Between,
    /// A push into the live graph.
    Module,
}

/// One node, and its neighbours.
pub(super) struct Place<M: Message, B: Service> {
    pub(super) name: String,
    /// Its own facts, and those of everything down from here.
    pub(super) facts: Facts,
    pub(super) whole: Facts,
    /// Which batches its node takes.
    pub(super) batches: Batches,
    pub(super) uses: Vec<Port>,
    pub(super) above: Vec<Above>,
    pub(super) below: Vec<Below>,
    /// Its joint with its lowers.
    pub(super) joint: Option<usize>,
    pub(super) kind: Kind,
    pub(super) node: RefCell<Box<dyn Node<M, B>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Idle,
    Falling,
    Rising,
}

/// A word that waits for the node at that place, on that port.
pub(super) type Waiting<W> = (usize, usize, W);

/// What one side said while the other was still speaking. Nearly always empty.
pub(super) struct Joint<M: Message, B: Service> {
    pub(super) uppers: Vec<usize>,
    pub(super) lowers: Vec<usize>,
    pub(super) state: Cell<State>,
    pub(super) rising: RefCell<VecDeque<Waiting<Indication<M, B>>>>,
    pub(super) sinking: RefCell<VecDeque<Waiting<Request<M, B>>>>,
}

impl<M: Message, B: Service> Joint<M, B> {
    pub(super) fn new(uppers: Vec<usize>, lowers: Vec<usize>) -> Self {
        Joint {
            uppers,
            lowers,
            state: Cell::new(State::Idle),
            rising: RefCell::default(),
            sinking: RefCell::default(),
        }
    }
}

/// Makes a place of which no neighbours are known.
pub(super) fn place<M: Message, B: Service + 'static>(
    name: String,
    kind: Kind,
    uses: Vec<Port>,
    node: Box<dyn Node<M, B>>,
) -> Place<M, B> {
    let (facts, batches) = (node.facts(), node.batches());
    Place {
        name,
        facts,
        whole: facts,
        batches,
        uses,
        above: Vec::new(),
        below: Vec::new(),
        joint: None,
        kind,
        node: RefCell::new(node),
    }
}
