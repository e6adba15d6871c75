//! ABRO: inputs that come together.

use stackwright_spec::{Interpreter, Stimulus, Value};

use crate::generated::{Interpreted, compiled};
use stackwright_generated::plain::abro::abro::{Event, Host, State, Together, Variables, step};

#[derive(Default)]
struct Counting {
    outputs: usize,
}

impl Host for Counting {
    fn emit_o(&mut self) {
        self.outputs += 1;
    }
}

#[test]
fn a_hundred_thousand_instants_are_the_same_and_never_o_with_r() {
    let compiled = compiled(include_str!("../../sources/abro.protocol"));
    let mut random = fastrand::Rng::with_seed(1);
    let mut interpreter = Interpreter::new(&compiled, 0);
    let mut variables = Variables::FIRST;
    let (mut state, mut outputs) = (State::FIRST, 0);
    for _ in 0..100_000 {
        let [a, b, r] = [random.bool(), random.bool(), random.bool()];
        let inputs: Vec<usize> =
            [a, b, r].iter().enumerate().filter(|(_, is)| **is).map(|(nth, _)| nth).collect();
        let mut host = Counting::default();
        state = step(state, Event::Together(Together { a, b, r }), &mut variables, &mut host);
        let answer = |_: &str| Value::Number(0);
        let mut other =
            Interpreted { compiled: &compiled, role: 0, log: Vec::new(), answer: &answer };
        interpreter.step(Stimulus::Together(&inputs), &mut other).expect("nothing is computed");
        assert_eq!(host.outputs, other.log.len());
        assert_eq!(state.is_over(), interpreter.state().is_none());
        assert!(host.outputs == 0 || !r, "never O with R");
        outputs += host.outputs;
    }
    assert!(outputs > 5000);
}
