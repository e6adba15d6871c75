//! A role on the contract: the words of its application, and what `stackwright-role` asks of it.

use std::fmt::Write;

use super::names::{behind, camel, event, free, has_body, head, octets_function};
use super::role::{Writing, filled, spells};
use crate::program::{NamedType, PhaseBinding, PhasePlan, SignalKind, ValueType};
use crate::services;

/// The room for headers in front of octets of the text.
const HEADROOM: usize = 64;

const PART: &str = "
    /// The role on the contract: a state, variables, and the functions of its application.
    #[derive(Clone, Copy, Debug)]
    pub struct Part<F> {
        state: State,
        variables: Variables,
        /// The functions of its application.
        pub functions: F,
    }

    impl<F> Part<F> {
        /// Makes a role before its first instant.
        pub fn new(functions: F) -> Self {
            Part { state: State::FIRST, variables: Variables::FIRST, functions }
        }
    }

    /// The host of one instant.
    struct Instant<'a, M, F, W> {
        functions: &'a mut F,
        out: &'a mut W,
        message: core::marker::PhantomData<M>,
    }

    impl<M: Message, F: Functions$<MESSAGE>, W: RoleOutlet<M, Output$<MESSAGE>>> Host$<MESSAGE>
        for Instant<'_, M, F, W>
    {
$HOST    }

    fn event$<GENERIC>(
        heard: &RoleEvent<Adu$<MESSAGE>, Input$<MESSAGE>>,
    ) -> Option<Event$<ELIDED>> {
        Some(match heard {
            RoleEvent::Begin => Event::Begin,
$EVENTS            #[allow(unreachable_patterns)]
            _ => return None,
        })
    }

    impl<M: Message, F: Functions$<MESSAGE>> RolePart<M> for Part<F> {
        type Adu = Adu$<MESSAGE>;
        type Input = Input$<MESSAGE>;
        type Output = Output$<MESSAGE>;

        const NAME: &'static str = \"$NAME\";
        const NEEDS: Guarantees = $NEEDS;
        const HEADER_ROOM: usize = $ROOM;
        const HOLD: Option<usize> = HOLD;
        const WAITS: usize = TIMERS.len();
$RULES
        fn wait(timer: usize) -> RoleWait {
            let (milliseconds, idle) = TIMERS[timer];
            RoleWait { time: Duration::from_millis(milliseconds), idle }
        }

        fn decode($MUTmessage: M) -> Result<Self::Adu, M> {
$DECODE            Err(message)
        }

        fn hears(&self, heard: &RoleEvent<Self::Adu, Self::Input>) -> bool {
            event(heard).is_some_and(|event| self.state.hears(&event))
        }

        fn step(
            &mut self,
            heard: &RoleEvent<Self::Adu, Self::Input>,
            out: &mut impl RoleOutlet<M, Self::Output>,
        ) {
            let Some(event) = event(heard) else { return };
            let functions = &mut self.functions;
            let mut host = Instant { functions, out, message: core::marker::PhantomData };
            self.state = step(self.state, event, &mut self.variables, &mut host);
        }

        fn is_over(&self) -> bool {
            self.state.is_over()
        }

        fn has_failed(&self) -> bool {
            self.state == State::FAILED
        }
    }
";

