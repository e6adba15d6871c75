//! `spec`: what its page shows is what happens, and a protocol is carried from a first text to a
//! program that is up to date.

use std::fs;
use std::path::Path;
use std::process::Command;

use stackwright_programs::scratch::Scratch;

const PAGE: &str = include_str!("../../../docs/your-protocol-in-thirty-lines.md");
const MODULE_PATH: &str = "examples/src/bin/lookup/network.rs";
const MODULE: &str = include_str!("../../../examples/src/bin/lookup/network.rs");
const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");

/// Runs a line of the shell in a folder, with the program on the path; gives all that it says.
fn shell(line: &str, folder: &Path) -> String {
    let bin = Path::new(PROGRAM).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", line]).current_dir(folder).env("PATH", path).output();
    let output = output.expect("bash is everywhere");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("text");
    // The page has no spaces at the end of a line, and no empty lines there.
    let lines: Vec<&str> = said.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The blocks of the page in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    let inside = |block: &'static str| block.split("```").next().expect("it ends");
    PAGE.split(begin.as_str()).skip(1).map(inside).collect()
}

#[test]
fn the_page_shows_what_happens() {
    let folder = Scratch::new();
    let [text] = blocks("protocol")[..] else { panic!("the page has one text") };
    fs::write(folder.join("lookup.protocol"), text).expect("a folder of ours");
    let mut commands = 0;
    for block in blocks("sh") {
        let mut lines = block.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").expect("a command, then what it says");
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.push(line);
            }
            assert_eq!(shell(command, folder.path()), shown.join("\n"), "$ {command}");
            commands += 1;
        }
    }
    assert!(commands >= 6);
    // The example is what the page makes.
    let module = fs::read_to_string(folder.join("network.rs")).expect("the page writes it");
    assert!(module == MODULE, "generate {MODULE_PATH} anew");
    let formatted = "stackwright spec fmt --check lookup.protocol && echo formatted";
    assert_eq!(shell(formatted, folder.path()), "formatted");
}

/// Whatever is selected, the transport of an example is that of the picture server's phase.
#[test]
fn the_transport_of_an_example_is_that_of_its_phase() {
    let path = |of: &str| format!("{}/../{of}", env!("CARGO_MANIFEST_DIR"));
    let (text, module) =
        (path("protocols/jis/src/jis.protocol"), path("examples/src/bin/tailored/transport.rs"));
    let generate = format!("stackwright spec gen --transport {text} -o {module}");
    if std::env::var_os("UPDATE").is_some() {
        assert_eq!(shell(&generate, Path::new("/")), "");
    }
    assert_eq!(shell(&format!("{generate} --check"), Path::new("/")), "", "UPDATE=1");
}

/// Where packets say their phase, all phases have one transport, and `explain` shows it once.
#[test]
fn phases_that_packets_tell_have_one_transport() {
    let text =
        format!("{}/../crates/spec/tests/sources/picture.protocol", env!("CARGO_MANIFEST_DIR"));
    let said = |line: &str| shell(&format!("stackwright {line} {text}"), Path::new("/"));
    let module = said("spec gen --transport");
    for line in [
        "    pub PhasedPolicies<M> {",
        "        Ordering: ordering::ByEpoch<M>,",
        "    } switching [switching::InPhases]",
        "        Some(PhaseRule { ordered: false, fenced: true, resends: None }),",
    ] {
        assert_eq!(module.matches(line).count(), 1, "{module}");
    }
    assert!(said("spec check").starts_with("Picture version 1, phased binding"));
    let explained = said("explain tailored --with");
    assert_eq!(explained.matches("ordering by epoch").count(), 1, "{explained}");
    assert!(explained.contains("; unordered; behind a fence"), "{explained}");
}

