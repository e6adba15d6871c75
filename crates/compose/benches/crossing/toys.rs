//! Toy layers, static and in a graph.

use stackwright_compose::Over;
use stackwright_contract::Protocol;
use stackwright_contract::services::Datagrams;
use stackwright_toys::{Below, Layer, over};
use stackwright_wire::SingleBuffer;

use crate::Rounds;

/// The headers of eight layers, from the top.
const HEADERS: [usize; 8] = [5, 16, 20, 17, 5, 16, 20, 17];

type Two<const EXITS: usize> = Over<Layer<20, EXITS>, Layer<17, EXITS>>;

struct Toy<P>(stackwright_toys::Rounds<P>);

impl<P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below>> Rounds for Toy<P> {
    fn run(&mut self, rounds: u64) -> usize {
        self.0.run(rounds, |message| message)
    }
}

fn subject<P>(stack: P) -> Box<dyn Rounds>
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below> + 'static,
{
    Box::new(Toy(stackwright_toys::Rounds::new(stack)))
}

pub(crate) fn two_layers<const EXITS: usize>() -> Box<dyn Rounds> {
    subject(over::<5, EXITS, _>(Layer::<16, EXITS>::default()))
}

pub(crate) fn four_layers<const EXITS: usize>() -> Box<dyn Rounds> {
    let two: Two<EXITS> = over(Layer::default());
    subject(over::<5, EXITS, _>(over::<16, EXITS, _>(two)))
}

pub(crate) fn eight_layers<const EXITS: usize>() -> Box<dyn Rounds> {
    let two: Two<EXITS> = over(Layer::default());
    let four = over::<5, EXITS, _>(over::<16, EXITS, _>(two));
    let six = over::<20, EXITS, _>(over::<17, EXITS, _>(four));
    subject(over::<5, EXITS, _>(over::<16, EXITS, _>(six)))
}

pub(crate) fn woven(layers: usize) -> Box<dyn Rounds> {
    subject(stackwright_toys::woven::<1>(&HEADERS[..layers]))
}
