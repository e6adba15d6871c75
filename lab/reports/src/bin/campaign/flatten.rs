//! A result as columns: numbers, texts and truths, each under the names on the way to it, joined by
//! dots.

use serde_json::Value;

/// How deep it looks.
const DEPTH_MOST: usize = 16;
/// The longest list of tables, such as the flows of a run, whose entries have columns.
const LIST_MOST: usize = 100;

/// Tells every single value of `result`. The tables of a list are counted from 0: `flows.0.octets`.
/// What may be many is left out: lists of single values, longer lists, and lists within lists.
pub(crate) fn flatten(result: &Value, tell: &mut impl FnMut(&str, &Value)) {
    fn inner(
        path: &str,
        value: &Value,
        depth: usize,
        listed: bool,
        tell: &mut impl FnMut(&str, &Value),
    ) {
        let below = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match value {
            Value::Object(entries) if depth < DEPTH_MOST => {
                for (name, value) in entries {
                    inner(&below(name), value, depth + 1, listed, tell);
                }
            }
            Value::Array(list) if !listed && list.len() <= LIST_MOST => {
                for (nth, value) in list.iter().enumerate().filter(|(_, value)| value.is_object()) {
                    inner(&below(&nth.to_string()), value, depth + 1, true, tell);
                }
            }
            Value::Number(_) | Value::String(_) | Value::Bool(_) => {
                tell(if path.is_empty() { "value" } else { path }, value);
            }
            Value::Object(_) | Value::Array(_) | Value::Null => {}
        }
    }
    inner("", result, 0, false, tell);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(result: serde_json::Value) -> Vec<String> {
        let mut told = Vec::new();
        flatten(&result, &mut |name, value| told.push(format!("{name}={value}")));
        told
    }

    #[test]
    fn single_values_get_dotted_names() {
        let result = serde_json::json!({ "a": { "b": 1, "c": { "d": "x" } }, "e": [1, 2], "f": null, "g": true });
        assert_eq!(told(result), ["a.b=1", "a.c.d=\"x\"", "g=true"]);
    }

    #[test]
    fn the_tables_of_a_list_are_counted() {
        let result = serde_json::json!({ "flows": [{ "a": 1, "b": { "c": 2 } }, { "a": 3, "d": [{ "e": 4 }] }, 5] });
        assert_eq!(told(result), ["flows.0.a=1", "flows.0.b.c=2", "flows.1.a=3"]);
        assert_eq!(told(serde_json::json!([{ "a": 1 }])), ["0.a=1"]);
        let many = vec![serde_json::json!({ "a": 1 }); LIST_MOST + 1];
        assert_eq!(told(serde_json::json!({ "many": many, "one": 1 })), ["one=1"]);
    }

    #[test]
    fn a_result_that_is_one_value_has_a_name_too() {
        assert_eq!(told(serde_json::json!(2.5)), ["value=2.5"]);
    }
}
