//! A role that holds nothing and sends nothing allocates nothing, however much it hears.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{
    Context, Handle, IndicationOf, Outlet, PathLimits, Protocol, RequestOf,
};
use stackwright_generated::contract::stop_and_wait::sender::{Functions, Input, Part};
use stackwright_role::{RoleLayer, RoleRequest};
use stackwright_wire::{Message, SingleBuffer};

type M = SingleBuffer;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no count any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps what it promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps what it promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[derive(Default)]
struct Kept(Vec<u8>);

impl Functions<M> for Kept {
    fn keep(&mut self, body: &M) {
        self.0.clear();
        body.each(|octets| self.0.extend_from_slice(octets));
    }

    fn kept(&self) -> M {
        M::with_headroom(8, &self.0)
    }
}

/// Counts the requests to the layer below.
#[derive(Default)]
struct Below {
    sent: usize,
    credit: usize,
}

impl<P: Protocol<Uses = Datagrams<M>>> Outlet<P> for Below {
    fn indicate(&mut self, _: IndicationOf<P>) {}

    fn request(&mut self, request: RequestOf<P>) {
        match request {
            DatagramsRequest::Send { .. } => self.sent += 1,
            DatagramsRequest::Credit { .. } => self.credit += 1,
            _ => {}
        }
    }
}

#[test]
fn a_thousand_acknowledgements_of_copies_allocate_nothing() {
    const ASSOCIATION: Handle = Handle { index: 0, generation: 0 };
    let (cx, mut below) = (Context::new(1), Below::default());
    let mut layer = RoleLayer::<M, _, _>::new(|| Part::new(Kept::default()));
    let credit = Credit { octets: 4096, messages: 4 };
    let local = std::net::SocketAddr::from(([10, 0, 0, 1], 7)).into();
    layer.handle_request(
        &cx,
        RoleRequest::Open { association: ASSOCIATION, remote: local, local: None, credit },
        &mut below,
    );
    layer.handle_indication(
        &cx,
        DatagramsIndication::Opened {
            association: ASSOCIATION,
            local,
            remote: local,
            credit,
            path: PathLimits::of_longest(1472),
        },
        &mut below,
    );
    let body = M::with_headroom(0, b"message");
    let tell = RoleRequest::Tell { association: ASSOCIATION, input: Input::Message { body } };
    layer.handle_request(&cx, tell, &mut below);
    assert_eq!(below.sent, 1);
    // Acknowledgements of another number: heard, and nothing follows.
    let copies: Vec<M> = (0..1000).map(|_| M::with_headroom(0, &[1, 0, 9])).collect();
    let before = ALLOCATIONS.get();
    for copy in copies {
        layer.handle_indication(
            &cx,
            DatagramsIndication::Delivered {
                association: ASSOCIATION,
                batch: copy.into(),
                properties: MessageProperties::default(),
            },
            &mut below,
        );
    }
    assert_eq!(ALLOCATIONS.get(), before);
    assert_eq!((below.sent, below.credit, layer.held()), (1, 1000, 0));
}
