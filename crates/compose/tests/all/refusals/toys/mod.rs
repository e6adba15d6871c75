//! Toy protocols for stacks that are refused. They say what they are and do nothing.
#![allow(dead_code, reason = "no stack uses all of them")]

use stackwright_contract::services::{Datagrams, Files, Octets, Streams};
use stackwright_contract::{
    Both, Context, Facts, Guarantees, IndicationTo, Nothing, Outlet, Protocol, RequestTo,
};
use stackwright_wire::{BufferTree, SingleBuffer};

/// `Name: Provides, Uses, { facts }`: a protocol that only has facts.
macro_rules! toy {
    ($($name:ident: $provides:ty, $uses:ty, { $($fact:ident: $value:expr),* };)*) => { $(
        pub(crate) struct $name;

        impl Protocol for $name {
            const FACTS: Facts = Facts { $($fact: $value,)* ..Facts::named(stringify!($name)) };
            type Provides = $provides;
            type Uses = $uses;
            fn handle_request(&mut self, _: &Context, _: RequestTo<Self>, _: &mut impl Outlet<Self>) {}
            fn handle_indication(&mut self, _: &Context, _: IndicationTo<Self>, _: &mut impl Outlet<Self>) {}
        }
    )* };
}

type Tree = BufferTree;

toy! {
    // At the bottom.
    Udp: Datagrams<Tree>, Nothing, { header_room: 8 };
    Tcp: Streams<Tree>, Nothing, {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::EXPEDITED).and(Guarantees::REGIONS)
    };
    Pipe: Streams<Tree>, Nothing, { gives: Guarantees::ORDERED };
    SerialLine: Octets<Tree>, Nothing, {};
    Disk: Files<Tree>, Nothing, { gives: Guarantees::WHOLE_FILES };
    ScratchDisk: Files<Tree>, Nothing, {};

    // Between.
    Kiss: Datagrams<Tree>, Octets<Tree>, { header_room: 2, reads_payload: true };
    Resend: Streams<Tree>, Datagrams<Tree>, { gives: Guarantees::RELIABLE, header_room: 12 };
    Sort: Streams<Tree>, Streams<Tree>, {
        needs: Guarantees::RELIABLE, gives: Guarantees::ORDERED, passes: Guarantees::RELIABLE, header_room: 4
    };
    Cipher: Streams<Tree>, Streams<Tree>, {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED),
        passes: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::REGIONS),
        header_room: 16, reads_payload: true
    };
    Onion: Streams<Tree>, Streams<Tree>, {
        passes: Guarantees::RELIABLE.and(Guarantees::ORDERED), header_room: 250
    };

    // At the top.
    Mail: Nothing, Streams<Tree>, { needs: Guarantees::RELIABLE };
    Terminal: Nothing, Streams<Tree>, {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::EXPEDITED)
    };
    Pages: Nothing, Streams<Tree>, { needs: Guarantees::RELIABLE.and(Guarantees::ORDERED) };
    Images: Nothing, Streams<Tree>, {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::REGIONS)
    };
    FileServer: Nothing, Both<Streams<Tree>, Files<Tree>>, { needs: Guarantees::RELIABLE };
    Archive: Nothing, Files<Tree>, { needs: Guarantees::WHOLE_FILES };
    SmallPages: Nothing, Streams<SingleBuffer>, { needs: Guarantees::RELIABLE };
}
