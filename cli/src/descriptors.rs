//! Descriptors of files: how many a server may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many descriptors a client takes at most: its two connections, and a file. A listener for
/// data ends when the connection comes.
const OF_A_CLIENT: usize = 3;
/// How many the server itself takes, with clients that are refused and connections that linger.
const OF_THE_SERVER: usize = 128;

/// Provides for this many clients: raises the limit to what the system allows, and says so where
/// that is not enough for all.
pub(crate) fn provide(clients: usize) {
    let needed = needed(clients);
    let limit = getrlimit(Resource::Nofile);
    let has = |most: Option<u64>| most.is_none_or(|most| most >= needed);
    if has(limit.current) {
        return;
    }
    let raised = Rlimit { current: limit.maximum, ..limit };
    let current = setrlimit(Resource::Nofile, raised).map_or(limit.current, |()| limit.maximum);
    if !has(current) {
        eprintln!(
            "note: {clients} clients may need {needed} open files, and this system allows {}; \
             later clients wait (raise `ulimit -n`, or say --sessions)",
            current.unwrap_or_default()
        );
    }
}

fn needed(clients: usize) -> u64 {
    clients.saturating_mul(OF_A_CLIENT).saturating_add(OF_THE_SERVER) as u64
}
