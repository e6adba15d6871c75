//! Groups beside others: casts, a replicated store, and how many members there may be.

mod casts;
mod entrants;
mod killed;
mod members;
mod scale;
mod store;
mod stores;

pub(super) use casts::CASTS;
pub(crate) use members::GroupScale;
pub(super) use scale::SCALE;
pub(super) use store::STORE;
