//! The content that travels is the same every time, and a difference in it is found.

use stackwright_programs::content::{assert_same, octets};

#[test]
fn content_is_the_same_every_time_and_holds_every_octet() {
    let content = octets(7, 10_000);
    assert_same(&content, &octets(7, 10_000));
    assert_ne!(content, octets(8, 10_000));
    assert!((0..=255).all(|octet| content.contains(&octet)));
}

#[test]
#[should_panic(expected = "octet 2 differs")]
fn a_difference_is_located() {
    assert_same(b"abc", b"abd");
}
