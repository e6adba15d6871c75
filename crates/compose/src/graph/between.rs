//! What the builder puts between nodes: forks and joins, on the words of a graph. They keep names
//! as the static ones do.

use alloc::vec::Vec;
use core::any::Any;

use stackwright_contract::ask::Question;
use stackwright_contract::words::{Indication, Port, Request};
use stackwright_contract::{Batches, Context, Facts, Guarantees, Service, Word};
use stackwright_wire::Message;

use super::{AskPort, Node, NodeOutlet};
use crate::stack::fork::{self, Branches};
use crate::stack::join::{self, Route, Routes};

/// Several uppers of one service on one lower.
pub(super) struct ForkNode {
    pub(super) port: Port,
    pub(super) uppers: usize,
    pub(super) branches: Branches,
}

impl<M: Message, B: Service + 'static> Node<M, B> for ForkNode {
    fn facts(&self) -> Facts {
        Facts { passes: Guarantees::ALL, ..Facts::named(fork::NAME) }
    }

    fn batches(&self) -> Batches {
        Batches::ALL
    }

    fn provides(&self, ports: &mut Vec<Port>) {
        ports.extend((0..self.uppers).map(|_| self.port));
    }

    fn uses(&self, ports: &mut Vec<Port>) {
        ports.push(self.port);
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        port: usize,
        mut request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        if self.branches.sink(port, &mut request) {
            outlet.ask(0, request);
        } else {
            cx.dropped(fork::NAME, fork::ENDED);
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        _port: usize,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        match self.branches.rise(&mut indication) {
            Some(upper) => outlet.tell(upper, indication),
            None => cx.dropped(fork::NAME, fork::ENDED),
        }
    }

    fn ask(&self, port: usize, about: &dyn Any, question: &mut Question<'_>, below: &dyn AskPort) {
        let name = about.downcast_ref().and_then(|name| self.branches.below(port, *name));
        if let Some(name) = name {
            below.ask(0, &name, question);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// One upper on several lowers of one service.
pub(super) struct JoinNode {
    pub(super) port: Port,
    pub(super) lowers: usize,
    pub(super) routes: Routes,
}

impl<M: Message, B: Service + 'static> Node<M, B> for JoinNode {
    fn facts(&self) -> Facts {
        Facts { passes: Guarantees::ALL, ..Facts::named(join::NAME) }
    }

    fn batches(&self) -> Batches {
        Batches::ALL
    }

    fn provides(&self, ports: &mut Vec<Port>) {
        ports.push(self.port);
    }

    fn uses(&self, ports: &mut Vec<Port>) {
        ports.extend((0..self.lowers).map(|_| self.port));
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        _port: usize,
        mut request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        match self.routes.sink(self.lowers, &mut request) {
            Route::Lower(lower) => outlet.ask(lower, request),
            Route::Nowhere => {
                let name = request.name_mut().copied();
                match name.and_then(|name| request.unreachable(name)) {
                    Some(last) => outlet.tell(0, last),
                    None => cx.dropped(join::NAME, join::NOWHERE),
                }
            }
            Route::Ended => cx.dropped(join::NAME, fork::ENDED),
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        port: usize,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        self.routes.rise(port, &mut indication);
        outlet.tell(0, indication);
    }

    fn ask(&self, _port: usize, about: &dyn Any, question: &mut Question<'_>, below: &dyn AskPort) {
        let lower = about.downcast_ref().and_then(|name| self.routes.lower(*name));
        if let Some(lower) = lower {
            below.ask(lower, about, question);
            Routes::answered(lower, question);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
