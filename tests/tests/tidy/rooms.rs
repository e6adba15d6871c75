//! What stands on what: no crate on a higher one, no modules of a crate in a circle, and no command
//! of the program on another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{each, each_ending, root};

/// The floors of the house: a crate stands on crates of lower floors alone.
const FLOORS: &[&[&str]] = &[
    &["macros", "spec", "programs", "peers"],
    &["wire"],
    &["contract"],
    &["base", "role"],
    &["generated", "transport"],
    &["policies"],
    &["compose"],
    &["simulator", "toys"],
    &["drivers", "trial"],
    &["endpoint"],
    &["protocols"],
    &["conformance", "results", "stackwright"],
    &["parts"],
    &["c", "cli", "lab", "reports"],
];

/// How many top-level modules of a crate stand in circles; it may only become less.
const CIRCLES: &[(&str, usize)] = &[
    ("crates/contract", 5),
    ("crates/drivers", 2),
    ("crates/endpoint", 3),
    ("crates/role", 2),
    ("crates/simulator", 2),
    ("crates/transport", 2),
    ("lab", 6),
    ("lab/programs", 2),
    ("protocols/artp", 10),
    ("protocols/copy", 3),
    ("protocols/proxy", 3),
    ("protocols/tailored", 3),
    ("protocols/tls", 3),
];

/// Commands that stand on others, and why.
const COMMANDS_ON_COMMANDS: &[(&str, &[&str], &str)] = &[
    ("demo", &["channel", "client", "perf"], "it shows what the others do"),
    ("group", &["perf"], "it measures in the same words and units"),
    ("shell", &["client"], "its commands are the client's"),
];

/// Returns the floor of a crate, by its name without `stackwright-` and its folder.
fn floor(name: &str, folder: &str) -> Option<usize> {
    let row = if folder.starts_with("protocols/") { "protocols" } else { name };
    FLOORS.iter().position(|floor| floor.contains(&row))
}

