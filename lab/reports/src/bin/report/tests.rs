//! Reports of odd results: none, partial ones, hostile ones, files that are none.

use std::fs;

use scraper::{Html, Selector};
use stackwright_results::Conditions;
use stackwright_results::outcome::{Axes, Column, FORMAT, Figure, Outcome, Row, Sample};
use stackwright_results::verdict::Target;

use super::{page, picture, results};

const HOSTILE: &str = "</title></style><script>alert('x')</script><svg onload=y> & \" ' <!-- ]]>";

fn row(key: &str, ours: f64, theirs: f64) -> Row {
    let mut row = Row::new(key, "a group", key, "s");
    row.x = key.parse().ok();
    row.document.push(Figure { who: "PIX".into(), value: 0.5, unit: "s".into() });
    for (name, value, is_ours) in [("we", ours, true), ("they", theirs, false)] {
        let mut column = Column::new(name, is_ours);
        let samples = (0..5).map(|round| Sample {
            value: value * (1.0 + 0.01 * f64::from(round)),
            probes: [1.0, if round == 4 { 2.0 } else { 1.0 }],
            slow: false,
        });
        column.samples.extend(samples);
        row.columns.push(column);
    }
    row.compare_with_all(Some(Target::AtMost(1.0)));
    row
}

fn outcome(rows: Vec<Row>) -> Outcome {
    let mut outcome = Outcome {
        format: FORMAT,
        place: None,
        table: "ftp-latency".into(),
        title: "how long a file takes".into(),
        measures: "The time of a process.".into(),
        source: "thesis".into(),
        complete: true,
        command: "lab table ftp-latency".into(),
        conditions: Conditions { date: "2026-01-02T03:04:05Z".into(), ..Conditions::default() },
        axes: Axes { x: "octets".into(), y: "time".into(), log_x: true, log_y: true },
        notes: vec!["a note".into()],
        rows,
    };
    outcome.settle();
    outcome
}

/// The page of these results as a browser reads it, which has nothing to complain about.
fn read(outcomes: Vec<Outcome>) -> Html {
    let page =
        page::page(&results::Results { outcomes, ..results::Results::default() }).into_string();
    let document = Html::parse_document(&page);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    document
}

fn texts(document: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).expect("a selector");
    document.select(&selector).map(|element| element.text().collect()).collect()
}

#[test]
fn a_page_says_who_won_and_where_we_fall_short() {
    let document = read(vec![outcome(vec![row("1", 1.0, 2.0), row("100", 2.0, 1.0)])]);
    assert_eq!(
        texts(&document, ".says li"),
        [
            "we beside they: beats it in 1, loses to it in 1, of 2 rows (ratios 0.500 to 2.00, the middle 1.25)."
        ]
    );
    let short = texts(&document, ".short li");
    assert_eq!(short.len(), 1);
    assert!(short[0].starts_with("a group, 100: we / they is 2.000"), "{short:?}");
    assert_eq!(texts(&document, "#summary td"), ["1 of 2", "1"]);
    assert!(
        texts(&document, "figure svg text").iter().any(|text| text.trim() == "a group"),
        "text is text"
    );
    assert!(texts(&document, ".partial").is_empty());
    let conditions = texts(&document, ".conditions dd").join("\n");
    assert!(conditions.contains("20, of which 4 lie in slow spells"), "{conditions}");
    assert!(conditions.contains("lab table ftp-latency"), "{conditions}");
}

/// A table whose ratios are all reached, and which has figures that are not.
#[test]
fn further_figures_with_a_target_count_as_ratios_do() {
    let mut rows = vec![row("1", 1.0, 2.0)];
    for (figure, target) in [("a share", 0.9), ("another", 0.9), ("a third", 0.1)] {
        rows[0].columns[0].tell(figure, "", &[0.5], Some(Target::AtLeast(target)));
    }
    let document = read(vec![outcome(rows)]);
    assert_eq!(texts(&document, ".summary td"), ["2 of 4", "2"]);
}

#[test]
fn what_is_partial_is_marked() {
    let mut partial = outcome(vec![row("1", 1.0, 2.0)]);
    partial.complete = false;
    let document = read(vec![partial]);
    assert_eq!(texts(&document, "h2 .partial"), ["partial"]);
    assert_eq!(texts(&document, "#summary .partial"), ["partial"]);
}

#[test]
fn hostile_names_are_text() {
    let mut hostile = outcome(vec![row("1", 1.0, 2.0), row("2", 1.0, 2.0)]);
    for field in [
        &mut hostile.table,
        &mut hostile.title,
        &mut hostile.measures,
        &mut hostile.source,
        &mut hostile.command,
        &mut hostile.conditions.processor,
        &mut hostile.conditions.date,
        &mut hostile.axes.x,
        &mut hostile.axes.y,
        &mut hostile.notes[0],
    ] {
        *field = HOSTILE.into();
    }
    for row in &mut hostile.rows {
        row.group = HOSTILE.into();
        row.label = HOSTILE.into();
        row.unit = HOSTILE.into();
        row.document[0].who = HOSTILE.into();
        row.columns[0].name = HOSTILE.into();
        row.comparisons[0].ours = HOSTILE.into();
    }
    let lined = hostile.clone();
    hostile.rows.iter_mut().for_each(|row| row.x = None);
    let document = read(vec![hostile.clone(), lined]);
    let elements = |selector: &str| texts(&document, selector).len();
    assert_eq!(elements("script"), 0);
    assert_eq!(elements("style"), 1);
    assert_eq!(elements("[onload]"), 0);
    assert!(texts(&document, "h2").iter().any(|text| text.contains(HOSTILE)));
    let drawn = picture::picture(&[hostile]).expect("there is a ratio");
    assert!(!drawn.contains("<script"), "{drawn}");
}

