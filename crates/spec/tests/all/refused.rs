//! What is refused, and in which words: a snapshot of each. `UPDATE=1` writes them anew.

use std::path::PathBuf;

use stackwright_spec::{DiagnosticCode, RustForm, Severity, compile, rust};

/// A role's declarations and body, in a protocol with some ADUs.
fn role(inside: &str) -> String {
    format!(
        "protocol P version 1 {{\n    enum Kind: u8 {{ One = 1, Two = 2 }}\n    adu Ask {{ number: u16; \
         kind: Kind; body: bytes <= 100; }}\n    role R {{\n        {inside}\n    }}\n}}\n"
    )
}

/// Declarations of a protocol with a role that does nothing.
fn items(inside: &str) -> String {
    format!("protocol P version 1 {{\n    {inside}\n    role R {{ halt; }}\n}}\n")
}

fn cases() -> Vec<(&'static str, String)> {
    let deep = format!("{}halt;{}", "{ ".repeat(40), " }".repeat(40));
    let chain = format!("var x: u64;\n        x := 1{};", " + 1".repeat(300));
    let in_parentheses = {
        let left = "x + ".repeat(250);
        format!("var x: u64;\n        x := {left}({left}({left}x));")
    };
    let locals: String = (0..3000).map(|nth| format!("local l{nth}; ")).collect();
    let questions = format!("host pure q() -> bool; {}halt;", "if q() { } ".repeat(3000));
    let wide = |branches: usize| {
        let names: Vec<String> = (0..branches).map(|nth| format!("I{nth}")).collect();
        let waits: Vec<String> = names.iter().map(|name| format!("{{ await {name}; }}")).collect();
        role(&format!("input {};\n        {}", names.join(", "), waits.join(" || ")))
    };
    let many_cases = format!("await {}", "case 1 s { } ".repeat(17));
    let too_many =
        format!("sends Ask; send Ask {{ number: 1, kind: One, body: \"{}\" }};", "x".repeat(101));
    let roles = [
        ("character", "emit @;"),
        ("one-bar", "{ halt; } | { halt; }"),
        ("string", "output O; emit \"O\";"),
        ("octets-without-end", "output O(text: bytes); emit O(\"no end);"),
        ("octets-escaped", "output O(text: bytes); emit O(\"\\q\");"),
        ("octets-of-another-number", "host f(four: octets<4>); call f(\"three\");"),
        ("octets-too-many", too_many.as_str()),
        ("octets-compared", "if \"a\" == \"b\" { halt; }"),
        ("no-semicolon", "output O;\n        emit O\n        halt;"),
        ("misspelt-statement", "input I; awiat I;"),
        ("keyword-as-name", "output loop; emit loop;"),
        ("number-too-large", "var x: u64 = 99999999999999999999; x := 1;"),
        ("too-deep", deep.as_str()),
        ("too-long-a-chain", chain.as_str()),
        ("too-many-operators", in_parentheses.as_str()),
        ("too-many-locals", locals.as_str()),
        ("too-many-questions", questions.as_str()),
        ("no-time", "output O; loop { await 0 s; emit O; }"),
        ("idle-no-time", "abort on idle 0 ms { halt; }"),
        ("one-name-in-rust", "host fooBar(); host foo_bar(); call fooBar(); call foo_bar();"),
        ("answers-an-adu", "host pure f() -> Ask; host g(a: Ask); call g(f());"),
        (
            "weak-abort-asks-what-its-block-writes",
            "input I; var x: u8;\n        weak abort on I where x == 1 { await I; x := 1; }",
        ),
        ("no-unit", "await 200;"),
        ("duplicate-signal", "input I; output I; await I; emit I;"),
        ("unknown-signal", "input Trigger; await Triger;"),
        (
            "case-of-another",
            "input I(n: u8), J; output O(n: u8);\n        await case I(i) { await J; emit O(i.n); } case J { emit O(i.n); }",
        ),
        ("too-many-cases", many_cases.as_str()),
        ("unknown-variable", "count := 1;"),
        ("unknown-value", "output O(n: u16); emit O(nummber);"),
        ("unknown-function", "host set(n: u16); call sett(1);"),
        ("unknown-field", "receives Ask; output O(n: u16); await Ask(a); emit O(a.numbers);"),
        ("unknown-constant", "receives Ask; await Ask(a) where a.kind == Tow;"),
        ("unknown-adu", "receives Aks; halt;"),
        ("emits-input", "input I; emit I;"),
        ("emits-adu", "receives Ask; emit Ask; await Ask;"),
        ("not-received", "await Ask;"),
        ("not-sent", "send Ask { number: 1 };"),
        ("binds-nothing", "input I; await I(x);"),
        ("sends-too-little", "sends Ask; send Ask { number: 1 };"),
        (
            "sends-twice",
            "sends Ask; host pure b() -> bytes; send Ask { number: 1, number: 2, kind: One, body: b() };",
        ),
        (
            "sends-wrong-type",
            "sends Ask; host pure b() -> bytes; send Ask { number: true, kind: One, body: b() };",
        ),
        (
            "sends-large",
            "sends Ask; host pure b() -> bytes; send Ask { number: 70000, kind: One, body: b() };",
        ),
        ("types-differ", "receives Ask; await Ask(a) where a.kind == 1;"),
        ("no-condition", "var x: u8; if x { x := 1; }"),
        ("compares-octets", "receives Ask; await Ask(a) where a.body == a.body;"),
        ("compares-thrice", "var x: u8; if 1 < x < 3 { x := 1; }"),
        ("too-few-arguments", "host set(a: u8, b: u8); call set(1);"),
        ("no-value-given", "output O(n: u16); emit O;"),
        (
            "gone",
            "receives Ask; input I; output O(n: u16);\n        await Ask(a);\n        await I;\n        emit O(a.number);",
        ),
        (
            "gone-in-a-loop",
            "receives Ask; input I; output O(n: u16);\n        await Ask(a);\n        loop { emit O(a.number); await I; }",
        ),
        ("impure", "host next() -> bool; if next() { halt; }"),
        ("pure-without-answer", "host pure next(); call next();"),
        ("answers-nothing", "host next(); var x: u8; x := call next();"),
        ("every-waits", "input I, J; output O;\n        every I { emit O; await J; }"),
        ("instantaneous-loop", "input I; output O; loop { present I { await I; } emit O; }"),
        ("no-trap", "trap over { exit ower; }"),
        (
            "shared-variable",
            "input I; output O(n: u8); var x: u8;\n        { await I; x := 1; }\n     || { await I; emit O(x); }",
        ),
        ("initial-out-of-range", "var x: u8 in 0..5 = 6; x := 1;"),
        ("assigned-out-of-range", "var x: u8 in 0..5; x := 6;"),
        ("bytes-variable", "receives Ask; var x: bytes; await Ask(a); x := a.body;"),
        ("paradox", "output O; present O { } else { emit O; }"),
        ("self-justified", "output O; present O { emit O; }"),
        (
            "cycle-of-two",
            "output O, P;\n        { present O { emit P; } }\n     || { present P { emit O; } }",
        ),
        (
            "cycle-of-values",
            "local a: u8; local b: u8;\n        { every a(v) { emit b(v); } }\n     || { every b(w) { emit a(w); } }",
        ),
        (
            "emitted-twice-beside-a-signal",
            "local a: u8; local b;\n        { emit a(1); emit b; } || { emit a(2); emit b; } || { await a; await b; }",
        ),
        ("emitted-twice", "output O(n: u8);\n        { emit O(1); } || { emit O(2); }"),
        ("unreachable", "input I; output O; loop { await I; } emit O;"),
        ("unheard", "receives Ask; halt;"),
        ("unused", "input I; output O; host f(); var x: u8; sends Ask; halt;"),
    ];
    let protocols = [
        ("duplicate-adu", "adu A { x: u8; } adu A { y: u8; }"),
        ("same-code", "adu A = 1 { x: u8; } adu B { y: u8; }"),
        ("code-too-large", "adu A = 256 { x: u8; }"),
        ("bytes-not-last", "adu A { rest: bytes <= 9; x: u8; }"),
        ("unbounded-bytes", "adu A { rest: bytes; }"),
        ("no-whole-octets", "adu A { flag: bool; x: u8; }"),
        ("too-many-bits", "adu A { x: bits<65>; }"),
        ("enum-too-large", "enum E: bits<2> { A = 4 }"),
        ("enum-twice", "enum E: u8 { A = 1, B = 1 }"),
        ("unknown-type", "enum Kind: u8 { A = 1 } adu B { kind: Knid; }"),
        ("unknown-service", "phase p { relaible; }"),
        ("contradiction", "phase p { reliable; ordered; unordered; }"),
        ("missing-service", "phase p { ordered; }"),
        ("no-policy", "phase p { multicast; }"),
        ("service-argument", "phase p { congestion(vegas); }"),
        ("service-arguments", "phase p { flow_control; }"),
        ("service-argument-sign", "phase p { flow_control(5!); }"),
        ("binding", "phase a { reliable; ordered; } phase b { unordered; }"),
        ("fence", "phase a { reliable; } phase b { reliable; } fence a -> b;"),
        ("fence-to-itself", "phase a { reliable; } fence a -> a; binding phased;"),
        ("fence-to-nothing", "phase a { reliable; } fence a -> c; binding phased;"),
        ("phased", "phase a { reliable; ordered; } phase b { unordered; } binding phased;"),
        (
            "phased-check",
            "phase a { reliable; checksum(crc32c); } phase b { reliable; } binding phased;",
        ),
        ("phased-rising", "phase a { reliable; rising; } binding phased;"),
        (
            "phased-often",
            "phase a { reliable; } phase b { reliable; } phase c { reliable; } \
            phase d { reliable; } phase e { reliable; } binding phased;",
        ),
        (
            "adaptive-check",
            "phase a { reliable; checksum(crc32c); } phase b { reliable; } binding adaptive;",
        ),
        (
            "adaptive-framing",
            "phase a { reliable; alf(500); } phase b { reliable; alf(1500); } binding adaptive;",
        ),
        ("adaptive", "phase a { reliable; } phase b { rising; } binding adaptive;"),
        ("enum-and-adu-in-rust", "enum FooBar: u8 { A = 1 } adu foo_bar { x: u8; }"),
        ("values-one-in-rust", "enum E: u8 { some_value = 1, SomeValue = 2 }"),
        ("misspelt-item", "rule R { }"),
    ];
    let mut all: Vec<(&str, String)> = Vec::new();
    all.extend(roles.iter().map(|(name, inside)| (*name, role(inside))));
    all.extend(protocols.iter().map(|(name, inside)| (*name, items(inside))));
    all.push(("too-many-states", wide(13)));
    all.push(("too-many-inputs", wide(129)));
    all.push(("too-long", "//".repeat(200_000)));
    all.push(("no-role", "protocol P version 1 { }\n".into()));
    all.push(("not-closed", "protocol P version 1 {\n    role R {\n        halt;\n    }\n".into()));
    let alf = "phase image { unordered; alf(500); }\n    adu A { rest: bytes <= 1000; }\n    role R { sends A; \
               host pure b() -> bytes; send A { rest: b() }; }";
    all.push(("too-long-for-alf", format!("protocol P version 1 {{\n    {alf}\n}}\n")));
    let hold = "phase image { reliable; flow_control(64); }\n    role R { hold 8; halt; }";
    all.push(("hold", format!("protocol P version 1 {{\n    {hold}\n}}\n")));
    let lines = "adu Line by host { text: bytes; }\n    role R { receives Line; await Line; }";
    all.push(("by-host-on-the-contract", format!("protocol P version 1 {{\n    {lines}\n}}\n")));
    all.push((
        "together-on-the-contract",
        role("together A, B; output O;\n        { await A; } || { await B; } emit O;"),
    ));
    let promised = |lines: &str| {
        let roles =
            "role A { output O; host f(); emit O; call f(); }\n    role B { output O; emit O; }";
        format!("protocol P version 1 {{\n    {roles}\n    {lines}\n}}\n")
    };
    for (name, lines) in [
        ("property-of-several", "property p: never emit O;"),
        ("property-of-none", "property p: never A.call g;"),
        ("property-of-no-role", "property p: always x < 3 in C;"),
        ("model-of-nothing", "model { g = 0..3; }"),
        ("model-range", "model { f = 3..0; }"),
        ("no-way", "model { way reverses; }"),
    ] {
        all.push((name, promised(lines)));
    }
    all.push((
        "several",
        role("output O;\n        emit P;\n        emit O(1);\n        await Q;\n        exit t;"),
    ));
    all
}

