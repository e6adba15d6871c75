//! Octets that were computed elsewhere.
