//! Invented notes. Every planted identifier is known, so that a test can search for it in the output.

use serde_json::json;

/// A small pseudo-random number generator (SplitMix64), so that a printed seed repeats the test.
pub(crate) struct Dice(u64);

impl Dice {
    /// Creates a generator from a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

const COMPLAINTS: [&str; 6] = [
    "cough for three days, no fever",
    "knee pain after a fall on the stairs",
    "follow-up of hypertension, well controlled",
    "shortness of breath on exertion, better at rest",
    "a rash on both forearms that itches at night",
    "headache since the weekend, no visual signs",
];

/// Returns the id of a note.
pub(crate) fn id(number: usize) -> String {
    format!("note-{number:06}")
}

/// Returns the identifiers planted in a note: phone, e-mail, medical record number, name.
pub(crate) fn planted(number: usize) -> [String; 4] {
    [
        format!("(612) 555-{:04}", number % 10_000),
        format!("quill{number:06}@example.org"),
        format!("{:08}", 40_000_000 + number),
        format!("Zorvane{}", letters(number)),
    ]
}

/// Writes the number in letters, so that it can be part of a name.
fn letters(mut number: usize) -> String {
    let mut out = String::new();
    for _ in 0..4 {
        out.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    out
}

/// Returns the text of a note.
pub(crate) fn text(number: usize) -> String {
    let [phone, email, mrn, name] = planted(number);
    let complaint = COMPLAINTS[number % COMPLAINTS.len()];
    let more = "The lungs are clear and the abdomen is soft. ".repeat(number % 9);
    format!(
        "PROGRESS NOTE\nPatient: Mr. {name}\nMRN: {mrn}\n\nComes in with {complaint}. {more}Call {phone} or write to {email}.\n"
    )
}

/// Returns the event of a note as JSON.
pub(crate) fn event(number: usize) -> String {
    let [_, email, mrn, name] = planted(number);
    json!({
        "note_id": id(number),
        "version": 1,
        "event": "create",
        "note_type": "Progress note",
        "known": [
            {"kind": "patient", "value": name},
            {"kind": "medical_record", "value": mrn},
            {"kind": "email", "value": email},
        ],
        "text": text(number),
    })
    .to_string()
}

/// Returns the events of this number of notes.
pub(crate) fn events(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(event)
}
