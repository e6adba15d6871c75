//! The reaction: one `match` over events and states.

use std::collections::HashMap;
use std::fmt::Write;

use super::names::{behind, field, head, plain, snake};
use super::role::{Writing, filled};
use super::values::Written;
use crate::machine::{Decision, Place};
use crate::program::{Action, Expr, SignalKind, ValueType};
use crate::react::{Act, Want};

const STEP: &str = "    /// Reacts to an event; gives the next state.
    pub fn step$<MESSAGE>(
        state: State,
        event: Event$<EVENT>,
        variables: &mut Variables,
        host: &mut impl Host$<MESSAGE>,
    ) -> State {
";

/// What a role is that may fail: a number may have no place in its range.
const FALLIBLE: &str = "        react(state, event, variables, host).unwrap_or(State::FAILED)
    }

    fn react$<MESSAGE>(
        state: State,
        event: Event$<EVENT>,
        variables: &mut Variables,
        host: &mut impl Host$<MESSAGE>,
    ) -> Option<State> {
";

const UP_TO: &str = "
    /// A number, where it is not above the greatest that there is room for.
    fn up_to(number: u64, most: u64) -> Option<u64> {
        (number <= most).then_some(number)
    }
";

/// What is heard in the arm that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Alone(u16),
    Together,
}

pub(super) fn write(writing: &Writing<'_>, written: &mut String) {
    let lifetime = writing.generics("'_");
    let values = [("<MESSAGE>", writing.message().to_owned()), ("<EVENT>", lifetime)];
    let mut arms = String::new();
    // Before the first instant only the begin is heard, or inputs that come in that instant.
    arm(writing, Heard::Nothing, "Event::Begin", &[0], &mut arms);
    let states = writing.automaton.states() as u32;
    for signals in writing.inputs() {
        let signal = signals[0];
        let together = writing.role.signals[usize::from(signal)].kind == SignalKind::Together;
        let heard = |state: &u32| together || writing.automaton.hears(*state).has(signal);
        let hear: Vec<u32> = (0..states).filter(heard).collect();
        let what = if together { Heard::Together } else { Heard::Alone(signal) };
        arm(writing, what, &writing.pattern(signal, true), &hear, &mut arms);
    }
    arms.push_str("            _ => state,\n");
    written.push_str(&filled(STEP, &values));
    // Every computation that may fail ends so, and nothing else of the language is written so.
    if arms.contains(")?") {
        written.push_str(&filled(FALLIBLE, &values));
        let _ = writeln!(written, "        Some(match event {{\n{arms}        }})\n    }}");
    } else {
        let _ = writeln!(written, "        match event {{\n{arms}        }}\n    }}");
    }
    if arms.contains("up_to(") {
        written.push_str(UP_TO);
    }
}

/// Writes what an event does, once for all states in which it does the same.
fn arm(writing: &Writing<'_>, heard: Heard, pattern: &str, states: &[u32], written: &mut String) {
    let (mut different, mut places) = (Vec::<Vec<String>>::new(), HashMap::new());
    for state in states {
        let mut does = String::new();
        let place = writing.automaton.states[*state as usize];
        decide(writing, (*state, place), heard, 5, &mut does);
        let nth = *places.entry(does).or_insert(different.len());
        if nth == different.len() {
            different.push(Vec::new());
        }
        different[nth].push(state.to_string());
    }
    if different.is_empty() {
        return;
    }
    let mut deeds = vec![""; different.len()];
    places.iter().for_each(|(does, nth)| deeds[*nth] = does);
    let _ = writeln!(written, "            {pattern} => match state.0 {{");
    for (states, does) in different.iter().zip(deeds) {
        let _ = writeln!(written, "                {} => {{", states.join(" | "));
        written.push_str(does);
        written.push_str("                }\n");
    }
    written.push_str("                _ => state,\n            },\n");
}

/// Writes what is done from a place of a state's decisions on.
fn decide(
    writing: &Writing<'_>,
    (from, place): (u32, Place),
    heard: Heard,
    depth: usize,
    written: &mut String,
) {
    let pad = "    ".repeat(depth);
    match writing.automaton.decisions[place as usize] {
        Decision::Go(state) if state == from => {
            let _ = writeln!(written, "{pad}state");
        }
        Decision::Go(state) => {
            let _ = writeln!(written, "{pad}State({state})");
        }
        Decision::End => {
            let _ = writeln!(written, "{pad}State::OVER");
        }
        Decision::Act(act, then) => {
            self::act(writing, act, &pad, written);
            decide(writing, (from, then), heard, depth, written);
        }
        Decision::Ask(want, yes, no) => {
            let asked = match want {
                Want::Signal(signal) => {
                    let of = &writing.role.signals[usize::from(signal)];
                    match heard {
                        Heard::Together if of.kind == SignalKind::Together => {
                            format!("inputs.{}", snake(&of.name))
                        }
                        Heard::Alone(one) if one == signal => {
                            return decide(writing, (from, yes), heard, depth, written);
                        }
                        _ => return decide(writing, (from, no), heard, depth, written),
                    }
                }
                Want::Answer(question, _) => {
                    let asks = &writing.role.questions[usize::from(question)].asks;
                    let value = writing.value(asks);
                    if value.fails { format!("({})", value.text) } else { value.text }
                }
            };
            let _ = writeln!(written, "{pad}if {asked} {{");
            decide(writing, (from, yes), heard, depth + 1, written);
            let _ = writeln!(written, "{pad}}} else {{");
            decide(writing, (from, no), heard, depth + 1, written);
            let _ = writeln!(written, "{pad}}}");
        }
    }
}

