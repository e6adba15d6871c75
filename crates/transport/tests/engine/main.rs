//! The engine, with policies and a format that carries everything, between two ends of the trial.
//!
//! | file | what |
//! | --- | --- |
//! | `reliance.rs` | what policies rely on |
//! | `exchange.rs` | judges are exchanged while data flows; static and boxed policies do the same |

mod exchange;
mod reliance;
