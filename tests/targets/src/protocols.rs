//! Texts of protocols.

use stackwright_spec::{Compiled, RustForm, compile, dot, format, hash, list, rust, vectors};

/// Any text as a protocol: it compiles, or each thing that is wrong has a place in the text. What
/// compiles can be written in every form; what can be formatted is formatted then.
pub fn protocols(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    match compile(&text) {
        Ok(compiled) => used(&compiled, &text),
        Err(told) => {
            assert!(!told.is_empty());
            for flaw in told {
                assert!(flaw.at.start <= flaw.at.end && flaw.at.end as usize <= text.len());
                assert!(!flaw.render("p.protocol", &text, false).is_empty());
            }
        }
    }
    if let Ok(formatted) = format(&text) {
        assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()), "formatted once");
    }
}

fn used(compiled: &Compiled, text: &str) {
    let Compiled { program, automata, .. } = compiled;
    assert_eq!(program.roles.len(), automata.len());
    for (nth, automaton) in automata.iter().enumerate() {
        assert!(automaton.states() <= 4096);
        let shown = [
            list(program, nth, automaton, text),
            dot(program, nth, automaton),
            vectors(program, nth, automaton),
        ];
        assert!(shown.iter().all(|one| !one.is_empty()));
    }
    // A module may be too long, and is never half written.
    assert!(
        rust(program, automata, RustForm::Plain)
            .is_ok_and(|module| module.contains("pub const HASH"))
    );
    let formatted = format(text).expect("it compiles");
    let again = compile(&formatted).expect("spaces mean nothing");
    assert_eq!(hash(program, automata), hash(&again.program, &again.automata));
}
