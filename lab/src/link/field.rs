//! A field of a link's description, given on the command line: read and refused by the same words
//! as in a file.

use serde_json::{Map, Value};
use stackwright_simulator::LinkDescription;

/// Reads what is said of the field `name`.
pub(super) fn field(
    name: &'static str,
) -> impl Fn(&str) -> Result<Value, String> + Clone + Send + Sync {
    move |text| {
        let value = value(text)?;
        let description = Map::from_iter([(name.to_owned(), value.clone())]);
        serde_json::from_value::<LinkDescription>(Value::Object(description))
            .map(|_| value)
            .map_err(|error| error.to_string())
    }
}

/// A number, a percentage, a table, or else a text: on a command line, nobody writes quotes twice.
fn value(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if let Ok(number) = text.parse::<u64>() {
        return Ok(number.into());
    }
    let percent = text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
    let number = percent.map(|percent| percent / 100.0).or_else(|| text.parse().ok());
    if let Some(number) = number.filter(|number| number.is_finite()) {
        return Ok(number.into());
    }
    if !text.starts_with('{') {
        return Ok(text.into());
    }
    let table = toml::from_str::<Map<String, Value>>(&format!("value = {text}"));
    let mut table = table.map_err(|error| format!("this is not a table: {}", error.message()))?;
    Ok(table.remove("value").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_in_a_file() {
        let rate = field("rate");
        assert_eq!(rate("10 Mb/s"), Ok("10 Mb/s".into()));
        assert!(rate("10").is_err() && rate("10 miles").is_err());
        let loss = field("loss");
        assert_eq!(loss("1 %"), Ok(0.01.into()));
        assert_eq!(loss("{ every = 10 }"), Ok(serde_json::json!({ "every": 10 })));
        assert!(
            loss("1.5").is_err() && loss("{ every = ").is_err() && loss("{ each = 3 }").is_err()
        );
        assert!(field("reorder")("{ probability = 0.1, by = \"5 ms\" }").is_ok());
        assert!(field("mtu")("NaN").is_err());
    }
}
