#![no_main]
#![allow(missing_docs)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baton_merge_fuzz::http_request::http_request(data));
