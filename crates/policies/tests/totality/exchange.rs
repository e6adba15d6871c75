//! Judges are exchanged while data flows.
