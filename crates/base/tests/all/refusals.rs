//! Selections that cannot be are refused by `cargo check`, in a sentence that is compared here word
//! for word; and the feature model gives the same sentence to whoever asks it while the program
//! runs.

use stackwright_base::features::{Needs, Selection, select};

#[test]
fn at_compile_time() {
    trybuild::TestCases::new().compile_fail("tests/all/refusals/*.rs");
}

/// The refusal of a specification at run time, and that the compiler said the same.
fn refused(specification: &str, strict: bool, compiler_said: &str) -> String {
    let sentence = select(specification, strict).expect_err("it is refused").to_string();
    assert!(compiler_said.contains(&format!("evaluation panicked: {sentence}\n")), "{sentence}");
    sentence
}

macro_rules! refused {
    ($specification:literal, strict: $strict:literal, $file:literal) => {
        refused($specification, $strict, include_str!(concat!("refusals/", $file, ".stderr")))
    };
}

#[test]
fn at_run_time() {
    assert_eq!(
        refused!("events: Simple, colour: Red", strict: false, "unknown_feature"),
        "there is no feature `colour`; there are message, session, map, events and opening"
    );
    assert_eq!(
        refused!("events: Wheel, opening: Active", strict: false, "unknown_alternative"),
        "`events` has no alternative `Wheel`; there are Absent, Simple, DeltaList, TimingWheel"
    );
    assert_eq!(
        refused!("events: Simple, opening: Active, events: DeltaList", strict: false, "twice"),
        "`events` is selected twice"
    );
    assert_eq!(
        refused!("events: Simple + DeltaList", strict: false, "several"),
        "`events` takes one alternative, and `Simple + DeltaList` exclude each other"
    );
    assert_eq!(
        refused!("message: Absent", strict: false, "mandatory"),
        "`message` cannot be absent; select SingleBuffer, BufferTree"
    );
    assert_eq!(
        refused!("opening: Passive", strict: false, "passive_alone"),
        "passive opening depends on active opening: select `opening: ActivePassive`"
    );
    assert_eq!(
        refused!("session: Absent, map: OpenAddressing", strict: false, "map_alone"),
        "a map finds sessions, and `session` is Absent: leave `map` out, or select `session: Present`"
    );
    assert_eq!(
        refused!("session: Absent, opening: Active", strict: true, "strict_active"),
        "`opening: Active` without `session: Present`: all associations would share one endpoint"
    );
    assert_eq!(
        refused!("session: Absent", strict: true, "strict_active_passive"),
        "`opening: ActivePassive` without `session: Present`: all associations would share one endpoint"
    );
    let timeless = select("events: Absent", false).expect("it can be built");
    let sentence = timeless
        .offers(Needs { timers: true, ..Needs::NOTHING }, "patience")
        .expect_err("refused")
        .to_string();
    assert!(include_str!("refusals/needs_timers.stderr").contains(&sentence));
    assert_eq!(sentence, "`patience` needs timers, and `events` is Absent");
}

/// Who schedules without having asked is told so by the compiler.
#[test]
fn nothing_is_scheduled_without_an_event_manager() {
    let said = include_str!("refusals/no_event_manager.stderr");
    assert!(
        said.contains(
            "the base has no event manager: select `events: Simple`, `DeltaList` or `TimingWheel`"
        ),
        "{said}"
    );
}

#[test]
fn what_is_left_out_is_completed() {
    assert_eq!(select("", true), Ok(Selection::DEFAULT));
    let text = "message: BufferTree, session: Present, events: TimingWheel, opening: ActivePassive, map: ChainedHashCached";
    assert_eq!(Selection::DEFAULT.to_string(), text);
    assert_eq!(select(text, true), Ok(Selection::DEFAULT), "what is printed can be read");
    for broken in [
        "events",
        "events:",
        ": Simple",
        "events = Simple",
        "events: Simple opening: Active",
        ",",
        ": ,",
    ] {
        assert!(select(broken, false).is_err(), "{broken:?}");
    }
}
