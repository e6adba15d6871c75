//! The sources that have to compile, with the states that each has when drawn by hand.

use stackwright_spec::{Compiled, Diagnostic, RustForm, compile, format, hash, rust};

/// A name, its text, and the states of each role.
type Source = (&'static str, &'static str, &'static [(&'static str, usize)]);

const SOURCES: &[Source] = &[
    // Four, and the one before the first instant.
    ("abro", include_str!("../sources/abro.protocol"), &[("Abro", 5)]),
    ("ping-pong", include_str!("../sources/ping-pong.protocol"), &[("Peer", 3)]),
    (
        "stop-and-wait",
        include_str!("../sources/stop-and-wait.protocol"),
        &[("Sender", 3), ("Receiver", 2)],
    ),
    ("jis", include_str!("../sources/jis.protocol"), &[("Client", 7), ("Server", 4)]),
    ("arrangement", include_str!("../sources/arrangement.protocol"), &[("Client", 7)]),
    ("picture", include_str!("../sources/picture.protocol"), &[("Viewer", 3), ("Gallery", 5)]),
    ("greeting", include_str!("../sources/greeting.protocol"), &[("Caller", 3), ("Listener", 3)]),
    ("ftp", include_str!("../sources/ftp.protocol"), &[("Client", 15)]),
];

fn rendered(name: &str, text: &str, told: &[Diagnostic]) -> String {
    told.iter().map(|one| one.render(&format!("{name}.protocol"), text, false) + "\n\n").collect()
}

#[test]
fn each_source_has_the_states_that_one_would_draw() {
    for (name, text, states) in SOURCES {
        let compiled =
            compile(text).unwrap_or_else(|told| panic!("{}", rendered(name, text, &told)));
        assert!(compiled.warnings.is_empty(), "{}", rendered(name, text, &compiled.warnings));
        let found: Vec<(&str, usize)> = compiled
            .program
            .roles
            .iter()
            .zip(&compiled.automata)
            .map(|(role, automaton)| (role.name.as_str(), automaton.states()))
            .collect();
        assert_eq!(found, *states, "{name}");
    }
}

#[test]
fn a_hash_is_of_values_and_not_of_how_they_are_written() {
    let hash_of = |text: &str| {
        let compiled = compile(text).expect("it compiles");
        hash(&compiled.program, &compiled.automata)
    };
    let text = include_str!("../sources/jis.protocol");
    let before = hash_of(text);
    assert_eq!(hash_of(&text.replace("flow_control(256)", "flow_control( 0x100 )")), before);
    assert_eq!(hash_of(&text.replace("    ", " ").replace("covered", "is_whole")), before);
    assert_ne!(hash_of(&text.replace("flow_control(256)", "flow_control(128)")), before);
    assert_ne!(hash_of(&text.replace("why: 1", "why: 2")), before);
}

#[test]
fn what_a_branch_only_takes_is_heard_and_is_part_of_the_hash() {
    let compiled = |body: &str| {
        let text = format!(
            "protocol Ignore version 1 {{
                adu Beat {{ n: u16; }}
                adu Data {{ n: u16; }}
                role Receiver {{ receives Beat, Data; output Got(n: u16); {body} }}
            }}"
        );
        compile(&text).expect("it compiles")
    };
    let data = "{ every Data(d) { emit Got(d.n); } }";
    let hash_of = |of: &Compiled| hash(&of.program, &of.automata);
    let held = hash_of(&compiled(data));
    let mut hashes = Vec::new();
    for takes in ["every Beat { nothing; }", "loop { await Beat; }"] {
        for body in [format!("{{ {takes} }} || {data}"), format!("{data} || {{ {takes} }}")] {
            let of = compiled(&body);
            let heard = of.automata[0].heard_in(&of.program.roles[0], 1);
            assert_eq!(heard, ["Beat", "Data"], "{body}");
            hashes.push(hash_of(&of));
        }
    }
    assert!(hashes.iter().all(|one| *one == hashes[0] && *one != held), "{hashes:?}, {held}");
}

#[test]
fn each_source_is_formatted() {
    for (name, text, _) in SOURCES {
        let formatted = format(text).expect("it compiles");
        assert_eq!(formatted, *text, "{name}");
    }
}

/// A part says what it needs of the layer below.
#[test]
fn what_may_be_abandoned_need_not_arrive() {
    let needs = |services: &str| {
        let text = include_str!("../sources/ping-pong.protocol").replace("unordered;", services);
        let compiled = compile(&text).expect("it compiles");
        let module = rust(&compiled.program, &compiled.automata, RustForm::Contract);
        let module = module.expect("it is short");
        let line =
            module.lines().find_map(|line| line.trim().strip_prefix("const NEEDS: Guarantees = "));
        line.expect("a part has needs").to_owned()
    };
    let reliable = "Guarantees::RELIABLE.and(Guarantees::ONCE).and(Guarantees::ORDERED);";
    assert_eq!(needs("reliable; ordered;"), reliable);
    let bounded = "Guarantees::ONCE.and(Guarantees::ORDERED);";
    assert_eq!(needs("reliable; ordered; resends(3);"), bounded);
}

/// One case is an `await`, and of two for the same ADU, the order counts.
#[test]
fn a_case_is_an_await_with_a_block() {
    let hash_of = |body: &str| {
        let text = format!(
            "protocol P version 1 {{ adu A {{ n: u8; }} adu B {{ n: u8; }} role R {{ receives A; \
             sends B; var x: u8; loop {{ {body} }} }} }}"
        );
        let compiled =
            compile(&text).unwrap_or_else(|told| panic!("{}", rendered("p", &text, &told)));
        hash(&compiled.program, &compiled.automata)
    };
    let one = hash_of("await case A(a) where a.n == x { send B { n: a.n }; }");
    assert_eq!(one, hash_of("await A(a) where a.n == x; send B { n: a.n };"));
    let (equal, any) =
        ("case A(a) where a.n == x { send B { n: a.n }; }", "case A(a) { x := a.n; }");
    assert_ne!(hash_of(&format!("await {equal} {any}")), hash_of(&format!("await {any} {equal}")));
}
