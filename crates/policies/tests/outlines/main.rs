//! A protocol as a configuration, in outline: a format, what it selects, and a host that tells its
//! associations apart. `SEEDS=2000 cargo test --release -p stackwright-policies --test outlines`
//! tries 2 000 seeds of each test.
//!
//! | file | what |
//! | --- | --- |
//! | `xstp/` | XSTP |

mod xstp;
