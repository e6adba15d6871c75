//! Where everything stands, and what can happen next.

use std::cell::Cell;

use super::host::{Choices, Memory, ModelHost};
use super::{Side, role};
use crate::back::interpret::{Interpreter, Stimulus, Value};
use crate::program::{Deed, Model, SignalKind, ValueType};

/// What the path may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) loses: u64,
    pub(super) doubles: u64,
    pub(super) reorders: bool,
    /// What a role does not hear is lost, and not held.
    pub(super) forgets: bool,
    /// How many ADUs are under way, or held, in each direction.
    pub(super) most: usize,
}

/// An ADU under way: its code, and the values of its fields.
pub(super) type Packet = (u8, Vec<u64>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct End {
    /// `None`: the role is over.
    pub(super) state: Option<u32>,
    pub(super) variables: Vec<u64>,
    memory: Vec<Memory>,
    /// How many times each signal may still be told, by its number.
    tells: Vec<u64>,
    /// What is under way to it.
    pub(super) inbound: Vec<Packet>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct World {
    pub(super) ends: [End; 2],
    loses: u64,
    doubles: u64,
    /// What the property has to remember.
    pub(super) marks: [u64; 2],
}

/// A step from one world to another.
pub(super) struct Next {
    pub(super) world: World,
    pub(super) line: String,
    /// What was done, in order: by which end, what, and its first value.
    pub(super) done: Vec<(usize, Deed, u64)>,
    /// A value left its range.
    pub(super) failed: Option<String>,
}

/// Two roles, and what is between them.
pub(super) struct Setting<'a> {
    pub(super) sides: [Side<'a>; 2],
    pub(super) model: &'a Model,
    pub(super) path: Path,
    /// A reaction goes more ways than are looked at.
    pub(super) is_cut: Cell<bool>,
}

/// Where a line of the second role begins.
const COLUMN: usize = 36;

impl<'a> Setting<'a> {
    /// All worlds behind the first instants of both roles.
    pub(super) fn first(&self) -> Vec<Next> {
        let end = |side: Side<'a>| {
            let of = role(side);
            let told = |signal: &crate::program::Signal| {
                let tells = self.model.tells.iter().find(|(name, _)| *name == signal.name);
                match signal.kind {
                    SignalKind::Input => tells.map_or(1, |(_, times)| *times),
                    _ => 0,
                }
            };
            End {
                state: Some(0),
                variables: of.variables.iter().map(|one| one.initial).collect(),
                memory: vec![(0, 0); of.functions.len()],
                tells: of.signals.iter().map(told).collect(),
                inbound: Vec::new(),
            }
        };
        let world = World {
            ends: self.sides.map(end),
            loses: self.path.loses,
            doubles: self.path.doubles,
            marks: [0; 2],
        };
        let mut all = Vec::new();
        for first in self.react(&world, 0, "begin", Stimulus::Begin) {
            for mut next in self.react(&first.world, 1, "begin", Stimulus::Begin) {
                next.done.splice(0..0, first.done.iter().copied());
                next.failed = next.failed.or_else(|| first.failed.clone());
                next.line = format!("{}\n{}", first.line, next.line);
                all.push(next);
            }
        }
        all
    }

    /// All that can happen in a world.
    pub(super) fn next(&self, world: &World) -> Vec<Next> {
        let mut all = Vec::new();
        for nth in 0..2 {
            self.told(world, nth, &mut all);
            self.arrivals(world, nth, &mut all);
        }
        if all.is_empty() {
            // Time passes where nothing else happens.
            for nth in 0..2 {
                self.idle(world, nth, &mut all);
            }
        }
        all
    }

    fn interpreter(&self, world: &World, nth: usize) -> Option<Interpreter<'a>> {
        let (compiled, number) = self.sides[nth];
        let end = &world.ends[nth];
        Some(Interpreter::at(compiled, number, end.state?, end.variables.clone()))
    }

    /// How many ADUs wait for a role to hear them.
    pub(super) fn held(&self, world: &World, nth: usize) -> usize {
        let Some(interpreter) = self.interpreter(world, nth) else { return 0 };
        let hears = |packet: &&Packet| {
            self.signal(nth, packet.0).is_some_and(|signal| interpreter.hears(signal))
        };
        world.ends[nth].inbound.len() - world.ends[nth].inbound.iter().filter(hears).count()
    }

    /// The signal by which a role hears an ADU.
    fn signal(&self, nth: usize, code: u8) -> Option<usize> {
        let (compiled, _) = self.sides[nth];
        role(self.sides[nth]).signals.iter().position(|signal| {
            matches!(signal.kind, SignalKind::Adu(adu) if compiled.program.adus[adu].code == code)
        })
    }

    /// Words of applications, times that have come, room.
    fn told(&self, world: &World, nth: usize, all: &mut Vec<Next>) {
        let Some(interpreter) = self.interpreter(world, nth) else { return };
        for (signal, of) in role(self.sides[nth]).signals.iter().enumerate() {
            if !interpreter.hears(signal) {
                continue;
            }
            let other = &world.ends[1 - nth];
            let may = match of.kind {
                SignalKind::Input => world.ends[nth].tells[signal] > 0,
                SignalKind::Together => true,
                SignalKind::Timer(timer) => !role(self.sides[nth]).timers[timer].idle,
                SignalKind::Room => other.inbound.len() < self.path.most,
                SignalKind::Drained => other.inbound.is_empty(),
                SignalKind::Ended => other.state.is_none() && world.ends[nth].inbound.is_empty(),
                _ => false,
            };
            if !may {
                continue;
            }
            let mut choices = Choices::default();
            loop {
                let mut world = world.clone();
                let end = &mut world.ends[nth];
                let mut values = Vec::new();
                if of.kind == SignalKind::Input {
                    let times = self.model.tells.iter().find(|(name, _)| *name == of.name);
                    let serial = times.map_or(1, |(_, times)| *times) - end.tells[signal] + 1;
                    end.tells[signal] -= 1;
                    values = self.values(nth, &of.params, serial, &mut choices);
                }
                let name = event(&of.name, &values);
                let stimulus = match of.kind {
                    SignalKind::Together => Stimulus::Together(&[signal]),
                    _ => Stimulus::Alone(signal, &values),
                };
                all.extend(self.react(&world, nth, &name, stimulus));
                if !choices.advance() {
                    break;
                }
            }
            self.is_cut.set(self.is_cut.get() || choices.are_too_many());
        }
    }

    /// Values of an input: those of the model, else all of an enum or a truth value, else the
    /// number of the word, which tells one octet string from another.
    fn values(
        &self,
        nth: usize,
        params: &[crate::program::NamedType],
        serial: u64,
        choices: &mut Choices,
    ) -> Vec<Value> {
        let value = |param: &crate::program::NamedType| {
            if let Some((_, values)) =
                self.model.values.iter().find(|(name, _)| *name == param.name)
            {
                return values[choices.choose(values.len())];
            }
            match param.kind {
                ValueType::Truth => choices.choose(2) as u64,
                ValueType::Enum(of) => {
                    let values = &self.sides[nth].0.program.enums[of].values;
                    values[choices.choose(values.len())].1
                }
                _ => serial,
            }
        };
        params.iter().map(value).map(Value::Number).collect()
    }

    fn arrivals(&self, world: &World, nth: usize, all: &mut Vec<Next>) {
        let Some(interpreter) = self.interpreter(world, nth) else { return };
        let inbound = &world.ends[nth].inbound;
        let mut was_heard = false;
        for (place, packet) in inbound.iter().enumerate() {
            if self.path.reorders && inbound[..place].contains(packet) {
                continue; // the same again
            }
            let mut without = world.clone();
            without.ends[nth].inbound.remove(place);
            let name = self.name(nth, packet);
            if without.loses > 0 {
                let mut lost = without.clone();
                lost.loses -= 1;
                all.push(happened(lost, format!("{name} to {} is lost", self.role_name(nth))));
            }
            let signal = self.signal(nth, packet.0).filter(|signal| interpreter.hears(*signal));
            let Some(signal) = signal else {
                let stray = self.signal(nth, packet.0).is_none();
                if self.path.forgets || stray {
                    let line = format!("{} does not hear {name}: it is gone", self.role_name(nth));
                    all.push(happened(without, line));
                }
                continue;
            };
            // A path that keeps the order delivers the first that is heard.
            if was_heard && !self.path.reorders {
                continue;
            }
            was_heard = true;
            let values: Vec<Value> = packet.1.iter().map(|one| Value::Number(*one)).collect();
            let stimulus = Stimulus::Alone(signal, &values);
            all.extend(self.react(&without, nth, &name, stimulus));
            if world.doubles > 0 {
                let mut doubled = world.clone();
                doubled.doubles -= 1;
                for mut next in self.react(&doubled, nth, &name, stimulus) {
                    next.line += " (a copy is still under way)";
                    all.push(next);
                }
            }
        }
    }

    fn idle(&self, world: &World, nth: usize, all: &mut Vec<Next>) {
        let Some(interpreter) = self.interpreter(world, nth) else { return };
        for (signal, of) in role(self.sides[nth]).signals.iter().enumerate() {
            let idle = match of.kind {
                SignalKind::Timer(timer) => role(self.sides[nth]).timers[timer].idle,
                _ => false,
            };
            if idle && interpreter.hears(signal) {
                all.extend(self.react(world, nth, &of.name, Stimulus::Alone(signal, &[])));
            }
        }
    }

    /// Lets a role react, in all the ways in which its application may answer.
    fn react(&self, world: &World, nth: usize, name: &str, stimulus: Stimulus<'_>) -> Vec<Next> {
        let Some(before) = self.interpreter(world, nth) else { return Vec::new() };
        let (mut all, mut choices) = (Vec::new(), Choices::default());
        loop {
            let (mut interpreter, mut world) = (before.clone(), world.clone());
            let mut memory = std::mem::take(&mut world.ends[nth].memory);
            let mut host = ModelHost {
                side: self.sides[nth],
                model: self.model,
                memory: &mut memory,
                choices: &mut choices,
                sent: Vec::new(),
                done: Vec::new(),
                words: Vec::new(),
                nth: self.sides[nth].1,
            };
            let failed = interpreter.step(stimulus, &mut host).err().map(|out| out.of);
            let ModelHost { sent, done, words, .. } = host;
            let end = &mut world.ends[nth];
            end.memory = memory;
            end.state = interpreter.state().map(|state| state as u32);
            end.variables = interpreter.variables().to_vec();
            if end.state.is_none() {
                end.inbound.clear();
            }
            let other = &mut world.ends[1 - nth];
            for packet in sent.into_iter().filter(|_| other.state.is_some()) {
                let place = if self.path.reorders {
                    other.inbound.partition_point(|one| *one <= packet)
                } else {
                    other.inbound.len()
                };
                other.inbound.insert(place, packet);
            }
            if other.inbound.len() <= self.path.most {
                let does = if words.is_empty() { "–".into() } else { words.join(", ") };
                let pad = " ".repeat(nth * COLUMN);
                let line = format!("{pad}{}: {name} ⇒ {does}", self.role_name(nth));
                let done = done.into_iter().map(|(deed, value)| (nth, deed, value)).collect();
                all.push(Next { world, line, done, failed });
            }
            if !choices.advance() {
                self.is_cut.set(self.is_cut.get() || choices.are_too_many());
                return all;
            }
        }
    }

    fn role_name(&self, nth: usize) -> &'a str {
        &role(self.sides[nth]).name
    }

    /// An ADU as a role names it.
    fn name(&self, nth: usize, packet: &Packet) -> String {
        let adus = &self.sides[nth].0.program.adus;
        let name = adus.iter().find(|adu| adu.code == packet.0).map_or("?", |adu| &adu.name);
        let values: Vec<Value> = packet.1.iter().map(|one| Value::Number(*one)).collect();
        event(name, &values)
    }
}

fn event(name: &str, values: &[Value]) -> String {
    if values.is_empty() {
        return name.to_owned();
    }
    let all: Vec<String> = values.iter().map(|one| one.number().to_string()).collect();
    format!("{name}({})", all.join(", "))
}

fn happened(world: World, line: String) -> Next {
    let line = format!("{:1$}{line}", "", COLUMN / 2);
    Next { world, line, done: Vec::new(), failed: None }
}
