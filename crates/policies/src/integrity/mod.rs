//! The slot `integrity`: whether a packet is what was sent.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | a layer below that checks | UDP |
//! | [`Crc32c`] | new formats | RFC 9260 appendix A |
//! | [`Cxor`] | specifications that demand it | XTP 3.6 |
//! | [`Internet`] | specifications that demand it | RFC 1071; XTP, XSTP |
//! | [`OfferedCheck`] | the same, where the layer below may compute it | TCP |

mod absent;
mod covered;
mod crc32c;
mod cxor;
mod internet;
mod offered;

pub use absent::Absent;
pub use crc32c::Crc32c;
pub use cxor::Cxor;
pub use internet::{Internet, hosts_sum};
pub use offered::OfferedCheck;
