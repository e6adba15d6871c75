//! Replicas in a simulated network.
