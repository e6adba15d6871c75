//! What it costs to cross a layer: a static stack, and a graph of the same layers.

use std::hint::black_box;
use std::time::Instant as Clock;

use stackwright_compose::Over;
use stackwright_contract::Protocol;
use stackwright_contract::services::Datagrams;
use stackwright_results::Problem;
use stackwright_toys::{Below, Layer, over};
use stackwright_wire::SingleBuffer;

/// Rounds of one sample.
const ROUNDS: u32 = 8_192;

/// The headers of eight layers, from the top. Fewer layers are the last ones. Layers have two
/// exits, as most are written.
const HEADERS: [usize; 8] = [5, 16, 20, 17, 5, 16, 20, 17];

/// Something that sends messages down and up again.
pub(super) trait Rounds {
    /// Gives the seconds of one round.
    fn run(&mut self) -> f64;
}

struct Toy<P>(stackwright_toys::Rounds<P>);

impl<P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below>> Rounds for Toy<P> {
    fn run(&mut self) -> f64 {
        let begin = Clock::now();
        black_box(self.0.run(ROUNDS.into(), black_box));
        begin.elapsed().as_secs_f64() / f64::from(ROUNDS)
    }
}

fn rounds<P>(stack: P) -> Box<dyn Rounds>
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below> + 'static,
{
    Box::new(Toy(stackwright_toys::Rounds::new(stack)))
}

type Two = Over<Layer<20, 2>, Layer<17, 2>>;
type Four = Over<Layer<5, 2>, Over<Layer<16, 2>, Two>>;
type Eight = Over<Layer<5, 2>, Over<Layer<16, 2>, Over<Layer<20, 2>, Over<Layer<17, 2>, Four>>>>;

fn two() -> Two {
    over(Layer::default())
}

fn four() -> Four {
    over(over(two()))
}

fn eight() -> Eight {
    over(over(over(over(four()))))
}

/// So many layers as a static stack.
///
/// # Errors
/// Where there is no stack of so many.
pub(super) fn fixed(layers: usize) -> Result<Box<dyn Rounds>, Problem> {
    match layers {
        2 => Ok(rounds(two())),
        4 => Ok(rounds(four())),
        8 => Ok(rounds(eight())),
        _ => Err(Problem::usage(format!("there is no static stack of {layers} layers"))),
    }
}

/// So many of the same layers as a graph.
///
/// # Errors
/// Where there are not so many.
pub(super) fn woven(layers: usize) -> Result<Box<dyn Rounds>, Problem> {
    let headers = HEADERS.len().checked_sub(layers).and_then(|first| HEADERS.get(first..));
    let headers = headers.filter(|headers| !headers.is_empty());
    let headers =
        headers.ok_or_else(|| Problem::usage(format!("there is no graph of {layers} layers")))?;
    Ok(rounds(stackwright_toys::woven::<2>(headers)))
}
