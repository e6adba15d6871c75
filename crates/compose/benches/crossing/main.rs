//! What composition costs: static stacks against graphs, and against a monolith.
//!
//! ```text
//! cargo bench -p stackwright-compose --bench crossing                        all of it
//! cargo bench -p stackwright-compose --bench crossing -- --quick             in less than 20 seconds
//! cargo bench -p stackwright-compose --bench crossing -- --counts            only what is exact: fails where it misses
//! ```
//!
//! A round is one message down through all layers and up again. Times are ratios of neighbouring
//! turns of one run; instructions and allocations are counted, and exact.

mod count;
mod headers;
mod measure;
mod monolith;
mod stacks;
mod toys;

use std::process::ExitCode;

use measure::Comparison;
use monolith::Monolith;
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Context, Handle, Outlet, Protocol};
use stackwright_wire::{Message, SingleBuffer};

/// The association of all messages.
const NAME: Handle = Handle { index: 0, generation: 0 };
/// Room for the headers of the deepest stack.
const ROOM: usize = 128;

/// Something that sends a message down and up again.
trait Rounds {
    /// So many rounds; gives how many octets rose, so that nothing is optimised away.
    fn run(&mut self, rounds: u64) -> usize;
}

/// What is above and below a stack: it keeps the message that comes out.
#[derive(Default)]
struct Ends {
    fallen: Option<SingleBuffer>,
    risen: Option<SingleBuffer>,
}

impl<P> Outlet<P> for Ends
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    #[inline]
    fn indicate(&mut self, indication: DatagramsIndication<SingleBuffer>) {
        if let DatagramsIndication::Delivered { batch: messages, .. } = indication {
            self.risen = Some(messages.into_single());
        }
    }

    #[inline]
    fn request(&mut self, request: DatagramsRequest<SingleBuffer>) {
        if let DatagramsRequest::Send { batch: messages, .. } = request {
            self.fallen = Some(messages.into_single());
        }
    }
}

/// What a station is told before it starts. Its peer is itself, which it does not know.
struct Station {
    tag: u16,
    window: u16,
    transport: u8,
    local: [u8; 4],
    remote: [u8; 4],
    network: u8,
    local_sign: ([u8; 6], u8),
    remote_sign: ([u8; 6], u8),
}

const STATION: Station = Station {
    tag: 0x1234,
    window: 32,
    transport: 36,
    local: [44, 128, 1, 2],
    remote: [44, 128, 1, 2],
    network: 0xcc,
    local_sign: (*b"DB0ABC", 7),
    remote_sign: (*b"DB0ABC", 7),
};

/// The four headers, in whatever shape. Neither way is inlined into its caller: so it is with a
/// driver.
trait BothWays {
    fn down(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends);
    fn up(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends);
}

struct FourHeaders<S> {
    shape: S,
    cx: Context,
    ends: Ends,
}

impl<S: BothWays + 'static> FourHeaders<S> {
    fn new(shape: S, payload: usize) -> Self {
        let payload: Vec<u8> = (0..payload).map(|place| (place * 7) as u8).collect();
        let ends = Ends { fallen: None, risen: Some(SingleBuffer::with_headroom(ROOM, &payload)) };
        FourHeaders { shape, cx: Context::new(1), ends }
    }

    fn boxed(shape: S, payload: usize) -> Box<dyn Rounds> {
        Box::new(Self::new(shape, payload))
    }
}

impl<S: BothWays> Rounds for FourHeaders<S> {
    fn run(&mut self, rounds: u64) -> usize {
        let FourHeaders { shape, cx, ends } = self;
        let mut octets = 0;
        for _ in 0..rounds {
            let message = ends.risen.take().expect("what rose goes down again");
            shape.down(cx, message, ends);
            let message = ends.fallen.take().expect("what goes down arrives below");
            shape.up(cx, message, ends);
            octets += ends.risen.as_ref().map_or(0, Message::len);
        }
        octets
    }
}

