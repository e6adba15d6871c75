//! A result as columns: numbers, texts and truths, each under the names on the way to it, joined by
//! dots.

use serde_json::Value;

/// How deep it looks.
const DEPTH_MOST: usize = 16;

/// Tells every single value of `result`. Lists are left out: a column has one value.
pub(crate) fn flatten(result: &Value, tell: &mut impl FnMut(&str, &Value)) {
    fn inner(path: &str, value: &Value, depth: usize, tell: &mut impl FnMut(&str, &Value)) {
        match value {
            Value::Object(entries) if depth < DEPTH_MOST => {
                for (name, value) in entries {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    inner(&path, value, depth + 1, tell);
                }
            }
            Value::Number(_) | Value::String(_) | Value::Bool(_) => {
                tell(if path.is_empty() { "value" } else { path }, value);
            }
            Value::Object(_) | Value::Array(_) | Value::Null => {}
        }
    }
    inner("", result, 0, tell);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_values_get_dotted_names() {
        let result = serde_json::json!({ "a": { "b": 1, "c": { "d": "x" } }, "e": [1, 2], "f": null, "g": true });
        let mut told = Vec::new();
        flatten(&result, &mut |name, value| told.push(format!("{name}={value}")));
        assert_eq!(told, ["a.b=1", "a.c.d=\"x\"", "g=true"]);
    }

    #[test]
    fn a_result_that_is_one_value_has_a_name_too() {
        let mut told = Vec::new();
        flatten(&serde_json::json!(2.5), &mut |name, value| told.push(format!("{name}={value}")));
        assert_eq!(told, ["value=2.5"]);
    }
}
