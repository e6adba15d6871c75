//! Two protocols as configurations, in outline: a format each, what they select, and a host that
//! tells their associations apart. `SEEDS=2000 cargo test --release -p stackwright-policies --test
//! outlines` tries so many seeds of each test.
//!
//! | file | what |
//! | --- | --- |
//! | `xtp/` | XTP 4.0, its connection service: selective repeat and go-back-N |
//! | `xstp/` | XSTP |
//! | `setting.rs` | the link between two ends |
//! | `streams.rs` | streams between stations of a world |

mod setting;
mod streams;
mod xstp;
mod xtp;
