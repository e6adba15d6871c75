//! Files that are refused: where, why, and what was probably meant.

use crate::campaign::setting::Setting;

const GOOD: &str = "[[sweep]]\nname = \"s\"\nrun = [\"run\", \"{seed}\", \"{loss}\"]\nseeds = { first = 1, last = 3 }\n\
                    values = { loss = [0, 0.5] }\n";

#[track_caller]
fn refused(text: &str, says: &str) {
    let said = Setting::new(text).ask(&["--count"]).ended(2);
    assert!(said.err.contains(says), "{text}\nexpected: {says}\nsaid: {}", said.err);
}

#[test]
fn the_good_one_is_taken() {
    assert_eq!(Setting::new(GOOD).ask(&["--count"]).ended(0).out, "6\n");
}

#[test]
fn each_flaw_has_a_place_and_a_sentence() {
    for (from, to, says) in [
        ("seeds", "seed", ":4:1: `seed` is unknown here; did you mean `seeds`?"),
        ("first", "frist", ":4:11: `frist` is unknown here; did you mean `first`?"),
        (
            "first = 1, last = 3",
            "first = 4, last = 3",
            ":4:9: the range is empty: its last seed, 3, is before its first, 4",
        ),
        ("first = 1, last = 3", "first = 1", ":4:9: `seeds` needs both"),
        ("first = 1", "first = -1", ":4:19: a seed must not be negative"),
        ("{ first = 1, last = 3 }", "[]", ":4:9: `seeds` has no values"),
        (
            "{ first = 1, last = 3 }",
            "7",
            ":4:9: `seeds` must be { first = 1, last = 20 } or a list",
        ),
        ("{ first = 1, last = 3 }", "[1, \"x\"]", ":4:13: this is not a whole number"),
        (
            "last = 3",
            "last = 9_000_000",
            ":1:1: with `s` the campaign has more than 10000000 cells",
        ),
        (
            "last = 3",
            "last = 9223372036854775807",
            ":1:1: with `s` the campaign has more than 10000000 cells",
        ),
        ("[0, 0.5]", "[]", ":5:19: `loss` has no values"),
        ("[0, 0.5]", "0.5", ":5:19: `loss` must be a list of values, not a fraction"),
        ("[0, 0.5]", "[0, [1]]", ":5:23: a value of `loss` must be a string"),
        ("[0, 0.5]", "[0, 0]", ":5:23: `0` is listed twice"),
        ("[0, 0.5]", "[\"a\\u0000\"]", ":5:20: a value of `loss` contains a NUL"),
        ("loss = [", "seed = [", ":5:12: `seed` is reserved"),
        ("loss = [", "\"lo/ss\" = [", ":5:12: the name \"lo/ss\" must begin"),
        ("{loss}", "{los}", ":3:25: `{los}` has no values; did you mean `loss`?"),
        ("{loss}", "{elsewhere}", ":3:25: `{elsewhere}` has no values; known: loss, seed, out"),
        ("{loss}", "loss", ":3:7: `run` of `s` does not use `{loss}`"),
        ("{seed}", "1", ":3:7: `run` of `s` does not use `{seed}`"),
        ("{loss}", "{loss", ":3:25: `{loss` has an unmatched brace"),
        ("seeds = { first = 1, last = 3 }\n", "", ":3:15: `{seed}` has no values; add `seeds = "),
        ("run = [\"run\", \"{seed}\", \"{loss}\"]\n", "", ":1:1: `s` needs `run`"),
        ("[\"run\", \"{seed}\", \"{loss}\"]", "\"run\"", ":3:7: `run` must be a list of words"),
        ("\"run\"", "1", ":3:8: a word of `run` must be a string, not a number"),
        ("name = \"s\"\n", "", ":1:1: this sweep needs a `name`"),
        ("name = \"s\"", "name = \"../s\"", ":2:8: the name \"../s\" must begin"),
        (
            "name = \"s\"",
            "name = \"s\"\nlimit = 0",
            ":3:9: `limit` must be a number of seconds above 0",
        ),
        (
            "name = \"s\"",
            "name = \"s\"\nlimit = nan",
            ":3:9: `limit` must be a number of seconds above 0",
        ),
        ("name = \"s\"", "name = \"s\"\nname = \"t\"", ":3:1: duplicate key"),
        ("[[sweep]]", "[sweep]", ":1:1: write `[[sweep]]`"),
        ("[[sweep]]", "[[sweeps]]", ":1:3: `sweeps` is unknown here; did you mean `sweep`?"),
        ("= [0, 0.5]", "", ":5:"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        refused(&GOOD.replacen(from, to, 1), says);
    }
}

#[test]
fn flaws_of_the_whole() {
    refused("", "the file has no sweep: add a `[[sweep]]` table");
    refused("sweep = []", "there is no sweep");
    refused("sweep = [1]", ":1:10: a sweep must be a table");
    refused(&format!("{GOOD}{GOOD}"), ":6:1: the name `s` is used by two sweeps");
    refused(
        &GOOD.replace("0.5", &format!("\"{}\"", "x".repeat(300))),
        ":1:1: the cells of `s` have names of up to 312 octets",
    );
    refused(&format!("# {}\n", "x".repeat(1 << 20)), "octets; the limit is 1048576");
}

#[test]
fn the_bound_is_for_all_sweeps_together() {
    let sweep = |name: &str| {
        format!(
            "[[sweep]]\nname = \"{name}\"\nrun = [\"{{seed}}\"]\nseeds = {{ first = 1, last = 5_000_000 }}\n"
        )
    };
    let two = sweep("a") + &sweep("b");
    assert_eq!(Setting::new(&two).ask(&["--count"]).ended(0).out, "10000000\n");
    refused(
        &(two + &sweep("c").replace("5_000_000", "1")),
        ":9:1: with `c` the campaign has more than",
    );
}

#[test]
fn a_file_that_is_not_there() {
    let setting = Setting::new(GOOD);
    std::fs::remove_file(setting.path("campaign.toml")).expect("it is there");
    let said = setting.ask(&["--count"]).ended(2);
    assert!(said.err.contains("campaign.toml: No such file"), "{}", said.err);
}
