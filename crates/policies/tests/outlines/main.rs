//! Two protocols as configurations, in outline: a format each, and what they select. What they
//! still need to be protocols of their own is in neither: hosts, addresses, diagnostics.
//!
//! | file | what |
//! | --- | --- |
//! | `xtp/` | XTP 4.0, its connection service: selective repeat and go-back-N |
//! | `xstp/` | XSTP |
//! | `setting.rs` | the link between two ends |

mod setting;
mod xstp;
mod xtp;
