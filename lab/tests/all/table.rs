//! The program itself: one cell end to end, what it says to nonsense, and an interruption.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, io};

use serde_json::Value;
use stackwright_programs::processes::{Outcome, Running, eventually, find, run, stackwright};
use stackwright_programs::scratch::Scratch;

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments);
    command
}

fn json(file: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

#[test]
fn a_cell_is_measured_and_kept() {
    let folder = Scratch::new();
    let file = folder.join("new/cell.json");
    let out = file.display().to_string();
    let arguments =
        ["table", "product-line", "--quick", "--cell", "timers/100", "--seed", "7", "--out", &out];
    let text = run(&mut lab(&arguments)).succeeded().text();
    assert!(text.contains("timing wheel / simple"), "{text}");
    let result = json(&file).expect("it is there, and whole");
    assert_eq!(result["complete"], true);
    assert_eq!(result["rows"][0]["key"], "timers/100");
    let columns = result["rows"][0]["columns"].as_array().expect("columns");
    assert_eq!(columns.len(), 3);
    let positive = |sample: &Value| sample["value"].as_f64().is_some_and(|value| value > 0.0);
    for column in columns {
        let samples = column["samples"].as_array().expect("samples");
        assert!(samples.len() >= 3 && samples.iter().all(positive), "{column}");
    }
    assert!(result["rows"][0]["comparisons"][0]["ratio"]["value"].is_f64());
    let command = result["command"].as_str().expect("a command");
    assert!(
        command.ends_with("table product-line --cell timers/100 --quick --seed 7"),
        "{command}"
    );
}

#[test]
fn json_is_one_object() {
    let folder = Scratch::new();
    let arguments =
        ["table", "product-line", "--quick", "--json", "--cell", "timers/100", "--into"];
    let text = run(lab(&arguments).arg(folder.path())).succeeded().text();
    let result: Value = serde_json::from_str(&text).expect("one object");
    assert_eq!(result["table"], "product-line");
    assert_eq!(folder.names(), ["timers-100.json"]);
}

/// Measures one cell that is only simulated; gives its row.
fn simulated(table: &str, cell: &str) -> Value {
    let folder = Scratch::new();
    let file = folder.join("cell.json");
    let mut command = lab(&["table", table, "--quick", "--cell", cell, "--out"]);
    run(command.arg(&file)).succeeded();
    json(&file).expect("it is there")["rows"][0].clone()
}

/// A further figure of a column.
fn detail(column: &Value, name: &str) -> Value {
    let details = column["details"].as_array().expect("details");
    details.iter().find(|detail| detail["name"] == name).expect("it is told").clone()
}

#[test]
fn a_path_is_simulated_and_its_bars_are_judged() {
    let row = simulated("paths", "sim/100k/20ms/0%/q1");
    assert_eq!((&row["x"], &row["y"]), (&100_000.0.into(), &20.0.into()));
    let columns = row["columns"].as_array().expect("columns");
    let names: Vec<_> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
    assert_eq!(names, ["ARTP", "ARTP, BBR"]);
    for column in columns {
        let share = detail(column, "share of the payload limit")["value"].as_f64();
        assert!(share.is_some_and(|share| (0.3..=1.0).contains(&share)), "{column}");
        assert_eq!(detail(column, "ended")["verdict"], "met", "{column}");
        assert!(detail(column, "spurious / allowed")["verdict"].is_string(), "{column}");
    }
    let [ours, profile] = [0, 1].map(|at| detail(&columns[at], "share of the payload limit"));
    assert_eq!(ours["target"]["at_least"], 0.85);
    assert!(profile["target"].is_null(), "only the default has this bar");
    // The same again: what is simulated does not depend on the machine.
    assert_eq!(simulated("paths", "sim/100k/20ms/0%/q1"), row);
}

#[test]
fn late_flights_are_no_lost_ones_but_cost_something() {
    let row = simulated("paths", "steps/flights/10M/100ms");
    let value = |at: usize| row["columns"][at]["samples"][0]["value"].as_f64().expect("a rate");
    assert!(value(0) < value(2), "ARTP with steps, and without: {row}");
}

/// Two bits that are altered in one packet escape a weak check; then the picture is none.
#[test]
fn pictures_arrive_whole_where_bits_are_altered() {
    let row = simulated("jis-loss", "20ms/bits");
    let columns = row["columns"].as_array().expect("columns");
    assert_eq!(columns.len(), 4, "{row}");
}

#[test]
fn two_transfers_share_a_link() {
    let row = simulated("fairness", "sim/alike/1M/100ms/q1");
    let columns = row["columns"].as_array().expect("columns");
    let share = |at: usize| columns[at]["samples"][0]["value"].as_f64().expect("a share");
    let sum = share(0) + share(1);
    assert!((0.5..1.0).contains(&sum), "{row}");
    let index = detail(&columns[0], "Jain’s index")["value"].as_f64().expect("an index");
    let squares = share(0).powi(2) + share(1).powi(2);
    assert!((index - sum * sum / (2.0 * squares)).abs() < 1e-9, "{row}");
}

#[test]
fn members_of_a_group_come_together_in_the_simulator() {
    let row = simulated("group-scale", "10");
    let column = &row["columns"][0];
    for name in ["all in one view", "in a view without the crashed"] {
        assert_eq!(detail(column, name)["verdict"], "met", "{column}");
    }
    let idle = detail(column, "idle, packets a member and second")["value"].as_f64();
    assert!(idle.is_some_and(|idle| idle > 0.0), "{column}");
}

/// Beside etcd where that is installed.
#[test]
fn a_store_answers_the_load() {
    let program = stackwright();
    if find("redis-benchmark").is_none() || !program.is_file() {
        return println!("skipped, redis-benchmark or a release build of stackwright is missing");
    }
    let folder = Scratch::new();
    let file = folder.join("cell.json");
    let mut command = lab(&["table", "group-store", "--quick", "--cell", "set/1", "--out"]);
    run(command.arg(&file).env("STACKWRIGHT", program)).succeeded();
    let row = &json(&file).expect("it is there")["rows"][0];
    let column = &row["columns"][0];
    assert_eq!(column["name"], "stackwright", "{row}");
    let processor = detail(column, "processor time of a request")["value"].as_f64();
    assert!(processor.is_some_and(|seconds| seconds > 0.0), "{row}");
}

#[test]
fn every_table_names_its_cells() {
    let tables = run(&mut lab(&["table", "--list"])).succeeded().text();
    let names: Vec<_> = tables.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 35, "{tables}");
    for name in names {
        let cells = run(&mut lab(&["table", name, "--cells", "--quick"])).succeeded().text();
        let mut cells: Vec<_> = cells.lines().collect();
        assert!(!cells.is_empty(), "{name}");
        let count = cells.len();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), count, "no cell of {name} is there twice");
    }
}

