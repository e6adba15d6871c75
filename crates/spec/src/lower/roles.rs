//! What a role declares.

use super::scope::{self, Bound, Names, unknown};
use crate::back::{camel, snake};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::kernel::{Set, nothing};
use crate::program::{HostFunction, RoleProgram, Signal, SignalKind, ValueType, Variable};
use crate::tree::{Expression, ExpressionKind, File, Ident, RoleItem, VariableItem};

/// A role while it is lowered.
pub(super) struct Lowering<'a> {
    pub(super) names: &'a Names<'a>,
    file: &'a File,
    pub(super) told: &'a mut Vec<Diagnostic>,
    pub(super) role: RoleProgram,
    /// What came, under the names that the text gives it; the innermost last.
    pub(super) bound: Vec<Bound>,
    /// Traps around; `None` is one that a statement made.
    pub(super) traps: Vec<Option<String>>,
    /// Local signals around.
    pub(super) locals: Vec<(String, u16)>,
    /// The variables of local signals that have a value.
    pub(super) local_variables: Vec<(u16, usize)>,
    pub(super) phase: Option<usize>,
    /// Each use of a variable: which, where, and whether it is written.
    pub(super) variables_used: Vec<(usize, Span, bool)>,
    pub(super) functions_used: Vec<usize>,
    /// Signals that are emitted, or awaited.
    pub(super) signals_used: Vec<u16>,
    pub(super) adus_sent: Vec<usize>,
}

pub(super) fn lower(
    file: &File,
    item: &RoleItem,
    names: &Names<'_>,
    window: Option<u64>,
    told: &mut Vec<Diagnostic>,
) -> RoleProgram {
    let role = RoleProgram {
        name: item.name.name.clone(),
        signals: Vec::new(),
        variables: Vec::new(),
        functions: Vec::new(),
        timers: Vec::new(),
        hold: item.hold.map(|(most, _)| most),
        sends: Vec::new(),
        actions: Vec::new(),
        questions: Vec::new(),
        emissions: Vec::new(),
        pauses: Vec::new(),
        body: nothing(),
        at: item.name.at,
    };
    let phase = (!names.phases.is_empty()).then_some(0);
    let mut lowering = Lowering {
        names,
        file,
        told,
        role,
        bound: Vec::new(),
        traps: Vec::new(),
        locals: Vec::new(),
        local_variables: Vec::new(),
        phase,
        variables_used: Vec::new(),
        functions_used: Vec::new(),
        signals_used: Vec::new(),
        adus_sent: Vec::new(),
    };
    lowering.declare(item, window);
    lowering.role.body = lowering.block(&item.body);
    lowering.bounds(item);
    lowering.unused(item);
    lowering.role
}

