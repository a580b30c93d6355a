//! Redaction policies: the policy file, the HIPAA rules that it is checked against, and the operators that
//! write replacements.
//!
//! A policy is checked once, when it is loaded; Lethe refuses a forbidden operation with the clause. An
//! operator that cannot parse a span writes its tag. Nothing here prints a value, a key or a code.

mod authority;
mod erase;
mod error;
mod file;
mod links;
mod note;
mod operators;
mod replacer;
mod reveal;
mod role;
mod rules;
mod titles;

pub use authority::Authority;
pub use erase::{Certainty, Patients, Traces, remove_codes};
pub use error::PolicyError;
pub use file::{
    Codes, Keys, Links, Missing, Mode, Numbered, Operation, PATHS, Patient, PolicyFile, Scope, Shift, Tls,
    VaultPlace,
};
pub use replacer::{DERIVATION, Policy, PolicyReplacer};
pub use reveal::{RevealError, Revealer, Whose};
pub use rules::{carried_by_default, check};
