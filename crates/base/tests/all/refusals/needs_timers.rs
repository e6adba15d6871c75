//! A protocol that waits, on a base without event manager.
use stackwright_base::features::Needs;
use stackwright_base::{Hooks, Layer, MessageOf, Origin, Place, generate};
use stackwright_contract::services::{Credit, Datagrams, MessageProperties};
use stackwright_contract::{Context, Facts, Handle, Participant};
use stackwright_wire::Header;

generate! { pub Timeless { events: Absent } }

struct Patience;

/// Nothing much.
#[derive(Header)]
struct Label {
    /// A number.
    number: u8,
}

impl Hooks for Patience {
    type Features = Timeless;
    type Provides = Datagrams<MessageOf<Self>>;
    type Uses = Datagrams<MessageOf<Self>>;
    type Header = Label;
    type Key = ();
    type PassiveKey = ();
    type Association = ();
    type Timer = ();
    const FACTS: Facts = Facts::named("patience");
    const NEEDS: Needs = Needs { timers: true, ..Needs::NOTHING };

    fn create(&mut self, _: &Context, _: Handle, (): &(), _: Participant, _: Origin, _: Credit) {}
    fn push(&mut self, _: &mut impl Place<Self>, _: MessageOf<Self>, _: MessageProperties) {}
}

const _: () = Layer::<Patience>::fits();

fn main() {}
