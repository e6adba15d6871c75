//! The image client: guards over an enum, host functions, phases of a run.

use stackwright_spec::{Interpreter, Stimulus, Value};

use crate::generated::{Interpreted, Log, compiled, signal};
use stackwright_generated::plain::jis::client::{self, Event, State, Variables};
use stackwright_generated::plain::jis::{
    BlocksHead, EndHead, Kind, RefusedHead, ReqHead, TableHead,
};

struct Client {
    log: Log,
    covered: bool,
}

impl client::Host<Vec<u8>> for Client {
    fn set(&mut self, table: TableHead, table_body: &Vec<u8>) {
        self.log.push(format!("set {} {table_body:?}", table.kind as u8));
    }
    fn paint(&mut self, _: BlocksHead, blocks_body: &Vec<u8>) {
        self.log.push(format!("paint {blocks_body:?}"));
    }
    fn total(&mut self, blocks: u32) {
        self.log.push(format!("total {blocks}"));
    }
    fn covered(&self) -> bool {
        self.covered
    }
    fn send_req(&mut self, head: ReqHead, body: &Vec<u8>) {
        self.log.push(format!("send Req {} {} {body:?}", head.image, head.most));
    }
    fn emit_ready(&mut self) {
        self.log.push("emit Ready ".into());
    }
    fn emit_done(&mut self) {
        self.log.push("emit Done ".into());
    }
    fn emit_partial(&mut self) {
        self.log.push("emit Partial ".into());
    }
    fn start(&mut self, timer: u8) {
        self.log.push(format!("start {timer}"));
    }
}

/// Compares a run; gives what was done last.
fn run(seed: u64) -> Option<String> {
    let compiled = compiled(include_str!("../../sources/jis.protocol"));
    let find = |name| signal(&compiled, 0, name);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut interpreter = Interpreter::new(&compiled, 0);
    let mut state = State::FIRST;
    let mut host = Client { log: Vec::new(), covered: false };
    let (mut variables, mut log) = (Variables::FIRST, Vec::new());
    for nth in 0..60 {
        let octets = vec![random.u8(..)];
        let bytes = Value::Octets(octets.clone());
        let (body, number) = (&octets, random.u32(0..9));
        let kind = if random.bool() { Kind::Quantisation } else { Kind::Huffman };
        let choice = if nth < 2 { nth } else { random.u8(2..12) };
        host.covered = random.u8(0..12) == 0;
        let numbers = |number: u32| Value::Number(u64::from(number));
        let (event, name, values) = match choice {
            0 => (Event::Begin, "", vec![]),
            1 => {
                let values = vec![numbers(number), numbers(7), bytes];
                (Event::Get { image: number, most: 7, name: body }, "Get", values)
            }
            2..5 => {
                let head = TableHead { adu: (), kind };
                (Event::Table { head, body }, "Table", vec![numbers(kind as u32), bytes])
            }
            5..9 => (Event::Blocks { head: BlocksHead { adu: () }, body }, "Blocks", vec![bytes]),
            9 => {
                let head = EndHead { adu: (), total: number };
                (Event::End { head }, "End", vec![numbers(number)])
            }
            10 if number > 7 => (Event::Timer0, "idle 5000 ms", vec![]),
            11 if number > 7 => {
                let head = RefusedHead { adu: (), why: 1 };
                (Event::Refused { head }, "Refused", vec![numbers(1)])
            }
            _ => continue,
        };
        state = client::step(state, event, &mut variables, &mut host);
        let covered = host.covered;
        let answer = |_: &str| Value::Number(u64::from(covered));
        let mut other = Interpreted { compiled: &compiled, role: 0, log, answer: &answer };
        let stimulus = match name {
            "" => Stimulus::Begin,
            name => Stimulus::Alone(find(name), &values),
        };
        interpreter.step(stimulus, &mut other).expect("it stays in range");
        log = other.log;
        assert_eq!(state.is_over(), interpreter.state().is_none(), "seed {seed}");
    }
    assert_eq!(host.log, log, "seed {seed}");
    log.pop()
}

#[test]
fn clients_do_the_same() {
    let ends: Vec<Option<String>> = (0..500).map(run).collect();
    for end in ["emit Done ", "emit Partial "] {
        assert!(ends.iter().flatten().any(|last| last == end), "no run ends with {end}");
    }
}
