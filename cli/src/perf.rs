//! `perf`: measures a transport between two processes of this program.
//!
//! | file | what |
//! | --- | --- |
//! | `arguments.rs` | what may be said of it |
//! | `options.rs` | which transports honour which options |
//! | `place.rs` | addresses: which transport, and where |
//! | `transport.rs` | the stacks that are measured |
//! | `words.rs` | what the two sides say to each other |
//! | `serve.rs`, `cores.rs`, `guest.rs` | the side that counts, and answers |
//! | `bulk.rs`, `requests.rs`, `associations.rs` | what the other side does |
//! | `transactions.rs`, `one_way.rs` | what it does where an association is one exchange, or has one direction |
//! | `group.rs` | what it does to a group |
//! | `layers.rs` | what each layer of a stack takes |
//! | `alone.rs` | both sides in one process |
//! | `outcome.rs` | what came of it |
//! | `shown.rs` | what a person sees meanwhile |

mod alone;
mod arguments;
mod associations;
mod bulk;
mod cores;
mod group;
mod guest;
pub(crate) mod layers;
mod one_way;
mod options;
mod outcome;
mod place;
mod requests;
mod serve;
pub(crate) mod shown;
mod transactions;
mod transport;
mod words;

pub(crate) use alone::alone;
pub(crate) use arguments::Perf;
pub(crate) use requests::LONGEST;
pub(crate) use words::{Kind, SHORTEST, Word};

use std::time::Duration;

use nix::time::ClockId;

use crate::problem::Problem;
use arguments::Run;
use options::Given;
use outcome::Outcome;
use place::{Place, Transport};
use transport::Make;

pub(crate) fn run(perf: &Perf) -> Result<(), Problem> {
    match perf {
        Perf::Serve(serve) => serve::run(serve),
        Perf::Layers(_) => Ok(()), // another command does the work
        Perf::Run(run) => {
            measure(run)?.tell(run.json);
            Ok(())
        }
    }
}

/// Does what is asked, and gives what came of it.
fn measure(run: &Run) -> Result<Outcome, Problem> {
    let place = Place::parse(&run.url)?;
    place.transport.allows(run, &place)?;
    options::check(&Given::Run(run), &place)?;
    let tuning = run.tuning.of(run);
    place.transport.check(&place, &tuning, &run.placement)?;
    let make = &Make::new(&place, &tuning, &run.placement)?;
    let congestion = make.congestion();
    let (transport, place) = (place.transport, &place);
    let outcome = match (run.associations, run.requests) {
        _ if place.is_group() => group::measure(run, place, make),
        (Some(many), _) => associations::measure(run, place, many, make),
        (None, true) if transport == Transport::TransactionXtp => {
            transactions::measure(run, place, make)
        }
        (None, true) => requests::measure(run, place, make),
        (None, false) => bulk::measure(run, place, make),
    };
    Ok(outcome?.controlled(congestion))
}

/// The processor time of this thread so far, the kernel's part included: each end of a measurement
/// has one thread. It is asked of the C library, as the [clock](stackwright_drivers::Clock) is.
pub(crate) fn processor() -> Duration {
    ClockId::CLOCK_THREAD_CPUTIME_ID.now().expect("the system has this clock").into()
}
