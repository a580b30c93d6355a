//! Words that follow from others and identify nobody, and numbers in words.

use crate::chance::Chance;

pub(super) const SPECIALTIES: &[&str] = &[
    "cardiology",
    "pulmonology",
    "gastroenterology",
    "neurology",
    "nephrology",
    "endocrinology",
    "hematology",
    "oncology",
    "rheumatology",
    "infectious disease",
    "dermatology",
    "psychiatry",
    "orthopedics",
    "urology",
    "ophthalmology",
    "otolaryngology",
    "general surgery",
    "vascular surgery",
    "neurosurgery",
    "plastic surgery",
    "anesthesiology",
    "radiology",
    "pathology",
    "pediatrics",
    "family medicine",
    "internal medicine",
    "emergency medicine",
    "obstetrics and gynecology",
    "physical medicine",
    "palliative care",
    "geriatrics",
    "allergy and immunology",
    "pain management",
    "podiatry",
];
pub(super) const DOCTORS: &[&str] = &[
    "MD",
    "M.D.",
    "DO",
    "D.O.",
    "MD, PhD",
    "M.D., Ph.D.",
    "MD MPH",
    "MBBS",
    "DDS",
    "DPM",
    "MD, FACC",
    "MD, FACS",
];
pub(super) const ASSISTANTS: &[&str] = &[
    "RN", "R.N.", "LPN", "NP", "FNP", "PA-C", "PA", "MSW", "LCSW", "PT", "DPT", "OT", "OTR/L", "SLP", "RD",
    "RT", "CRNA", "PharmD", "MA", "CNA", "EMT-P", "PhD", "PsyD", "BSN, RN", "CNM", "RRT",
];
pub(super) const FEMALE_KIN: &[&str] = &[
    "wife",
    "daughter",
    "sister",
    "mother",
    "aunt",
    "niece",
    "granddaughter",
    "grandmother",
    "partner",
    "daughter-in-law",
    "stepmother",
    "girlfriend",
];
pub(super) const MALE_KIN: &[&str] = &[
    "husband",
    "son",
    "brother",
    "father",
    "uncle",
    "nephew",
    "grandson",
    "grandfather",
    "partner",
    "son-in-law",
    "stepfather",
    "boyfriend",
];

/// A time of day.
pub(super) fn time(chance: &mut Chance) -> String {
    let (hour, minute) = (chance.within(0, 23), chance.within(0, 59));
    let noon = match hour % 12 {
        0 => 12,
        other => other,
    };
    let half = if hour < 12 { "AM" } else { "PM" };
    match chance.below(7) {
        0 | 1 => format!("{hour:02}:{minute:02}"),
        2 => format!("{noon}:{minute:02} {half}"),
        3 => format!("{noon}:{minute:02} {}", half.to_lowercase()),
        4 => format!("{hour:02}{minute:02}"),
        5 => format!("{noon}:{minute:02}{}", half.to_lowercase()),
        _ => format!("{noon} {}", if half == "AM" { "a.m." } else { "p.m." }),
    }
}

/// A number below 120 in words.
pub(super) fn number(n: i64) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] = [
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let place = |n: i64| usize::try_from(n).unwrap_or(0);
    if n >= 100 {
        return match n - 100 {
            0 => "one hundred".to_owned(),
            rest => format!("one hundred {}", number(rest)),
        };
    }
    match (SMALL.get(place(n)), n % 10) {
        (Some(small), _) => (*small).to_owned(),
        (None, 0) => TENS[place(n / 10) % 10].to_owned(),
        (None, rest) => format!("{}-{}", TENS[place(n / 10) % 10], SMALL[place(rest)]),
    }
}

/// With a first capital.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        for (n, words) in [
            (0, "zero"),
            (13, "thirteen"),
            (40, "forty"),
            (67, "sixty-seven"),
            (100, "one hundred"),
            (103, "one hundred three"),
        ] {
            assert_eq!(number(n), words);
        }
    }
}
