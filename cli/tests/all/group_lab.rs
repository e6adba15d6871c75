//! `group lab`: what a stack of a group promises, and what comes of it without a layer.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");

/// Returns what is told in the first line.
fn told(output: &Output) -> Value {
    let first = output.stdout.split(|octet| *octet == b'\n').next().unwrap_or_default();
    serde_json::from_slice(first).expect("JSON")
}

fn lab(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(["group", "lab"]).args(arguments).output().expect("it starts")
}

/// Writes the stack of `group store` without a layer: what stood on it stands on `lower`.
fn without(layer: &str, lower: &str, file: &Path) {
    let stack = include_str!("../../stacks/group-store.toml");
    let table = format!("[{layer}]\nprotocol = \"group {layer}\"\nover = \"{lower}\"\n");
    assert!(stack.contains(&table), "{table}");
    let stack = stack.replace(&table, "").replace(&format!("\"{layer}\""), &format!("\"{lower}\""));
    std::fs::write(file, stack).expect("it is written");
}

/// With `SEEDS=10` 200 of them.
#[test]
fn nothing_breaks_with_all_layers() {
    let seeds = std::env::var("SEEDS").map_or(1, |seeds| seeds.parse().expect("a number"));
    for seed in 0..20 * seeds {
        let output = lab(&["--json", "--seed", &u64::to_string(&seed)]);
        let told = told(&output);
        assert!(output.status.success() && told["broken"].is_null(), "{told}");
        let is_at_work =
            told["deliveries"].as_u64() > Some(500) && told["views"].as_u64() > Some(8);
        assert!(is_at_work && told["together"].is_f64(), "{told}");
    }
}

/// Nor where a cast leaves once for all.
#[test]
fn nothing_breaks_by_multicast() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stack.toml");
    let stack = include_str!("../../stacks/group-store.toml");
    let list = "with = \"127.0.0.1:4371 127.0.0.1:4372\"";
    assert!(stack.contains(list), "{stack}");
    std::fs::write(&file, stack.replace(list, "with = \"\"\nmulticast = 30 # ms"))
        .expect("it is written");
    for seed in 0..5 {
        let (file, seed) = (file.to_str().expect("UTF-8"), u64::to_string(&seed));
        let output = lab(&["--json", "--stack", file, "--seed", &seed]);
        let told = told(&output);
        assert!(output.status.success() && told["broken"].is_null(), "{told}");
        assert!(told["deliveries"].as_u64() > Some(500) && told["together"].is_f64(), "{told}");
    }
}

/// The state of a replica that was cut off is another one than that of the others.
#[test]
fn without_safe_delivery_the_log_of_who_vanished_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, page] = ["stack.toml", "chart.html"].map(|name| folder.path().join(name));
    without("safe", "membership", &file);
    let [file, page] = [&file, &page].map(|path| path.to_str().expect("UTF-8"));
    let output = lab(&["--stack", file, "--until-broken", "--out", page]);
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    for says in [
        "broken: one log at all, those who vanished included",
        "No layer of the stack promises delivery of what a quorum has.",
        "another had delivered",
        "   cut: ",
    ] {
        assert!(said.contains(says), "{says}: {said}");
    }
    let page = std::fs::read_to_string(page).expect("it is written");
    assert!(
        page.contains("id=\"fixed\"") && page.contains("\"flights\":[[") && page.len() > 50_000
    );
    let seed = said.split(&[' ', ':']).nth(1).expect("`Seed N:`");
    let again = lab(&["--stack", file, "--json", "--seed", seed]);
    let told = told(&again);
    assert!(told["promised"] == false && told["cast"].is_string(), "{told}");
}

/// Where nothing has one order, it is seen without a state.
#[test]
fn without_total_order_members_differ() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stack.toml");
    let stack = include_str!("../../stacks/group-store.toml");
    std::fs::write(&file, stack.replace("top = [\"state\", \"tcp\"]", "top = \"safe\""))
        .expect("it is");
    let output = lab(&["--stack", file.to_str().expect("UTF-8"), "--until-broken", "--json"]);
    let told = told(&output);
    let broken = ["the same order from view to view", "nothing before what its sender had"];
    assert!(broken.iter().any(|broken| told["broken"] == *broken), "{told}");
    assert_eq!(told["promised"], false);
}

#[test]
fn a_stack_that_does_not_fit_is_refused_with_the_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stack.toml");
    for (layer, lower, says) in [
        ("total", "safe", "`group state` needs delivery in one order at all members"),
        ("membership", "detector", "`group safe` needs word of who the members are"),
    ] {
        let stack = include_str!("../../stacks/group-store.toml");
        let stack = stack.replace(&format!("over = \"{layer}\""), &format!("over = \"{lower}\""));
        std::fs::write(&file, stack).expect("it is written");
        let output = lab(&["--stack", file.to_str().expect("UTF-8")]);
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && said.contains(says), "{layer}: {said}");
    }
}
