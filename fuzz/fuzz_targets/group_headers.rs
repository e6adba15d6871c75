#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| stackwright_targets::group_headers(octets));
