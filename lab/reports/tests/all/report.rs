//! The `report` program: a cell that `lab table` measured, and a folder that is none.

use std::fs;
use std::process::Command;

use stackwright_results::Conditions;
use stackwright_results::outcome::{Axes, Column, FORMAT, Outcome, Row, Sample};

fn report() -> Command {
    Command::new(env!("CARGO_BIN_EXE_report"))
}

#[test]
fn a_cell_alone_is_reported() {
    let mut row = Row::new("timers/100", "timers", "100 timers", "s");
    for (name, value) in [("timing wheel", 1.0), ("simple", 2.0)] {
        let mut column = Column::new(name, true);
        column.samples = vec![Sample { value, probes: [1.0, 1.0], slow: false }; 3];
        row.columns.push(column);
    }
    row.compare("timing wheel", "simple", None);
    let outcome = Outcome {
        format: FORMAT,
        place: Some(1),
        table: "product-line".into(),
        title: "the 48 generated bases".into(),
        measures: "timers".into(),
        source: String::new(),
        complete: true,
        command: "lab table product-line".into(),
        conditions: Conditions::default(),
        axes: Axes::default(),
        notes: Vec::new(),
        rows: vec![row],
    };
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results");
    fs::create_dir(&results).expect("there is room");
    let written = serde_json::to_string(&outcome).expect("it is JSON");
    fs::write(results.join("timers-100.json"), written).expect("there is room");
    let done = report().arg(&results).arg("--into").arg(folder.path()).output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let page = fs::read_to_string(folder.path().join("report.html")).expect("the page");
    assert!(page.contains("timing wheel / simple"));
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let done = report().arg("/nowhere/at/all").output().expect("it starts");
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).starts_with("report: cannot read"));
}
