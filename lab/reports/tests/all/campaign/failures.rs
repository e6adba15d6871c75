//! Cells that end badly: what they said lies beside the results, and the others run all the same.

use std::process::Command;

use crate::campaign::setting::Setting;

/// The words that are kept of the cell with seed 1 of a sweep whose other cells are fine.
#[track_caller]
fn words(script: &str, more: &str) -> String {
    let script = format!("if [ $1 = 1 ]; then {script}; else echo 1 > \"$2\"; fi");
    let setting = Setting::shell(&script, 3, more);
    let said = setting.run(&["--jobs", "2"]).ended(1);
    assert!(said.out.contains("2 done") && said.out.contains("1 failed"), "{}", said.out);
    assert!(said.err.contains("1 of 3 failed"), "{}", said.err);
    assert_eq!(
        setting.files("results/s"),
        ["command", "seed=1.stderr", "seed=2.json", "seed=3.json"]
    );
    setting.read("results/s/seed=1.stderr")
}

#[test]
fn a_code() {
    assert_eq!(words("echo alas >&2; exit 7", ""), "alas\ncampaign: it failed with exit code 7\n");
}

#[test]
fn a_signal() {
    assert_eq!(words("kill -9 $$", ""), "campaign: it was killed by signal 9\n");
}

#[test]
fn no_result() {
    assert_eq!(words("true", ""), "campaign: it succeeded without writing a result\n");
}

#[test]
fn half_a_result() {
    let words = words("echo '{ \"a\":' > \"$2\"", "");
    assert!(words.starts_with("campaign: its result is not JSON: "), "{words}");
}

#[test]
fn too_long() {
    assert_eq!(words("sleep 600", "limit = 0.3"), "campaign: it took longer than 0.3 s\n");
}

#[test]
fn more_words_than_anybody_reads() {
    let words = words("yes too many words >&2", "");
    assert!(words.ends_with("campaign: it wrote more than 16 MB\n"), "{}", words.len());
    assert!(words.len() < 70_000, "the last ones are kept: {}", words.len());
}

#[test]
fn a_failed_cell_runs_again_and_its_words_go() {
    let setting = Setting::shell("[ -e mended ] || exit 1; echo 1 > \"$2\"", 2, "");
    setting.run(&[]).ended(1);
    assert_eq!(setting.files("results/s"), ["command", "seed=1.stderr", "seed=2.stderr"]);
    std::fs::write(setting.path("mended"), "").expect("it can be written");
    setting.run(&[]).ended(0);
    assert_eq!(setting.files("results/s"), ["command", "seed=1.json", "seed=2.json"]);
}

#[test]
fn a_program_that_is_not_there_ends_the_campaign() {
    let text =
        "[[sweep]]\nname = \"s\"\nprogram = \"./missing\"\nrun = [\"{seed}\"]\nseeds = [1, 2]\n";
    let said = Setting::new(text).run(&[]).ended(1);
    assert!(said.err.contains("cannot start ") && said.err.contains("missing: "), "{}", said.err);
    assert!(said.err.contains("`program` of the sweep `s`"), "{}", said.err);
}

/// On a disk of 256 KB, which a mount namespace of its own has. Where that is not allowed, nothing
/// is tried.
#[test]
fn a_full_disk_ends_the_campaign_and_more_room_lets_it_go_on() {
    let unshare = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--mount", "sh", "-euc", script]);
        unshare
    };
    let script =
        "(echo '\"'; head -c 20000 /dev/zero | tr '\\0' x; echo '\"') | tr -d '\\n' > \"$2\"";
    let setting = Setting::shell(script, 40, "");
    let mut small = unshare(
        "mkdir results; mount -t tmpfs -o size=256k none results
         $CAMPAIGN campaign.toml --into results 2> first && exit 1
         $CAMPAIGN campaign.toml --into results --summary 2> second && exit 1
         find results -name '*.part' -o -name '*.stderr' > left
         mount -o remount,size=8m results
         $CAMPAIGN campaign.toml --into results > third",
    );
    small.current_dir(setting.path(".")).env("CAMPAIGN", env!("CARGO_BIN_EXE_campaign"));
    if !unshare("mount -t tmpfs none /mnt").output().is_ok_and(|tried| tried.status.success()) {
        return eprintln!("no namespace can be made here: not tried");
    }
    let said = small.output().expect("it was tried");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    for name in ["first", "second"] {
        let said = setting.read(name);
        assert!(said.contains("the disk is full\n  free some space, and run"), "{name}: {said}");
    }
    assert_eq!(setting.read("left"), "", "no half results, and no cell is blamed");
    assert!(setting.read("third").contains(" before, 0 failed"), "{}", setting.read("third"));
}

#[test]
fn a_folder_that_cannot_be_one_is_told() {
    let setting = Setting::shell("true", 2, "");
    std::fs::write(setting.path("results"), "a file").expect("it can be written");
    let said = setting.run(&[]).ended(1);
    assert!(said.err.contains("results") && said.err.contains("choose a folder"), "{}", said.err);
}
