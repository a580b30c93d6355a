//! Properties of every note under every policy.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use common::{OLD, key_file, policy};
use lethe_core::{
    Carried, Coordinates, Decision, LabelSet, MemberSet, NoteBatch, NoteEvent, Propagation, Record, Redacted,
    Redactor, Sensitive, Span, Titles,
};
use proptest::prelude::*;

const GIVEN: [&str; 8] = [
    "Ada", "Tobias", "Marisol", "Wanda", "Ignacio", "Priya", "Leopold", "Svenja",
];
const FAMILY: [&str; 8] = [
    "Okafor",
    "Quiroga",
    "Vandermeer",
    "Achterberg",
    "Zubiri",
    "Lindqvist",
    "Maldonado",
    "Hathaway",
];
const PLACES: [(&str, &str); 4] = [
    ("CITY", "Cadaqués"),
    ("HOSPITAL", "Saint Odile Hospital"),
    ("ORGANIZATION", "Brightwater Mills"),
    ("PROFESSION", "stonemason"),
];

/// A value that may occur in a note.
#[derive(Clone, Debug)]
enum Value {
    Person(usize, usize, u8),
    Number(&'static str, u32),
    Place(usize),
    Date(i8, i8, i16),
}

impl Value {
    fn written(&self) -> (&'static str, String) {
        match *self {
            Self::Person(given, family, form) => {
                let (given, family) = (GIVEN[given], FAMILY[family]);
                let text = match form {
                    0 => format!("{given} {family}"),
                    1 => format!("{}, {}", family.to_uppercase(), given.to_uppercase()),
                    2 => family.to_owned(),
                    _ => format!("Dr. {family}"),
                };
                (if form == 3 { "DOCTOR" } else { "PATIENT" }, text)
            }
            Self::Number(label, number) => (
                label,
                format!("{:02}-{}", number % 97, 100_000 + number % 800_000),
            ),
            Self::Place(place) => (PLACES[place].0, PLACES[place].1.to_owned()),
            Self::Date(day, month, year) => ("DATE", format!("{year}-{month:02}-{day:02}")),
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..8usize, 0..8usize, 0..4u8).prop_map(|(given, family, form)| Value::Person(given, family, form)),
        (
            prop::sample::select(vec!["MEDICALRECORD", "ACCOUNT", "IDNUM"]),
            any::<u32>()
        )
            .prop_map(|(label, number)| Value::Number(label, number)),
        (0..4usize).prop_map(Value::Place),
        (1..29i8, 1..13i8, 1950..2024i16).prop_map(|(day, month, year)| Value::Date(day, month, year)),
    ]
}

/// A note: values with words between them. Those with `true` occur a second time, where no member finds them.
#[derive(Clone, Debug)]
struct Written(Vec<(Value, bool)>);

fn written() -> impl Strategy<Value = Written> {
    prop::collection::vec((value(), any::<bool>()), 1..6).prop_map(Written)
}

impl Written {
    /// Returns the text and the decisions: each value once, and a second time if it has a second occurrence.
    fn note(&self) -> (String, Vec<Decision>) {
        let labels = LabelSet::i2b2_2014();
        let (mut text, mut decisions) = (String::from("seen with Dr. "), Vec::new());
        for (value, again) in &self.0 {
            let (label, written) = value.written();
            let start = text.len();
            text.push_str(&written);
            let span = Span::new(start, text.len()).unwrap();
            let label = labels.by_name(label).unwrap();
            decisions.push(Decision::new(span, label, MemberSet::default().with(0), 1.0));
            text.push_str(if *again {
                " improved; about "
            } else {
                " slept, and "
            });
            if *again {
                // The second occurrence is the value itself, or the part of a name that stands alone.
                text.push_str(&match value {
                    Value::Person(_, family, _) => FAMILY[*family].to_owned(),
                    _ => written,
                });
                text.push_str(" nothing else, then ");
            }
        }
        (text, decisions)
    }
}

/// A redactor with propagation, and with titles if its policy has them.
struct Whole(Redactor, Propagation, Option<Titles>);

impl Whole {
    fn new(toml: &str) -> Self {
        let policy = policy(toml).unwrap();
        Self(
            Redactor::by(policy.replacer, Carried::new(Vec::new())),
            policy.propagation.unwrap(),
            policy.titles,
        )
    }

    fn redact(
        &self,
        at: &Coordinates,
        patient: &str,
        text: &str,
        found: &[Decision],
    ) -> (Redacted, Vec<Decision>) {
        let event = NoteEvent {
            at: at.clone(),
            note_id: "n".into(),
            patient_id: Some(Sensitive::from(patient)),
            authored_at: Some(1_710_460_800_000),
            text: text.into(),
            ..NoteEvent::default()
        };
        let batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
        let mut decisions = found.to_vec();
        self.1.apply(batch.note(0), &mut decisions);
        if let Some(titles) = &self.2 {
            titles.apply(batch.note(0), &mut decisions);
        }
        (self.0.redact_note(&batch, 0, &decisions).unwrap(), decisions)
    }
}

/// Returns the words of a text in lower case.
fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .collect()
}

/// Policies with each operator, by name, built once as in a stream.
static POLICIES: LazyLock<(tempfile::TempDir, Vec<(&'static str, Whole)>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let policies = policies(folder.path());
    (folder, policies)
});

