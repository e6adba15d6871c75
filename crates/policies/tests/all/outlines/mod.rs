//! A protocol as a configuration, in outline: a format, what it selects, and a host that tells its
//! associations apart. `SEEDS=60 cargo test --release -p stackwright-policies outlines` tries
//! sixty times as many seeds of each test.
//!
//! | file | what |
//! | --- | --- |
//! | `xstp/` | XSTP |

mod xstp;
