//! Policies, keys, sealed values and dates: any text gives a result or an error.
#![no_main]

use lethe_policy::PolicyFile;
use lethe_secrets::{Keyring, Token};
use lethe_surrogates::dates::{Hint, Written};
use lethe_surrogates::{ages, zip::ZipTable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(policy) = PolicyFile::parse(text, "fuzz") {
        assert_eq!(policy.digest().len(), 64);
    }
    drop(Keyring::parse(text));
    drop(Keyring::parse_short(text));
    drop(ZipTable::parse(text));
    for place in Token::find(text) {
        let held = text.get(place).unwrap_or_default();
        let written = Token::parse(held).map(|token| token.to_string());
        assert_eq!(written.ok().as_deref(), Some(held));
    }
    drop(ages::generalise(text));
    drop(ZipTable::shipped().generalise(text));
    if let Some(date) = Written::parse(text, &Hint::default()) {
        drop(date.year());
        drop(date.shift(-200));
    }
});
