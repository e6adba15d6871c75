//! Random specifications: signals with and without values, local and across branches, `every`,
//! loops, emissions and reads in one instant.

/// A text whose branches may stand in any order.
pub(super) type Text = Vec<Part>;

#[derive(Clone)]
pub(super) enum Part {
    Words(String),
    Branches(Vec<Text>),
}

/// Writes a text with its branches in the order that `random` draws; without it, as they are.
pub(super) fn write(text: &Text, mut random: Option<&mut fastrand::Rng>, written: &mut String) {
    for part in text {
        match part {
            Part::Words(words) => *written += words,
            Part::Branches(branches) => {
                let mut order: Vec<usize> = (0..branches.len()).collect();
                if let Some(random) = random.as_deref_mut() {
                    random.shuffle(&mut order);
                }
                for (nth, branch) in order.into_iter().enumerate() {
                    *written += if nth == 0 { "{ " } else { "|| { " };
                    write(&branches[branch], random.as_deref_mut(), written);
                    *written += "} ";
                }
            }
        }
    }
}

/// How many branches side by side a text has, over all.
pub(super) fn branches(text: &Text) -> usize {
    let of = |part: &Part| match part {
        Part::Words(_) => 0,
        Part::Branches(all) => all.len() + all.iter().map(branches).sum::<usize>(),
    };
    text.iter().map(of).sum()
}

/// The whole of a text around the body of its role, which is called `Random` and the seed.
pub(super) fn around(seed: u64, body: &str) -> String {
    format!(
        "protocol Random version 1 {{
            adu A {{ n: u16; }}
            adu B {{ tag: u16; n: u16; }}
            role Random{seed} {{
                sends B;
                receives A;
                together I0, I1;
                input V(n: u16);
                output O0, O1, O2(n: u16);
                host f(tag: u16, n: u16);
                host pure q0() -> bool;
                host pure q1() -> bool;
                var x: u16;
                var y: u16;
                {body}
            }}
        }}"
    )
}

pub(super) struct Author {
    random: fastrand::Rng,
    /// Local signals around, and whether each has a value.
    locals: Vec<(String, bool)>,
    traps: usize,
    /// The variables that this branch may use.
    variables: Vec<&'static str>,
    /// What came in this instant.
    bound: Vec<String>,
    names: usize,
}

impl Author {
    pub(super) fn body(seed: u64) -> Text {
        let random = fastrand::Rng::with_seed(seed);
        let (locals, bound) = (Vec::new(), Vec::new());
        let variables = vec!["x", "y"];
        let mut author = Author { random, locals, traps: 0, variables, bound, names: 0 };
        let mut text = author.statement(4, true);
        text.extend(author.statement(3, true));
        text
    }

