//! Stacks that do not fit are refused by `cargo check`, in a sentence that is compared here word
//! for word; and the rule book gives the same sentence while the program runs.

use crate::toys::*;
use stackwright_compose::Over;
use stackwright_compose::filter::Filtered;
use stackwright_contract::Protocol;
use stackwright_contract::rules::fits;
use stackwright_contract::services::Streams;
use stackwright_toys::Dropper;
use stackwright_wire::BufferTree;

#[test]
fn at_compile_time() {
    trybuild::TestCases::new().compile_fail("tests/all/refusals/*.rs");
}

/// The refusal of `U` over `L` at run time, and that the compiler said the same.
fn refusal<U: Protocol, L: Protocol>(compiler_said: &str) -> String {
    let misfit = fits(&U::FACTS, &L::FACTS).expect_err("it is refused");
    let sentence = misfit.explain().to_string();
    assert!(compiler_said.contains(&format!("evaluation panicked: {sentence}\n")), "{sentence}");
    sentence
}

#[test]
fn at_run_time() {
    type Unsorted = Over<Resend, Udp>;
    assert_eq!(
        refusal::<Mail, Pipe>(include_str!("refusals/no_reliable_delivery.stderr")),
        "`Mail` does not fit on `Pipe`: `Mail` needs reliable delivery, and nothing below it gives that"
    );
    assert_eq!(
        refusal::<Pages, Unsorted>(include_str!("refusals/no_order.stderr")),
        "`Pages` does not fit on `Resend`: `Pages` needs delivery in order, and nothing below it gives that"
    );
    assert_eq!(
        refusal::<Terminal, Over<Sort, Unsorted>>(include_str!(
            "refusals/no_expedited_octets.stderr"
        )),
        "`Terminal` does not fit on `Sort`: `Terminal` needs expedited octets, and nothing below it gives that"
    );
    assert_eq!(
        refusal::<Archive, ScratchDisk>(include_str!("refusals/no_whole_files.stderr")),
        "`Archive` does not fit on `ScratchDisk`: `Archive` needs files that appear whole or not at all, and nothing \
         below it gives that"
    );
    assert_eq!(
        refusal::<Onion, Unsorted>(include_str!("refusals/header_room.stderr")),
        "`Onion` does not fit on `Resend`: together they push more header than a message has room for (256 octets)"
    );
    assert_eq!(
        refusal::<Images, Over<Cipher, Tcp>>(include_str!("refusals/regions_are_read.stderr")),
        "`Images` does not fit on `Cipher`: `Images` needs regions of files to pass, and `Cipher` reads payload"
    );
    type Drops = Filtered<Dropper, Streams<BufferTree>>;
    assert_eq!(
        refusal::<Mail, Over<Drops, Tcp>>(include_str!("refusals/a_filter_that_drops.stderr")),
        "`Mail` does not fit on `dropper`: `Mail` needs reliable delivery, and nothing below it gives that"
    );
}
