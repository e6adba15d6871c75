//! Keys of a scenario that a command sets to other values: `links.0.loss=0.05`.

use stackwright_results::Problem;
use toml::{Table, Value};

/// The text with these keys set. Comments are not kept.
///
/// # Errors
/// Where the text is none of TOML, or a key leads nowhere.
pub(crate) fn set(text: &str, sets: &[String]) -> Result<String, Problem> {
    let mut table: Table =
        text.parse().map_err(|error: toml::de::Error| Problem::usage(error.message()))?;
    for one in sets {
        let Some((path, value)) = one.split_once('=') else {
            return Err(Problem::usage(format!("`{one}` is not KEY=VALUE"))
                .advise("write it like links.0.loss=0.05"));
        };
        // What is no value of TOML is a text: `links.0.rate=1 Mb/s` need not be quoted twice.
        let parsed: Result<Table, _> = format!("value = {value}").parse();
        let value =
            parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| value.into());
        put(&mut table, path, value)
            .ok_or_else(|| Problem::usage(format!("this scenario has no `{path}`")))?;
    }
    toml::to_string(&table).map_err(Problem::new)
}

/// Walks along a path of names and numbers, and puts a value at its end.
fn put(table: &mut Table, path: &str, value: Value) -> Option<()> {
    let (names, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut at = Walk::Table(table);
    for name in names.split('.').filter(|name| !name.is_empty()) {
        let next = match at {
            Walk::Table(table) => table.get_mut(name)?,
            Walk::List(list) => list.get_mut(name.parse::<usize>().ok()?)?,
        };
        at = match next {
            Value::Table(table) => Walk::Table(table),
            Value::Array(list) => Walk::List(list),
            _ => return None,
        };
    }
    match at {
        Walk::Table(table) => drop(table.insert(last.into(), value)),
        Walk::List(list) => *list.get_mut(last.parse::<usize>().ok()?)? = value,
    }
    Some(())
}

enum Walk<'a> {
    Table(&'a mut Table),
    List(&'a mut Vec<Value>),
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "time = \"1 s\"\n[[links]]\nloss = 0.1\n[[links]]\nloss = 0.2\n";

    fn after(sets: &[&str]) -> Option<Table> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
        set(TEXT, &sets).ok()?.parse().ok()
    }

    #[test]
    fn a_key_is_set_wherever_it_stands() {
        let table = after(&["links.1.loss=0.5", "links.0.rate=1 Mb/s", "time=\"2 s\""])
            .expect("they exist");
        assert_eq!(table["links"][1]["loss"], Value::Float(0.5));
        assert_eq!(table["links"][0]["rate"], Value::String("1 Mb/s".into()));
        assert_eq!(table["time"], Value::String("2 s".into()));
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        for wrong in ["links.2.loss=1", "nodes.0.loss=1", "links.x.loss=1", "time", "time.0=1"] {
            assert!(after(&[wrong]).is_none(), "{wrong}");
        }
    }
}