impl Writing<'_> {
    pub(super) fn contract(&self, written: &mut String) {
        self.functions(written);
        self.word("Input", "What its application tells it.", &self.of_kind(true), written);
        self.word("Output", "What it tells its application.", &self.of_kind(false), written);
        self.adu_word(written);
        let generic = if self.bodies { "<M: Message>" } else { "" };
        let elided = self.generics("'_");
        let rooms =
            self.role.sends.iter().map(|adu| format!("{}::LENGTH", head(self.program, *adu)));
        let room = rooms.reduce(|one, other| format!("longer({one}, {other})"));
        let values = [
            ("<MESSAGE>", self.message().to_owned()),
            ("<GENERIC>", generic.to_owned()),
            ("<ELIDED>", elided),
            ("HOST", self.delegates()),
            ("EVENTS", self.conversions()),
            ("NAME", format!("{} {}", self.program.name, self.role.name).to_lowercase()),
            ("NEEDS", self.needs()),
            ("RULES", self.rules()),
            ("ROOM", room.unwrap_or_else(|| "0".into())),
            ("MUT", if self.received().is_empty() { "" } else { "mut " }.to_owned()),
            ("DECODE", self.decoding()),
        ];
        written.push_str(&filled(PART, &values));
        if self.role.sends.len() > 1 {
            written.push_str(
                "\n    const fn longer(one: usize, other: usize) -> usize {\n        \
                 if one > other { one } else { other }\n    }\n",
            );
        }
    }

    /// Inputs, or outputs, with what each carries.
    fn of_kind(&self, inputs: bool) -> Vec<(String, &[NamedType])> {
        let kinds =
            |kind| if inputs { kind == SignalKind::Input } else { kind == SignalKind::Output };
        let all = self.role.signals.iter().filter(|signal| kinds(signal.kind));
        all.map(|signal| (camel(&signal.name), &signal.params[..])).collect()
    }

    fn functions(&self, written: &mut String) {
        let _ = writeln!(
            written,
            "    /// The functions of the application alone.\n    pub trait Functions{} {{",
            self.message()
        );
        for nth in 0..self.role.functions.len() {
            written.push_str(&self.function(nth, ";\n"));
        }
        written.push_str("    }\n\n");
        if self.role.functions.is_empty() {
            let _ = writeln!(written, "    impl{0} Functions{0} for () {{}}\n", self.message());
        }
    }

    fn word(&self, name: &str, doc: &str, all: &[(String, &[NamedType])], written: &mut String) {
        let carries = |kind: &NamedType| kind.kind == ValueType::Bytes;
        let _ = writeln!(
            written,
            "    /// {doc}\n    #[derive(Clone, PartialEq, Eq, Debug)]\n    pub enum {name}{} {{",
            self.message()
        );
        for (variant, params) in all {
            let _ = writeln!(written, "        /// `{variant}`.");
            if params.is_empty() {
                let _ = writeln!(written, "        {variant},");
            } else {
                let _ = writeln!(written, "        {variant} {{ {} }},", self.params(params, ""));
            }
        }
        let has_message = all.iter().flat_map(|(_, params)| *params).any(carries);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        self.unused_message(has_message, &names, written);
        written.push_str("    }\n\n");
    }

    /// A variant that nothing makes, where a word has no octets and its type has a message.
    fn unused_message(&self, has_message: bool, names: &[&str], written: &mut String) {
        if self.bodies && !has_message {
            let never = free("Never".into(), |one| names.contains(&one));
            let _ = writeln!(
                written,
                "        #[doc(hidden)]\n        {never}(core::convert::Infallible, core::marker::PhantomData<M>),",
            );
        }
    }

    fn adu_word(&self, written: &mut String) {
        let _ = writeln!(
            written,
            "    /// The ADUs that it receives.\n    #[derive(Clone, PartialEq, Eq, Debug)]\n    pub enum \
             Adu{} {{",
            self.message()
        );
        let mut has_message = false;
        for (name, adu) in self.received() {
            let body = has_body(self.program, adu);
            has_message |= body;
            let _ = writeln!(
                written,
                "        /// `{name}`.\n        {name} {{ head: {}{} }},",
                head(self.program, adu),
                if body { ", body: M" } else { "" }
            );
        }
        let received = self.received();
        let names: Vec<&str> = received.iter().map(|(name, _)| name.as_str()).collect();
        self.unused_message(has_message, &names, written);
        written.push_str("    }\n");
    }

    fn received(&self) -> Vec<(String, usize)> {
        let of = |signal: &crate::program::Signal| match signal.kind {
            SignalKind::Adu(adu) => Some((camel(&signal.name), adu)),
            _ => None,
        };
        self.role.signals.iter().filter_map(of).collect()
    }

    /// The host of one instant: functions are the application's, the rest is the layer's.
    fn delegates(&self) -> String {
        let mut written = String::new();
        for (nth, function) in self.role.functions.iter().enumerate() {
            let call = format!(
                " {{\n            self.functions.{}({})\n        }}\n",
                self.named(nth),
                self.names(&function.params).join(", ")
            );
            written.push_str(&self.function(nth, &call));
        }
        if spells(self.role) {
            let _ = writeln!(
                written,
                "        fn {}(&self, octets: &'static [u8]) -> M {{\n            M::with_headroom({HEADROOM}, octets)\n        }}",
                octets_function(self.program, self.role)
            );
        }
        let (phase, enters) = match (self.program.switches(), self.program.phases.len()) {
            (true, _) => (", phase: u8", "            self.out.enter(phase);\n"),
            (false, 0 | 1) => ("", ""),
            (false, _) => (", _phase: u8", ""),
        };
        for adu in &self.role.sends {
            let has_body = has_body(self.program, *adu);
            let _ = writeln!(
                written,
                "        fn {}(&mut self{phase}, head: {}{}) {{\n{enters}            self.out.send(&head, {})\n        }}",
                behind("send", &self.program.adus[*adu].name),
                head(self.program, *adu),
                if has_body { ", body: &M" } else { "" },
                if has_body { "Some(body)" } else { "None" }
            );
        }
        for output in self.role.signals.iter().filter(|one| one.kind == SignalKind::Output) {
            let fields: Vec<String> = self
                .names(&output.params)
                .into_iter()
                .zip(self.params(&output.params, "&").split(", "))
                .map(|(name, param)| match param.strip_suffix(": &M") {
                    Some(_) => format!("{name}: {name}.share()"),
                    None => name,
                })
                .collect();
            let fields = if fields.is_empty() {
                String::new()
            } else {
                format!(" {{ {} }}", fields.join(", "))
            };
            let params = self.params(&output.params, "&");
            let _ = writeln!(
                written,
                "        fn {}(&mut self{}) {{\n            self.out.emit(Output::{}{fields})\n        }}",
                behind("emit", &output.name),
                if params.is_empty() { params } else { format!(", {params}") },
                camel(&output.name)
            );
        }
        if !self.role.timers.is_empty() {
            written.push_str(
                "        fn start(&mut self, timer: u8) {\n            self.out.start(timer.into())\n        }\n",
            );
        }
        written
    }

    fn conversions(&self) -> String {
        let mut written = String::new();
        let mut line = |text: String| {
            let _ = writeln!(written, "            {text},");
        };
        for signals in self.inputs() {
            let signal = &self.role.signals[usize::from(signals[0])];
            let (name, event) = (camel(&signal.name), event(self.role, &signal.name));
            match signal.kind {
                SignalKind::Adu(adu) if has_body(self.program, adu) => line(format!(
                    "RoleEvent::Adu(Adu::{name} {{ head, body }}) => Event::{event} {{ head: *head, body }}"
                )),
                SignalKind::Adu(_) => line(format!(
                    "RoleEvent::Adu(Adu::{name} {{ head }}) => Event::{event} {{ head: *head }}"
                )),
                SignalKind::Input if signal.params.is_empty() => {
                    line(format!("RoleEvent::Input(Input::{name}) => Event::{event}"));
                }
                SignalKind::Input => {
                    let names = self.names(&signal.params);
                    let lent = self.params(&signal.params, "&");
                    let values: Vec<String> = names
                        .iter()
                        .zip(lent.split(", "))
                        .map(|(name, param)| match param.strip_suffix(": &M") {
                            Some(_) => name.clone(),
                            None => format!("{name}: *{name}"),
                        })
                        .collect();
                    line(format!(
                        "RoleEvent::Input(Input::{name} {{ {} }}) => Event::{event} {{ {} }}",
                        names.join(", "),
                        values.join(", ")
                    ));
                }
                SignalKind::Timer(timer) => {
                    line(format!("RoleEvent::Timer({timer}) => Event::Timer{timer}"));
                }
                SignalKind::Room => line("RoleEvent::Room => Event::Room".into()),
                SignalKind::Drained => line("RoleEvent::Drained => Event::Drained".into()),
                SignalKind::Ended => line("RoleEvent::Ended => Event::Ended".into()),
                _ => {}
            }
        }
        written
    }

    /// The rules that the two ends negotiate, by phase.
    fn rules(&self) -> String {
        if !self.program.switches() || self.program.binding != PhaseBinding::Adaptive {
            return String::new();
        }
        let mut written =
            String::from("        const RULES: &'static [stackwright_contract::PhaseRule] = &[\n");
        for phase in &self.program.phases {
            let ordered = services::has(&phase.services, "ordered");
            let resends = services::number(&phase.services, "resends");
            let _ = writeln!(
                written,
                "            // `{}`\n            stackwright_contract::PhaseRule {{ ordered: \
                 {ordered}, fenced: {}, resends: {resends:?} }},",
                phase.name, phase.fenced
            );
        }
        written + "        ];\n"
    }

    /// What the layer below has to promise.
    fn needs(&self) -> String {
        let phases = &self.program.phases;
        let any = |service: &str| phases.iter().any(|one| services::has(&one.services, service));
        let mut needs = Vec::new();
        // What may be abandoned is not promised to arrive.
        let arrives = |phase: &PhasePlan| {
            services::has(&phase.services, "reliable") && !services::has(&phase.services, "resends")
        };
        let switches = self.program.switches();
        // Where one phase abandons, the transport as a whole does.
        if phases.iter().any(arrives) && !(switches && any("resends")) {
            needs.push("RELIABLE");
        }
        if any("reliable") {
            needs.push("ONCE");
        }
        if switches {
            needs.push("PHASES");
        } else if any("ordered") {
            needs.push("ORDERED");
        }
        if any("checksum") {
            needs.push("CHECKED");
        }
        let all = needs.iter().map(|name| format!("Guarantees::{name}"));
        all.reduce(|one, other| format!("{one}.and({other})"))
            .unwrap_or_else(|| "Guarantees::ABSENT".into())
    }

    /// Decoding, ADU by ADU: one whose fixed part is another's, or that is too long, is none.
    fn decoding(&self) -> String {
        let mut written = String::new();
        for (name, adu) in self.received() {
            let of = head(self.program, adu);
            let most = self.program.adus[adu].fields.last().and_then(|last| last.most).unwrap_or(0);
            let made = if has_body(self.program, adu) { "head, body: message" } else { "head" };
            let _ = writeln!(
                written,
                "            if message.len() <= {of}::LENGTH + {most}\n                && let Ok(head) = \
                 message.pull::<{of}>()\n            {{\n                return Ok(Adu::{name} {{ {made} }});\n            }}",
            );
        }
        written
    }
}