    fn fresh(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.random.usize(0..of.len())]
    }

    fn atom(&mut self) -> String {
        match self.random.u8(0..4) {
            0 | 1 if !self.bound.is_empty() => {
                self.bound[self.random.usize(0..self.bound.len())].clone()
            }
            2 if !self.variables.is_empty() => {
                self.variables[self.random.usize(0..self.variables.len())].into()
            }
            _ => self.random.u8(0..3).to_string(),
        }
    }

    fn value(&mut self) -> String {
        let atom = self.atom();
        if self.random.u8(0..3) == 0 { format!("({atom} + 1) % 4") } else { atom }
    }

    fn condition(&mut self) -> String {
        match self.random.u8(0..3) {
            0 => self.one(&["q0()", "q1()"]).into(),
            _ => format!("{} == {}", self.atom(), self.random.u8(0..3)),
        }
    }

    fn local(&mut self) -> Option<(String, bool)> {
        let count = self.locals.len();
        (count > 0).then(|| self.locals[self.random.usize(0..count)].clone())
    }

    /// An event, and the value that it binds. A condition asks only what came with it.
    fn event(&mut self) -> (String, Option<String>) {
        let bound = format!("v{}", self.fresh());
        let local = self.local().filter(|_| self.random.bool());
        let (mut event, value) = match local {
            Some((name, true)) => (format!("{name}({bound})"), Some(bound)),
            Some((name, false)) => (name, None),
            None => match self.random.u8(0..4) {
                0 => (format!("A({bound})"), Some(format!("{bound}.n"))),
                1 => (format!("V({bound})"), Some(bound)),
                _ => (self.one(&["I0", "I1", "I0", "I1", "O0", "O1"]).into(), None),
            },
        };
        match (&value, self.random.u8(0..6)) {
            (_, 0) => event += " where q0()",
            (Some(value), 1) => event += &format!(" where {value} == {}", self.random.u8(0..3)),
            _ => {}
        }
        (event, value)
    }

    /// A signal that can be present, without its value.
    fn tested(&mut self) -> String {
        match self.local().filter(|_| self.random.bool()) {
            Some((name, _)) => name,
            None => self.one(&["I0", "I1", "A", "O0", "O1", "O2"]).into(),
        }
    }

    fn emission(&mut self) -> String {
        match self.local().filter(|_| self.random.u8(0..4) > 0) {
            Some((name, true)) => format!("emit {name}({}); ", self.value()),
            Some((name, false)) => format!("emit {name}; "),
            None if self.random.u8(0..3) == 0 => format!("emit O2({}); ", self.value()),
            None => format!("emit {}; ", self.one(&["O0", "O1"])),
        }
    }

    /// A block of its own: what came in it is its own, too.
    fn block(&mut self, depth: u8, waits: bool, bound: Option<String>) -> Text {
        let before = self.bound.clone();
        self.bound.extend(bound);
        let text = self.statement(depth, waits);
        self.bound = before;
        text
    }

    fn statement(&mut self, depth: u8, waits: bool) -> Text {
        let words = |words: String| vec![Part::Words(words)];
        let around = |head: String, body: Text| {
            let mut text = vec![Part::Words(format!("{head} {{ "))];
            text.extend(body);
            text.push(Part::Words("} ".into()));
            text
        };
        let kinds = if depth == 0 {
            9
        } else if waits {
            24
        } else {
            15
        };
        match self.random.u8(0..kinds) {
            0 => words("nothing; ".into()),
            1..=3 => words(self.emission()),
            4 | 5 => words(format!("call f({}, {}); ", self.fresh(), self.value())),
            6 => words(format!("send B {{ tag: {}, n: {} }}; ", self.fresh(), self.value())),
            7 if !self.variables.is_empty() => {
                let variables = self.variables.clone();
                words(format!("{} := {}; ", self.one(&variables), self.value()))
            }
            7 if self.traps > 0 => words(format!("exit t{}; ", self.random.usize(0..self.traps))),
            7 => words("nothing; ".into()),
            8 if waits => {
                let (event, bound) = self.event();
                let immediate = self.random.u8(0..5) == 0;
                self.bound.clear();
                self.bound.extend(bound);
                words(format!("await {}{event}; ", if immediate { "immediate " } else { "" }))
            }
            8 => words(self.emission()),
            9 | 10 => {
                let mut text = Text::new();
                for _ in 0..self.random.usize(2..4) {
                    text.extend(self.statement(depth - 1, waits));
                }
                text
            }
            11 => {
                let mut text = words(format!("present {} ", self.tested()));
                text.extend(around(String::new(), self.block(depth - 1, waits, None)));
                text.extend(around("else".into(), self.block(depth - 1, waits, None)));
                self.passed(waits);
                text
            }
            12 => {
                let mut text = words(format!("if {} ", self.condition()));
                text.extend(around(String::new(), self.block(depth - 1, waits, None)));
                text.extend(around("else".into(), self.block(depth - 1, waits, None)));
                self.passed(waits);
                text
            }
            13 => self.parallel(depth - 1, waits),
            14 => {
                self.traps += 1;
                let head = format!("trap t{}", self.traps - 1);
                let body = self.block(depth - 1, waits, None);
                self.traps -= 1;
                self.passed(waits);
                around(head, body)
            }
            15 | 16 => {
                let (event, bound) = self.event();
                self.bound.clear();
                around(format!("every {event}"), self.block(depth - 1, false, bound))
            }
            17 | 18 => {
                self.bound.clear();
                let (event, bound) = self.event();
                let mut body = words(format!("await {event}; "));
                body.extend(self.block(depth - 1, true, bound));
                around("loop".into(), body)
            }
            19 => {
                let head = format!("suspend on {}", self.tested());
                let body = self.block(depth - 1, true, None);
                self.passed(true);
                around(head, body)
            }
            20 => {
                let head = self.one(&["abort", "weak abort"]).to_owned();
                let body = self.block(depth - 1, true, None);
                self.bound.clear();
                let (event, bound) = self.event();
                let mut text = around(format!("{head} on {event}"), body);
                text.extend(around("then".into(), self.block(depth - 1, true, bound)));
                text
            }
            21 => {
                self.bound.clear();
                let (event, _) = self.event();
                around(format!("restart on {event}"), self.block(depth - 1, true, None))
            }
            _ => {
                let (name, valued) = (format!("L{}", self.fresh()), self.random.u8(0..4) > 0);
                let kind = if valued { ": u16" } else { "" };
                let mut text = words(format!("{{ local {name}{kind}; "));
                self.locals.push((name.clone(), valued));
                let mut branches = self.parallel(depth - 1, true);
                if let ([Part::Branches(all)], true) = (&mut branches[..], self.random.bool()) {
                    all.push(self.reader(&name, valued, depth - 1));
                }
                text.extend(branches);
                self.locals.pop();
                text.push(Part::Words("} ".into()));
                text
            }
        }
    }

    /// A branch that reads a signal each time that it is emitted.
    fn reader(&mut self, name: &str, valued: bool, depth: u8) -> Text {
        let bound = valued.then(|| format!("v{}", self.fresh()));
        let event = bound.as_ref().map_or(name.to_owned(), |bound| format!("{name}({bound})"));
        let variables = std::mem::take(&mut self.variables);
        let again = self.random.bool();
        let head =
            if again { format!("every {event} {{ ") } else { format!("await immediate {event}; ") };
        let mut text = vec![Part::Words(head)];
        if let Some(bound) = &bound {
            text.push(Part::Words(format!("call f({}, {bound}); ", self.fresh())));
        }
        let around = std::mem::take(&mut self.bound);
        text.extend(self.block(depth, false, bound));
        self.bound = around;
        self.variables = variables;
        text.push(Part::Words(if again { "} ".into() } else { String::new() }));
        text
    }

    /// What came may be gone behind a statement that waits.
    fn passed(&mut self, waits: bool) {
        if waits {
            self.bound.clear();
        }
    }

    /// Branches, each with variables of its own.
    fn parallel(&mut self, depth: u8, waits: bool) -> Text {
        let variables = self.variables.clone();
        let mut own = vec![Vec::new(); self.random.usize(2..4)];
        for variable in &variables {
            let branch = self.random.usize(0..own.len());
            own[branch].push(*variable);
        }
        let branch = |variables| {
            self.variables = variables;
            self.block(depth, waits, None)
        };
        let branches = own.into_iter().map(branch).collect();
        self.variables = variables;
        self.passed(waits);
        vec![Part::Branches(branches)]
    }
}
