//! `campaign` as a person, and as a job of somebody else's, runs it.

mod elsewhere;
mod failures;
mod files;
mod results;
mod setting;
mod stops;
