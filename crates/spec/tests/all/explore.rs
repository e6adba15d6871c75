//! The model check: what the sources promise holds, and what is broken on purpose is found.

use stackwright_spec::{Checked, Conclusion, Counterexample, compile, explore, explore_mixed};

const JIS: &str = include_str!("../sources/jis.protocol");
const STOP_AND_WAIT: &str = include_str!("../sources/stop-and-wait.protocol");
const PING_PONG: &str = include_str!("../sources/ping-pong.protocol");
const ABRO: &str = include_str!("../sources/abro.protocol");
const ARRANGEMENT: &str = include_str!("../sources/arrangement.protocol");

/// A source with items behind its own.
fn with(text: &str, items: &str) -> String {
    let end = text.rfind('}').expect("it is a protocol");
    format!("{}{items}\n}}\n", &text[..end])
}

/// The arrangement with a server that grants what comes with its ticket.
fn arrangement() -> String {
    let server = "
        role Server {
            sends Again, Granted;
            receives Ask;
            every Ask(ask) {
                if ask.ticket == 7 { send Granted { session: 1 }; }
                else { send Again { ticket: 7 }; }
            }
        }
        model { way reorders; way loses 1; way holds 0; }
        property tries: always tries <= 10 in Client;
        property asked: never Client.emit Opened before Server.send Granted;";
    // Nobody refuses.
    let text = ARRANGEMENT.replace("|| { await Refused(r); emit Failed(r.why); exit over; }", "");
    let text = text.replace("receives Again, Granted, Refused;", "receives Again, Granted;");
    let text = text.replace(
        "output Opened(session: u16), Failed(why: u8), Silent;",
        "output Opened(session: u16), Silent;",
    );
    with(&text.replace("adu Refused { why: u8; }", ""), server)
}

fn checked(text: &str) -> Vec<Checked> {
    let compiled = compile(text).unwrap_or_else(|told| {
        panic!("{}", told.iter().map(|one| one.render("p", text, false) + "\n").collect::<String>())
    });
    explore(&compiled).expect("it has at most two roles")
}

/// What is found of a property where a text is changed.
fn broken(text: &str, from: &str, to: &str, property: &str) -> Checked {
    assert!(text.contains(from), "{from}");
    let found = checked(&text.replace(from, to));
    found.into_iter().find(|one| one.name == property).expect("it is promised")
}

fn holds(found: &Checked) -> bool {
    found.conclusion == Conclusion::Holds
}

fn trouble(found: &Checked) -> &Counterexample {
    match &found.conclusion {
        Conclusion::Broken(trouble) => trouble,
        other => panic!("{}: {other:?}", found.name),
    }
}

fn chart(found: &Checked) -> String {
    let trouble = trouble(found);
    println!(
        "{}: {} ({} worlds)\n  {}",
        found.name,
        trouble.says,
        found.worlds,
        trouble.chart.join("\n  ")
    );
    trouble.chart.join("\n")
}

#[test]
fn what_the_sources_promise_holds() {
    let abro = with(ABRO, "property told: eventually Abro.emit O;");
    for text in [JIS, STOP_AND_WAIT, PING_PONG, &abro, &arrangement()] {
        for found in checked(text) {
            println!("{}: {} worlds, at most {} held", found.name, found.worlds, found.held_most);
            assert!(holds(&found), "{}", chart(&found));
            assert!(found.worlds > 10);
        }
    }
}

#[test]
fn a_block_that_overtakes_a_table_is_held_or_lost_for_ever() {
    let held = checked(JIS).into_iter().find(|one| one.name == "ends").expect("it is promised");
    // All blocks and the end may overtake a table.
    assert!(holds(&held) && held.held_most == 4, "{held:?}");
    let dropped = broken(JIS, "way holds 6;", "way holds 0;", "ends");
    assert!(chart(&dropped).contains("Client does not hear Blocks"));
}

#[test]
fn a_loss_below_a_transport_that_is_not_reliable_stops_an_image() {
    let lost = broken(JIS, "Client.emit Done;", "Client.emit Done when loses 1;", "ends");
    assert!(chart(&lost).contains("is lost"));
}

#[test]
fn six_blocks_are_checked_too() {
    let six = JIS.replace("< 3", "< 6").replace("calls(paint) == 3", "calls(paint) == 6");
    let six = six.replace("way holds 6;", "way holds 9;");
    for found in checked(&six) {
        println!("{}: {} worlds", found.name, found.worlds);
        assert!(holds(&found) && found.worlds > 200, "{}", chart(&found));
    }
}

