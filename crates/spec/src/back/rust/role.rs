//! A role's events, its host, its tables.

use std::fmt::Write;

use super::RustForm;
use super::names::{
    behind, body, camel, event, function, has_body, head, module, octets_function, plain, snake,
};
use super::step;
use crate::machine::Automaton;
use crate::program::{Action, Expr, NamedType, Program, RoleProgram, SignalKind, ValueType};

const TABLES: &str = r"
    /// Which events each state hears; what else comes is held.
    pub const HEARS: [$MASK; $COUNT] = [$HEARD];

    /// Of each wait: its time in milliseconds, and whether each ADU that comes begins it anew.
    pub const TIMERS: [(u64, bool); $WAITS] = [$TIMES];

    /// How many ADUs are held at most; `None`: a flow window.
    pub const HOLD: Option<usize> = $HELD;

    /// Where control stands.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct State($STATE);

    impl State {
        /// Before the first instant.
        pub const FIRST: State = State(0);
        /// The role is over.
        pub const OVER: State = State($STATE::MAX);
        /// What it computed had no place in its range: it is over, too.
        pub const FAILED: State = State($STATE::MAX - 1);

        /// Returns whether the role is over, in either way.
        pub fn is_over(self) -> bool {
            self.0 >= $STATE::MAX - 1
        }

        /// Returns whether it hears an event now.
        pub fn hears$<MESSAGE>(self, event: &Event$<EVENT>) -> bool {
            HEARS.get(self.0 as usize).is_some_and(|heard| heard & event.bit() != 0)
        }

        /// Returns whether it hears a wait's end now.
        pub fn hears_timer(self, timer: u8) -> bool {
            let heard = HEARS.get(self.0 as usize).copied().unwrap_or(0);
            $TIMER_BIT
        }
    }

";

/// A role that is written.
pub(super) struct Writing<'a> {
    pub(super) program: &'a Program,
    pub(super) role: &'a RoleProgram,
    pub(super) automaton: &'a Automaton,
    /// Whether octets of any number occur: then it is generic over messages.
    pub(super) bodies: bool,
    /// Whether some come: then its events are.
    pub(super) heard_bodies: bool,
}

pub(super) fn write(
    program: &Program,
    role: &RoleProgram,
    automaton: &Automaton,
    form: RustForm,
    written: &mut String,
) {
    let (bodies, heard_bodies) = (has_bodies(program, role), hears_bodies(program, role));
    let writing = Writing { program, role, automaton, bodies, heard_bodies };
    let _ = writeln!(
        written,
        "\n/// The role `{}`: {} states.\npub mod {} {{\n    use super::*;\n",
        role.name,
        automaton.states(),
        module(&role.name)
    );
    writing.events(written);
    writing.host(written);
    writing.variables(written);
    writing.tables(written);
    step::write(&writing, written);
    if form == RustForm::Contract {
        writing.contract(written);
    }
    written.push_str("}\n");
}

fn is_body(program: &Program, kind: ValueType) -> bool {
    match kind {
        ValueType::Bytes => true,
        ValueType::Adu(adu) => has_body(program, adu),
        _ => false,
    }
}

/// Whether octets of any number come to a role.
fn hears_bodies(program: &Program, role: &RoleProgram) -> bool {
    let inputs = role.signals.iter().filter(|signal| signal.kind.is_input());
    inputs.flat_map(|signal| &signal.params).any(|param| is_body(program, param.kind))
}

/// Whether octets of any number occur in a role.
fn has_bodies(program: &Program, role: &RoleProgram) -> bool {
    let of_signals = role.signals.iter().flat_map(|signal| &signal.params).map(|param| param.kind);
    let of_functions = role
        .functions
        .iter()
        .flat_map(|function| function.params.iter().map(|param| param.kind).chain(function.result));
    let sent = role.sends.iter().map(|adu| ValueType::Adu(*adu));
    of_signals.chain(of_functions).chain(sent).any(|kind| is_body(program, kind))
}

/// Whether octets of any number stand in the text of a role.
pub(super) fn spells(role: &RoleProgram) -> bool {
    fn has(expr: &Expr) -> bool {
        match expr {
            Expr::Octets { fixed, .. } => !fixed,
            Expr::Call(_, all) => all.iter().any(has),
            Expr::Not(inner) => has(inner),
            Expr::Binary(_, left, right) => has(left) || has(right),
            _ => false,
        }
    }
    let of_actions = role.actions.iter().flat_map(|(action, _)| match action {
        Action::Call { arguments: all, .. } | Action::Send { fields: all, .. } => &all[..],
        Action::Assign { value, .. } => core::slice::from_ref(value),
        Action::Start(_) => &[],
    });
    let of_emissions = role.emissions.iter().flat_map(|emission| &emission.values);
    let of_questions = role.questions.iter().map(|question| &question.asks);
    of_actions.chain(of_emissions).chain(of_questions).any(has)
}

