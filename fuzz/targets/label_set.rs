//! A label set file is written by users: any text is read or refused with a message, and a label set that is
//! read can be queried.
#![no_main]

use lethe_core::LabelSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|toml: &str| {
    if let Ok(set) = LabelSet::parse(toml, "fuzzed.toml") {
        assert!(!format!("{set:?}").is_empty());
    }
});
