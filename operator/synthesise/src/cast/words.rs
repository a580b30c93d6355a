//! Words that depend on other values and identify nobody.

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

/// Returns a time of day.
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

/// Returns the text with a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
