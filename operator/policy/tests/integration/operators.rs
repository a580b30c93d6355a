//! Golden cases for each operator: the result of a policy for a note.

use crate::common;

use common::{OLD, ROTATED, event, key_file, known, marked, policy, redact, redacted, redacted_of, redactor};
use lethe_core::{KnownKind, QuarantineCode, Unredacted};
use lethe_policy::{PolicyFile, Revealer, Whose};
use lethe_secrets::{Keyring, Sealer, SqliteVault, Token, Vault as _};

const NOTE: &str = "{PATIENT|Ada Okafor}, {AGE|93}, seen {DATE|03/05/2021} by {DOCTOR|Dr. Ruiz}. {DOCTOR|Ruiz} and {DOCTOR|Dr Lee}; MRN {MEDICALRECORD|12-3456}, {CITY|Reus} {ZIP|02139}.";

/// Returns a policy of one action for everything.
fn all(action: &str) -> String {
    format!("mode = \"custom\"\ndefault = {{ action = \"{action}\" }}\n")
}

#[test]
fn tag_mask_remove_and_keep_are_what_they_say() {
    assert_eq!(
        redacted(&redactor("mode = \"safe-harbor\""), NOTE),
        "[PATIENT], [AGE], seen [DATE] by [DOCTOR]. [DOCTOR] and [DOCTOR]; MRN [MEDICALRECORD], [CITY] [ZIP]."
    );
    assert_eq!(
        redacted(&redactor(&all("mask")), "{PATIENT|Ada Okafor} of {CITY|Reus}"),
        "*** ****** of ****"
    );
    assert_eq!(redacted(&redactor(&all("remove")), "A {CITY|Reus} B"), "A  B");
    assert_eq!(redacted(&redactor(&all("keep")), "A {CITY|Reus} B"), "A Reus B");
}

#[test]
fn numbered_tags_are_one_a_value_within_a_note_whatever_its_case() {
    let policy = "mode = \"safe-harbor\"\ndefault = { action = \"tag\", numbered = \"note\" }";
    assert_eq!(
        redacted(
            &redactor(policy),
            "{DOCTOR|Ruiz}, {DOCTOR|Lee}, {DOCTOR|RUIZ}, {PATIENT|Ruiz}"
        ),
        "[DOCTOR-1], [DOCTOR-2], [DOCTOR-1], [PATIENT-1]"
    );
}

#[test]
fn section_164_514_b_2_i_c_dates_keep_the_year_and_ages_over_89_are_90_or_older() {
    let generalise = "mode = \"safe-harbor\"\n[labels.DATE]\naction = \"generalise\"\n[labels.AGE]\naction = \"generalise\"\n";
    let redactor = redactor(generalise);
    for (before, after) in [
        ("{DATE|03/05/2021}", "2021"),
        ("{DATE|March 5th, 2021}", "2021"),
        ("{DATE|March 5}", "[DATE]"),
        ("{DATE|yesterday}", "[DATE]"),
        ("{AGE|89}", "89"),
        ("{AGE|90}", "90 or older"),
        ("{AGE|104}", "90 or older"),
        // The note was written in 2024: 1935 gives an age of 89 at most, 1934 of 90.
        ("{DATE|1935-01-01}", "1935"),
        ("{DATE|1934-12-31}", "90 or older"),
    ] {
        assert_eq!(redacted(&redactor, before), after, "{before}");
    }
}

#[test]
fn section_164_514_b_2_i_c_a_year_shows_no_great_age_of_a_patient_who_is_younger() {
    let redactor = redactor("mode = \"safe-harbor\"\n[labels.DATE]\naction = \"generalise\"");
    let (text, decisions) = marked("his father was born {DATE|in 1921}, he {DATE|1961-05-02}");
    let mut event = event(Some("p1"), &text);
    event.known.push(known(KnownKind::BirthDate, "1961-05-02"));
    let done = redact(&redactor, event, &decisions).unwrap().text;
    assert!(
        done.ends_with(", he 1961") && !done.contains("90 or older"),
        "{done}"
    );
}

#[test]
fn section_164_514_b_2_i_b_zip_codes_keep_three_digits_where_more_than_20_000_people_live() {
    let redactor = redactor("mode = \"safe-harbor\"\n[labels.ZIP]\naction = \"generalise\"");
    for (before, after) in [
        ("{ZIP|02139}", "021"),
        ("{ZIP|02139-4307}", "021"),
        ("{ZIP|03601}", "000"),
        ("{ZIP|89301}", "000"),
        ("{ZIP|00001}", "000"),
        ("{ZIP|SW1A 1AA}", "[ZIP]"),
    ] {
        assert_eq!(redacted(&redactor, before), after, "{before}");
    }
}