fn policies(folder: &std::path::Path) -> Vec<(&'static str, Whole)> {
    let keys = key_file(folder, OLD);
    let vault = format!(
        "[vault]\nkind = \"sqlite\"\npath = {:?}\ncreate = true\n",
        folder.join("codes.db").to_str().unwrap()
    );
    let all =
        |mode: &str, action: &str, more: &str| format!("mode = \"{mode}\"\ndefault = {{ {action} }}\n{more}");
    let year = "[labels.DATE]\naction = \"generalise\"\n";
    [
        ("tag", all("safe-harbor", "action = \"tag\"", "")),
        (
            "numbered",
            all("safe-harbor", "action = \"tag\", numbered = \"note\"", year),
        ),
        (
            "titles",
            all("safe-harbor", "action = \"tag\"", "titles = true\n"),
        ),
        ("mask", all("safe-harbor", "action = \"mask\"", "")),
        ("remove", all("safe-harbor", "action = \"remove\"", "")),
        (
            "codes",
            all(
                "safe-harbor",
                "action = \"pseudonym\", codes = \"vault\"",
                &format!("{keys}{vault}"),
            ),
        ),
        (
            "pseudonym",
            all("limited-data-set", "action = \"pseudonym\"", &keys),
        ),
        ("encrypt", all("limited-data-set", "action = \"encrypt\"", &keys)),
        (
            "surrogate",
            all("limited-data-set", "action = \"surrogate\"", &keys),
        ),
    ]
    .map(|(name, toml)| (name, Whole::new(&toml)))
    .into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_redacted_note_has_no_redacted_value_no_part_of_a_name_and_no_group_of_four_digits(written in written()) {
        let (text, found) = written.note();
        for (name, whole) in &POLICIES.1 {
            let (done, _) = whole.redact(&Coordinates::default(), "p1", &text, &found);
            let left = words(&done.text);
            for (value, _) in &written.0 {
                let (label, value_text) = value.written();
                // A shifted date may keep its year, and a generalised one does.
                if label == "DATE" && ["surrogate", "numbered"].contains(name) {
                    prop_assert!(!done.text.contains(&value_text), "{name}: {value_text} in {}", done.text);
                    continue;
                }
                prop_assert!(!done.text.contains(&value_text), "{name}: {value_text} in {}", done.text);
                for word in words(&value_text) {
                    let digits = word.chars().all(|c| c.is_ascii_digit());
                    let counts = if digits { word.len() >= 4 } else { matches!(value, Value::Person(..)) && word.len() >= 3 };
                    // The year may belong to another date.
                    let other_year = digits && word.len() == 4 && ["surrogate", "numbered"].contains(name);
                    if counts && !other_year {
                        prop_assert!(!left.contains(&word), "{name}: {word} in {}", done.text);
                    }
                }
            }
        }
    }

    #[test]
    fn offsets_give_back_what_was_written_and_what_it_stands_for(written in written()) {
        let (text, found) = written.note();
        for (name, whole) in &POLICIES.1 {
            let (done, decisions) = whole.redact(&Coordinates::default(), "p1", &text, &found);
            prop_assert_eq!(done.placed.len(), decisions.len());
            let (mut rebuilt, mut at) = (String::new(), 0);
            for (decision, placed) in decisions.iter().zip(&done.placed) {
                rebuilt.push_str(Span::new(at, placed.out.start()).unwrap().of(&done.text));
                rebuilt.push_str(decision.span.of(&text));
                at = placed.out.end();
            }
            rebuilt.push_str(Span::new(at, done.text.len()).unwrap().of(&done.text));
            prop_assert_eq!(&rebuilt, &text, "{}", name);
        }
    }

    #[test]
    fn a_note_is_redacted_alike_whatever_came_before_it_and_wherever_it_is_read(notes in prop::collection::vec(written(), 2..5), turn in 0..5usize) {
        let notes: Vec<_> = notes.iter().map(Written::note).collect();
        let at = |partition: i32, offset: usize| Coordinates { topic: "t".into(), partition, offset: offset as i64 };
        for (name, whole) in &POLICIES.1 {
            let first: Vec<String> = notes.iter().enumerate().map(|(i, (text, found))| whole.redact(&at(0, i), "p1", text, found).0.text).collect();
            let mut again = vec![String::new(); notes.len()];
            for step in 0..notes.len() {
                let i = (step + turn) % notes.len();
                again[i] = whole.redact(&at(3, 90 - i), "p1", &notes[i].0, &notes[i].1).0.text;
            }
            prop_assert_eq!(first, again, "{}", name);
        }
    }

    #[test]
    fn a_value_has_one_surrogate_in_all_notes_of_its_patient(value in value(), others in written()) {
        let (_, whole) = POLICIES.1.iter().find(|(name, _)| *name == "surrogate").unwrap();
        let (text, found) = Written(vec![(value.clone(), false)]).note();
        let (alone, _) = whole.redact(&Coordinates::default(), "p1", &text, &found);
        let surrogate = alone.placed[0].out.of(&alone.text).to_owned();
        let mut all = vec![(value, false)];
        all.extend(others.0);
        let (text, found) = Written(all).note();
        // If the note really has the surrogate, it is drawn again and may differ.
        prop_assume!(words(&surrogate).is_disjoint(&words(&text)));
        let (rest, _) = whole.redact(&Coordinates::default(), "p1", &text, &found);
        prop_assert_eq!(rest.placed[0].out.of(&rest.text), surrogate);
    }
}
