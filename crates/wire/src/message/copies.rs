//! How much payload this thread has copied, where the feature `copies` counts it: an addition for
//! each copy, and nothing without it.

#[cfg(feature = "copies")]
std::thread_local! {
    static COPIED: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Records that this many octets of payload were copied. The methods of
/// [`Message`](super::Message) that copy do it themselves; whoever writes into a block before it
/// becomes a message does it, too. Headers count where they are copied together with payload.
#[inline(always)]
pub fn count_copied(octets: usize) {
    #[cfg(feature = "copies")]
    COPIED.set(COPIED.get() + octets as u64);
    #[cfg(not(feature = "copies"))]
    let _uncounted = octets;
}

/// Takes how many octets of payload this thread has copied since this was last asked.
#[cfg(feature = "copies")]
pub fn take_copied() -> u64 {
    COPIED.take()
}
