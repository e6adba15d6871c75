//! What a capture holds, read back by others.

mod file;
mod frames;
mod read;
mod wireshark;
