//! ARTP explained, and described in files.

use std::fs;

use stackwright_programs::scratch::Scratch;

use crate::over_udp::{complaints, json, path, say};

#[test]
fn what_was_chosen_for_its_slots_is_told() {
    let explained = say(&["explain", "artp"]).succeeded().text();
    for expected in [
        "artp: reliable datagrams of any size, in no order. It provides Datagrams and uses Datagrams.\n",
        "It guarantees reliable delivery, delivery at most once.\n",
        "Its default UDP port is 4330.\n",
        "  recovery         recovery by RACK-TLP: sends a packet again when later ones have arrived, and probes the tail\n",
        "    needs reports without a question\n",
        "  ordering         ordering absent: delivers everything as it arrives\n",
    ] {
        assert!(explained.contains(expected), "{expected:?} is not in {explained}");
    }
    let told = json(&say(&["explain", "artp", "--json"]).succeeded().text());
    let slots = told["slots"].as_array().expect("a list");
    assert_eq!((slots.len(), &told["port"]), (13, &4330.into()));
    let congestion = slots.iter().find(|slot| slot["slot"] == "congestion").expect("it is a slot");
    assert_eq!(congestion["policy"], "congestion by a window of choice");
    assert_eq!(congestion["needs"][0], "reports from the receiver");
    let explained = say(&["explain", "ordered"]).succeeded().text();
    assert!(
        explained.contains("It guarantees delivery in order.") && !explained.contains("slot"),
        "{explained}"
    );
}

#[test]
fn the_built_in_stacks_fit() {
    let explained = say(&["explain", "get-artp"]).succeeded().text();
    assert!(explained.contains("`ordered` fits on `artp`"), "{explained}");
    let drawn = say(&["draw", "serve-artp"]).succeeded().text();
    assert!(drawn.contains("│ ordered │") && drawn.contains("│ artp │"), "{drawn}");
}

#[test]
fn a_flaw_is_shown_where_it_is() {
    let files = Scratch::new();
    let flawed = files.join("flawed.toml");
    for (line, says) in [
        ("packet = 190", ":6:10: `packet` of `artp` is from 191 to 65507, and 190 stands there"),
        ("silence = 0", ":6:11: `silence` of `artp` is from 1 to 86400"),
        ("ranges = 1", ":6:10: "),
        ("windows = 3", ":6:1: `artp` has no parameter `windows`"),
    ] {
        let text = format!(
            "top = \"ordered\"\n[ordered]\nover = \"artp\"\n[artp]\nover = \"udp\"\n{line}\n[udp]\n"
        );
        fs::write(&flawed, text).expect("a folder of ours");
        let complaints = complaints(&say(&["explain", path(&flawed)]).exited(1));
        assert!(complaints.contains(says), "{complaints}");
    }
    // FTP needs an order that ARTP alone does not promise.
    let text = "top = \"f\"\n[f]\nprotocol = \"ordered\"\nover = \"udp\"\n[udp]\n";
    fs::write(&flawed, text).expect("a folder of ours");
    let complaints = complaints(&say(&["explain", path(&flawed)]).exited(1));
    assert!(complaints.contains("needs reliable delivery"), "{complaints}");
}
