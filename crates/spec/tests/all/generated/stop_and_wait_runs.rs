//! Stop-and-wait: variables, timers, octets of any number.

use stackwright_spec::{Interpreter, Stimulus, Value};

use crate::generated::{Interpreted, Log, compiled, signal};
use stackwright_generated::plain::stop_and_wait::{AckHead, DataHead, receiver, sender};

#[derive(Default)]
struct Logging {
    log: Log,
    kept: Vec<u8>,
}

impl sender::Host<Vec<u8>> for Logging {
    fn keep(&mut self, body: &Vec<u8>) {
        self.log.push(format!("keep {body:?}"));
        self.kept.clone_from(body);
    }
    fn kept(&self) -> Vec<u8> {
        self.kept.clone()
    }
    fn send_data(&mut self, head: DataHead, body: &Vec<u8>) {
        self.log.push(format!("send Data {} {body:?}", head.number));
    }
    fn emit_room(&mut self) {
        self.log.push("emit Room ".into());
    }
    fn emit_expired(&mut self) {
        self.log.push("emit Expired ".into());
    }
    fn start(&mut self, timer: u8) {
        self.log.push(format!("start {timer}"));
    }
}

impl receiver::Host<Vec<u8>> for Logging {
    fn send_ack(&mut self, head: AckHead) {
        self.log.push(format!("send Ack {}", head.number));
    }
    fn emit_deliver(&mut self, body: &Vec<u8>) {
        self.log.push(format!("emit Deliver {body:?}"));
    }
}

#[test]
fn senders_do_the_same_until_one_gives_up() {
    let compiled = compiled(include_str!("../../sources/stop-and-wait.protocol"));
    let find = |name| signal(&compiled, 0, name);
    let [message, ack, after] = [find("Message"), find("Ack"), find("after 200 ms")];
    let mut ended = 0;
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut interpreter = Interpreter::new(&compiled, 0);
        let mut state = sender::State::FIRST;
        let mut variables = sender::Variables::FIRST;
        let mut host = Logging::default();
        for nth in 0..200 {
            let (octets, number) = (vec![random.u8(..)], random.u16(0..4));
            let values = [Value::Octets(octets.clone())];
            let numbers = [Value::Number(u64::from(number))];
            let (event, stimulus) = match random.u8(0..if nth == 0 { 1 } else { 10 }) {
                0 if nth == 0 => (sender::Event::Begin, Stimulus::Begin),
                0..3 => {
                    (sender::Event::Message { body: &octets }, Stimulus::Alone(message, &values))
                }
                3 => {
                    let head = AckHead { adu: (), number };
                    (sender::Event::Ack { head }, Stimulus::Alone(ack, &numbers))
                }
                _ => (sender::Event::Timer0, Stimulus::Alone(after, &[])),
            };
            if nth > 0 && !state.is_over() {
                let Stimulus::Alone(heard, _) = stimulus else { unreachable!() };
                assert_eq!(state.hears(&event), interpreter.hears(heard));
            }
            host.log.clear();
            state = sender::step(state, event, &mut variables, &mut host);
            let kept = host.kept.clone();
            let answer = |_: &str| Value::Octets(kept.clone());
            let mut other =
                Interpreted { compiled: &compiled, role: 0, log: Vec::new(), answer: &answer };
            interpreter.step(stimulus, &mut other).expect("it stays in range");
            assert_eq!(host.log, other.log, "seed {seed}");
            assert_eq!(state.is_over(), interpreter.state().is_none());
            let table = interpreter.variables();
            assert_eq!([u64::from(variables.number), u64::from(variables.tries)], *table);
        }
        ended += usize::from(state == sender::State::OVER);
    }
    assert!((10..300).contains(&ended), "{ended} of 300 gave up");
}

#[test]
fn numbers_wrap_and_do_not_fail() {
    let mut variables = sender::Variables { number: u16::MAX, tries: 0 };
    let mut host = Logging::default();
    let octets = vec![1];
    let mut state = sender::State::FIRST;
    let head = AckHead { adu: (), number: u16::MAX };
    for event in [
        sender::Event::Begin,
        sender::Event::Message { body: &octets },
        sender::Event::Ack { head },
    ] {
        state = sender::step(state, event, &mut variables, &mut host);
    }
    assert_eq!((variables.number, state.is_over()), (0, false));
    // A variable beyond its range: the role fails, and nothing panics.
    variables.tries = 30;
    let event = sender::Event::Message { body: &octets };
    let failed = sender::step(state, event, &mut variables, &mut host);
    assert_eq!(failed, sender::State::FAILED);
}

#[test]
fn receivers_do_the_same() {
    let compiled = compiled(include_str!("../../sources/stop-and-wait.protocol"));
    let data = signal(&compiled, 1, "Data");
    let mut random = fastrand::Rng::with_seed(1);
    let mut interpreter = Interpreter::new(&compiled, 1);
    let mut variables = receiver::Variables::FIRST;
    let mut host = Logging::default();
    let answer = |_: &str| Value::Number(0);
    let mut other = Interpreted { compiled: &compiled, role: 1, log: Vec::new(), answer: &answer };
    let begin = receiver::Event::<Vec<u8>>::Begin;
    let mut state = receiver::step(receiver::State::FIRST, begin, &mut variables, &mut host);
    interpreter.step(Stimulus::Begin, &mut other).expect("it begins");
    for _ in 0..1000 {
        let number = variables.expected.wrapping_add(random.u16(0..2));
        let octets = vec![random.u8(..)];
        let values = [Value::Number(u64::from(number)), Value::Octets(octets.clone())];
        let head = DataHead { adu: (), number };
        let event = receiver::Event::Data { head, body: &octets };
        state = receiver::step(state, event, &mut variables, &mut host);
        interpreter.step(Stimulus::Alone(data, &values), &mut other).expect("it stays in range");
    }
    assert_eq!(host.log, other.log);
    assert!(variables.expected > 400 && !state.is_over());
}
