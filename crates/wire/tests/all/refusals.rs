//! Layouts that are none are refused at the token that is wrong, in words that are compared here.

#[test]
fn layouts() {
    trybuild::TestCases::new().compile_fail("tests/all/refusals/*.rs");
}