#[test]
fn no_crate_stands_on_a_higher_one() {
    let mut crates = BTreeMap::new();
    for folder in ["crates", "protocols", "bindings", "stackwright", "cli", "lab"] {
        each_ending("Cargo.toml", &root().join(folder), &mut |path, text| {
            let name = text.lines().find_map(|line| line.strip_prefix("name = \""));
            let name = name.expect("a name").trim_end_matches('"');
            let dependencies = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
            let dependencies = dependencies.take_while(|line| !line.starts_with('['));
            let of_ours = dependencies.filter(|line| line.starts_with("stackwright"));
            let short = |name: &str| name.trim_start_matches("stackwright-").to_owned();
            let lower = of_ours.map(|line| short(line.split(['.', ' ']).next().unwrap_or(line)));
            crates.insert(short(name), (path.to_owned(), lower.collect::<Vec<_>>()));
        });
    }
    let floor = |name: &str| crates.get(name).and_then(|(folder, _)| floor(name, folder));
    let mut wrong = Vec::new();
    for (name, (folder, lower)) in &crates {
        let Some(own) = floor(name) else { panic!("{folder}: give it a floor") };
        let up = lower.iter().filter(|lower| floor(lower).is_none_or(|floor| floor >= own));
        wrong.extend(up.map(|lower| format!("{name} on {lower}")));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn no_modules_stand_in_a_circle() {
    let mut told = Vec::new();
    for parent in ["crates", "protocols", "stackwright", "cli", "lab"] {
        each_ending("Cargo.toml", &root().join(parent), &mut |path, _| {
            let folder = path.trim_end_matches("/Cargo.toml");
            if !root().join(folder).join("src").is_dir() {
                return;
            }
            let uses = uses(folder);
            let circle = in_circles(&uses);
            let most =
                CIRCLES.iter().find(|(known, _)| *known == folder).map_or(0, |(_, most)| *most);
            if circle.len() > most {
                told.push(format!(
                    "{folder}: {} modules, and at most {most}: {circle:?}",
                    circle.len()
                ));
            }
        });
    }
    assert!(told.is_empty(), "modules that stand on each other:\n{}", told.join("\n"));
}

#[test]
fn no_command_stands_on_another() {
    let uses = uses("cli");
    let commands = &uses["arguments"];
    let mut wrong = Vec::new();
    for command in commands {
        let exempt = COMMANDS_ON_COMMANDS.iter().find(|(name, ..)| name == command);
        let exempt = exempt.map_or(&[][..], |(_, others, _)| others);
        let others =
            uses.get(command).into_iter().flatten().filter(|other| commands.contains(*other));
        let others = others.filter(|other| !exempt.contains(&other.as_str()));
        wrong.extend(others.map(|other| format!("{command} on {other}")));
    }
    assert!(commands.len() > 15 && wrong.is_empty(), "{wrong:?}");
}

/// The top-level modules of a crate, each with those that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reads which top-level modules of the crate in `folder` use which.
fn uses(folder: &str) -> Uses {
    let source = root().join(folder).join("src");
    let mut files = Vec::new();
    each(&source, &mut |path, text| {
        let path = Path::new(path).strip_prefix(Path::new(folder).join("src")).expect("below it");
        let path = path.with_extension("").to_string_lossy().into_owned();
        let mut module: Vec<String> = path.split('/').map(str::to_owned).collect();
        module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
        files.push((module, text.to_owned()));
    });
    let tops: BTreeSet<String> =
        files.iter().filter_map(|(path, _)| path.first().cloned()).collect();
    // Names that the root exports for its modules.
    let root = ["lib.rs", "main.rs"].map(|name| fs::read_to_string(source.join(name)));
    let root = root.into_iter().filter_map(Result::ok).collect::<String>();
    let exported: BTreeMap<String, String> = paths(&root)
        .into_iter()
        .filter(|path| path.len() > 1 && tops.contains(&path[0]))
        .map(|path| (path[path.len() - 1].clone(), path[0].clone()))
        .collect();
    let mut uses = Uses::new();
    for (module, text) in &files {
        let Some(top) = module.first() else { continue };
        let used = uses.entry(top.clone()).or_default();
        for path in paths(text) {
            let up = path.iter().take_while(|part| *part == "super").count();
            let from_root = path[0] == "crate" || up == module.len();
            let Some(first) = path.get(up.max(1)).filter(|_| from_root) else { continue };
            let first = if tops.contains(first) { Some(first) } else { exported.get(first) };
            used.extend(first.filter(|first| *first != top).cloned());
        }
    }
    uses
}

/// Returns the modules that stand on each other, by whatever detour.
fn in_circles(uses: &Uses) -> BTreeSet<&str> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from.to_owned()];
        while let Some(module) = next.pop() {
            for lower in uses.get(&module).into_iter().flatten() {
                if reached.insert(lower.clone()) {
                    next.push(lower.clone());
                }
            }
        }
        reached
    };
    uses.keys().map(String::as_str).filter(|module| reached(module).contains(*module)).collect()
}

/// Reads the paths of a file, those of `use` trees included, up to its tests.
fn paths(text: &str) -> Vec<Vec<String>> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .collect::<Vec<_>>()
        .join(" ");
    let mut paths = Vec::new();
    // What stands before the open braces of a tree, and the path that is read.
    let (mut before, mut path): (Vec<Vec<String>>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = code.as_str();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let word = &rest[..word.unwrap_or(rest.len())];
        if !word.is_empty() {
            path.push(word.to_owned());
            rest = rest[word.len()..].trim_start();
            if let Some(behind) = rest.strip_prefix("::") {
                rest = behind.trim_start();
                if let Some(tree) = rest.strip_prefix('{') {
                    before.push(std::mem::take(&mut path));
                    rest = tree;
                }
                continue;
            }
            let whole = before.iter().flatten().cloned().chain(path.drain(..)).collect::<Vec<_>>();
            paths.push(whole);
            continue;
        }
        path.clear();
        // Braces of code are no tree, and end none.
        if first == '}' && !before.is_empty() {
            before.pop();
        }
        rest = &rest[first.len_utf8()..];
    }
    paths
}
