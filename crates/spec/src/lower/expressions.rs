//! Expressions: names are looked up, types are compared.

use super::roles::Lowering;
use super::scope::unknown;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::program::{Equals, Expr, Question, SignalKind, ValueType};
use crate::tree::{Expression, ExpressionKind, Ident, Operator};

/// What an expression stands for.
pub(super) type Typed = (Expr, ValueType);

impl Lowering<'_> {
    /// Looks an expression up that should have a type. What is wrong with it is told.
    pub(super) fn typed(&mut self, expression: &Expression, wanted: ValueType) -> Option<Expr> {
        let (expr, kind) = self.value(expression, Some(wanted))?;
        if self.fits(kind, wanted) {
            if let (Expr::Number(number), ValueType::Number(bits)) = (&expr, wanted)
                && bits < 64
                && number >> bits != 0
            {
                let says = format!("{number} has more than {bits} bits");
                self.tell(Diagnostic::new(DiagnosticCode::OutOfRange, expression.at, says));
                return None;
            }
            return Some(expr);
        }
        let (is, wants) = (self.type_name(kind), self.type_name(wanted));
        let says = format!("this is {is}, and {wants} is expected");
        self.tell(Diagnostic::new(DiagnosticCode::Type, expression.at, says));
        None
    }

    /// Numbers of all widths are of one kind; what is computed of them is checked where it goes.
    fn fits(&self, kind: ValueType, wanted: ValueType) -> bool {
        kind == wanted || matches!((kind, wanted), (ValueType::Number(_), ValueType::Number(_)))
    }

    pub(super) fn value(
        &mut self,
        expression: &Expression,
        wanted: Option<ValueType>,
    ) -> Option<Typed> {
        match &expression.is {
            ExpressionKind::Number(number) => Some((Expr::Number(*number), ValueType::Number(64))),
            ExpressionKind::Truth(truth) => Some((Expr::Truth(*truth), ValueType::Truth)),
            ExpressionKind::Octets(octets) => {
                let fixed = matches!(wanted, Some(ValueType::Octets(_)));
                let length = octets.len() as u64;
                let kind = if fixed { ValueType::Octets(length) } else { ValueType::Bytes };
                Some((Expr::Octets { octets: octets.clone(), fixed }, kind))
            }
            ExpressionKind::Name(name) => self.named(name, expression.at, wanted),
            ExpressionKind::Field(of, field) => self.field(of, field),
            ExpressionKind::Call(function, arguments) => {
                let (nth, arguments) = self.call(function, arguments)?;
                let host = &self.role.functions[nth];
                let Some(result) = host.result else {
                    let says = format!("`{}` answers nothing", host.name);
                    let at = host.at;
                    self.tell(
                        Diagnostic::new(DiagnosticCode::Type, expression.at, says)
                            .also(at, "declared here, without `->`"),
                    );
                    return None;
                };
                if !host.pure {
                    let (says, at) = (
                        format!("`{}` is not pure, so it cannot stand in an expression", host.name),
                        host.at,
                    );
                    self.tell(
                        Diagnostic::new(DiagnosticCode::Impure, expression.at, says)
                            .also(at, "declared here")
                            .help("declare it `host pure`, or write `x := call …;` in front"),
                    );
                    return None;
                }
                Some((Expr::Call(nth, arguments), result))
            }
            ExpressionKind::Not(inner) => {
                let inner = self.typed(inner, ValueType::Truth)?;
                Some((Expr::Not(Box::new(inner)), ValueType::Truth))
            }
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &Expression,
        right: &Expression,
    ) -> Option<Typed> {
        use Operator::{And, Equal, Or, Unequal};
        let (wanted, kind) = match operator {
            Or | And => (Some(ValueType::Truth), ValueType::Truth),
            Equal | Unequal => (None, ValueType::Truth),
            Operator::Less | Operator::AtMost | Operator::More | Operator::AtLeast => {
                (Some(ValueType::Number(64)), ValueType::Truth)
            }
            _ => (Some(ValueType::Number(64)), ValueType::Number(64)),
        };
        let (left, right) = match wanted {
            Some(wanted) => (self.typed(left, wanted), self.typed(right, wanted)),
            None => self.alike(left, right)?,
        };
        Some((Expr::Binary(operator, Box::new(left?), Box::new(right?)), kind))
    }

    /// Both sides of `==`: of one type, where the side that has one tells the other's.
    fn alike(
        &mut self,
        left: &Expression,
        right: &Expression,
    ) -> Option<(Option<Expr>, Option<Expr>)> {
        let is_constant = |one: &Expression| match &one.is {
            ExpressionKind::Name(name) => !self.names.constants(name).is_empty(),
            _ => false,
        };
        let (first, second) = if is_constant(left) { (right, left) } else { (left, right) };
        let (one, kind) = self.value(first, None)?;
        if matches!(kind, ValueType::Bytes | ValueType::Octets(_) | ValueType::Adu(_)) {
            let says =
                format!("{} cannot be compared: the host looks into it", self.type_name(kind));
            self.tell(Diagnostic::new(DiagnosticCode::Type, first.at, says));
            return None;
        }
        let other = self.typed(second, kind);
        Some(if is_constant(left) { (other, Some(one)) } else { (Some(one), other) })
    }

    fn named(&mut self, name: &str, at: Span, wanted: Option<ValueType>) -> Option<Typed> {
        if let Some(nth) = self.bound.iter().rposition(|bound| bound.name == name) {
            return self.whole(nth, at);
        }
        let declared = |one: &crate::program::Variable| one.declared && one.name == name;
        if let Some(nth) = self.role.variables.iter().position(declared) {
            self.variables_used.push((nth, at, false));
            return Some((Expr::Variable(nth), self.role.variables[nth].kind));
        }
        let constants = self.names.constants(name);
        let meant = constants
            .iter()
            .find(|(of, _)| wanted == Some(ValueType::Enum(*of)))
            .or(constants.first().filter(|_| constants.len() == 1 || wanted.is_some()));
        if let Some(&(of, value)) = meant {
            return Some((Expr::Constant { of, value }, ValueType::Enum(of)));
        }
        let known: Vec<String> = self
            .role
            .variables
            .iter()
            .filter(|one| one.declared)
            .map(|one| one.name.clone())
            .chain(self.bound.iter().map(|one| one.name.clone()))
            .chain(self.names.enums.iter().flat_map(|of| of.values.iter().map(|one| one.0.clone())))
            .collect();
        let ident = Ident { name: name.to_owned(), at };
        self.tell(unknown("value", &ident, known.iter().map(String::as_str)));
        None
    }

    /// What came, under its name: an ADU as a whole, or the only value of a signal.
    fn whole(&mut self, nth: usize, at: Span) -> Option<Typed> {
        self.use_bound(nth, at)?;
        let signal = self.bound[nth].signal;
        let (kind, params) = {
            let signal = &self.role.signals[usize::from(signal)];
            (signal.kind, signal.params.clone())
        };
        match (kind, &params[..]) {
            (SignalKind::Adu(adu), _) => Some((Expr::Whole { signal }, ValueType::Adu(adu))),
            (SignalKind::Local, _) => {
                let variable = self.local_variables.iter().find(|(local, _)| *local == signal)?.1;
                Some((Expr::Variable(variable), self.role.variables[variable].kind))
            }
            (_, [only]) => Some((Expr::Field { signal, field: 0 }, only.kind)),
            _ => {
                let says = format!("`{}` has several values", self.bound[nth].name);
                let help =
                    format!("name one, such as `{}.{}`", self.bound[nth].name, params[0].name);
                self.tell(Diagnostic::new(DiagnosticCode::Type, at, says).help(help));
                None
            }
        }
    }

    fn field(&mut self, of: &Ident, field: &Ident) -> Option<Typed> {
        let Some(nth) = self.bound.iter().rposition(|bound| bound.name == of.name) else {
            let known: Vec<String> = self.bound.iter().map(|one| one.name.clone()).collect();
            let flaw = unknown("thing that came", of, known.iter().map(String::as_str));
            self.tell(flaw.help("`await Adu(x);` names what comes `x`"));
            return None;
        };
        self.use_bound(nth, of.at)?;
        let signal = self.bound[nth].signal;
        let params = self.role.signals[usize::from(signal)].params.clone();
        let Some(found) = params.iter().position(|param| param.name == field.name) else {
            let what = format!("field of `{}`", of.name);
            self.tell(unknown(&what, field, params.iter().map(|one| one.name.as_str())));
            return None;
        };
        Some((Expr::Field { signal, field: found }, params[found].kind))
    }

    /// Tells where what came is used in a later instant.
    fn use_bound(&mut self, nth: usize, at: Span) -> Option<()> {
        let bound = &self.bound[nth];
        let Some(gone) = bound.gone else { return Some(()) };
        let says = format!("`{}` is gone here: it came in an earlier instant", bound.name);
        let flaw = Diagnostic::new(DiagnosticCode::Gone, at, says)
            .also(bound.at, "it came here")
            .also(gone, "here the role waits")
            .help("keep what is needed of it: `variable := …;` or a `call`, before it waits");
        self.tell(flaw);
        None
    }

    /// Looks a call up: the function, and its arguments.
    pub(super) fn call(
        &mut self,
        function: &Ident,
        arguments: &[Expression],
    ) -> Option<(usize, Vec<Expr>)> {
        let found = self.role.functions.iter().position(|one| one.name == function.name);
        let Some(nth) = found else {
            let known: Vec<String> =
                self.role.functions.iter().map(|one| one.name.clone()).collect();
            let flaw = unknown("host function", function, known.iter().map(String::as_str));
            self.tell(flaw);
            return None;
        };
        self.functions_used.push(nth);
        let host = self.role.functions[nth].clone();
        if host.params.len() != arguments.len() {
            let says = format!(
                "`{}` takes {} arguments, and is given {}",
                host.name,
                host.params.len(),
                arguments.len()
            );
            self.tell(
                Diagnostic::new(DiagnosticCode::Arguments, function.at, says)
                    .also(host.at, "declared here"),
            );
            return None;
        }
        let all: Vec<Option<Expr>> = arguments
            .iter()
            .zip(&host.params)
            .map(|(one, param)| self.typed(one, param.kind))
            .collect();
        Some((nth, all.into_iter().collect::<Option<_>>()?))
    }

    /// Makes a question of a condition; gives its number.
    pub(super) fn question(&mut self, condition: &Expression) -> Option<u16> {
        let asks = self.typed(condition, ValueType::Truth)?;
        let equals = self.equals(&asks);
        self.role.questions.push(Question { asks, equals });
        u16::try_from(self.role.questions.len() - 1).ok()
    }

    /// Whether it asks if a field of what came has a certain value.
    fn equals(&self, asks: &Expr) -> Option<Equals> {
        let Expr::Binary(Operator::Equal, left, right) = asks else { return None };
        let (Expr::Field { signal, field }, value) = (&**left, &**right) else { return None };
        let (value, of) = match value {
            Expr::Number(value) => (*value, None),
            Expr::Constant { of, value } => (*value, Some(self.names.enums[*of].values.len())),
            _ => return None,
        };
        Some(Equals { signal: *signal, field: *field, value, of })
    }

    pub(super) fn type_name(&self, kind: ValueType) -> String {
        match kind {
            ValueType::Truth => "a truth value".into(),
            ValueType::Number(_) => "a number".into(),
            ValueType::Enum(nth) => format!("a `{}`", self.names.enums[nth].name),
            ValueType::Octets(length) => format!("`octets<{length}>`"),
            ValueType::Bytes => "`bytes`".into(),
            ValueType::Adu(nth) => format!("the ADU `{}`", self.names.adus[nth].name),
        }
    }
}