fn act(writing: &Writing<'_>, act: Act, pad: &str, written: &mut String) {
    match act {
        Act::Emit(signal, emission, _) => {
            let signal = &writing.role.signals[usize::from(signal)];
            let name = behind("emit", &signal.name);
            let emission = writing.role.emissions.get(usize::from(emission));
            let values = emission.map_or(&[][..], |emission| &emission.values);
            let kinds = signal.params.iter().map(|param| param.kind);
            let arguments = arguments(writing, values.iter().zip(kinds), pad, written);
            let _ = writeln!(written, "{pad}host.{name}({arguments});");
        }
        Act::Do(action, _) => match &writing.role.actions[usize::from(action)].0 {
            Action::Start(timer) => {
                let _ = writeln!(written, "{pad}host.start({timer});");
            }
            Action::Assign { variable, value } => {
                let value = writing.value(value);
                assign(writing, *variable, value, pad, written);
            }
            Action::Call { function, arguments: values, result } => {
                let host = &writing.role.functions[*function];
                let kinds = host.params.iter().map(|param| param.kind);
                let arguments = arguments(writing, values.iter().zip(kinds), pad, written);
                let call = format!("host.{}({arguments})", writing.named(*function));
                match result {
                    None => {
                        let _ = writeln!(written, "{pad}{call};");
                    }
                    Some(variable) => {
                        let (text, bits) = match host.result {
                            Some(ValueType::Number(bits @ 1..=32)) => {
                                (format!("u64::from({call})"), bits)
                            }
                            _ => (call, 64),
                        };
                        let value = Written { text, fails: false, bits };
                        assign(writing, *variable, value, pad, written);
                    }
                }
            }
            Action::Send { adu, phase, fields } => {
                send(writing, *adu, *phase, fields, pad, written)
            }
        },
    }
}

/// Binds arguments to names, so that what they ask of the host is over before the call; gives the
/// names.
fn arguments<'a>(
    writing: &Writing<'_>,
    values: impl Iterator<Item = (&'a Expr, ValueType)>,
    pad: &str,
    written: &mut String,
) -> String {
    let mut names = Vec::new();
    for (nth, (value, kind)) in values.enumerate() {
        let (text, _) = writing.narrowed(writing.value(value), kind);
        match kind {
            ValueType::Bytes => {
                let owned = text.strip_prefix('&');
                let _ = writeln!(written, "{pad}let argument_{nth} = {};", owned.unwrap_or(&text));
                names.push(format!("{}argument_{nth}", if owned.is_some() { "&" } else { "" }));
            }
            ValueType::Adu(_) => {
                names.push(text);
                names.extend(writing.body_of(value, kind));
            }
            _ => {
                let _ = writeln!(written, "{pad}let argument_{nth} = {text};");
                names.push(format!("argument_{nth}"));
            }
        }
    }
    names.join(", ")
}

fn assign(writing: &Writing<'_>, variable: usize, value: Written, pad: &str, written: &mut String) {
    let of = &writing.role.variables[variable];
    let name = snake(&of.name);
    let Written { text: value, bits, .. } = value;
    let ValueType::Number(_) = of.kind else {
        let _ = writeln!(written, "{pad}variables.{name} = {value};");
        return;
    };
    let (least, most) = of.range;
    let kind = plain(writing.program, of.kind);
    let checked = match (least, most) {
        (0, u64::MAX) => value,
        // What has no more bits than the range is not checked.
        (0, most) if bits < 64 && (1 << bits) - 1 <= most => format!("({value})"),
        (0, most) => format!("up_to({value}, {most})?"),
        (least, most) => {
            format!("Some({value}).filter(|value| ({least}..={most}).contains(value))?")
        }
    };
    let cast = if kind == "u64" { String::new() } else { format!(" as {kind}") };
    let _ = writeln!(written, "{pad}variables.{name} = {checked}{cast};");
}

fn send(
    writing: &Writing<'_>,
    adu: usize,
    phase: Option<usize>,
    fields: &[Expr],
    pad: &str,
    written: &mut String,
) {
    let of = &writing.program.adus[adu];
    let mut head_fields = Vec::new();
    let mut body = None;
    if !of.by_host {
        head_fields.push(String::from("adu: ()"));
    }
    for (of, value) in of.fields.iter().zip(fields) {
        let (text, _) = writing.narrowed(writing.value(value), of.kind);
        if of.kind == ValueType::Bytes {
            body = Some(text);
        } else {
            head_fields.push(format!("{}: {text}", field(&of.name)));
        }
    }
    let head = head(writing.program, adu);
    let _ = writeln!(written, "{pad}let head = {head} {{ {} }};", head_fields.join(", "));
    let mut arguments = Vec::new();
    if writing.program.phases.len() > 1 {
        arguments.push(phase.unwrap_or(0).to_string());
    }
    arguments.push(String::from("head"));
    if let Some(text) = body {
        let owned = text.strip_prefix('&');
        let _ = writeln!(written, "{pad}let body = {};", owned.unwrap_or(&text));
        arguments.push(format!("{}body", if owned.is_some() { "&" } else { "" }));
    }
    let _ = writeln!(written, "{pad}host.{}({});", behind("send", &of.name), arguments.join(", "));
}
