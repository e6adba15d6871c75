//! Folders.
