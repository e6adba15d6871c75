//! Lines by which a person, or a transcript, tells a role what it hears.

use super::interpret::Value;
use crate::Compiled;
use crate::program::{NamedType, Program, SignalKind, ValueType};

/// What a line tells a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoleLine {
    /// A signal that comes alone, with its values.
    Alone(usize, Vec<Value>),
    /// Inputs that come together.
    Together(Vec<usize>),
    /// What a host function answers from now on.
    Answer(usize, Value),
}

impl RoleLine {
    /// Reads the name of an ADU, input or time, and its values; or `NAME = VALUE` for a host
    /// function. A last value of type `bytes` is the rest of the line.
    ///
    /// # Errors
    /// Returns why it is none of these.
    pub fn read(compiled: &Compiled, nth: usize, line: &str) -> Result<Self, &'static str> {
        let (program, role) = (&compiled.program, &compiled.program.roles[nth]);
        if let Some((name, word)) = line.split_once('=')
            && let Some(function) = role.functions.iter().position(|one| one.name == name.trim())
        {
            let kind = role.functions[function].result.ok_or("this host function has no result")?;
            let value = value(program, kind, word.trim()).ok_or(ANOTHER_TYPE)?;
            return Ok(RoleLine::Answer(function, value));
        }
        let line = line.trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let is = |name: &str| role.signals.iter().position(|one| one.name == name);
        let kind = |nth: usize| role.signals[nth].kind;
        // A time has several words.
        let whole = is(line).filter(|nth| kind(*nth).is_alone());
        let all: Option<Vec<usize>> = words
            .iter()
            .map(|word| is(word).filter(|nth| kind(*nth) == SignalKind::Together))
            .collect();
        if let Some(together) = all.filter(|all| !all.is_empty()) {
            return Ok(RoleLine::Together(together));
        }
        let first = words.first().copied().unwrap_or_default();
        let found = whole.or_else(|| is(first)).filter(|nth| kind(*nth).is_input());
        let signal = found.ok_or(NO_SUCH)?;
        let rest = if whole.is_some() { "" } else { line[first.len()..].trim_start() };
        Ok(RoleLine::Alone(signal, values(program, &role.signals[signal].params, rest)?))
    }
}

const NO_SUCH: &str = "the role has no ADU, input, time or host function of this name";
const ANOTHER_TYPE: &str = "a value is not of the type that was declared";
const ANOTHER_NUMBER: &str = "it carries another number of values";

/// Reads a value for each parameter.
pub(crate) fn values(
    program: &Program,
    params: &[NamedType],
    mut rest: &str,
) -> Result<Vec<Value>, &'static str> {
    let mut values = Vec::with_capacity(params.len());
    for (place, param) in params.iter().enumerate() {
        let is_last = place + 1 == params.len();
        let (word, behind) = match rest.split_once(char::is_whitespace) {
            Some((word, behind)) if !(is_last && param.kind == ValueType::Bytes) => {
                (word, behind.trim_start())
            }
            _ => (rest, ""),
        };
        if word.is_empty() && param.kind != ValueType::Bytes {
            return Err(ANOTHER_NUMBER);
        }
        values.push(value(program, param.kind, word).ok_or(ANOTHER_TYPE)?);
        rest = behind;
    }
    if rest.is_empty() { Ok(values) } else { Err(ANOTHER_NUMBER) }
}

/// Reads a value of a type; `None` where the word is none.
fn value(program: &Program, kind: ValueType, word: &str) -> Option<Value> {
    Some(match kind {
        ValueType::Truth => Value::Number(match word {
            "true" | "1" => 1,
            "false" | "0" => 0,
            _ => return None,
        }),
        ValueType::Number(bits) => {
            let number: u64 = word.parse().ok()?;
            Value::Number(if bits < 64 && number >> bits != 0 { return None } else { number })
        }
        ValueType::Enum(of) => {
            let values = &program.enums[of].values;
            Value::Number(values.iter().find(|(name, _)| name == word)?.1)
        }
        ValueType::Octets(length) => {
            (word.len() as u64 == length).then(|| Value::Octets(word.into()))?
        }
        ValueType::Bytes => Value::Octets(word.into()),
        ValueType::Adu(_) => return None,
    })
}
