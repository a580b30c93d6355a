//! Synthetic clinical notes of about 3 KB from a seed, so that the benchmarks need no corpus.

/// A small pseudo-random number generator (splitmix64) with the same numbers for a seed on every machine.
pub struct Dice(u64);

impl Dice {
    /// Returns a generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `n`.
    pub const fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const GIVEN: [&str; 16] = [
    "Maria", "James", "Aisha", "Robert", "Elena", "Thomas", "Grace", "Daniel", "Lucía", "Samuel", "Priya",
    "Walter", "Naomi", "Victor", "Hannah", "Carlos",
];
const FAMILY: [&str; 16] = [
    "Hernandez",
    "Whitfield",
    "Okonkwo",
    "Lindgren",
    "Castellano",
    "Novak",
    "Ferguson",
    "Takahashi",
    "O'Malley",
    "Barrera",
    "Schultz",
    "Pemberton",
    "Vasquez",
    "Ivanova",
    "Delacroix",
    "Ramaswamy",
];
const CITY: [&str; 8] = [
    "Springfield",
    "Tucson",
    "Savannah",
    "Boise",
    "Sacramento",
    "Duluth",
    "Albany",
    "Wichita",
];
const FINDINGS: [&str; 12] = [
    "The abdomen is soft and non-tender, without guarding, and bowel sounds are present in all four quadrants.",
    "Lungs are clear to auscultation bilaterally; the heart has a regular rate and rhythm with a 2/6 systolic murmur.",
    "Laboratory data showed sodium 138, potassium 4.1, creatinine 0.9, and hemoglobin 12.4 g/dL.",
    "She was started on metoprolol 25 mg twice daily and lisinopril 10 mg, and tolerated both well.",
    "The wound was irrigated and closed in layers with 3-0 Vicryl, and a sterile dressing was applied.",
    "Range of motion of the left knee is from 5 to 110 degrees, with mild crepitus and no effusion.",
    "There is a history of Crohn's disease and of hypertension, both well controlled on current therapy.",
    "The patient denies fever, chills, nausea, vomiting, chest pain or shortness of breath at this time.",
    "An MRI of the lumbar spine showed a disc bulge at L4-L5 with moderate foraminal narrowing.",
    "Vital signs: blood pressure 128/76, pulse 72, respirations 16, temperature 98.6, saturation 98% on room air.",
    "The catheter was advanced over the guidewire under fluoroscopic guidance without complication.",
    "Neurologic examination is intact; strength is 5/5 throughout and reflexes are symmetric.",
];

/// Returns a note of about 3 KB with some thirty identifiers.
pub fn note(seed: u64) -> String {
    use std::fmt::Write as _;
    let mut dice = Dice::new(seed);
    let (given, family, doctor, city) = (
        dice.pick(&GIVEN),
        dice.pick(&FAMILY),
        dice.pick(&FAMILY),
        dice.pick(&CITY),
    );
    let (month, day, year) = (dice.below(12) + 1, dice.below(28) + 1, 2005 + dice.below(18));
    let mrn = 1_000_000 + dice.below(8_999_999);
    let mut text = String::with_capacity(3400);
    // Writing to a string cannot fail.
    let mut line = |args: std::fmt::Arguments<'_>| _ = text.write_fmt(args);
    line(format_args!(
        "DISCHARGE SUMMARY\nPATIENT: {family}, {given}\nMRN: {mrn}\nDATE OF BIRTH: {month:02}/{day:02}/19{:02}\n",
        30 + dice.below(60)
    ));
    line(format_args!(
        "ATTENDING: {} {doctor}, M.D.\nHOSPITAL: {city} General Hospital\n\n",
        dice.pick(&GIVEN)
    ));
    line(format_args!(
        "HISTORY: {given} {family} is a {}-year-old patient from {city} who was admitted on {month}/{day}/{year}. ",
        20 + dice.below(69)
    ));
    for i in 0..22 {
        line(format_args!("{} ", dice.pick(&FINDINGS)));
        match i % 6 {
            1 => line(format_args!(
                "Dr. {doctor} reviewed the films on {}/{}/{year}. ",
                dice.below(12) + 1,
                dice.below(28) + 1
            )),
            3 => line(format_args!(
                "The family can be reached at ({}) 555-01{:02}. ",
                201 + dice.below(700),
                dice.below(100)
            )),
            5 => line(format_args!(
                "\n\nMs. {family} asked that results go to {}.{}@example.org. ",
                given.to_lowercase(),
                family.to_lowercase()
            )),
            _ => {}
        }
    }
    line(format_args!(
        "\n\nSigned: {doctor}, M.D. {month:02}/{day:02}/{year}\n"
    ));
    text
}

/// Returns `count` notes.
pub fn notes(count: usize, seed: u64) -> Vec<String> {
    (0..count as u64)
        .map(|i| note(seed ^ i.wrapping_mul(0x9e37_79b9)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_note_and_another_seed_another() {
        assert_eq!(note(1), note(1));
        assert_ne!(note(1), note(2));
        assert!((2500..4000).contains(&note(1).len()), "{}", note(1).len());
    }
}