#[test]
fn odd_numbers_are_survived() {
    let mut zero = row("1", 0.0, 0.0);
    zero.document[0].value = f64::MAX;
    let mut none = row("2", 1.0, 1.0);
    none.columns.iter_mut().for_each(|column| column.samples.clear());
    let mut vast = row("3", f64::MAX, f64::MIN_POSITIVE);
    vast.x = Some(f64::MAX);
    let mut negative = row("4", -1.0, -2.0);
    negative.x = Some(-5.0);
    for rows in [vec![], vec![zero.clone()], vec![none.clone()], vec![zero, none, vast, negative]] {
        read(vec![outcome(rows)]);
    }
    read(vec![]);
}

#[test]
fn files_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = outcome(vec![row("1", 1.0, 2.0)]);
    let text = serde_json::to_string(&written).expect("JSON");
    fs::write(folder.path().join("ftp-latency.json"), &text).expect("there is room");
    fs::write(folder.path().join("broken.json"), &text[..text.len() / 2]).expect("there is room");
    fs::write(folder.path().join("other.json"), "[1, 2]").expect("there is room");
    fs::write(folder.path().join("notes.txt"), "not read").expect("there is room");
    let newer = text.replacen("\"format\":1", "\"format\":2", 1);
    fs::write(folder.path().join("newer.json"), newer).expect("there is room");
    let found = results::read(folder.path()).expect("there are results");
    assert_eq!(found.outcomes, [written]);
    let unreadable: Vec<_> = found.unreadable.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(unreadable, ["broken.json", "newer.json", "other.json"]);
}

#[test]
fn cells_that_were_measured_one_by_one_are_one_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, outcome: &Outcome| {
        let text = serde_json::to_string(outcome).expect("JSON");
        fs::write(folder.path().join(name), text).expect("there is room");
    };
    let earlier = outcome(vec![row("2", 1.0, 2.0), row("3", 1.0, 2.0)]);
    let mut later = outcome(vec![row("2", 5.0, 2.0), row("1", 1.0, 2.0)]);
    later.conditions.date = "2026-01-02T03:04:06Z".into();
    later.notes.push("another note".into());
    let mut of_another_program = later.clone();
    of_another_program.conditions.commit = Some("0123456".into());
    write("1.json", &later);
    write("2.json", &earlier);
    write("3.json", &of_another_program);
    let found = results::read(folder.path()).expect("there are results").outcomes;
    let [one, other] = &found[..] else { panic!("{} tables", found.len()) };
    assert_eq!(*other, of_another_program);
    assert_eq!(one.notes, ["a note", "another note"]);
    let mut rows: Vec<_> =
        one.rows.iter().map(|row| (row.key.as_str(), row.columns[0].median())).collect();
    rows.sort_by_key(|(key, _)| *key);
    let of = |outcome: &Outcome, place: usize| outcome.rows[place].columns[0].median();
    assert_eq!(rows, [("1", of(&later, 1)), ("2", of(&later, 0)), ("3", of(&earlier, 1))]);
}

#[test]
fn a_campaign_is_shown_with_what_was_not_delivered() {
    let cell = |rate: u32, goodput: f64| {
        serde_json::json!({
            "cell": HOSTILE, "sweep": "slow", "state": "done", "rate": rate,
            "result.flows.0.goodput_bits_per_second": goodput,
            "result.failed": (rate < 5000).then_some(HOSTILE),
        })
    };
    let summary = serde_json::json!([cell(4800, 900.0), cell(9600, 9000.0)]);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("summary.json"), summary.to_string()).expect("there is room");
    let found = results::read(folder.path()).expect("there are results");
    let document = Html::parse_document(&page::page(&found).into_string());
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    assert_eq!(texts(&document, "#summary td"), ["1 of 2", "1"]);
    assert!(texts(&document, "p").iter().all(|text| text != "There are no results."));
    let short = texts(&document, "#sweep-slow .short li");
    assert_eq!(short, [format!("{HOSTILE}: {HOSTILE}")]);
    assert_eq!(texts(&document, "#sweep-slow figure svg").len(), 1);
    let cells = texts(&document, "#sweep-slow td");
    assert_eq!(cells, ["4800", "1", "1", "900 b/s", "9600", "1", "–", "9.00 kb/s"]);
}

#[test]
fn a_report_begins_with_the_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["map", "paths", "zoo"] {
        let mut outcome = outcome(vec![row("1", 1.0, 2.0)]);
        outcome.table = name.into();
        let text = serde_json::to_string(&outcome).expect("JSON");
        fs::write(folder.path().join(format!("{name}.json")), text).expect("there is room");
    }
    let found = results::read(folder.path()).expect("there are results").outcomes;
    let names: Vec<_> = found.iter().map(|outcome| outcome.table.as_str()).collect();
    assert_eq!(names, ["paths", "map", "zoo"]);
}

#[test]
fn a_folder_without_results_is_told_about() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(results::read(folder.path()).is_err());
    for file in ["[1, 2]", "{}", "no JSON"] {
        fs::write(folder.path().join("other.json"), file).expect("there is room");
        let problem = results::read(folder.path()).expect_err("it is no result");
        assert!(problem.says().contains("other.json"), "{}", problem.says());
    }
    assert!(results::read(&folder.path().join("nowhere")).is_err());
    assert!(picture::picture(&[outcome(vec![])]).is_err());
}
