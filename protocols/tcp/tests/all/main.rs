//! All tests of the crate, in one binary: a module for each subject.

mod flood;
mod forged;
mod late;
mod layers;
mod marks;
mod memory;
mod predicted;
mod scene;
mod seeds;
mod states;
mod talks;
mod trouble;
mod writes;
