//! Places, the joints between them, and how a word passes: in the order of [`Over`](crate::Over),
//! word for word.
//!
//! A joint is what one upper has with all its lowers, as `Over<U, Beside<..>>` has one. While the
//! upper speaks downward through it, it is *falling*, and what a lower answers waits in `rising`;
//! while a lower speaks upward, it is *rising*, and what the upper answers waits in `sinking`. The
//! joint is settled where the upper was called, when it has returned.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::{Cell, RefCell};

use stackwright_contract::ask::Question;
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Context, Service};
use stackwright_wire::Message;

use super::place::{Above, Below, Joint, Place, State};
use super::{AskPort, Node};
use crate::stack::ROUNDS_MOST;

/// What lies above and below a whole graph.
pub(super) trait Ends<M: Message, B: Service> {
    fn indicate(&mut self, port: usize, word: Indication<M, B>);
    fn request(&mut self, lane: usize, word: Request<M, B>);
}

/// One step of a walk through all places: a timeout, or a flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Place(usize),
    Settle(usize),
}

/// All places and joints.
pub(super) struct Web<M: Message, B: Service> {
    pub(super) places: Vec<Place<M, B>>,
    pub(super) joints: Vec<Joint<M, B>>,
    /// What a timeout does, lowers first; and the joints in the same order.
    pub(super) steps: Vec<Step>,
    /// What a flush does, uppers first.
    pub(super) descent: Vec<Step>,
    pub(super) order: Vec<usize>,
    /// What a node takes message by message: a port and a request.
    pub(super) several: RefCell<Option<(usize, Request<M, B>)>>,
    /// How many words wait in all joints, and in `several`.
    pub(super) waiting: Cell<usize>,
}

/// Takes the words of a node while it handles something: the node's outlet.
pub struct NodeOutlet<'a, M: Message, B: Service> {
    web: &'a Web<M, B>,
    here: &'a Place<M, B>,
    cx: &'a Context,
    out: &'a mut dyn Ends<M, B>,
}

impl<M: Message, B: Service + 'static> NodeOutlet<'_, M, B> {
    /// Hands an indication to the layer above, on a port that the node provides.
    #[inline(always)]
    pub fn tell(&mut self, port: usize, word: Indication<M, B>) {
        match self.here.above[port] {
            Above::Place(upper, port) => self.web.rise(upper, port, word, self.cx, self.out),
            Above::Top(port) => self.out.indicate(port, word),
            Above::Nothing => {}
        }
    }

    /// Hands a request to the layer below, on a port that the node uses.
    #[inline(always)]
    pub fn ask(&mut self, port: usize, word: Request<M, B>) {
        match self.here.below[port] {
            Below::Place(lower, port) => {
                self.web.sink(self.here, lower, port, word, self.cx, self.out)
            }
            Below::Lane(lane) => self.out.request(lane, word),
        }
    }
}

impl<M: Message, B: Service> NodeOutlet<'_, M, B> {
    /// Hands back a request on `port` that carries several messages: when the node has returned, it
    /// is handed each as a request of its own.
    #[cold]
    #[inline(never)]
    pub fn split(&mut self, port: usize, request: Request<M, B>) {
        let before = self.web.several.replace(Some((port, request)));
        debug_assert!(before.is_none(), "a node that hands back a request returns then");
        self.web.waiting.set(self.web.waiting.get() + 1);
    }
}

