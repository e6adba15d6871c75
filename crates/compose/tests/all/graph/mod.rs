//! Graphs: the same as static stacks, refused in the same words, changed while data flows.

mod chat;
mod echoes;
mod equivalence;
mod flaws;
mod forks_and_joins;
mod looked_at;
mod recorded_words;
mod recordings;