#[test]
fn nonsense_is_told_what_there_is() {
    let said = complaints(&run(&mut lab(&["table", "nothing"])).exited(2));
    assert!(said.contains("unknown table nothing") && said.contains("product-line"), "{said}");
    let folder = Scratch::new();
    let cell = ["table", "map", "--cell", "5-octets/100", "--into"];
    let said = complaints(&run(lab(&cell).arg(folder.path())).exited(2));
    assert!(said.contains("no cell 5-octets/100") && said.contains("--cells"), "{said}");
    assert!(folder.names().is_empty());
    fs::write(folder.join("file"), "").expect("a folder of ours");
    let into = ["table", "map", "--quick", "--into"];
    let said = complaints(&run(lab(&into).arg(folder.join("file/below"))).exited(1));
    assert!(said.contains("cannot write") && said.contains("--into"), "{said}");
    for moved in ["report", "campaign"] {
        let said = complaints(&run(&mut lab(&[moved, "--summary", "file"])).exited(2));
        assert!(said.contains("stackwright-reports"), "{said}");
    }
}

#[test]
fn an_interruption_keeps_what_there_is() {
    let folder = Scratch::new();
    let mut command = lab(&["table", "product-line", "--into"]);
    command.arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running::start(&mut command);
    let file = folder.join("product-line.json");
    let rows =
        || json(&file).and_then(|result| Some(result["rows"].as_array()?.len())).unwrap_or(0);
    assert!(eventually(Duration::from_secs(60), || rows() > 0), "nothing is kept");
    let number = running.number().to_string();
    assert!(
        Command::new("kill").args(["-INT", &number]).status().is_ok_and(|status| status.success())
    );
    assert!(eventually(Duration::from_secs(60), || !running.alive()), "it goes on");
    assert_eq!(running.ended().and_then(|status| status.code()), Some(130));
    let result = json(&file).expect("it is whole");
    assert_eq!(result["complete"], false);
    assert!(rows() > 0);
    assert_eq!(folder.names(), ["product-line.json", "product-line.svg"]);
}

#[test]
fn a_table_of_other_transports_names_the_command_that_builds_them() {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/target/release/peers");
    if Path::new(built).is_file() {
        return println!("skipped, they are built");
    }
    let folder = Scratch::new();
    let mut command = lab(&["table", "loss", "--quick", "--into"]);
    let said = complaints(&run(command.arg(folder.path()).env_remove("PEERS")).exited(1));
    assert!(said.contains("not built") && said.contains("`lab/peers/build`"), "{said}");
}

/// A file of one octet from vsftpd, by every client.
#[test]
fn strangers_compete_over_the_loopback_interface() {
    let missing: Vec<_> = ["vsftpd", "pure-ftpd", "ncftpget", "ncftpput", "lftp", "curl"]
        .into_iter()
        .filter(|name| find(name).is_none())
        .collect();
    let program: PathBuf = stackwright();
    if !missing.is_empty() || !program.is_file() {
        let release =
            if program.is_file() { "" } else { "; there is no release build of stackwright" };
        let reason = format!("missing: {}{release}", missing.join(", "));
        assert!(env::var("CI").is_err(), "{reason}");
        return println!("skipped, {reason}");
    }
    let folder = Scratch::new();
    let file = folder.join("cell.json");
    let mut command =
        lab(&["table", "ftp-latency", "--quick", "--cell", "loopback/get/1B", "--out"]);
    command.arg(&file).env("STACKWRIGHT", program);
    run(&mut command).succeeded();
    let result = json(&file).expect("it is there");
    let columns = result["rows"][0]["columns"].as_array().expect("columns");
    let names: Vec<_> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
    assert_eq!(names, ["stackwright", "ncftp", "lftp", "curl"]);
    assert_eq!(result["rows"][0]["document"][0]["value"], 0.0353);
    let comparisons = result["rows"][0]["comparisons"].as_array().expect("comparisons");
    assert!(comparisons.iter().all(|one| one["verdict"].is_string()), "{comparisons:?}");
}

/// `lab … | head`: the pipe is closed before all is said.
#[test]
fn a_closed_pipe_ends_nothing() {
    for arguments in [&["profiles"][..], &["table", "--list"]] {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let output = lab(arguments).stdout(writer).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