#[test]
fn a_postal_code_of_another_country_is_tagged_rather_than_taken_for_a_zip_code() {
    let redactor =
        redactor("mode = \"safe-harbor\"\nlanguage = \"es\"\n[labels.ZIP]\naction = \"generalise\"");
    assert_eq!(redacted(&redactor, "{ZIP|28013}"), "[ZIP]");
}

#[test]
fn a_limited_data_set_may_show_great_ages_in_years() {
    let redactor = redactor("mode = \"limited-data-set\"\n[labels.DATE]\naction = \"generalise\"");
    assert_eq!(redacted(&redactor, "{DATE|1921-01-01}"), "1921");
}

#[test]
fn a_patients_dates_move_by_the_same_days_in_every_note_and_other_patients_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "mode = \"limited-data-set\"\n[labels.DATE]\naction = \"shift\"\n{}",
        key_file(folder.path(), OLD)
    );
    let redactor = redactor(&toml);
    let one = redacted(&redactor, "{DATE|2021-03-05} to {DATE|2021-03-19}");
    let [from, to]: [jiff::civil::Date; 2] = one
        .split(" to ")
        .map(|date| date.parse().unwrap())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!((to - from).get_days(), 14);
    assert_ne!(from, jiff::civil::date(2021, 3, 5));
    assert_eq!(redacted(&redactor, "{DATE|2021-03-05}"), from.to_string());
    let others: std::collections::BTreeSet<_> = (0..20)
        .map(|patient| redacted_of(&redactor, Some(&format!("q{patient}")), "{DATE|2021-03-05}"))
        .collect();
    assert!(others.len() > 15, "{others:?}");
}

#[test]
fn weekdays_are_kept_if_the_policy_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "mode = \"limited-data-set\"\n[shift]\nweekday = true\n[labels.DATE]\naction = \"shift\"\n{}",
        key_file(folder.path(), OLD)
    );
    let done: jiff::civil::Date = redacted(&redactor(&toml), "{DATE|2021-03-05}").parse().unwrap();
    assert_eq!(done.weekday(), jiff::civil::Weekday::Friday);
}

#[test]
fn what_is_no_date_is_tagged_rather_than_shifted() {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "mode = \"limited-data-set\"\n[labels.DATE]\naction = \"shift\"\n{}",
        key_file(folder.path(), OLD)
    );
    let (text, decisions) = marked("{DATE|the day of the flood}");
    let done = redact(&redactor(&toml), event(Some("p1"), &text), &decisions).unwrap();
    assert_eq!((done.text.as_str(), done.placed[0].action), ("[DATE]", "tag"));
    assert_eq!(done.placed[0].key, None);
}

#[test]
fn pseudonyms_are_one_a_value_and_patient_and_name_their_key() {
    let folder = tempfile::tempdir().unwrap();
    let toml = all("pseudonym") + &key_file(folder.path(), OLD);
    let redactor = redactor(&toml);
    let (text, decisions) = marked("{MEDICALRECORD|12-3456}");
    let done = redact(&redactor, event(Some("p1"), &text), &decisions).unwrap();
    assert_eq!(
        (done.placed[0].action, done.placed[0].key.as_deref(), done.scope),
        ("pseudonym", Some("k1"), "patient")
    );
    assert!(done.text.starts_with("[MEDICALRECORD-") && done.text.len() == "[MEDICALRECORD-]".len() + 12);
    assert_eq!(redacted(&redactor, "{MEDICALRECORD|123456}"), done.text);
    assert_ne!(redacted(&redactor, "{MEDICALRECORD|123457}"), done.text);
    assert_ne!(
        redacted_of(&redactor, Some("p2"), "{MEDICALRECORD|12-3456}"),
        done.text
    );
}