/// The two shapes write the same octets, and take or refuse the same ones: cut short anywhere, any
/// bit altered.
fn same_work<A: BothWays, B: BothWays>(ours: impl Fn() -> A, theirs: impl Fn() -> B) {
    let payload = [b'x'; 61];
    let cx = Context::new(1);
    let fall = |shape: &mut dyn BothWays| {
        let mut ends = Ends::default();
        shape.down(&cx, SingleBuffer::with_headroom(ROOM, &payload), &mut ends);
        ends.fallen.expect("it falls").octets().to_vec()
    };
    let rise = |shape: &mut dyn BothWays, octets: &[u8]| {
        let mut ends = Ends::default();
        shape.up(&cx, SingleBuffer::with_headroom(0, octets), &mut ends);
        ends.risen.map(|message| message.octets().to_vec())
    };
    // A good message first, then the altered one.
    let both = |alter: &dyn Fn(&mut Vec<u8>)| {
        let (mut ours, mut theirs) = (ours(), theirs());
        let mut pass = |alter: &dyn Fn(&mut Vec<u8>)| {
            let mut octets = fall(&mut ours);
            assert_eq!(octets, fall(&mut theirs), "both shapes write the same");
            alter(&mut octets);
            let risen = rise(&mut ours, &octets);
            assert_eq!(risen, rise(&mut theirs, &octets), "both shapes take the same");
            risen
        };
        pass(&|_| ());
        pass(alter)
    };
    assert_eq!(both(&|_| ()).as_deref(), Some(&payload[..]));
    // A link may pad.
    both(&|octets| octets.push(0));
    for length in 0..59 + payload.len() {
        assert_eq!(both(&|octets| octets.truncate(length)), None, "cut to {length} octets");
    }
    for bit in 0..8 * (59 + payload.len()) {
        both(&|octets| octets[bit / 8] ^= 1 << (bit % 8));
    }
}

/// Everything that is measured, by name.
fn subject(name: &str) -> Box<dyn Rounds> {
    let (shape, payload) = name.split_once(' ').unwrap_or((name, ""));
    let payload = payload.parse().unwrap_or(0);
    match shape {
        "one-exit-2" => toys::two_layers::<1>(),
        "two-exits-2" => toys::two_layers::<2>(),
        "one-exit-4" => toys::four_layers::<1>(),
        "two-exits-4" => toys::four_layers::<2>(),
        "one-exit-8" => toys::eight_layers::<1>(),
        "two-exits-8" => toys::eight_layers::<2>(),
        "graph-2" => toys::woven(2),
        "graph-4" => toys::woven(4),
        "graph-8" => toys::woven(8),
        "radio" => FourHeaders::boxed(stacks::radio(&STATION), payload),
        "monolith" => FourHeaders::boxed(Monolith::<true>::new(&STATION), payload),
        "radio-trusting" => FourHeaders::boxed(stacks::trusting(&STATION), payload),
        "monolith-trusting" => FourHeaders::boxed(Monolith::<false>::new(&STATION), payload),
        _ => panic!("no subject is called {name:?}"),
    }
}

/// A line of the table.
struct Line {
    what: &'static str,
    ours: &'static str,
    theirs: &'static str,
    /// At most this ratio of time, and of instructions; `None` where nothing is promised.
    time_most: Option<f64>,
    instructions_most: Option<f64>,
}

const fn line(
    what: &'static str,
    ours: &'static str,
    theirs: &'static str,
    time_most: Option<f64>,
    instructions_most: Option<f64>,
) -> Line {
    Line { what, ours, theirs, time_most, instructions_most }
}

const LINES: [Line; 10] = [
    line("2 layers, one exit / two exits", "one-exit-2", "two-exits-2", None, None),
    line("4 layers, one exit / two exits", "one-exit-4", "two-exits-4", None, None),
    line("8 layers, one exit / two exits", "one-exit-8", "two-exits-8", None, None),
    // The same layers on both sides. Two of them the compiler folds into one, so that no crossing
    // is left to compare with: what a crossing costs, `crossing` says.
    line("2 layers, graph / static", "graph-2", "two-exits-2", None, None),
    line("4 layers, graph / static", "graph-4", "two-exits-4", Some(8.0), None),
    line("8 layers, graph / static", "graph-8", "two-exits-8", Some(8.0), None),
    line("4 headers, 64 octets / monolith", "radio 64", "monolith 64", Some(1.05), Some(1.02)),
    line(
        "4 headers, 1024 octets / monolith",
        "radio 1024",
        "monolith 1024",
        Some(1.05),
        Some(1.02),
    ),
    line("the same, no sums, 64", "radio-trusting 64", "monolith-trusting 64", None, None),
    line("the same, no sums, 1024", "radio-trusting 1024", "monolith-trusting 1024", None, None),
];

/// How many times what a static crossing costs one in a graph may cost.
const CROSSING_MOST: f64 = 8.0;

/// What one more crossing costs, in a graph and statically, in nanoseconds: from 2 layers to 8,
/// twelve are added to a round.
fn crossing(timed: &[measure::Ratio]) -> (f64, f64) {
    let medians = |what: &str| {
        let place =
            LINES.iter().position(|line| line.ours == what).expect("it is one of the lines");
        timed[place].medians
    };
    let (two, eight) = (medians("graph-2"), medians("graph-8"));
    ((eight.0 - two.0) / 12.0, (eight.1 - two.1) / 12.0)
}

