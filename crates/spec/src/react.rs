//! One reaction: Berry's Must and Can, by recursion over the tree and the set of pauses at which
//! the role stands.
//!
//! Everything is asked under *facts*: which signals are present, which are absent, what was
//! answered; the rest is unknown. What is found under few facts stays true under more, so facts
//! grow until nothing is unknown, or until something outside has to say more.

use crate::kernel::{Codes, Kernel, Node, Set, SignalId};
use crate::program::{Equals, Question};

/// What is known of an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    present: Set,
    absent: Set,
    /// Which question, in which turn of a loop, and the answer.
    answers: Vec<(u16, u8, bool)>,
    /// Fields of what is heard: the value, or one that it is not.
    fields: Vec<(Equals, bool)>,
    /// Local signals that are decided, each with the turn of a loop in which it lives. Without
    /// this, signals within each other would be solved twice each: 2ⁿ times the innermost.
    locals: Vec<(SignalId, u8, bool)>,
}

impl Facts {
    pub(crate) fn status(&self, signal: SignalId) -> Option<bool> {
        if self.present.has(signal) { Some(true) } else { self.absent.has(signal).then_some(false) }
    }

    pub(crate) fn set(&mut self, signal: SignalId, is: Option<bool>) {
        self.present.remove(signal);
        self.absent.remove(signal);
        match is {
            Some(true) => self.present.insert(signal),
            Some(false) => self.absent.insert(signal),
            None => {}
        }
    }

    pub(crate) fn answer(&mut self, question: u16, round: u8, of: &Question, is: bool) {
        self.answers.push((question, round, is));
        if let Some(equals) = of.equals {
            self.fields.push((equals, is));
        }
    }

    fn answered(&self, question: u16, round: u8, of: Option<&Question>) -> Option<bool> {
        let same = self.answers.iter().find(|(id, turn, _)| (*id, *turn) == (question, round));
        if let Some((.., is)) = same {
            return Some(*is);
        }
        let asked = of?.equals?;
        let of_field = |known: &&(Equals, bool)| {
            (known.0.signal, known.0.field) == (asked.signal, asked.field)
        };
        let mut others = 0;
        for (known, is) in self.fields.iter().filter(of_field) {
            match (*is, known.value == asked.value) {
                (true, same) => return Some(same),
                (false, true) => return Some(false),
                (false, false) => others += 1,
            }
        }
        // All values but one are excluded.
        (asked.of == Some(others + 1)).then_some(true)
    }
}

/// What is surely done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Act {
    /// A signal, which emission of the text it is, and in which turn of a loop in this instant.
    Emit(SignalId, u16, u8),
    /// Which action, and in which turn of a loop in this instant.
    Do(u16, u8),
}

/// What has to be known to go on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Want {
    Signal(SignalId),
    /// Which question, and in which turn of a loop in this instant.
    Answer(u16, u8),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Signals that are surely emitted.
    pub(crate) must: Set,
    /// Signals that are perhaps emitted.
    pub(crate) can: Set,
    /// How the statement may complete.
    pub(crate) codes: Codes,
    /// How it completes, where that is known.
    pub(crate) code: Option<u8>,
    /// Where control stands then.
    pub(crate) next: Set,
    /// What is surely done, each behind what causes it.
    pub(crate) acts: Vec<Act>,
    pub(crate) wants: Vec<Want>,
    /// Local signals that are emitted twice while they live, and both emissions.
    pub(crate) twice: Vec<(SignalId, u16, u16)>,
}

impl Found {
    fn done(code: u8) -> Self {
        Found { codes: Codes::of(code), code: Some(code), ..Found::default() }
    }

    /// Takes over all of another's but how it completes.
    fn take(&mut self, other: Found) {
        self.must.join(&other.must);
        self.can.join(&other.can);
        self.next.join(&other.next);
        self.acts.extend(other.acts);
        self.wants.extend(other.wants);
        self.twice.extend(other.twice);
    }
}

