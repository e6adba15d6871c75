//! Folders with everything below them, between two disks.
//!
//! | file | what |
//! | --- | --- |
//! | `setting.rs` | two disks and a copy |
//! | `mirrors.rs` | what is copied, skipped and removed |
//! | `random.rs` | the same of random trees |
//! | `failures.rs` | what fails, and what is given up |
//! | `hostile.rs` | names and lists of a side that means harm |

mod failures;
mod hostile;
mod mirrors;
mod random;
mod setting;
