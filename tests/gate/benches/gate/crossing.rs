//! A message down through all layers and up again: stacks, and the same layers as a graph.

use stackwright_compose::Over;
use stackwright_contract::Protocol;
use stackwright_contract::services::Datagrams;
use stackwright_gate::subject::{Figure, Subject};
use stackwright_toys::{Below, Layer, PAYLOAD, Rounds, over, woven};
use stackwright_wire::SingleBuffer;

const ROUNDS: u64 = 1024;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    figures.push(Figure::new("crossing/stack/2", ROUNDS, || Crossing(Rounds::new(two()))));
    figures.push(Figure::new("crossing/stack/4", ROUNDS, || {
        Crossing(Rounds::new(Over::new(two(), two())))
    }));
    figures.push(Figure::new("crossing/stack/8", ROUNDS, || {
        Crossing(Rounds::new(Over::new(two(), Over::new(two(), Over::new(two(), two())))))
    }));
    for layers in [2, 4, 8] {
        figures.push(Figure::new(format!("crossing/graph/{layers}"), ROUNDS, move || {
            Crossing(Rounds::new(woven::<1>(&[5, 16].repeat(layers / 2))))
        }));
    }
}

fn two() -> Over<Layer<5, 1>, Layer<16, 1>> {
    over(Layer::default())
}

struct Crossing<P>(Rounds<P>);

impl<P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below>> Subject for Crossing<P> {
    fn work(&mut self) -> u64 {
        let octets = self.0.run(ROUNDS, |message| message);
        assert_eq!(octets, ROUNDS as usize * PAYLOAD, "every round ends with the payload");
        octets as u64
    }
}
