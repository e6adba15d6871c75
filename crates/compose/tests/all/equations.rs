//! What an equation means.

use core::any::TypeId;

use crate::toys::*;
use stackwright_compose::{Beside, Over, stack};
use stackwright_contract::Protocol;

stack! {
    /// `beside` binds stronger than `over`.
    Server = FileServer over Tcp beside Disk
}
stack! { Grouped = FileServer over (Cipher over Tcp) beside Disk }
stack! { Deep = Mail over Sort over Resend over Udp }
stack! { FromTheLeft = (Sort over Resend) over Udp }
stack! { Three = Tcp beside Disk beside Udp }
stack! { One = crate::toys::Tcp }
stack! { OfStacks = Pages over self::FromTheLeft }

fn same<One: 'static, Other: 'static>() {
    assert_eq!(TypeId::of::<One>(), TypeId::of::<Other>());
}

#[test]
fn mean_types() {
    same::<Server, Over<FileServer, Beside<Tcp, Disk>>>();
    same::<Grouped, Over<FileServer, Beside<Over<Cipher, Tcp>, Disk>>>();
    same::<Deep, Over<Mail, Over<Sort, Over<Resend, Udp>>>>();
    same::<FromTheLeft, Over<Over<Sort, Resend>, Udp>>();
    same::<Three, Beside<Tcp, Beside<Disk, Udp>>>();
    same::<One, Tcp>();
    same::<OfStacks, Over<Pages, FromTheLeft>>();
}

#[test]
fn have_the_facts_of_their_parts() {
    assert_eq!(Deep::FACTS.header_room, 4 + 12 + 8);
    assert_eq!([Grouped::FACTS.reads_payload, Server::FACTS.reads_payload], [true, false]);
}