/// How a statement is reached in this instant.
#[derive(Clone, Copy)]
struct Reached<'a> {
    /// Where control stood before the instant; `None` where the statement begins.
    at: Option<&'a Set>,
    /// Whether it is known that it is executed.
    surely: bool,
    /// How many loops are around it.
    loops: u8,
    /// Which of them began anew in this instant, from the outermost, which is 1; 0: none. It is at
    /// most one: what begins anew has no loop in it that goes on.
    round: u8,
}

/// Reacts from the pauses `at`, or begins.
pub(crate) fn react(
    body: &Node,
    at: Option<&Set>,
    questions: &[Question],
    facts: &mut Facts,
) -> Found {
    Reaction { questions, facts }.find(body, Reached { at, surely: true, loops: 0, round: 0 })
}

struct Reaction<'a> {
    questions: &'a [Question],
    facts: &'a mut Facts,
}

impl Reaction<'_> {
    fn find(&mut self, node: &Node, how: Reached<'_>) -> Found {
        match &node.is {
            Kernel::Nothing => Found::done(0),
            Kernel::Pause(id) if how.at.is_none() => Found { next: Set::of(*id), ..Found::done(1) },
            Kernel::Pause(_) => Found::done(0),
            Kernel::Exit(nth) => Found::done(2 + nth),
            Kernel::Emit(signal, emission) => {
                let mut found = Found { can: Set::of(*signal), ..Found::done(0) };
                if how.surely {
                    found.must = found.can;
                    found.acts.push(Act::Emit(*signal, *emission, how.round));
                }
                found
            }
            Kernel::Do(action) => {
                let mut found = Found::done(0);
                if how.surely {
                    found.acts.push(Act::Do(*action, how.round));
                }
                found
            }
            Kernel::Sequence(all) => self.sequence(all, how),
            Kernel::Parallel(all) => self.parallel(all, how),
            Kernel::Loop(body) => self.repeat(body, how),
            Kernel::Present(signal, yes, no) => {
                let status = self.facts.status(*signal);
                self.choose(status, Want::Signal(*signal), (yes, no), how)
            }
            Kernel::If(question, yes, no) => {
                let of = self.questions.get(usize::from(*question));
                let answer = self.facts.answered(*question, how.round, of);
                self.choose(answer, Want::Answer(*question, how.round), (yes, no), how)
            }
            Kernel::Suspend(signal, body) => self.suspend(*signal, body, how),
            Kernel::Trap(body) => {
                let mut found = self.find(body, how);
                found.codes = found.codes.caught();
                found.code = found.code.map(|code| match code {
                    0 | 2 => 0,
                    1 => 1,
                    more => more - 1,
                });
                if found.code != Some(1) {
                    found.next = Set::EMPTY;
                }
                found
            }
            Kernel::Local(signal, body) => self.local(*signal, body, how),
        }
    }

    fn sequence(&mut self, all: &[Node], mut how: Reached<'_>) -> Found {
        let mut sum = Found::done(0);
        let mut known = true;
        for one in all {
            if how.at.is_some_and(|at| !one.pauses.meets(at)) {
                continue;
            }
            let found = self.find(one, how);
            how.at = None;
            let (codes, code) = (found.codes, found.code);
            sum.take(found);
            known &= code.is_some();
            sum.codes = sum.codes.without_end().or(codes);
            sum.code = code.filter(|_| known);
            if !codes.may_end() {
                break;
            }
            how.surely &= code == Some(0);
        }
        sum
    }

    fn parallel(&mut self, all: &[Node], how: Reached<'_>) -> Found {
        let mut sum = Found::done(0);
        for one in all {
            if how.at.is_some_and(|at| !one.pauses.meets(at)) {
                continue;
            }
            let found = self.find(one, how);
            let codes = sum.codes.greatest(found.codes);
            let code = sum.code.zip(found.code).map(|(one, other)| one.max(other));
            sum.take(found);
            (sum.codes, sum.code) = (codes, code);
        }
        sum
    }

    fn repeat(&mut self, body: &Node, how: Reached<'_>) -> Found {
        let how = Reached { loops: how.loops.saturating_add(1), ..how };
        let first = self.find(body, how);
        // A body that begins does not end in the same instant: that was refused.
        if !first.codes.may_end() || how.at.is_none() {
            return first;
        }
        let (codes, ends) = (first.codes.without_end(), first.code == Some(0));
        let again = Reached { at: None, surely: how.surely && ends, round: how.loops, ..how };
        let again = self.find(body, again);
        let codes = codes.or(again.codes);
        // A body of which it is not known whether it ends completes in an unknown way.
        let code = if ends { again.code } else { None };
        let mut sum = Found { next: Set::EMPTY, ..first };
        sum.take(again);
        (sum.codes, sum.code) = (codes, code);
        sum
    }

    fn suspend(&mut self, signal: SignalId, body: &Node, how: Reached<'_>) -> Found {
        let Some(at) = how.at else { return self.find(body, how) };
        match self.facts.status(signal) {
            Some(true) => Found { next: at.and(&body.pauses), ..Found::done(1) },
            Some(false) => self.find(body, how),
            None => {
                let mut found = self.find(body, Reached { surely: false, ..how });
                found.codes = found.codes.or(Codes::PAUSE);
                found.code = None;
                if how.surely {
                    found.wants.insert(0, Want::Signal(signal));
                }
                found
            }
        }
    }

    /// A local signal is solved within its own statement, so that one whose statement ends and
    /// begins in one instant is two.
    fn local(&mut self, signal: SignalId, body: &Node, how: Reached<'_>) -> Found {
        let outside = self.facts.status(signal);
        let lives = |known: &&(SignalId, u8, bool)| (known.0, known.1) == (signal, how.round);
        let known = self.facts.locals.iter().find(lives).map(|(.., is)| *is);
        self.facts.set(signal, known);
        let mut found = self.find(body, how);
        let status = match (found.must.has(signal), found.can.has(signal)) {
            (true, _) => Some(true),
            (false, false) => Some(false),
            (false, true) => None,
        };
        if let (None, Some(is)) = (known, status) {
            self.facts.locals.push((signal, how.round, is));
            self.facts.set(signal, status);
            // What was certain before is the cause of the rest, wherever it stands: a value is
            // there before it is read.
            let causes = std::mem::take(&mut found.acts);
            found = self.find(body, how);
            found.acts = behind(causes, found.acts);
        }
        self.facts.set(signal, outside);
        found.must.remove(signal);
        found.can.remove(signal);
        let mut emissions = found.acts.iter().filter_map(|act| match act {
            Act::Emit(of, emission, _) if *of == signal => Some(*emission),
            _ => None,
        });
        if let (Some(one), Some(other)) = (emissions.next(), emissions.next()) {
            found.twice.push((signal, one, other));
        }
        // Nobody outside hears of it.
        found.acts.retain(|act| !matches!(act, Act::Emit(of, ..) if *of == signal));
        found
    }

    fn choose(
        &mut self,
        status: Option<bool>,
        want: Want,
        (yes, no): (&Node, &Node),
        how: Reached<'_>,
    ) -> Found {
        if let Some(at) = how.at {
            return self.find(if yes.pauses.meets(at) { yes } else { no }, how);
        }
        match status {
            Some(true) => self.find(yes, how),
            Some(false) => self.find(no, how),
            None => {
                let unsure = Reached { surely: false, ..how };
                let mut sum = self.find(yes, unsure);
                let other = self.find(no, unsure);
                let codes = sum.codes.or(other.codes);
                sum.take(other);
                (sum.codes, sum.code, sum.next) = (codes, None, Set::EMPTY);
                if how.surely {
                    sum.wants.insert(0, want);
                }
                sum
            }
        }
    }
}

/// Acts in the order in which they became certain.
fn behind(first: Vec<Act>, then: Vec<Act>) -> Vec<Act> {
    let mut all = first;
    for act in then {
        if !all.contains(&act) {
            all.push(act);
        }
    }
    all
}
