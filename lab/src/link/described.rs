//! Which link is meant: a name or a file, and what the command line adds.

use std::fs;

use serde_json::{Map, Value};
use stackwright_results::Problem;
use stackwright_simulator::{LinkDescription, Profile};

use super::Arguments;

/// The link that the command line means.
///
/// # Errors
///
/// Where there is no such profile or file, or what is said does not go together.
pub(super) fn profile(arguments: &Arguments) -> Result<Profile, Problem> {
    if let Some(text) = &arguments.profile {
        return serde_json::from_str(text)
            .map_err(|error| Problem::usage(format!("--profile is not valid: {error}")));
    }
    let mut fields = match &arguments.link {
        None => Map::new(),
        Some(path) if path.ends_with(".toml") => file(path)?,
        Some(name) => Map::from_iter([("profile".to_owned(), name.as_str().into())]),
    };
    fields.extend(arguments.fields().map(|(name, value)| (name.to_owned(), value.clone())));
    let description = serde_json::from_value::<LinkDescription>(Value::Object(fields));
    // Fields have been read before: what is left to be wrong is a name.
    let description = description.map_err(|error| {
        let names = Profile::ALL.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
        Problem::usage(error)
            .advise(format!("known profiles: {names}; or name a file, such as mine.toml"))
    })?;
    description.resolve().map_err(Problem::usage)
}

/// What a file says.
fn file(path: &str) -> Result<Map<String, Value>, Problem> {
    let text = fs::read_to_string(path)
        .map_err(|error| Problem::usage(format!("cannot read {path}: {error}")))?;
    // As a description first, since only so a complaint tells the line.
    toml::from_str::<LinkDescription>(&text)
        .and_then(|_| toml::from_str(&text))
        .map_err(|error| Problem::usage(format!("{path}: {}", error.to_string().trim_end())))
}
