//! What a timer costs: our event managers beside what one would use without them.
//!
//! ```text
//! cargo bench -p stackwright-base --bench timers                all of it
//! cargo bench -p stackwright-base --bench timers -- --quick     fewer rounds
//! cargo bench -p stackwright-base --bench timers -- 1000        one of the sizes
//! ```
//!
//! A round is the same for everybody: random deadlines within a minute are inserted, a random half
//! is cancelled, each by its ticket, and the others expire as time moves on in steps of a
//! millisecond. All contenders take turns in one run, and who begins changes. Ratios count;
//! nanoseconds are those of one machine. With few timers, to expire is mostly to find 60 000 times
//! that nothing does.

mod contenders;
mod measure;

use std::process::ExitCode;

use contenders::{HashWheel, Heap, Ours, Plain, Tree};
use measure::{Contender, Subject, Times, Work, median, ratio};
use stackwright_base::events::{DeltaList, Simple, TimingWheel};

/// Nanoseconds within which all timers are due.
const SPAN: u64 = 60_000 * STEP;
/// Nanoseconds of a step of time.
const STEP: u64 = 1_000_000;

/// How many timers, rounds, and rounds when it shall be quick.
const SIZES: [(usize, usize, usize); 5] =
    [(10, 300, 40), (100, 300, 40), (1000, 300, 40), (10_000, 30, 7), (1_000_000, 30, 7)];

/// The size at which the wheel is judged.
const JUDGED: usize = 1_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let mut verdict = ExitCode::SUCCESS;
    for (count, rounds, quick_rounds) in SIZES {
        if !sizes.is_empty() && !sizes.contains(&count) {
            continue;
        }
        let mut field: Vec<(&str, Box<dyn Subject>)> = vec![
            ("TimingWheel", Contender::<Ours<TimingWheel<u64>>>::boxed(true)),
            ("BinaryHeap and a table", Contender::<Heap>::boxed(true)),
            ("BTreeMap", Contender::<Tree>::boxed(true)),
            ("hash wheel, cancellable", Contender::<HashWheel>::boxed(true)),
            ("hash wheel, plain", Contender::<Plain>::boxed(false)),
        ];
        // A list is not for a million.
        if count <= 10_000 {
            field.push(("Simple", Contender::<Ours<Simple<u64>>>::boxed(true)));
            field.push(("DeltaList", Contender::<Ours<DeltaList<u64>>>::boxed(true)));
        }
        let times = run(&mut field, count, if quick { quick_rounds } else { rounds });
        let beaten = report(&field, &times, count);
        if count == JUDGED && !beaten {
            verdict = ExitCode::FAILURE;
        }
    }
    verdict
}

/// All contenders in turns, so that whatever else the machine does happens to all of them.
fn run(field: &mut [(&str, Box<dyn Subject>)], count: usize, rounds: usize) -> Vec<Vec<Times>> {
    let mut random = fastrand::Rng::with_seed(count as u64);
    let mut times = vec![Vec::new(); field.len()];
    for round in 0..=rounds {
        let work = Work::new(count, &mut random);
        for turn in 0..field.len() {
            let who = (turn + round) % field.len();
            let taken = field[who].1.turn(&work);
            // In the first round everybody still allocates.
            if round > 0 {
                times[who].push(taken);
            }
        }
    }
    times
}

/// Prints the table of one size; says whether the wheel beats everybody who can cancel.
fn report(field: &[(&str, Box<dyn Subject>)], times: &[Vec<Times>], count: usize) -> bool {
    let column = |who: usize, what: usize| times[who].iter().map(move |times| times[what]);
    println!("{count} timers within 60 s, {} rounds; nanoseconds each (medians)", times[0].len());
    println!(
        "{:26} {:>9} {:>9} {:>9} {:>9}   {:>10} {:>15}",
        "", "insert", "cancel", "expire", "sum", "wheel / it", "95 %"
    );
    let wheel: Vec<f64> = column(0, 3).collect();
    let mut lost = Vec::new();
    for (who, (name, subject)) in field.iter().enumerate() {
        let [insert, cancel, expire, sum] = [0, 1, 2, 3].map(|what| median(column(who, what)));
        let cancel = if subject.cancels() { format!("{cancel:.1}") } else { "-".into() };
        print!("{name:26} {insert:>9.1} {cancel:>9} {expire:>9.1} {sum:>9.1}");
        if who > 0 {
            let ratio = ratio(&wheel, &column(who, 3).collect::<Vec<_>>());
            print!(
                "   {:>10.3} {:>15}",
                ratio.value,
                format!("{:.3}..{:.3}", ratio.low, ratio.high)
            );
            if subject.cancels() && ratio.high >= 1.0 {
                lost.push(*name);
            }
        }
        println!();
    }
    if count == JUDGED {
        match &lost[..] {
            [] => println!(
                "verdict: met: the wheel beats everybody who can cancel, in the sum of the three"
            ),
            lost => println!("verdict: MISSED: the wheel does not beat {}", lost.join(", ")),
        }
    }
    println!();
    lost.is_empty()
}
