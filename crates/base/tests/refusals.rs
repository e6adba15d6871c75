//! Features that do not fit are refused by `cargo check`, in a sentence that is compared here word for word.

#[test]
fn at_compile_time() {
    trybuild::TestCases::new().compile_fail("tests/refusals/*.rs");
}

#[test]
fn in_a_sentence() {
    let compiler_said = include_str!("refusals/no_event_manager.stderr");
    let sentence = "the base has no event manager: select `events: Simple`, `DeltaList` or `TimingWheel`";
    assert!(compiler_said.contains(&format!(": {sentence}\n")));
}
