//! Cells that end well: each runs once, and the results are joined.

use crate::campaign::setting::{Setting, ours};

/// Writes down that it ran, and a result.
const RECORDS: &str =
    r#"echo $1 >> ran; echo "{ \"twice\": $((2 * $1)), \"a\": { \"b\": \"x\" } }" > "$2""#;

fn numbers(setting: &Setting) -> Vec<u64> {
    let mut ran: Vec<u64> =
        setting.lines("ran").iter().map(|line| line.parse().expect("a seed")).collect();
    ran.sort_unstable();
    ran
}

#[test]
fn every_cell_runs_once_and_a_second_run_does_nothing() {
    let setting = Setting::shell(RECORDS, 20, "");
    let said = setting.run(&["--jobs", "3"]).ended(0);
    assert!(said.out.starts_with("20 cells: 20 done in "), "{}", said.out);
    assert_eq!(numbers(&setting), (1..=20).collect::<Vec<_>>());
    assert_eq!(setting.files("results/s").len(), 21, "the results, and the command");
    let said = setting.run(&[]).ended(0);
    assert!(said.out.contains("20 before, 0 failed"), "{}", said.out);
    assert_eq!(numbers(&setting).len(), 20);
}

#[test]
fn a_cell_by_number_is_that_cell_and_no_other() {
    let setting = Setting::shell(RECORDS, 20, "");
    setting.run(&["--cell", "6"]).ended(0);
    assert_eq!(numbers(&setting), [7]);
    setting.run(&["--cell", "5-7"]).ended(0);
    assert_eq!(numbers(&setting), [6, 7, 8], "what is done is not done again");
    setting.run(&["--cell", "18-40"]).ended(0);
    assert_eq!(numbers(&setting), [6, 7, 8, 19, 20], "the last piece of a campaign may be shorter");
    let said = setting.run(&["--cell", "20"]).ended(2);
    assert!(said.err.contains("there is no cell 20: there are 20, the last is 19"), "{}", said.err);
    for nonsense in ["x", "3-1", "-1"] {
        setting.run(&["--cell", nonsense]).ended(2);
    }
}

#[test]
fn a_campaign_may_grow() {
    let setting = Setting::shell(RECORDS, 3, "");
    setting.run(&[]).ended(0);
    let grown = setting.read("campaign.toml").replace("last = 3", "last = 5");
    setting.describe(&grown);
    let said = setting.run(&["--json"]).ended(0);
    let said: serde_json::Value = serde_json::from_str(&said.out).expect("one object");
    assert_eq!((&said["cells"], &said["before"], &said["done"]), (&5.into(), &3.into(), &2.into()));
}

#[test]
fn results_of_another_command_are_not_taken_for_its_own() {
    let setting = Setting::shell(RECORDS, 3, "");
    setting.run(&[]).ended(0);
    let other = setting.read("campaign.toml").replace("2 * $1", "3 * $1");
    setting.describe(&other);
    let said = setting.run(&[]).ended(1);
    assert!(
        said.err.contains("has results of a different command of the sweep `s`"),
        "{}",
        said.err
    );
    assert!(said.err.contains("choose another folder"), "{}", said.err);
}

#[test]
fn what_a_program_prints_is_the_result_where_no_word_has_a_file() {
    let text = "[[sweep]]\nname = \"s\"\nprogram = \"echo\"\nrun = [\"{x}\"]\nvalues = { x = [1, 0.5, true] }\n";
    let setting = Setting::new(text);
    setting.run(&[]).ended(0);
    assert_eq!(setting.read("results/s/x=0.5.json"), "0.5\n");
    assert_eq!(setting.files("results/s"), ["command", "x=0.5.json", "x=1.json", "x=true.json"]);
}

#[test]
fn commands_run_in_the_folder_of_the_file() {
    let text = "[[sweep]]\nname = \"s\"\nprogram = \"cat\"\nrun = [\"there.json\"]\n";
    let setting = Setting::new(text);
    std::fs::write(setting.path("there.json"), "[]").expect("it can be written");
    setting.run(&[]).ended(0);
    assert_eq!(setting.read("results/s/only.json"), "[]");
}

#[test]
fn where_no_program_is_said_it_is_the_lab() {
    build_lab();
    let text = "[[sweep]]\nname = \"s\"\nrun = [\"{name}\"]\nvalues = { name = [\"profiles\"] }\n";
    let setting = Setting::new(text);
    // It succeeds, and prints a list for people.
    setting.run(&[]).ended(1);
    let why = setting.read("results/s/name=profiles.stderr");
    assert!(why.contains("its result is not JSON"), "{why}");
}

