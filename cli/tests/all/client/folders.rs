//! Folders and patterns, in both directions; names on the server.

use std::fs;

use stackwright_programs::scratch::Scratch;

use crate::client::{Server, complaints, events, path, read, say, write};

fn tree(folder: &Scratch, below: &str) {
    for name in ["a.txt", "b.md", "deep/c.txt", "deep/deeper/d e"] {
        write(folder, &format!("{below}/{name}"), name);
    }
}

#[test]
fn a_folder_is_fetched_once_and_what_is_the_same_is_not_fetched_again() {
    let (server, here) = (Server::start(), Scratch::new());
    tree(&server.folder, "docs");
    let fetch = |url: &str, to: &str| say(&["get", &server.url(url), path(&here.join(to))]);
    let told = fetch("docs", "").succeeded();
    assert!(told.text().contains("4 files copied"), "{}", told.text());
    assert_eq!(read(&here, "docs/deep/deeper/d e").as_deref(), Some("deep/deeper/d e"));
    let told = fetch("docs/", "").succeeded();
    assert!(told.text().contains("nothing copied, 4 the same already"), "{}", told.text());
    // Under a name that is new, or below one that is there.
    fetch("docs/", "new").succeeded();
    assert_eq!(read(&here, "new/a.txt").as_deref(), Some("a.txt"));
    fetch("docs", "new").succeeded();
    assert_eq!(read(&here, "new/docs/a.txt").as_deref(), Some("a.txt"));
}

#[test]
fn a_pattern_fetches_what_matches_and_says_if_nothing_does() {
    let (server, here) = (Server::start(), Scratch::new());
    tree(&server.folder, "docs");
    write(&server.folder, "docs/[1].txt", "one");
    let fetch = |pattern: &str| say(&["get", &server.url(pattern), path(here.path())]);
    fetch("docs/[a-b].txt").succeeded();
    assert_eq!(here.names(), ["a.txt"]);
    fetch("docs/%5B1%5D.txt").succeeded();
    assert_eq!(here.names(), ["[1].txt", "a.txt"]);
    let told = fetch("docs/*.zip").exited(1);
    assert!(complaints(&told).contains("/docs/*.zip: nothing matches"), "{}", complaints(&told));
}

#[test]
fn folders_and_patterns_are_stored() {
    let (server, here) = (Server::start(), Scratch::new());
    tree(&here, "docs");
    std::os::unix::fs::symlink("/etc", here.join("docs/link")).expect("a folder of ours");
    let told = say(&["put", path(&here.join("docs")), &server.url("")]).succeeded();
    assert!(complaints(&told).contains("docs/link: skipped"), "{}", complaints(&told));
    assert_eq!(read(&server.folder, "docs/deep/c.txt").as_deref(), Some("deep/c.txt"));
    say(&["put", path(&here.join("docs/*.md")), &server.url("")]).succeeded();
    assert_eq!(server.folder.names(), ["b.md", "docs"]);
}

#[test]
fn a_mirror_adds_replaces_and_removes_in_both_directions() {
    let (server, here) = (Server::start(), Scratch::new());
    tree(&server.folder, "docs");
    let near = here.join("near");
    let url = server.url("docs");
    let fetch = ["mirror", &url, path(&near), "--delete"];
    say(&[&fetch[..], &["--dry-run"]].concat()).succeeded();
    assert!(!near.exists(), "a dry run changes nothing");
    say(&fetch).succeeded();
    assert_eq!(read(&here, "near/deep/c.txt").as_deref(), Some("deep/c.txt"));

    write(&here, "near/a.txt", "changed here");
    write(&here, "near/extra", "x");
    fs::remove_file(here.join("near/b.md")).expect("it was fetched");
    let store = ["mirror", path(&near), &url, "--delete", "--json"];
    let told = say(&[&store[..], &["--dry-run"]].concat()).succeeded();
    let summary = |events: &[serde_json::Value]| {
        let last = events.last().expect("a summary").clone();
        ["copied", "same", "removed", "failed"].map(|key| last[key].as_u64().expect(key))
    };
    assert_eq!(summary(&events(&told)), [2, 2, 1, 0], "{}", told.text());
    assert_eq!(read(&server.folder, "docs/a.txt").as_deref(), Some("a.txt"));
    assert_eq!(summary(&events(&say(&store).succeeded())), [2, 2, 1, 0]);
    assert_eq!(summary(&events(&say(&store).succeeded())), [0, 4, 0, 0]);
    assert_eq!(read(&server.folder, "docs/a.txt").as_deref(), Some("changed here"));
    assert_eq!(read(&server.folder, "docs/b.md"), None);

    let excluded = here.join("excluded");
    say(&["mirror", &url, path(&excluded), "--exclude", "deep", "--exclude", "*.txt"]).succeeded();
    assert!(excluded.join("extra").exists() && !excluded.join("deep").exists());
    say(&["mirror", &url, &server.url("other")]).exited(2);
    say(&["mirror", path(&near), path(&excluded)]).exited(2);
    say(&["mirror", path(&here.join("none")), &url]).exited(1);
}

