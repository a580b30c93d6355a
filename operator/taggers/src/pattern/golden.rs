//! Golden cases: text, and all that is to be found in it.