#[test]
fn a_summary_has_a_row_for_each_cell() {
    let script = format!("[ $1 != 2 ] || exit 3; {RECORDS}");
    let setting = Setting::shell(&script, 4, "");
    setting.run(&["--cell", "0-2"]).ended(1);
    let said = setting.run(&["--summary"]).ended(0);
    assert!(said.out.contains("s/seed=2 failed: see "), "{}", said.out);
    assert!(said.out.contains("1 missing: run the campaign"), "{}", said.out);
    assert_eq!(
        setting.read("results/summary.csv"),
        "cell,sweep,state,seed,result.a.b,result.twice\n\
         s/seed=1,s,done,1,x,2\n\
         s/seed=2,s,failed,2,,\n\
         s/seed=3,s,done,3,x,6\n\
         s/seed=4,s,missing,4,,\n"
    );
    let rows: serde_json::Value =
        serde_json::from_str(&setting.read("results/summary.json")).expect("it is JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(4));
    assert_eq!(rows[2]["result.twice"], 6);
    let said = setting.run(&["--summary", "--json"]).ended(0);
    let said: serde_json::Value = serde_json::from_str(&said.out).expect("one object");
    assert_eq!((&said["failed"], &said["failures"]), (&1.into(), &serde_json::json!(["s/seed=2"])));
    assert_eq!((&said["done"], &said["missing"]), (&2.into(), &1.into()));
}

#[test]
fn a_summary_of_nothing_says_what_comes_first() {
    let said = Setting::shell(RECORDS, 4, "").run(&["--summary"]).ended(1);
    assert!(said.err.contains("no such folder\n  run the campaign first"), "{}", said.err);
}

#[test]
fn a_list_names_the_cells_in_order() {
    let setting = Setting::new(
        "[[sweep]]\nname = \"a\"\nrun = [\"{x}\", \"{seed}\", \"{out}\"]\nseeds = [9, 4]\n\
         values = { x = [\"b c\", \"-\"] }\n\
         [[sweep]]\nname = \"b\"\nprogram = \"true\"\nrun = []\n",
    );
    let said = setting.ask(&["--list"]).ended(0);
    let expected = "0\ta/x=b%20c,seed=9\tlab 'b c' 9 'DIR/a/x=b%20c,seed=9.json'\n\
                    1\ta/x=b%20c,seed=4\tlab 'b c' 4 'DIR/a/x=b%20c,seed=4.json'\n\
                    2\ta/x=-,seed=9\tlab - 9 'DIR/a/x=-,seed=9.json'\n\
                    3\ta/x=-,seed=4\tlab - 4 'DIR/a/x=-,seed=4.json'\n\
                    4\tb/only\ttrue\n";
    assert_eq!(said.out, expected);
    let said = setting.ask(&["--list", "--json"]).ended(0);
    let first: serde_json::Value =
        serde_json::from_str(said.out.lines().next().expect("a line")).expect("it is JSON");
    assert_eq!(
        first["command"],
        serde_json::json!(["lab", "b c", "9", "DIR/a/x=b%20c,seed=9.json"])
    );
    assert_eq!(setting.ask(&["--count"]).ended(0).out, "5\n");
}

#[test]
fn the_example_can_be_read() {
    let mut campaign = std::process::Command::new(env!("CARGO_BIN_EXE_campaign"));
    let output = campaign.arg(ours("example.toml")).arg("--count").output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "450\n");
}

/// Cells that name no program are run by the lab beside this one. Where all packages are tested, it
/// is there.
fn build_lab() {
    if std::path::Path::new(env!("CARGO_BIN_EXE_campaign")).with_file_name("lab").is_file() {
        return;
    }
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "stackwright-lab"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(cargo.status().expect("Cargo starts").success());
}

/// The flows of a run have columns, and whoever does not read them is told that they failed.
#[test]
fn what_did_not_deliver_is_told_though_its_cell_is_done() {
    let setting = Setting::new(
        "[[sweep]]\nname = \"s\"\nrun = [\"run\", \"scenario.toml\", \"--set\", \"links.0.mtu={mtu}\", \"--out\", \"{out}\"]\n\
         values = { mtu = [50, 60, 1500] }\n",
    );
    let scenario = "[[links]]\nbetween = [\"a\", \"b\"]\ndelay = \"5 ms\"\nrate = \"1 Mb/s\"\n\
                    [[flows]]\nfrom = \"a\"\nto = \"b\"\ntransport = { stop-and-wait = {} }\n\
                    workload = { messages = { count = 5, message = \"64 B\" } }\n";
    std::fs::write(setting.path("scenario.toml"), scenario).expect("it can be written");
    let short = "2 broke a promise or did not deliver everything";
    build_lab();
    for cells in ["3 done", "3 before"] {
        let said = setting.run(&[]).ended(0);
        assert!(said.out.contains(cells) && said.out.contains(short), "{}", said.out);
    }
    let said = setting.run(&["--json"]).ended(0);
    let said: serde_json::Value = serde_json::from_str(&said.out).expect("one object");
    assert_eq!((&said["fell_short"], &said["failed"]), (&2.into(), &0.into()));
    let said = setting.run(&["--summary"]).ended(0);
    assert!(said.out.contains(short), "{}", said.out);
    let rows: serde_json::Value =
        serde_json::from_str(&setting.read("results/summary.json")).expect("it is JSON");
    let of = |nth: usize, name: &str| rows[nth][format!("result.flows.0.{name}")].clone();
    assert_eq!((of(0, "delivered"), of(2, "delivered")), (0.into(), 5.into()));
    assert!(of(0, "failed").as_str().is_some_and(|says| says.contains("0 of 5")), "{rows}");
    assert!(of(2, "goodput_bits_per_second").as_f64() > Some(1000.0), "{rows}");
    assert!(rows[0]["result.failed"].is_string() && rows[2]["result.failed"].is_null(), "{rows}");
}