/// Returns what is told of a text, and the codes.
fn told(text: &str) -> (String, Vec<DiagnosticCode>) {
    let told = match compile(text) {
        Err(told) => {
            assert!(told.iter().any(|one| one.severity == Severity::Error));
            told
        }
        // What is right may still have no place on the contract.
        Ok(compiled) if compiled.warnings.is_empty() => {
            rust(&compiled.program, &compiled.automata, RustForm::Contract)
                .map_or_else(|flaw| vec![*flaw], |_| Vec::new())
        }
        Ok(compiled) => compiled.warnings,
    };
    // Of a long text, the beginning: it is a snapshot.
    let shown = if text.len() > 10_000 { "" } else { text };
    let rendered = told.iter().map(|one| one.render("p.protocol", shown, false) + "\n").collect();
    (rendered, told.iter().map(|one| one.code).collect())
}

#[test]
fn each_refusal_is_told_as_its_snapshot_says() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "all", "refused"].iter().collect();
    let update = std::env::var_os("UPDATE").is_some();
    let (mut codes, mut differ) = (Vec::new(), Vec::new());
    let cases = cases();
    assert!(cases.len() >= 40);
    for (name, text) in &cases {
        let (rendered, found) = told(text);
        assert!(!found.is_empty(), "{name} is accepted:\n{text}");
        codes.extend(found);
        let path = folder.join(format!("{name}.txt"));
        if update {
            std::fs::write(&path, &rendered).expect("it is written");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != rendered {
            differ.push(format!("{name}:\n{rendered}"));
        }
    }
    assert!(differ.is_empty(), "UPDATE=1 writes them anew:\n{}", differ.join("\n"));
    let missing: Vec<&str> = DiagnosticCode::ALL
        .iter()
        .filter(|code| !codes.contains(code))
        .map(|code| code.name())
        .collect();
    assert!(missing.is_empty(), "no snapshot shows {missing:?}");
    let files = std::fs::read_dir(&folder).expect("the folder").count();
    assert_eq!(files, cases.len(), "a snapshot without a case");
}

#[test]
fn codes_are_distinct() {
    for (nth, code) in DiagnosticCode::ALL.iter().enumerate() {
        assert!(!code.rule().is_empty());
        assert!(DiagnosticCode::ALL[..nth].iter().all(|other| other.name() != code.name()));
    }
}
