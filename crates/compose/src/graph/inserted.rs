//! Any filter as a module of a graph.

use core::any::Any;

use stackwright_contract::ask::Question;
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Context, Facts, Service};
use stackwright_wire::Message;

use super::{Module, NodeOutlet};
use crate::filter::{Filter, WordDirection, passes};

/// A [`Filter`], erased: what [`Graph::push`](super::Graph::push) puts between two neighbours.
///
/// [`Graph::protocol`](super::Graph::protocol) finds the filter in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inserted<F>(pub F);

impl<M: Message, B: Service + 'static, F: Filter<M>> Module<M, B> for Inserted<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn facts(&self) -> Facts {
        Facts { passes: F::PASSES, reads_payload: F::READS_PAYLOAD, ..Facts::named(F::NAME) }
    }

    fn takes_batches(&self) -> bool {
        F::TAKES_BATCHES
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        let service = request.service();
        if passes(&mut self.0, cx, WordDirection::Down, service, &mut request) {
            outlet.ask(0, request);
        } else {
            request.refund().into_iter().flatten().for_each(|told| outlet.tell(0, told));
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        let service = indication.service();
        if passes(&mut self.0, cx, WordDirection::Up, service, &mut indication) {
            outlet.tell(0, indication);
        } else if let Some(credit) = indication.refund() {
            outlet.ask(0, credit);
        }
    }

    fn ask(&self, question: &mut Question<'_>) {
        self.0.ask(question);
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }
}
