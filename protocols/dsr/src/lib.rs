#![no_std]
extern crate alloc;
mod header; mod links; mod packet;