impl<M: Message, B: Service + 'static> Web<M, B> {
    #[inline(always)]
    fn outlet<'a>(
        &'a self,
        here: &'a Place<M, B>,
        cx: &'a Context,
        out: &'a mut dyn Ends<M, B>,
    ) -> NodeOutlet<'a, M, B> {
        NodeOutlet { web: self, here, cx, out }
    }

    /// Hands a word of a lower to the upper at `place`.
    #[inline(always)]
    fn rise(
        &self,
        place: usize,
        port: usize,
        word: Indication<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        let upper = &self.places[place];
        let joint = self.joint_of(upper);
        let before = joint.state.get();
        if before == State::Falling {
            return self.wait(&joint.rising, (place, port, word));
        }
        joint.state.set(State::Rising);
        self.indicate(upper, port, word, cx, out);
        joint.state.set(before);
    }

    /// Hands a word of `upper` to the lower at `place`.
    #[inline(always)]
    fn sink(
        &self,
        upper: &Place<M, B>,
        place: usize,
        port: usize,
        word: Request<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        let joint = self.joint_of(upper);
        let before = joint.state.get();
        if before == State::Rising {
            return self.wait(&joint.sinking, (place, port, word));
        }
        joint.state.set(State::Falling);
        self.request(place, port, word, cx, out);
        joint.state.set(before);
    }

    #[cold]
    #[inline(never)]
    fn wait<W>(&self, queue: &RefCell<VecDeque<W>>, word: W) {
        queue.borrow_mut().push_back(word);
        self.waiting.set(self.waiting.get() + 1);
    }

    #[inline(always)]
    fn joint_of(&self, upper: &Place<M, B>) -> &Joint<M, B> {
        &self.joints[upper.joint.expect("a node with a lower has a joint with it")]
    }

    /// Has the node at `place` handle a request, and then what it was answered.
    #[inline(always)]
    pub(super) fn request(
        &self,
        place: usize,
        port: usize,
        word: Request<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        self.request_of(&self.places[place], port, word, cx, out);
    }

    #[inline(always)]
    fn request_of(
        &self,
        here: &Place<M, B>,
        port: usize,
        word: Request<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        here.node.borrow_mut().handle_request(cx, port, word, &mut self.outlet(here, cx, out));
        if self.waiting.get() > 0 {
            self.after_request(here, cx, out);
        }
    }

    /// Handles what is left when a node has handled a request: messages that it takes one by one,
    /// of which each is settled before the next, as [`hand_down`](stackwright_contract::hand_down)
    /// does it in front of a stack; and answers that wait.
    #[cold]
    #[inline(never)]
    fn after_request(&self, here: &Place<M, B>, cx: &Context, out: &mut dyn Ends<M, B>) {
        if let Some((port, mut word)) = self.several.take() {
            self.waiting.set(self.waiting.get() - 1);
            while let Some(first) = word.split_first() {
                self.request_of(here, port, first, cx, out);
            }
            self.request_of(here, port, word, cx, out);
        }
        if let Some(joint) = here.joint {
            self.settle(joint, cx, out);
        }
    }

    /// Has a node handle what it is told; what it asks then waits in its joint.
    #[inline(always)]
    fn indicate(
        &self,
        here: &Place<M, B>,
        port: usize,
        word: Indication<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        here.node.borrow_mut().handle_indication(cx, port, word, &mut self.outlet(here, cx, out));
    }

    /// Hands a word from outside to the node at `place`. It may have lowers as well; for them the
    /// word rises.
    #[inline(always)]
    pub(super) fn arrive(
        &self,
        place: usize,
        port: usize,
        word: Indication<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        let here = &self.places[place];
        if here.joint.is_some() {
            self.rise(place, port, word, cx, out);
        } else {
            self.indicate(here, port, word, cx, out);
        }
        self.settle_all(cx, out);
    }

    /// Does the same for several messages, of which each is settled before the next where the node
    /// takes one at a time: as [`hand_up`](stackwright_contract::hand_up) does it in front of a
    /// stack.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_each(
        &self,
        place: usize,
        port: usize,
        mut word: Indication<M, B>,
        cx: &Context,
        out: &mut dyn Ends<M, B>,
    ) {
        while !self.places[place].batches.from_below
            && let Some(first) = word.split_first()
        {
            self.arrive(place, port, first, cx, out);
        }
        self.arrive(place, port, word, cx, out);
    }

    /// Has every node handle the passage of time.
    pub(super) fn timeout(&self, cx: &Context, out: &mut dyn Ends<M, B>) {
        self.walk(&self.steps, cx, out, |node, outlet| node.handle_timeout(cx, outlet));
    }

    /// Has every node send what it has gathered, from the top down.
    pub(super) fn flush(&self, cx: &Context, out: &mut dyn Ends<M, B>) {
        self.walk(&self.descent, cx, out, |node, outlet| node.flush(cx, outlet));
    }

    fn walk(
        &self,
        steps: &[Step],
        cx: &Context,
        out: &mut dyn Ends<M, B>,
        handle: impl Fn(&mut dyn Node<M, B>, &mut NodeOutlet<'_, M, B>),
    ) {
        for step in steps {
            match *step {
                Step::Place(place) => {
                    let here = &self.places[place];
                    handle(&mut **here.node.borrow_mut(), &mut self.outlet(here, cx, out));
                }
                Step::Settle(joint) => self.settle(joint, cx, out),
            }
        }
        self.settle_all(cx, out);
    }

    /// Settles all joints, from below, until nothing waits anywhere.
    pub(super) fn settle_all(&self, cx: &Context, out: &mut dyn Ends<M, B>) {
        for _round in 0..ROUNDS_MOST {
            if self.waiting.get() == 0 {
                return;
            }
            for joint in &self.order {
                self.settle(*joint, cx, out);
            }
        }
        panic!("the protocols of a graph answer each other without end");
    }

    /// Delivers the answers that waited, and the answers to those, until both sides are silent.
    #[cold]
    #[inline(never)]
    fn settle(&self, joint: usize, cx: &Context, out: &mut dyn Ends<M, B>) {
        let joint = &self.joints[joint];
        // A node that is still speaking through it is settled later.
        if self.waiting.get() == 0 || joint.state.get() != State::Idle {
            return;
        }
        for _round in 0..ROUNDS_MOST {
            let waiting = joint.rising.borrow().len() + joint.sinking.borrow().len();
            if waiting == 0 {
                return;
            }
            for _word in 0..waiting {
                self.deliver_next(joint, cx, out);
            }
        }
        let name = |places: &[usize]| self.places[places[0]].facts.name;
        panic!(
            "`{}` and `{}` answer each other without end",
            name(&joint.uppers),
            name(&joint.lowers)
        );
    }

    /// Delivers the next word that waits at a joint: what rises first, as `Over` does.
    fn deliver_next(&self, joint: &Joint<M, B>, cx: &Context, out: &mut dyn Ends<M, B>) {
        // The borrows end before the word is handled.
        let rising = joint.rising.borrow_mut().pop_front();
        if let Some((place, port, word)) = rising {
            self.waiting.set(self.waiting.get() - 1);
            joint.state.set(State::Rising);
            self.indicate(&self.places[place], port, word, cx, out);
            return joint.state.set(State::Idle);
        }
        let sinking = joint.sinking.borrow_mut().pop_front();
        if let Some((place, port, word)) = sinking {
            self.waiting.set(self.waiting.get() - 1);
            joint.state.set(State::Falling);
            self.request(place, port, word, cx, out);
            joint.state.set(State::Idle);
        }
    }

    /// Asks the node at `place` about a name on one of its ports; `outside` is below all.
    pub(super) fn ask(
        &self,
        place: usize,
        port: usize,
        about: &dyn Any,
        question: &mut Question<'_>,
        outside: &dyn AskPort,
    ) {
        let here = &self.places[place];
        here.node.borrow().ask(port, about, question, &BelowPlace { web: self, here, outside });
    }

    /// Returns the place with that name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.iter().position(|place| place.name == name)
    }
}

/// What is below a place, as its node asks it.
struct BelowPlace<'a, M: Message, B: Service> {
    web: &'a Web<M, B>,
    here: &'a Place<M, B>,
    outside: &'a dyn AskPort,
}

impl<M: Message, B: Service + 'static> AskPort for BelowPlace<'_, M, B> {
    fn ask(&self, port: usize, about: &dyn Any, question: &mut Question<'_>) {
        match self.here.below[port] {
            Below::Place(lower, port) => self.web.ask(lower, port, about, question, self.outside),
            Below::Lane(lane) => self.outside.ask(lane, about, question),
        }
    }
}
