//! A setting that nobody may read in a log.

use std::fmt;

use serde::Deserialize;

/// A password or key from the configuration, after the program has replaced `${VAR}` or read the file it names. Prints as
/// `[secret]`, whatever asks for it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The value. Named so that its use shows in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let printed = format!("{:?}", Some(Secret::from("hunter2".to_owned())));
        assert_eq!(printed, "Some([secret])");
    }
}
