//! Toy filters: one that answers, one that alters, one that drops.

use stackwright_compose::filter::{Filter, FilterVerdict};
use stackwright_contract::ask::{Counters, PacketCounts, Question};
use stackwright_contract::services::Batch;
use stackwright_contract::{Context, Guarantees};
use stackwright_wire::Message;

/// Counts messages, and answers [`Counters`] with them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally(pub PacketCounts);

impl<M: Message> Filter<M> for Tally {
    const NAME: &'static str = "tally";

    fn down(&mut self, _cx: &Context, batch: &mut Batch<M>) -> FilterVerdict {
        self.0.sent += batch.count() as u64;
        FilterVerdict::Pass
    }

    fn up(&mut self, _cx: &Context, batch: &mut Batch<M>) -> FilterVerdict {
        self.0.received += batch.count() as u64;
        FilterVerdict::Pass
    }

    fn ask(&self, question: &mut Question<'_>) {
        question.answer::<Counters>(|_| Some(self.0));
    }
}

/// Alters each octet on its way down, and back on its way up.
#[derive(Clone, Copy, Debug)]
pub struct Xor(pub u8);

impl<M: Message> Filter<M> for Xor {
    const NAME: &'static str = "xor";
    const READS_PAYLOAD: bool = true;

    fn down(&mut self, _cx: &Context, batch: &mut Batch<M>) -> FilterVerdict {
        batch.alter(|octets| octets.iter_mut().for_each(|octet| *octet ^= self.0));
        FilterVerdict::Pass
    }

    fn up(&mut self, cx: &Context, batch: &mut Batch<M>) -> FilterVerdict {
        self.down(cx, batch)
    }
}

/// Drops each message with a probability, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Dropper(pub u64);

impl<M: Message> Filter<M> for Dropper {
    const NAME: &'static str = "dropper";
    const TAKES_BATCHES: bool = false;
    const PASSES: Guarantees =
        Guarantees::ALL.without(Guarantees::RELIABLE).without(Guarantees::SENT);

    fn down(&mut self, cx: &Context, _batch: &mut Batch<M>) -> FilterVerdict {
        if cx.random(100) < self.0 { FilterVerdict::Drop("by chance") } else { FilterVerdict::Pass }
    }

    fn up(&mut self, cx: &Context, batch: &mut Batch<M>) -> FilterVerdict {
        self.down(cx, batch)
    }
}
