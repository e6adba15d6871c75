//! How links end.