impl Writing<'_> {
    /// Inputs in the order of their bits in `HEARS`: those that come together have one.
    pub(super) fn inputs(&self) -> Vec<Vec<u16>> {
        let mut all: Vec<Vec<u16>> = Vec::new();
        let mut together = Vec::new();
        for (nth, signal) in self.role.signals.iter().enumerate() {
            match signal.kind {
                SignalKind::Together => together.push(nth as u16),
                kind if kind.is_input() => all.push(vec![nth as u16]),
                _ => {}
            }
        }
        if !together.is_empty() {
            all.push(together);
        }
        all
    }

    /// The generic arguments of an event, as `<'_, M>`.
    pub(super) fn generics(&self, lifetime: &str) -> String {
        if self.heard_bodies { format!("<{lifetime}, M>") } else { String::new() }
    }

    pub(super) fn message(&self) -> &'static str {
        if self.bodies { "<M>" } else { "" }
    }

    /// What a function is generic over that speaks of events alone.
    fn heard(&self) -> &'static str {
        if self.heard_bodies { "<M>" } else { "" }
    }

    fn events(&self, written: &mut String) {
        let generics = self.generics("'a");
        let _ = writeln!(
            written,
            "    /// What the role hears in an instant.\n    #[derive(Clone, Copy, Debug)]\n    \
             pub enum Event{generics} {{\n        /// The association is open.\n        Begin,"
        );
        let mut timers = 0;
        for signals in self.inputs() {
            let signal = &self.role.signals[usize::from(signals[0])];
            let doc = format!("        /// `{}`.\n", signal.name);
            match signal.kind {
                SignalKind::Adu(adu) => {
                    let body = if has_body(self.program, adu) { ", body: &'a M" } else { "" };
                    let _ = writeln!(
                        written,
                        "{doc}        {} {{ head: {}{body} }},",
                        event(self.role, &signal.name),
                        head(self.program, adu)
                    );
                }
                SignalKind::Input if signal.params.is_empty() => {
                    let _ = writeln!(written, "{doc}        {},", event(self.role, &signal.name));
                }
                SignalKind::Input => {
                    let params = self.params(&signal.params, "&'a ");
                    let _ = writeln!(written, "{doc}        {} {{ {params} }},", event(self.role, &signal.name));
                }
                SignalKind::Timer(timer) => {
                    timers = timers.max(timer + 1);
                    let _ = writeln!(written, "{doc}        Timer{timer},");
                }
                SignalKind::Room => written.push_str("        /// There is room to send.\n        Room,\n"),
                SignalKind::Drained => {
                    written.push_str("        /// All that was sent has arrived.\n        Drained,\n");
                }
                SignalKind::Ended => {
                    written.push_str("        /// The association is over.\n        Ended,\n");
                }
                _ => written.push_str(
                    "        /// Inputs that come together; perhaps none.\n        Together(Together),\n",
                ),
            }
        }
        written.push_str("    }\n\n");
        self.together(written);
        self.bits(written);
    }

    fn together(&self, written: &mut String) {
        let all = self.role.signals.iter().filter(|signal| signal.kind == SignalKind::Together);
        let fields: Vec<String> = all
            .map(|signal| {
                format!(
                    "        /// Whether `{}` is present.\n        pub {}: bool,\n",
                    signal.name,
                    snake(&signal.name)
                )
            })
            .collect();
        if !fields.is_empty() {
            let _ = writeln!(
                written,
                "    /// Inputs that come together.\n    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]\n    \
                 pub struct Together {{\n{}    }}\n",
                fields.concat()
            );
        }
    }

    fn bits(&self, written: &mut String) {
        let (generics, inputs) = (self.generics("'_"), self.inputs());
        let _ = writeln!(
            written,
            "    impl{} Event{generics} {{\n        /// Returns its bit in [`HEARS`]; the begin has \
             none.\n        pub fn bit(&self) -> {} {{\n            match self {{\n                \
             Event::Begin => 0,",
            self.heard(),
            mask(inputs.len())
        );
        for (nth, signals) in inputs.iter().enumerate() {
            let _ = writeln!(
                written,
                "                {} => 1 << {nth},",
                self.pattern(signals[0], false)
            );
        }
        written.push_str("            }\n        }\n    }\n\n");
    }

    /// The pattern of an event. Its values are bound to names that no text can have.
    pub(super) fn pattern(&self, signal: u16, binds: bool) -> String {
        let signal = &self.role.signals[usize::from(signal)];
        let name = event(self.role, &signal.name);
        match signal.kind {
            SignalKind::Adu(_) | SignalKind::Input if !binds && !self.is_bare(signal) => {
                format!("Event::{name} {{ .. }}")
            }
            SignalKind::Adu(adu) if has_body(self.program, adu) => {
                format!("Event::{name} {{ head: in_head, body: in_body }}")
            }
            SignalKind::Adu(_) => format!("Event::{name} {{ head: in_head }}"),
            SignalKind::Input if signal.params.is_empty() => format!("Event::{name}"),
            SignalKind::Input => {
                let names = self.names(&signal.params).into_iter();
                let bound = names.map(|name| format!("{name}: {}", behind("in", &name)));
                format!("Event::{name} {{ {} }}", bound.collect::<Vec<_>>().join(", "))
            }
            SignalKind::Timer(timer) => format!("Event::Timer{timer}"),
            SignalKind::Room => "Event::Room".into(),
            SignalKind::Drained => "Event::Drained".into(),
            SignalKind::Ended => "Event::Ended".into(),
            _ if binds => "Event::Together(inputs)".into(),
            _ => "Event::Together(_)".into(),
        }
    }

    fn is_bare(&self, signal: &crate::program::Signal) -> bool {
        signal.kind == SignalKind::Input && signal.params.is_empty()
    }

    /// The names of parameters, where an ADU may have two.
    pub(super) fn names(&self, params: &[NamedType]) -> Vec<String> {
        let of = |param: &NamedType| match param.kind {
            ValueType::Adu(adu) if has_body(self.program, adu) => {
                vec![snake(&param.name), body(params, &param.name)]
            }
            _ => vec![snake(&param.name)],
        };
        params.iter().flat_map(of).collect()
    }

    /// Parameters of a function or fields of a variant; octets are lent as `lent` says.
    pub(super) fn params(&self, params: &[NamedType], lent: &str) -> String {
        let mut all = Vec::new();
        for param in params {
            let name = snake(&param.name);
            match param.kind {
                ValueType::Bytes => all.push(format!("{name}: {lent}M")),
                ValueType::Adu(adu) => {
                    all.push(format!("{name}: {}", head(self.program, adu)));
                    if has_body(self.program, adu) {
                        all.push(format!("{}: {lent}M", body(params, &param.name)));
                    }
                }
                kind => all.push(format!("{name}: {}", plain(self.program, kind))),
            }
        }
        all.join(", ")
    }

    fn host(&self, written: &mut String) {
        let _ = writeln!(
            written,
            "    /// The application, and what is below.\n    pub trait Host{} {{",
            self.message()
        );
        let with = |params: String| if params.is_empty() { params } else { format!(", {params}") };
        for (nth, function) in self.role.functions.iter().enumerate() {
            let _ = writeln!(written, "        /// `{}`.", function.name);
            written.push_str(&self.function(nth, ";\n"));
        }
        if spells(self.role) {
            let _ = writeln!(
                written,
                "        /// Makes octets of the text a message.\n        fn {}(&self, octets: &'static [u8]) -> M;",
                octets_function(self.program, self.role)
            );
        }
        let phase = if self.program.phases.len() > 1 { ", phase: u8" } else { "" };
        for adu in &self.role.sends {
            let body = if has_body(self.program, *adu) { ", body: &M" } else { "" };
            let name = &self.program.adus[*adu].name;
            let _ = writeln!(
                written,
                "        /// Sends the ADU `{name}`.\n        fn {}(&mut self{phase}, head: {}{body});",
                behind("send", name),
                head(self.program, *adu)
            );
        }
        for output in self.role.signals.iter().filter(|one| one.kind == SignalKind::Output) {
            let _ = writeln!(
                written,
                "        /// Emits `{}`.\n        fn {}(&mut self{});",
                output.name,
                behind("emit", &output.name),
                with(self.params(&output.params, "&"))
            );
        }
        if !self.role.timers.is_empty() {
            written.push_str(
                "        /// Begins a wait: its time is in [`TIMERS`], what comes then is `Timer` with this number.\n        \
                 fn start(&mut self, timer: u8);\n",
            );
        }
        written.push_str("    }\n\n");
    }

    /// A function of the host, with what is behind its signature.
    pub(super) fn function(&self, nth: usize, behind: &str) -> String {
        let of = &self.role.functions[nth];
        let me = if of.pure { "&self" } else { "&mut self" };
        let params = self.params(&of.params, "&");
        let params = if params.is_empty() { params } else { format!(", {params}") };
        let result =
            of.result.map_or(String::new(), |kind| format!(" -> {}", plain(self.program, kind)));
        format!("        fn {}({me}{params}){result}{behind}", self.named(nth))
    }

    /// The name of a function of the host.
    pub(super) fn named(&self, nth: usize) -> String {
        function(self.program, self.role, nth)
    }

    fn variables(&self, written: &mut String) {
        let (mut fields, mut values) = (String::new(), String::new());
        for variable in &self.role.variables {
            let name = snake(&variable.name);
            let kind = plain(self.program, variable.kind);
            let _ =
                writeln!(fields, "        /// `{}`.\n        pub {name}: {kind},", variable.name);
            let initial = match variable.kind {
                ValueType::Truth => (variable.initial != 0).to_string(),
                ValueType::Enum(of) => {
                    let values = &self.program.enums[of].values;
                    let named = values.iter().find(|(_, value)| *value == variable.initial);
                    let name = named.or(values.first()).map_or("", |(name, _)| name.as_str());
                    format!("{kind}::{}", camel(name))
                }
                _ => variable.initial.to_string(),
            };
            let _ = write!(values, "{name}: {initial}, ");
        }
        let _ = writeln!(
            written,
            "    /// Its variables.\n    #[derive(Clone, Copy, PartialEq, Eq, Debug)]\n    \
             pub struct Variables {{\n{fields}    }}\n\n    impl Variables {{\n        \
             /// The first values.\n        pub const FIRST: Variables = Variables {{ {values}}};\n    }}\n"
        );
    }

    fn tables(&self, written: &mut String) {
        let inputs = self.inputs();
        let mask_type = mask(inputs.len());
        let states = self.automaton.states();
        let masks: Vec<String> = (0..states)
            .map(|state| {
                let heard = self.automaton.hears(state as u32);
                let bits = inputs
                    .iter()
                    .enumerate()
                    .filter(|(_, signals)| signals.iter().any(|signal| heard.has(*signal)));
                format!("{:#b}", bits.fold(0_u128, |sum, (nth, _)| sum | 1 << nth))
            })
            .collect();
        let timers: Vec<String> = self
            .role
            .timers
            .iter()
            .map(|timer| format!("({}, {})", timer.milliseconds, timer.idle))
            .collect();
        let lifetime = self.generics("'_");
        let values = [
            ("MASK", mask_type.to_owned()),
            ("COUNT", states.to_string()),
            ("HEARD", masks.join(", ")),
            ("WAITS", timers.len().to_string()),
            ("TIMES", timers.join(", ")),
            ("HELD", format!("{:?}", self.role.hold)),
            ("STATE", state_type(states).to_owned()),
            ("<MESSAGE>", self.heard().to_owned()),
            ("<EVENT>", lifetime),
            ("TIMER_BIT", self.timer_bit(&inputs)),
        ];
        written.push_str(&filled(TABLES, &values));
    }

    fn timer_bit(&self, inputs: &[Vec<u16>]) -> String {
        let is_timer = |signals: &Vec<u16>| {
            matches!(self.role.signals[usize::from(signals[0])].kind, SignalKind::Timer(_))
        };
        let arms: Vec<String> = inputs
            .iter()
            .enumerate()
            .filter(|(_, signals)| is_timer(signals))
            .enumerate()
            .map(|(timer, (bit, _))| format!("{timer} => heard & 1 << {bit} != 0, "))
            .collect();
        format!("match timer {{ {}_ => false }}", arms.concat())
    }
}

/// A text with each word in capitals replaced.
pub(super) fn filled(text: &str, values: &[(&str, String)]) -> String {
    let fill =
        |text: String, (word, value): &(&str, String)| text.replace(&format!("${word}"), value);
    values.iter().fold(text.to_owned(), fill)
}

/// The type of a mask over a number of events.
fn mask(events: usize) -> &'static str {
    match events {
        0..=32 => "u32",
        33..=64 => "u64",
        _ => "u128",
    }
}

/// The type of a state, of which two values are not states.
fn state_type(states: usize) -> &'static str {
    if states <= 254 { "u8" } else { "u16" }
}
