//! Each line with the word anew has a finding; `.vale/tests/check` compares.
//! The module, anew.

// whoever: a plain comment
/* whoever /* nested "whoever */ whoever */
/// A summary anew.
///
/// `whoever` and
/// a second paragraph, anew.
///
/// ```
/// let whoever = 1;
/// ```
#[derive(Debug, thiserror::Error)]
pub enum SampleError<'a> {
    /// The variant's, anew
    #[error("cannot read {path}:{line}: \"anew\" \\")]
    Read { path: &'a str, line: u32 },
    #[error(
        "a long message that goes \
         over lines, anew"
    )]
    Long,
    #[error(r#"raw "text" anew"#)]
    Raw,
    #[other("whoever")]
    Other,
}

fn messages(quote: char, byte: u8) -> anyhow::Result<()> {
    let plain = "whoever";
    if quote == '"' || quote == '\'' || quote == '\u{22}' || byte == b'"' {
        anyhow::bail!("it is {quote} \u{61}gain anew");
    }
    tracing::warn!(topic = %plain, "read anew");
    info!(
        partition,
        "kept
          anew"
    );
    read(plain).with_context(|| format!("cannot read {plain} anew"))?;
    find(b"whoever", br##"whoever"# whoever"##).ok_or_else(|| Missing::new("the key, anew"))?;
    check(plain)
        .map_err(|_| "whatever".to_owned())
        .context("once more anew")?;
    Err("last, anew".into())
}

#[cfg(test)]
mod tests {
    /// whoever
    fn panics() -> Result<(), String> {
        Err("whoever".to_owned())
    }
}

#[cfg(test)]
use std::fmt::Write;

#[cfg(all(test, unix))]
fn only_in_tests(sizes: [u8; 3]) -> Result<(), &'static str> {
    Err("whoever")
}

pub enum Kind {
    #[cfg(test)]
    Test,
    /// A variant, anew
    Other { name: String },
    #[cfg(test)]
    Last,
}

/// After the tests, anew.
pub struct After;