#[test]
fn sealed_values_open_again_exactly_and_with_a_key_that_was_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let toml = all("encrypt") + &key_file(folder.path(), OLD);
    let sealed = redacted(&redactor(&toml), "{PATIENT|Ada  Òkafor}");
    assert_eq!(Token::parse(&sealed).unwrap().key, "k1");
    let file = PolicyFile::parse(&toml, "policy.toml").unwrap();
    let revealer = Revealer::new(&file, "policy.toml").unwrap();
    let back = revealer
        .reveal(&format!("[{sealed}] [PATIENT]"), Whose::Patient("p1"))
        .unwrap();
    assert_eq!(back, ("[Ada  Òkafor] [PATIENT]".to_owned(), 1));
    let error = revealer
        .reveal(&sealed, Whose::Patient("p2"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the sealed value at byte 0") && !error.contains("kafor"),
        "{error}"
    );
    let rotated = Keyring::parse(ROTATED).unwrap();
    let opened = Sealer::new(&rotated, "patient\np1").open(&sealed).unwrap();
    assert_eq!(opened.as_str(), "Ada  Òkafor");
    assert!(Sealer::new(&rotated, "patient\np2").open(&sealed).is_err());
    key_file(folder.path(), ROTATED);
    let again = redacted(&redactor(&toml), "{PATIENT|Ada  Òkafor}");
    assert_eq!(Token::parse(&again).unwrap().key, "k2");
}

#[test]
fn codes_of_the_vault_are_random_and_known_to_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        format!(
            "[vault]\nkind = \"sqlite\"\npath = {:?}\ncreate = true\n",
            folder.path().join(name).to_str().unwrap()
        )
    };
    let keys = key_file(folder.path(), OLD);
    let safe = |name: &str| {
        format!(
            "mode = \"safe-harbor\"\ndefault = {{ action = \"pseudonym\", codes = \"vault\" }}\n{keys}{}",
            place(name)
        )
    };
    let one = redacted(&redactor(&safe("a.db")), "{MEDICALRECORD|12-3456}");
    assert_eq!(redacted(&redactor(&safe("a.db")), "{MEDICALRECORD|12-3456}"), one);
    assert_ne!(redacted(&redactor(&safe("b.db")), "{MEDICALRECORD|12-3456}"), one);
    let file = PolicyFile::parse(&safe("a.db"), "policy.toml").unwrap();
    let revealer = Revealer::new(&file, "policy.toml").unwrap();
    let back = revealer
        .reveal(&format!("MRN {one} [CITY]"), Whose::Patient("p1"))
        .unwrap();
    assert_eq!(back, ("MRN 123456 [CITY]".to_owned(), 1));
    let keyring = Keyring::parse(OLD).unwrap();
    let vault = SqliteVault::open(&folder.path().join("a.db"), &keyring).unwrap();
    let code = one
        .trim_start_matches("[MEDICALRECORD-")
        .trim_end_matches(']')
        .parse()
        .unwrap();
    let entry = vault.value(code).unwrap().unwrap();
    assert_eq!(
        (entry.label.as_str(), entry.value.as_str()),
        ("MEDICALRECORD", "123456")
    );
}

#[test]
fn a_note_without_a_patient_is_a_patient_of_its_own_or_is_quarantined() {
    let folder = tempfile::tempdir().unwrap();
    let keys = key_file(folder.path(), OLD);
    let shift = format!("mode = \"limited-data-set\"\n[labels.DATE]\naction = \"shift\"\n{keys}");
    let (text, decisions) = marked("{DATE|2021-03-05}");
    let done = redact(&redactor(&shift), event(None, &text), &decisions).unwrap();
    assert_eq!(done.scope, "note");
    assert_ne!(done.text, "2021-03-05");
    let strict = format!("{shift}[patient]\nmissing = \"quarantine\"\n");
    assert_eq!(
        redact(&redactor(&strict), event(None, &text), &decisions).map(|done| done.text),
        Err(Unredacted::Quarantined(QuarantineCode::PolicyRefused))
    );
}

#[test]
fn keys_and_vaults_that_are_not_there_are_told_by_their_table() {
    for (toml, told) in [
        (all("encrypt"), "key `keys`: `encrypt` needs a key"),
        (all("encrypt") + "[keys]\nfile = \"nowhere.toml\"", "key `keys`: "),
        (all("encrypt") + "[keys]\nenv = \"LETHE_TEST_NO_SUCH\"", "LETHE_TEST_NO_SUCH"),
        (
            "mode = \"custom\"\ndefault = { action = \"pseudonym\", codes = \"vault\" }\n[keys]\nenv = \"LETHE_TEST_NO_SUCH\"".to_owned(),
            "LETHE_TEST_NO_SUCH",
        ),
    ] {
        let error = policy(&toml).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