#[test]
fn names_are_made_changed_and_removed() {
    let server = Server::start();
    let command = |arguments: &[&str], path: &str| say(&[arguments, &[&server.url(path)]].concat());
    command(&["mkdir"], "a/b").exited(1);
    command(&["mkdir", "--parents"], "a/b").succeeded();
    command(&["mkdir", "-p"], "a/b").succeeded();
    let told = command(&["mkdir"], "a").exited(1);
    assert!(complaints(&told).contains("of that name already"), "{}", complaints(&told));
    write(&server.folder, "a/b/file", "text");
    let told = command(&["rm"], "a/b").exited(1);
    assert!(complaints(&told).contains("rm --recursive"), "{}", complaints(&told));
    say(&["mv", &server.url("a/b/file"), "other name"]).succeeded();
    say(&["mv", &server.url("a/b/other%20name"), "/a/"]).succeeded();
    say(&["mv", &server.url("a/other%20name"), &server.url("c")]).succeeded();
    assert_eq!(read(&server.folder, "c").as_deref(), Some("text"));
    say(&["mv", &server.url("c"), "ftp://127.0.0.1:1/c"]).exited(2);
    let told =
        say(&["rm", "--json", "-r", &server.url("a"), &server.url("none"), &server.url("c")]);
    let told = events(&told.exited(1));
    let kinds: Vec<_> = told.iter().map(|event| event["event"].as_str().expect("a kind")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "failed").count(), 1, "{told:?}");
    assert_eq!(server.folder.names(), [""; 0]);
    command(&["rm", "-r"], "").exited(2);
}

#[test]
fn a_list_shows_a_folder_and_a_file() {
    let server = Server::start();
    write(&server.folder, "docs/a.txt", "text");
    let told = say(&["ls", &server.url("docs/a.txt")]).succeeded();
    assert_eq!(told.text(), "         4 B  a.txt\n");
    let told = say(&["ls", "-l", &server.url("")]).succeeded();
    assert!(
        told.text().starts_with("drwx") && told.text().ends_with("  docs/\n"),
        "{}",
        told.text()
    );
    let told = say(&["ls", "-l", "--human", &server.url("docs")]).succeeded();
    let text = told.text();
    assert!(text.starts_with("-rw") && text.contains("  4 B  20") && text.ends_with("  a.txt\n"));
    let event = &events(&say(&["ls", "--json", &server.url("docs")]).succeeded())[0];
    assert_eq!((event["octets"].as_u64(), event["kind"].as_str()), (Some(4), Some("file")));
    assert!(event["mode"].as_str().is_some_and(|mode| mode.len() == 3), "{event}");
    say(&["ls", &server.url("none")]).exited(1);
}

#[test]
fn patterns_are_listed_and_removed() {
    let server = Server::start();
    tree(&server.folder, "docs");
    write(&server.folder, "docs/*", "star");
    let told = say(&["ls", &server.url("docs/*.[mt]*")]).succeeded();
    assert_eq!(told.text(), "         5 B  a.txt\n         4 B  b.md\n");
    say(&["ls", &server.url("docs/*.zip")]).exited(1);
    say(&["rm", &server.url("docs/%2A")]).succeeded();
    say(&["rm", &server.url("docs/*.txt"), &server.url("docs/b.md")]).succeeded();
    assert_eq!(fs::read_dir(server.folder.join("docs")).expect("it is there").count(), 1);
    let told = say(&["rm", "-r", &server.url("docs/*.txt")]).exited(1);
    assert!(complaints(&told).contains("docs/*.txt: nothing matches"), "{}", complaints(&told));
    say(&["rm", "-r", &server.url("d*")]).succeeded();
    assert_eq!(server.folder.names(), [""; 0]);
}
