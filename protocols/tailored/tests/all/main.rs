//! All tests of the crate, in one binary: a module for each subject.

mod adaptive;
mod checks;
mod fitted;
mod flapping;
mod negotiated;
mod phased;
mod phases;
mod planned;
mod resends;
mod services;
mod strangers;
mod talks;
mod versions;