/// Nanoseconds of one turn of one subject.
const TURN: f64 = 500_000.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [count::ALONE, name, rounds] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        std::hint::black_box(subject(name).run(rounds.parse().expect("a number of rounds")));
        return ExitCode::SUCCESS;
    }
    let asked = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let turns = if asked("--quick") { 300 } else { 3000 };

    same_work(|| stacks::radio(&STATION), || Monolith::<true>::new(&STATION));
    same_work(|| stacks::trusting(&STATION), || Monolith::<false>::new(&STATION));

    let timed = (!asked("--counts")).then(|| time(turns));
    let allocated = LINES.each_ref().map(|line| {
        let mut subject = subject(line.ours);
        subject.run(10);
        count::allocations(|| assert!(subject.run(1000) > 0)) as f64 / 1000.0
    });
    let counted = instructions(500);
    report(timed.as_deref(), &allocated, &counted)
}

/// All comparisons in turns, so that whatever else the machine does happens to all of them.
fn time(turns: usize) -> Vec<measure::Ratio> {
    let mut comparisons = LINES
        .each_ref()
        .map(|line| Comparison::new(subject(line.ours), subject(line.theirs), TURN));
    for _ in 0..turns {
        comparisons.iter_mut().for_each(Comparison::turn);
    }
    comparisons.iter().map(Comparison::ratio).collect()
}

/// Instructions a round of ours and theirs, of each line; two at a time, since a count does not
/// mind company.
fn instructions(rounds: u64) -> Vec<Option<(f64, f64)>> {
    let count = |line: &Line| {
        std::thread::scope(|scope| {
            let theirs = scope.spawn(|| count::instructions(line.theirs, rounds));
            let ours = count::instructions(line.ours, rounds)?;
            Some((ours, theirs.join().expect("counting does not panic")?))
        })
    };
    LINES.iter().map(count).collect()
}

fn report(
    timed: Option<&[measure::Ratio]>,
    allocated: &[f64],
    counted: &[Option<(f64, f64)>],
) -> ExitCode {
    println!(
        "{:34} {:>6} {:>15} {:>17} {:>17} {:>15} {:>6} {:>6}",
        "one round, down and up",
        "time",
        "95 %",
        "ns (median)",
        "ns (least)",
        "instructions",
        "ratio",
        "alloc"
    );
    let mut missed = 0;
    for (place, line) in LINES.iter().enumerate() {
        let mut verdicts = Vec::new();
        let mut judge = |what: &str, ratio: f64, most: Option<f64>| {
            if let Some(most) = most {
                let met = ratio <= most;
                missed += u32::from(!met);
                verdicts.push(format!("{what} {} {most}", if met { "met" } else { "MISSED" }));
            }
        };
        print!("{:34}", line.what);
        match timed.map(|timed| &timed[place]) {
            Some(ratio) => {
                print!(
                    " {:>6.3} {:>15} {:>17} {:>17}",
                    ratio.median,
                    format!("{:.3}..{:.3}", ratio.interval.0, ratio.interval.1),
                    format!("{:.1} / {:.1}", ratio.medians.0, ratio.medians.1),
                    format!("{:.1} / {:.1}", ratio.least.0, ratio.least.1),
                );
                judge("time", ratio.median, line.time_most);
            }
            None => print!(" {:>6} {:>15} {:>17} {:>17}", "-", "-", "-", "-"),
        }
        match counted[place] {
            Some((ours, theirs)) => {
                print!(" {:>15} {:>6.3}", format!("{ours:.0} / {theirs:.0}"), ours / theirs);
                judge("instructions", ours / theirs, line.instructions_most);
            }
            None => print!(" {:>15} {:>6}", "-", "-"),
        }
        judge("allocations", allocated[place], Some(0.0));
        println!(" {:>6} {}", allocated[place], verdicts.join(", "));
    }
    if let Some(timed) = timed {
        let (graph, fixed) = crossing(timed);
        let met = graph <= CROSSING_MOST * fixed;
        missed += u32::from(!met);
        println!(
            "a crossing: graph {graph:.1} ns, static {fixed:.1} ns, ratio {:.2}; graph <= {CROSSING_MOST} x static {}",
            graph / fixed,
            if met { "met" } else { "MISSED" }
        );
    }
    if counted.iter().any(Option::is_none) {
        println!("instructions were not counted: there is no valgrind here");
    }
    println!("{missed} missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
