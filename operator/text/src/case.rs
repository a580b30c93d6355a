//! The case of a text, which is applied to its replacement.

/// The case of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// "smith".
    Lower,
    /// "SMITH".
    Upper,
    /// "Smith", "McDonald", and a single capital.
    Title,
    /// No letters, or letters of scripts without case.
    None,
}

impl Case {
    /// Returns the case of `text`. A single capital is `Title`, since it does not show whether more letters
    /// would be capitals.
    pub fn of(text: &str) -> Self {
        let (mut upper, mut lower) = (0u32, 0u32);
        for c in text.chars() {
            if c.is_uppercase() {
                upper += 1;
            } else if c.is_lowercase() {
                lower += 1;
            }
        }
        match (upper, lower) {
            (0, 0) => Self::None,
            (0, _) => Self::Lower,
            (1, 0) => Self::Title,
            (_, 0) => Self::Upper,
            // "IDs", "deAngelo": still names.
            _ => Self::Title,
        }
    }

    /// Appends `text` in this case; its own letters are in the case of a sentence or a name.
    pub fn write(self, text: &str, out: &mut String) {
        match self {
            Self::None => out.push_str(text),
            Self::Lower => text.chars().for_each(|c| out.extend(c.to_lowercase())),
            Self::Upper => text.chars().for_each(|c| out.extend(c.to_uppercase())),
            Self::Title => {
                let mut chars = text.chars();
                if let Some(first) = chars.next() {
                    out.extend(first.to_uppercase());
                }
                out.push_str(chars.as_str());
            }
        }
    }

    /// Returns `text` in this case.
    pub fn apply(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.write(text, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_carried_over() {
        for (like, out) in [
            ("SMITH", "ÁLVAREZ"),
            ("smith", "álvarez"),
            ("Smith", "Álvarez"),
            ("McDonald", "Álvarez"),
            ("S", "Álvarez"),
            ("12", "Álvarez"),
        ] {
            assert_eq!(Case::of(like).apply("Álvarez"), out, "{like}");
        }
        assert_eq!(Case::Title.apply("del Río"), "Del Río");
    }
}
