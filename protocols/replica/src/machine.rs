//! What a state machine is.

use alloc::vec::Vec;

/// A state machine, of which each replica has one. What it does depends on its state, the time and
/// the operation alone, so that all replicas stay equal. The time is the group's, in milliseconds,
/// and never goes back.
pub trait Machine {
    /// Applies an operation; returns the reply to it.
    fn apply(&mut self, time: u64, operation: &[u8]) -> Vec<u8>;

    /// Does what falls due with the passage of time alone.
    fn pass(&mut self, time: u64);

    /// Returns whether something will fall due: then the time is told more often.
    fn waits_for_time(&self) -> bool;

    /// Appends the state to `octets`.
    fn snapshot(&self, octets: &mut Vec<u8>);

    /// Takes the state of another replica; returns whether it is one.
    fn restore(&mut self, octets: &[u8]) -> bool;
}