/// Where the two ends negotiate the rules of phases, `explain` tells what may change, and on whose
/// word.
#[test]
fn phases_whose_rules_are_negotiated_have_one_transport() {
    let text =
        format!("{}/../crates/spec/tests/sources/survey.protocol", env!("CARGO_MANIFEST_DIR"));
    let said = |line: &str| shell(&format!("stackwright {line} {text}"), Path::new("/"));
    let module = said("spec gen --transport");
    for line in [
        "    pub AdaptivePolicies<M> {",
        "        Congestion: congestion::Fitted,",
        "    } switching [switching::Negotiated]",
        "        Some(PhaseRule { ordered: true, fenced: true, resends: None }),",
    ] {
        assert_eq!(module.matches(line).count(), 1, "{module}");
    }
    let role = said("spec gen --contract");
    assert!(
        role.contains("PhaseRule { ordered: true, fenced: false, resends: Some(3) }"),
        "{role}"
    );
    assert!(said("spec check").starts_with("Survey version 1, adaptive binding"));
    let explained = said("explain tailored --with");
    for words in ["switching by negotiation", "the sender requires", "congestion fitted"] {
        assert_eq!(explained.matches(words).count(), 1, "{words}: {explained}");
    }
    let told = said("explain --json tailored --with");
    let last = told.lines().last().unwrap_or_default();
    let changes: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(changes["changes"][0]["what"], "rule", "{told}");
}

#[test]
fn what_was_generated_is_checked_against_its_text() {
    let folder = Scratch::new();
    let said = shell("stackwright spec new Talk --from ping-pong", folder.path());
    assert_eq!(said, "talk.protocol is written; next: stackwright spec check talk.protocol");
    let again = shell("stackwright spec new Talk || echo $?", folder.path());
    assert!(again.contains("talk.protocol") && again.starts_with('1'), "{again}");
    let check = "stackwright spec gen talk.protocol -o talk.rs --check && echo fresh";
    let generated =
        shell(&format!("stackwright spec gen talk.protocol -o talk.rs; {check}"), folder.path());
    assert_eq!(generated, "fresh");
    let hash = || shell("stackwright spec hash talk.protocol", folder.path());
    let before = hash();
    assert_eq!(before.len(), 16);
    // A name is not part of what the wire sees; the width of a field is.
    shell("sed -i 's/Report/Tell/; s/trigger/cause/g' talk.protocol", folder.path());
    assert_eq!(hash(), before);
    let stale = shell(check, folder.path());
    assert!(stale.contains("talk.rs is not what would be written"), "{stale}");
    shell("sed -i 's/Request { number: u16/Request { number: u32/' talk.protocol", folder.path());
    assert_ne!(hash(), before);
    let vectors = shell("stackwright spec vectors talk.protocol --role Peer", folder.path());
    assert!(vectors.lines().count() == 3, "{vectors}");
    for line in vectors.lines() {
        let run: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(run["role"], "Peer");
    }
}

#[test]
fn a_role_is_run_by_hand_and_holds_what_it_does_not_await() {
    let folder = Scratch::new();
    shell("stackwright spec new Talk --from ping-pong", folder.path());
    let run = |lines: &str| {
        let command = format!("printf '{lines}' | stackwright spec run talk.protocol");
        shell(&command, folder.path())
    };
    // A response that comes before it is awaited is held.
    let said = run("Response 7\\nTrigger 7\\nRequest 3\\n");
    assert_eq!(
        said,
        "  S1\n    held\n    send Request(number = 7)\n  S2\n    Response, which was held:\n    \
         emit Report(number = 7)\n  S1\n    send Response(number = 3)\n  S1"
    );
    let refused = run("Trigger 70000\\n");
    assert!(refused.contains("a value is not of the type that was declared"), "{refused}");
    // A mistake is said, and the next line is read.
    let said = run("Trigegr 7\\nTrigger 7\\n");
    assert!(said.contains("Trigegr 7: the role has no ADU"), "{said}");
    assert!(said.contains("send Request(number = 7)"), "{said}");
    let code = shell("echo Trigegr | stackwright spec run talk.protocol; echo $?", folder.path());
    assert!(code.contains("\n2"), "{code}");
}

/// A transcript is followed to its end, or to the first line that is no transition.
#[test]
fn a_role_follows_a_transcript() {
    let tests = format!("{}/../crates/spec/tests", env!("CARGO_MANIFEST_DIR"));
    let monitor = |options: &str| {
        let text = format!("{tests}/sources/ftp.protocol --role Client {options}");
        let line =
            format!("stackwright spec monitor {text} < {tests}/transcripts/vsftpd.txt; echo $?");
        shell(&line, Path::new("/"))
    };
    let said = monitor("--ahead 2");
    assert!(said.contains("each a transition of Client") && said.ends_with("\n0"), "{said}");
    let said = monitor("");
    assert!(said.contains("`> Command FEAT`: the role does not send Command here"), "{said}");
    assert!(said.contains("\n1") || said.starts_with("1\n"), "{said}");
}