#[test]
fn one_bit_of_number_is_not_enough_where_packets_overtake_each_other() {
    let one_bit = broken(STOP_AND_WAIT, "% 65536", "% 2", "order");
    let story = chart(&one_bit);
    assert!(trouble(&one_bit).says.contains("old one"));
    assert!(story.lines().count() <= 10, "{story}");
    // Where the path keeps the order, one bit is enough.
    let text = STOP_AND_WAIT.replace("% 65536", "% 2").replace("way reorders;", "");
    assert!(checked(&text).iter().all(holds));
}

#[test]
fn seeded_bugs_are_found() {
    let abro = with(ABRO, "property told: eventually Abro.emit O;");
    let arrangement = arrangement();
    let bugs = [
        // B is awaited, and then for ever.
        (abro.as_str(), "{ await B; }", "{ await B; halt; }", "told"),
        // A client never gives up.
        (&arrangement, "if tries == 10 { emit Silent; exit over; }", "nothing;", "tries"),
        // A client that can be reached takes its arrangement for granted.
        (
            &arrangement,
            "case Again(a) { ticket := a.ticket; }",
            "case Again(a) { emit Opened(1); exit granted; }",
            "asked",
        ),
        // A block is painted while a table is awaited.
        (
            JIS,
            "{ await Table(t) where t.kind == Huffman; call set(t); }",
            "{ await Blocks(b); call paint(b); }",
            "tables_first",
        ),
        // The server forgets the end.
        (JIS, "send End { total: blocks() };", "nothing;", "ends"),
        // A copy is delivered, too.
        (STOP_AND_WAIT, "if data.number == expected {", "if data.number <= expected {", "order"),
        // What is reported is not what was asked.
        (PING_PONG, "{ number: request.number }", "{ number: 1 }", "order"),
    ];
    for (text, from, to, property) in bugs {
        let found = broken(text, from, to, property);
        assert!(!chart(&found).is_empty(), "{to}");
    }
    // It does not give up, and its tries leave their range.
    let hasty = STOP_AND_WAIT.replace("0..30", "0..1").replace("tries == 30", "tries == 1");
    assert!(checked(&hasty).iter().all(holds));
    let found = broken(&hasty, "tries == 1", "tries == 2", "gives_up_late");
    assert!(chart(&found).contains("after 200 ms"));
    assert!(trouble(&found).says.contains("`tries` has left its range"));
}

#[test]
fn an_old_end_is_checked_beside_a_new_one() {
    let new = compile(STOP_AND_WAIT).expect("it compiles");
    let old = compile(&STOP_AND_WAIT.replace("await 200 ms", "await 500 ms")).expect("it compiles");
    let found = explore_mixed(&new, &old).expect("the roles are the same");
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(holds), "{found:?}");
    // An old receiver that counts modulo 2 takes a message for a copy.
    let text = STOP_AND_WAIT
        .replace("expected := (expected + 1) % 65536", "expected := (expected + 1) % 2");
    let old = compile(&text).expect("it compiles");
    let found = explore_mixed(&new, &old).expect("the roles are the same");
    let wrong: Vec<&str> =
        found.iter().filter(|one| !holds(one)).map(|one| one.name.as_str()).collect();
    assert_eq!(wrong, ["order (new Sender, old Receiver)"]);
}

#[test]
fn a_reaction_that_goes_more_ways_than_are_looked_at_is_not_decided() {
    let ways = |answers: &str, last: &str| {
        let text = format!(
            "protocol Ways version 1 {{
                adu Ping {{ a: u16; b: u16; c: u16; }}
                role One {{
                    sends Ping;
                    host pure f() -> u16; host pure g() -> u16; host pure h() -> u16;
                    send Ping {{ a: f(), b: g(), c: h() }};
                }}
                role Two {{
                    receives Ping; output Bad;
                    await Ping(p) where p.a == {last} && p.b == {last} && p.c == {last};
                    emit Bad;
                }}
                model {{ f = {answers}; g = {answers}; h = {answers}; }}
                property good: never Two.emit Bad;
            }}"
        );
        checked(&text).remove(0)
    };
    // The last of them is the bad one, and it is missed.
    assert_eq!(ways("0..63", "63").conclusion, Conclusion::Undecided);
    assert!(!trouble(&ways("0..20", "20")).says.is_empty());
    assert!(holds(&ways("0..20", "21")));
}

#[test]
fn roles_without_properties_are_any_number() {
    let three = "protocol T version 1 {
        adu Ping { n: u16; }
        role One { sends Ping; send Ping { n: 1 }; }
        role Two { receives Ping; await Ping; }
        role Three { receives Ping; await Ping; await Ping; }
    }";
    assert!(checked(three).is_empty());
    let promised = with(three, "property sent: eventually One.send Ping;");
    let compiled = compile(&promised).expect("it compiles");
    assert!(explore(&compiled).is_err());
}
