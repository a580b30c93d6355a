//! The files of `data`. The program contains them compressed.

use std::ops::Range;

// `TEXTS`, the files one after the other, and `FILES`, their paths and places.
include!(concat!(env!("OUT_DIR"), "/data.rs"));

/// Returns the text of a file, by its path in `data`; `None` if it does not exist.
pub(crate) fn file(path: &str) -> Option<&'static str> {
    let (_, place) = FILES.iter().find(|(name, _)| *name == path)?;
    TEXTS.text().get(place.clone())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_has_its_text() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        assert!(FILES.len() > 90, "{}", FILES.len());
        for (name, _) in FILES {
            let text = std::fs::read_to_string(data.join(name)).unwrap();
            assert_eq!(file(name), Some(text.as_str()), "{name}");
        }
        assert_eq!(file("cedar/elsewhere.txt"), None);
    }
}