/// What comes first is taken, of one ADU the case above; its block may wait, and leave all of them.
#[test]
fn a_role_awaits_one_of_several() {
    let folder = Scratch::new();
    let text = "protocol P version 1 { adu A { n: u8; } adu B { n: u8; } role R {
        receives A; sends B; input Stop, Go(n: u8); output Over; var x: u8;
        trap over { loop { await
            case A(a) where a.n == x { send B { n: a.n }; await Go(go); x := go.n; }
            case A(a) { send B { n: a.n + 100 }; }
            case Stop { exit over; }
        } }
        emit Over; } }";
    fs::write(folder.join("p.protocol"), text).expect("a folder of ours");
    let lines = "A 1\\nA 0\\nStop\\nGo 1\\nA 1\\n";
    let said = shell(&format!("printf '{lines}' | stackwright spec run p.protocol"), folder.path());
    let did = said.lines().map(str::trim).filter(|line| line.len() > 2).collect::<Vec<_>>();
    let expected =
        ["send B(n = 101)", "send B(n = 0)", "held", "Stop, which was held:", "emit Over"];
    assert_eq!(did[..5], expected, "{said}");
}

#[test]
fn what_one_command_refuses_all_refuse_and_a_limit_is_no_verdict() {
    let folder = Scratch::new();
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("a folder of ours");
    };
    let role = "role R { receives A; await A; }";
    write(
        "p.protocol",
        &format!(
            "protocol P version 1 {{ adu A {{ n: u16; }} phase p {{ flow_control(0); }} {role} }}"
        ),
    );
    for command in ["check", "gen", "gen --transport", "draw", "hash", "vectors", "run"] {
        let said = shell(
            &format!("stackwright spec {command} p.protocol </dev/null 2>&1; echo $?"),
            folder.path(),
        );
        assert!(said.contains("window of 1 to 65536") && said.contains("p.protocol:1:"), "{said}");
        assert!(said.ends_with("\n1"), "{command}: {said}");
    }
    let endless = "protocol Endless version 1 {
        adu Ping { a: u16; b: u16; c: u16; }
        role One {
            sends Ping; host pure f() -> u16;
            send Ping { a: f(), b: f(), c: f() };
        }
        role Two { receives Ping; output Done; await Ping; await Ping; emit Done; }
        model { f = 0..63; }
        property done: never Two.emit Done;
    }";
    write("endless.protocol", endless);
    let said = shell("stackwright spec check endless.protocol 2>&1; echo $?", folder.path());
    assert!(said.contains("done: not decided") && said.ends_with("\n8"), "{said}");
    // Layouts are compared whether there are properties or not.
    let layout = |width: &str| format!("protocol P version 1 {{ adu A {{ n: {width}; }} {role} }}");
    write("old.protocol", &layout("u32"));
    write("new.protocol", &layout("u64"));
    let with = |old: &str| {
        let command = format!("stackwright spec check new.protocol --with {old} 2>&1; echo $?");
        shell(&command, folder.path())
    };
    let said = with("old.protocol");
    assert!(
        said.contains("layout: broken, `A.n` is u64, and was u32") && said.ends_with("\n1"),
        "{said}"
    );
    let said = with("new.protocol");
    assert!(said.contains("layout: holds") && said.ends_with("\n0"), "{said}");
}

#[test]
fn the_policies_that_meet_services_are_told_with_reasons_or_what_to_write_instead() {
    let folder = Scratch::new();
    let say = |services: &str| {
        shell(&format!("stackwright explain tailored --with '{services}'"), folder.path())
    };
    let met = say("reliable, ordered, flow_control(256), checksum(internet, full)");
    for line in ["recovery by RACK-TLP", "total ordering", "flow by credit", "connection implicit"]
    {
        assert!(met.contains(line), "{met}");
    }
    let refused = say("reliable; open(agreed)");
    assert!(refused.contains("write `open(implicit)`"), "{refused}");
    assert!(say("ordered").contains("add `reliable;`"));
    let jis = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/spec/tests/sources/jis.protocol");
    let image = say(jis);
    assert!(image.contains("recovery by selective repeat"), "{image}");
    let other = shell("stackwright explain artp --with reliable", folder.path());
    assert!(other.contains("`tailored` alone"), "{other}");
}
