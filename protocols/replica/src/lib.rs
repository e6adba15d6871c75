//! A replicated state machine on a group, and a store that any Redis client can use.
//!
//! | file | what |
//! | --- | --- |
//! | `machine.rs` | what a state machine is |
//! | `replica/` | operations of the own clients: cast, applied in one order, answered |
//! | `log.rs` | what was applied of each replica's operations |
//! | `pieces.rs` | operations in casts, each of one packet |
//! | `store.rs`, `keys.rs` | keys and values, with the time at which they expire |
//! | `commands.rs` | the commands of Redis that there are |
//! | `resp.rs` | RESP2: commands as clients write them, replies |
//!
//! There is no I/O here: a caller has a stack whose top gives total order, safe delivery and the
//! state (`StateTransfer over TotalOrder over SafeDelivery over Views over …`), and passes words.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod commands;
mod keys;
mod log;
mod machine;
mod pieces;
mod replica;
mod resp;
mod store;

pub use commands::{RedisCommand, redis_command, redis_info, redis_outcome};
pub use keys::{KEY_MOST, VALUE_MOST};
pub use machine::Machine;
pub use replica::{Hindrance, Outcome, Replica};
pub use resp::{RespParser, RespReply};
pub use store::KeyValueStore;

use stackwright_contract::{Facts, Guarantees};

/// What the rule book has to know of a replica, which is no protocol itself.
pub const FACTS: Facts = Facts {
    needs: Guarantees::TOTAL.and(Guarantees::SAFE).and(Guarantees::STATE),
    ..Facts::named("replica")
};
