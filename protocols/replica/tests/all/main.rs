//! Replicas in a simulated network.

mod checker;
mod linearizable;
mod scene;
