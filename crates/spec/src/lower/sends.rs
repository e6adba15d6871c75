//! What a role tells: emissions, ADUs, calls and assignments.

use super::items;
use super::roles::Lowering;
use super::scope::unknown;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::kernel::{Kernel, Node, node, nothing, sequence};
use crate::program::{Action, Emission, Expr, SignalKind, ValueType};
use crate::tree::{Expression, Ident};

impl Lowering<'_> {
    pub(super) fn act(&mut self, action: Action, at: Span) -> Node {
        self.role.actions.push((action, at));
        node(Kernel::Do(self.role.actions.len() as u16 - 1))
    }

    pub(super) fn emit(&mut self, name: &Ident, values: &[Expression], at: Span) -> Node {
        let Some(id) = self.find(name) else { return nothing() };
        let signal = self.role.signals[usize::from(id)].clone();
        if signal.kind.is_input() {
            let says = format!("`{}` comes from outside, and cannot be emitted", signal.name);
            let flaw = Diagnostic::new(DiagnosticCode::WrongKind, name.at, says)
                .also(signal.at, "declared here");
            self.tell(match signal.kind {
                SignalKind::Adu(_) => flaw.help("an ADU is sent: `send NAME { … };`"),
                _ => flaw.help("declare it as `output`, or as `local` in a block"),
            });
            return nothing();
        }
        if signal.params.len() != values.len() {
            let says = format!(
                "`{}` carries {} values, and is given {}",
                signal.name,
                signal.params.len(),
                values.len()
            );
            self.tell(
                Diagnostic::new(DiagnosticCode::Arguments, at, says)
                    .also(signal.at, "declared here"),
            );
            return nothing();
        }
        let values: Vec<Option<Expr>> = values
            .iter()
            .zip(&signal.params)
            .map(|(one, param)| self.typed(one, param.kind))
            .collect();
        let Some(values) = values.into_iter().collect::<Option<Vec<_>>>() else { return nothing() };
        let variable = self.local_variables.iter().find(|(local, _)| *local == id);
        let (first, values) = match (variable.copied(), values.first()) {
            // A local signal's value is kept in a variable, and is there before the signal is.
            (Some((_, variable)), Some(value)) => {
                let assign = Action::Assign { variable, value: value.clone() };
                (Some(self.act(assign, at)), Vec::new())
            }
            _ => (None, values),
        };
        self.role.emissions.push(Emission { values, at });
        let emission = self.role.emissions.len() as u16 - 1;
        let emits = node(Kernel::Emit(id, emission));
        sequence(first.into_iter().chain([emits]).collect())
    }

    pub(super) fn send(&mut self, name: &Ident, fields: &[(Ident, Expression)], at: Span) -> Node {
        let known: Vec<&str> =
            self.role.sends.iter().map(|adu| self.names.adus[*adu].name.as_str()).collect();
        let found = known.iter().position(|adu| *adu == name.name);
        let Some(found) = found else {
            let flaw = if self.names.adus.iter().any(|adu| adu.name == name.name) {
                let says = format!("this role does not send `{}`", name.name);
                Diagnostic::new(DiagnosticCode::WrongKind, name.at, says)
                    .help(format!("declare it: `sends {};`", name.name))
            } else {
                unknown("ADU that this role sends", name, known)
            };
            self.tell(flaw);
            return nothing();
        };
        let adu = self.role.sends[found];
        self.adus_sent.push(adu);
        items::fits(adu, self.phase, self.names, at, self.told);
        let declared = self.names.adus[adu].clone();
        for (nth, (field, _)) in fields.iter().enumerate() {
            if !declared.fields.iter().any(|one| one.name == field.name) {
                let what = format!("field of `{}`", declared.name);
                let flaw =
                    unknown(&what, field, declared.fields.iter().map(|one| one.name.as_str()));
                self.tell(flaw);
            }
            if let Some((first, _)) = fields[..nth].iter().find(|(one, _)| one.name == field.name) {
                let says = format!("`{}` is given twice", field.name);
                self.tell(
                    Diagnostic::new(DiagnosticCode::Fields, field.at, says)
                        .also(first.at, "first here"),
                );
            }
        }
        let mut values = Vec::new();
        let mut lacks = Vec::new();
        for field in &declared.fields {
            match fields.iter().find(|(name, _)| name.name == field.name) {
                Some((_, value)) => {
                    let typed = self.typed(value, field.kind);
                    if let (Some(Expr::Octets { octets, .. }), Some(most)) = (&typed, field.most)
                        && octets.len() as u64 > most
                    {
                        let says = format!("{} octets are more than {most}", octets.len());
                        self.tell(Diagnostic::new(DiagnosticCode::OutOfRange, value.at, says));
                    }
                    values.push(typed);
                }
                None => lacks.push(field.name.as_str()),
            }
        }
        if !lacks.is_empty() {
            let says = format!("`{}` is sent without `{}`", declared.name, lacks.join("`, `"));
            let flaw = Diagnostic::new(DiagnosticCode::Fields, at, says)
                .also(declared.at, "declared here");
            let written: Vec<String> = lacks.iter().map(|name| format!("{name}: …")).collect();
            self.tell(flaw.help(format!("add `{}`", written.join(", "))));
        }
        let Some(fields) = values.into_iter().collect::<Option<Vec<_>>>() else { return nothing() };
        self.act(Action::Send { adu, phase: self.phase, fields }, at)
    }

    pub(super) fn call_statement(
        &mut self,
        result: Option<&Ident>,
        function: &Ident,
        arguments: &[Expression],
        at: Span,
    ) -> Node {
        let Some((function, arguments)) = self.call(function, arguments) else { return nothing() };
        let host = self.role.functions[function].clone();
        let result = match result {
            None => None,
            Some(name) => {
                let Some(variable) = self.written(name) else { return nothing() };
                let kind = self.role.variables[variable].kind;
                let fits = host.result.is_some_and(|result| {
                    result == kind
                        || matches!((result, kind), (ValueType::Number(_), ValueType::Number(_)))
                });
                if !fits {
                    let answers =
                        host.result.map_or("nothing".into(), |result| self.type_name(result));
                    let says = format!(
                        "`{}` answers {answers}, and `{}` is {}",
                        host.name,
                        name.name,
                        self.type_name(kind)
                    );
                    self.tell(
                        Diagnostic::new(DiagnosticCode::Type, at, says)
                            .also(host.at, "declared here"),
                    );
                }
                Some(variable)
            }
        };
        self.act(Action::Call { function, arguments, result }, at)
    }

    pub(super) fn assign(&mut self, name: &Ident, value: &Expression, at: Span) -> Node {
        // What is read counts as used before what is written.
        let kind = |role: &crate::program::RoleProgram| {
            role.variables
                .iter()
                .find(|one| one.declared && one.name == name.name)
                .map(|one| one.kind)
        };
        let value_kind = kind(&self.role);
        let typed = value_kind.and_then(|kind| self.typed(value, kind));
        let Some(variable) = self.written(name) else { return nothing() };
        let Some(expr) = typed else { return nothing() };
        let (least, most) = self.role.variables[variable].range;
        if let Expr::Number(number) = expr
            && !(least..=most).contains(&number)
        {
            let says = format!("{number} is not within {least}..{most}");
            let declared = self.role.variables[variable].at;
            self.tell(
                Diagnostic::new(DiagnosticCode::OutOfRange, value.at, says)
                    .also(declared, "declared here"),
            );
        }
        self.act(Action::Assign { variable, value: expr }, at)
    }

    /// Finds a variable that is written.
    fn written(&mut self, name: &Ident) -> Option<usize> {
        let declared = |one: &crate::program::Variable| one.declared && one.name == name.name;
        let Some(nth) = self.role.variables.iter().position(declared) else {
            let known: Vec<String> = self
                .role
                .variables
                .iter()
                .filter(|one| one.declared)
                .map(|one| one.name.clone())
                .collect();
            let flaw = unknown("variable", name, known.iter().map(String::as_str));
            self.tell(flaw);
            return None;
        };
        self.variables_used.push((nth, name.at, true));
        Some(nth)
    }
}
