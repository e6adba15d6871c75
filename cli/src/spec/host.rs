//! The host of a role that is run by hand: it says what the role does, and answers as it was told.

use std::collections::HashMap;

use stackwright_spec::{NamedType, Program, RoleHost, Value, ValueType};

use crate::report::say;

pub(super) struct Host<'a> {
    pub(super) program: &'a Program,
    pub(super) role: usize,
    /// What host functions answer.
    pub(super) answers: HashMap<String, Value>,
}

impl RoleHost for Host<'_> {
    fn call(&mut self, function: usize, arguments: &[Value]) -> Value {
        let function = &self.program.roles[self.role].functions[function];
        if !function.pure {
            say!(
                "    {}{}",
                function.name,
                in_parentheses(self.program, &function.params, arguments)
            );
        }
        let nothing = match function.result {
            Some(ValueType::Bytes | ValueType::Octets(_)) => Value::Octets(Vec::new()),
            _ => Value::Number(0),
        };
        self.answers.get(&function.name).cloned().unwrap_or(nothing)
    }

    fn send(&mut self, adu: usize, phase: Option<usize>, fields: &[Value]) {
        let adu = &self.program.adus[adu];
        let phase = phase.filter(|_| self.program.phases.len() > 1);
        let by =
            phase.map_or(String::new(), |nth| format!(" in {}", self.program.phases[nth].name));
        say!("    send {}{}{by}", adu.name, in_parentheses(self.program, &adu.fields, fields));
    }

    fn emit(&mut self, signal: usize, values: &[Value]) {
        let signal = &self.program.roles[self.role].signals[signal];
        say!("    emit {}{}", signal.name, in_parentheses(self.program, &signal.params, values));
    }

    fn start(&mut self, timer: usize) {
        let timer = self.program.roles[self.role].timers[timer];
        say!("    wait {} ms", timer.milliseconds);
    }
}

/// Writes values with their names.
fn in_parentheses(program: &Program, params: &[NamedType], values: &[Value]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let words: Vec<String> = params
        .iter()
        .zip(values)
        .map(|(param, value)| format!("{} = {}", param.name, shown(program, param.kind, value)))
        .collect();
    format!("({})", words.join(", "))
}

fn shown(program: &Program, kind: ValueType, value: &Value) -> String {
    match (value, kind) {
        (Value::Number(number), ValueType::Truth) => (*number != 0).to_string(),
        (Value::Number(number), ValueType::Enum(of)) => {
            let values = &program.enums[of].values;
            let named = values.iter().find(|(_, one)| one == number);
            named.map_or(number.to_string(), |(name, _)| name.clone())
        }
        (Value::Number(number), _) => number.to_string(),
        (Value::Octets(octets), _) => format!("\"{}\"", octets.escape_ascii()),
        (Value::Fields(fields), ValueType::Adu(adu)) => {
            let adu = &program.adus[adu];
            format!("{}{}", adu.name, in_parentheses(program, &adu.fields, fields))
        }
        (Value::Fields(_), _) => String::from("…"),
    }
}