impl Lowering<'_> {
    pub(super) fn tell(&mut self, flaw: Diagnostic) {
        self.told.push(flaw);
    }

    pub(super) fn kind(&mut self, kind: &crate::tree::TypeName) -> Option<ValueType> {
        scope::kind(self.file, kind, self.told).map(|(kind, _)| kind)
    }

    fn declare(&mut self, item: &RoleItem, window: Option<u64>) {
        let inputs = item.inputs.iter().map(|one| &one.name);
        let outputs = item.outputs.iter().map(|one| &one.name);
        let signals = item.receives.iter().chain(inputs).chain(outputs).chain(&item.together);
        scope::duplicates("a signal", signals, &[camel, snake], self.told);
        let variables = item.variables.iter().map(|one| &one.name);
        scope::duplicates("a variable", variables, &[snake], self.told);
        let functions = item.functions.iter().map(|one| &one.name);
        scope::duplicates("a host function", functions, &[snake], self.told);
        scope::duplicates("an ADU that is sent", &item.sends, &[], self.told);

        for name in &item.sends {
            if let Some(adu) = self.adu(name) {
                self.role.sends.push(adu);
            }
        }
        for name in &item.receives {
            let Some(adu) = self.adu(name) else { continue };
            let params = self.names.adus[adu].fields.clone();
            self.signal(name, SignalKind::Adu(adu), params);
        }
        for input in &item.inputs {
            let params = scope::named(self.file, &input.params, self.told);
            self.signal(&input.name, SignalKind::Input, params);
        }
        for name in &item.together {
            self.signal(name, SignalKind::Together, Vec::new());
        }
        for output in &item.outputs {
            let params = scope::named(self.file, &output.params, self.told);
            self.signal(&output.name, SignalKind::Output, params);
        }
        for function in &item.functions {
            let params = scope::named(self.file, &function.params, self.told);
            let result = function.result.as_ref().and_then(|kind| self.kind(kind));
            if function.pure && result.is_none() {
                let says = format!("`{}` is pure and answers nothing", function.name.name);
                self.tell(
                    Diagnostic::new(DiagnosticCode::Type, function.name.at, says)
                        .help("give it an answer: `-> bool`; or leave `pure` out"),
                );
            }
            if let Some(kind @ ValueType::Adu(_)) = result {
                let says =
                    format!("`{}` would answer {}", function.name.name, self.type_name(kind));
                self.tell(
                    Diagnostic::new(DiagnosticCode::Type, function.name.at, says)
                        .help("let it answer a value: an ADU is what came, as a whole"),
                );
            }
            self.role.functions.push(HostFunction {
                name: function.name.name.clone(),
                pure: function.pure,
                params,
                result,
                at: function.name.at,
            });
        }
        for variable in &item.variables {
            self.variable(variable);
        }
        if let (Some((hold, at)), Some(window)) = (item.hold, window)
            && hold < window
        {
            let says = format!("`hold {hold}` is less than the flow window of {window}");
            self.tell(
                Diagnostic::new(DiagnosticCode::Hold, at, says)
                    .label("a full hold in front of the ADU that is awaited is a deadlock")
                    .help("hold a whole window")
                    .instead(at, window.to_string()),
            );
        }
    }

    fn adu(&mut self, name: &Ident) -> Option<usize> {
        let found = self.names.adus.iter().position(|adu| adu.name == name.name);
        if found.is_none() {
            let flaw = unknown("ADU", name, self.names.adus.iter().map(|adu| adu.name.as_str()));
            self.tell(flaw);
        }
        found
    }

    pub(super) fn signal(
        &mut self,
        name: &Ident,
        kind: SignalKind,
        params: Vec<crate::program::NamedType>,
    ) -> u16 {
        self.role.signals.push(Signal { name: name.name.clone(), kind, params, at: name.at });
        self.last_signal()
    }

    /// The number of the signal that was declared last. Numbers that no set can hold are told of
    /// by [`bounds`](Self::bounds), and stand for the last that one can.
    pub(super) fn last_signal(&self) -> u16 {
        (self.role.signals.len() - 1).min(Set::MOST - 1) as u16
    }

    fn variable(&mut self, item: &VariableItem) {
        let kind = self.kind(&item.kind).unwrap_or(ValueType::Number(64));
        let (range, first) = self.range(kind, &item.name);
        let range = match item.range {
            Some((least, most, at)) if least > most || most > range.1 => {
                let says = format!("the range {least}..{most} is none of this type");
                self.tell(Diagnostic::new(DiagnosticCode::OutOfRange, at, says));
                range
            }
            Some((least, most, _)) => (least, most),
            None => range,
        };
        let initial = match &item.initial {
            None => first.clamp(range.0, range.1),
            Some(value) => self.constant(value, kind, range).unwrap_or(range.0),
        };
        self.role.variables.push(Variable {
            name: item.name.name.clone(),
            kind,
            range,
            initial,
            declared: true,
            at: item.name.at,
        });
    }

    /// Returns the least and the greatest value of a type, and the first value of a variable.
    pub(super) fn range(&mut self, kind: ValueType, name: &Ident) -> ((u64, u64), u64) {
        match kind {
            ValueType::Truth => ((0, 1), 0),
            ValueType::Number(64) => ((0, u64::MAX), 0),
            ValueType::Number(bits) => ((0, (1 << bits) - 1), 0),
            ValueType::Enum(nth) => {
                let values = self.names.enums[nth].values.iter().map(|(_, value)| *value);
                let range = (values.clone().min().unwrap_or(0), values.clone().max().unwrap_or(0));
                (range, values.clone().next().unwrap_or(0))
            }
            ValueType::Octets(_) | ValueType::Bytes | ValueType::Adu(_) => {
                let says = format!("`{}` would hold {}", name.name, self.type_name(kind));
                self.tell(
                    Diagnostic::new(DiagnosticCode::BytesVariable, name.at, says)
                        .help("let the host keep it: `call keep(x);`"),
                );
                ((0, u64::MAX), 0)
            }
        }
    }

    fn constant(&mut self, of: &Expression, kind: ValueType, range: (u64, u64)) -> Option<u64> {
        let value = match &of.is {
            ExpressionKind::Number(_) | ExpressionKind::Truth(_) | ExpressionKind::Name(_) => {
                match self.typed(of, kind)? {
                    crate::program::Expr::Number(value)
                    | crate::program::Expr::Constant { value, .. } => value,
                    crate::program::Expr::Truth(truth) => u64::from(truth),
                    _ => return self.no_constant(of),
                }
            }
            _ => return self.no_constant(of),
        };
        if value < range.0 || value > range.1 {
            let says = format!("{value} is not within {}..{}", range.0, range.1);
            self.tell(Diagnostic::new(DiagnosticCode::OutOfRange, of.at, says));
        }
        Some(value)
    }

    fn no_constant(&mut self, of: &Expression) -> Option<u64> {
        let says = "a variable begins with a constant";
        self.tell(
            Diagnostic::new(DiagnosticCode::Type, of.at, says).help("assign it in the role's body"),
        );
        None
    }

    /// Tells where a role is larger than sets are.
    fn bounds(&mut self, item: &RoleItem) {
        let inputs = self.role.signals.iter().filter(|signal| signal.kind.is_input()).count();
        let sizes = [
            ("inputs, timers included", inputs, 128),
            ("signals, timers included", self.role.signals.len(), Set::MOST),
            ("places at which it waits", self.role.pauses.len(), Set::MOST),
            // The last is that of signals that statements emit on their own.
            ("emissions", self.role.emissions.len(), usize::from(u16::MAX)),
            ("actions", self.role.actions.len(), usize::from(u16::MAX)),
            ("conditions", self.role.questions.len(), usize::from(u16::MAX)),
        ];
        for (what, is, most) in sizes {
            if is > most {
                let says = format!("the role `{}` has {is} {what}: at most {most}", item.name.name);
                self.tell(Diagnostic::new(DiagnosticCode::TooMany, item.name.at, says));
            }
        }
    }

    /// Warns of what is declared and has no part in what the role does.
    fn unused(&mut self, item: &RoleItem) {
        let mut warn = |code, at, says: String| self.told.push(Diagnostic::warning(code, at, says));
        for (nth, signal) in self.role.signals.iter().enumerate() {
            if self.signals_used.iter().any(|used| usize::from(*used) == nth) {
                continue;
            }
            let name = &signal.name;
            match signal.kind {
                SignalKind::Adu(_) => warn(
                    DiagnosticCode::Unheard,
                    signal.at,
                    format!("`{name}` is received, and nothing in this role waits for it"),
                ),
                SignalKind::Output => {
                    warn(DiagnosticCode::Unused, signal.at, format!("`{name}` is never emitted"));
                }
                SignalKind::Input | SignalKind::Together => {
                    warn(DiagnosticCode::Unused, signal.at, format!("nothing waits for `{name}`"));
                }
                _ => {}
            }
        }
        for (nth, variable) in self.role.variables.iter().enumerate() {
            if variable.declared && !self.variables_used.iter().any(|(used, ..)| *used == nth) {
                let says = format!("`{}` is never used", variable.name);
                warn(DiagnosticCode::Unused, variable.at, says);
            }
        }
        for (nth, function) in self.role.functions.iter().enumerate() {
            if !self.functions_used.contains(&nth) {
                let says = format!("`{}` is never called", function.name);
                warn(DiagnosticCode::Unused, function.at, says);
            }
        }
        for name in &item.sends {
            let sent = |adu: &usize| self.names.adus[*adu].name == name.name;
            let known = self.names.adus.iter().any(|adu| adu.name == name.name);
            if known && !self.adus_sent.iter().any(sent) {
                warn(DiagnosticCode::Unused, name.at, format!("`{}` is never sent", name.name));
            }
        }
    }
}
