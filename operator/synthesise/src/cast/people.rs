//! People: their names in every form, their ages, and words that depend on them.

use super::words::{ASSISTANTS, DOCTORS, FEMALE_KIN, MALE_KIN, SPECIALTIES, capital};
use super::{Cast, spoken};
use crate::chance::Chance;
use crate::institute::NameForm;
use crate::language::Language;
use crate::page::Page;
use crate::pools::{Pools, Sex};
use crate::slot::{Count, MentionForm, Role, Word};

/// A person in a document.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) sex: Sex,
    pub(crate) first: String,
    middle: String,
    pub(crate) last: String,
    suffix: &'static str,
    nick: String,
    pub(crate) age: i64,
    months: i64,
    relation: &'static str,
    specialty: &'static str,
    degree: &'static str,
    profession: &'static str,
    /// `None` for English.
    language: Option<&'static Language>,
}

impl Cast<'_> {
    /// Returns the person with this role.
    pub(crate) fn person(&mut self, role: Role) -> Person {
        if let Some(person) = self.people.get(&role) {
            return person.clone();
        }
        let person = self.invite(role);
        self.people.insert(role, person.clone());
        person
    }

    fn invite(&mut self, role: Role) -> Person {
        // Relatives often share the patient's surname, so the patient is generated first.
        let kin = matches!(role, Role::Relative | Role::Relative2 | Role::Child);
        let family = kin.then(|| self.person(Role::Patient).last);
        let pools = &self.institute.pools;
        let chance = &mut self.chance;
        let sex = if chance.often(0.5) { Sex::Female } else { Sex::Male };
        let origin = Pools::origin(chance);
        let (sex, first, own) = match chance.pick(self.names) {
            Some(name) => {
                let sex = if name.female { Sex::Female } else { Sex::Male };
                (sex, name.given.clone(), name.family.clone())
            }
            None => (
                sex,
                pools.given(sex, origin, chance),
                pools.family(origin, chance),
            ),
        };
        let last = match family {
            Some(family) if chance.often(0.6) => family,
            _ => own,
        };
        let language = self.institute.language;
        let nick = nickname(&first, chance);
        let age = match role {
            Role::Child => chance.within(1, 17),
            Role::Patient => patient_age(chance),
            _ => chance.within(19, 88),
        };
        let suffix = if language.is_none() && sex == Sex::Male && chance.often(0.03) {
            chance.word(&[" Jr.", " Jr", " III", " Sr.", " II", ", Jr."])
        } else {
            ""
        };
        Person {
            sex,
            middle: match chance.pick(self.names) {
                Some(name) => name.given.clone(),
                None => pools.given(sex, origin, chance),
            },
            first,
            last,
            suffix,
            nick,
            age,
            months: chance.within(1, 30),
            relation: match language {
                Some(language) => language.relation(sex, chance),
                None => chance.word(if sex == Sex::Female { FEMALE_KIN } else { MALE_KIN }),
            },
            specialty: match language {
                Some(language) => language.specialty(chance),
                None => chance.word(SPECIALTIES),
            },
            degree: match language {
                Some(language) => language.degree(role.assists(), sex, chance),
                None => chance.word(if role.assists() { ASSISTANTS } else { DOCTORS }),
            },
            profession: match language {
                Some(language) => language.profession(sex, chance),
                None => pools.professions.any(chance),
            },
            language,
        }
    }

    pub(super) fn write_person(&mut self, role: Role, form: MentionForm, capitalised: bool, page: &mut Page) {
        let person = self.person(role);
        let label = if role.treats() { "DOCTOR" } else { "PATIENT" };
        let chance = &mut self.chance;
        match form {
            MentionForm::Any => {
                let mut form = chance.weighted(&self.institute.names, NameForm::FirstLast);
                // The family name comes first in fields, never in a sentence.
                if page.is_within_line() && !page.ends_with(&[": ", "\t", "|", "| ", ":"]) {
                    form = match form {
                        NameForm::LastFirst | NameForm::LastThenFirst => NameForm::FirstLast,
                        NameForm::LastFirstInitial => NameForm::FirstInitialLast,
                        other => other,
                    };
                }
                let mut name = person.written(form);
                // In a list or a header, capitals depend on the institute.
                if !page.is_within_line() && chance.often(self.institute.capitals) {
                    name = name.to_uppercase();
                }
                page.value(label, &name);
            }
            MentionForm::Full => {
                let form = if chance.often(0.7) {
                    NameForm::FirstInitialLast
                } else {
                    NameForm::FirstMiddleLast
                };
                page.value(label, &person.written(form));
            }
            MentionForm::First => page.value(label, &person.first),
            MentionForm::Last => page.value(label, &person.last),
            MentionForm::Middle => page.value(label, &initial(&person.middle)),
            MentionForm::Initials => page.value(label, &person.initials(chance)),
            MentionForm::FirstInitial => page.value(label, &format!("{}.", initial(&person.first))),
            MentionForm::LastInitial => page.value(label, &format!("{}.", initial(&person.last))),
            MentionForm::Nick => page.value(label, &person.nick),
            MentionForm::LastFirst => {
                let form = if chance.often(0.5) {
                    NameForm::LastFirst
                } else {
                    NameForm::LastFirstInitial
                };
                let mut name = person.written(form);
                if chance.often(self.institute.capitals * 1.2) {
                    name = name.to_uppercase();
                }
                page.value(label, &name);
            }
            MentionForm::Mr | MentionForm::MrObject => {
                page.text(person.title(form == MentionForm::MrObject, chance));
                page.text(" ");
                let name = if person.language.is_some() && chance.often(0.2) {
                    person.written(NameForm::FirstLast)
                } else {
                    person.last
                };
                page.value(label, &name);
            }
            MentionForm::Dr => {
                match person.language {
                    Some(language) => page.text(&before_name(language.title(chance))),
                    None => page.text(if chance.often(0.92) { "Dr. " } else { "Dr " }),
                }
                let form = chance.weighted(
                    &[
                        (None, 0.6),
                        (Some(NameForm::FirstLast), 0.3),
                        (Some(NameForm::FirstInitialLast), 0.1),
                    ],
                    None,
                );
                match form {
                    Some(form) => page.value(label, &person.written(form)),
                    None => page.value(label, &person.last),
                }
            }
            MentionForm::Cred => {
                if let Some(language) = person.language {
                    let form = chance.weighted(
                        &[
                            (NameForm::FirstLast, 0.65),
                            (NameForm::InitialLast, 0.3),
                            (NameForm::FirstInitialLast, 0.05),
                        ],
                        NameForm::FirstLast,
                    );
                    page.text(&before_name(language.title(chance)));
                    return page.value(label, &person.written(form));
                }
                let form = chance.weighted(
                    &[
                        (NameForm::FirstLast, 0.6),
                        (NameForm::FirstInitialLast, 0.35),
                        (NameForm::InitialLast, 0.05),
                    ],
                    NameForm::FirstLast,
                );
                page.value(label, &person.written(form));
                page.text(if chance.often(0.8) { ", " } else { " " });
                page.text(person.degree);
            }
            MentionForm::Spelled => page.value(label, &spoken::spelled(&person.last, chance)),
            MentionForm::FirstSpelled => page.value(label, &spoken::spelled(&person.first, chance)),
            MentionForm::Profession => {
                if person.language.is_none() {
                    page.article(person.profession);
                }
                page.value("PROFESSION", person.profession);
            }
            MentionForm::Age(count) => {
                let age = person.age(count, chance);
                if person.language.is_none() {
                    page.article(&age);
                }
                page.value("AGE", &age);
            }
            MentionForm::Word(word) => {
                let text = person.word(word, chance);
                page.text(&if capitalised {
                    capital(text)
                } else {
                    text.to_owned()
                });
            }
        }
    }
}

impl Person {
    fn written(&self, form: NameForm) -> String {
        let Self {
            first,
            last,
            middle,
            suffix,
            ..
        } = self;
        let m = initial(middle);
        match form {
            NameForm::FirstLast => format!("{first} {last}{suffix}"),
            NameForm::FirstInitialLast => format!("{first} {m}. {last}{suffix}"),
            NameForm::FirstMiddleLast => format!("{first} {middle} {last}{suffix}"),
            NameForm::LastFirst => format!("{last}, {first}"),
            NameForm::LastThenFirst => format!("{last} {first}"),
            NameForm::LastFirstInitial => format!("{last}, {first} {m}"),
            NameForm::InitialLast => format!("{}. {last}", initial(first)),
        }
    }

    fn initials(&self, chance: &mut Chance) -> String {
        let [f, m, l] = [&self.first, &self.middle, &self.last].map(|name| initial(name));
        match chance.below(5) {
            0 | 1 => format!("{f}{m}{l}"),
            2 => format!("{f}.{m}.{l}."),
            3 => format!("{f}.{l}."),
            _ => format!("{f}{l}"),
        }
    }

    /// Returns Mr. or Mrs., as the object of a sentence where the language tells it.
    fn title(&self, is_object: bool, chance: &mut Chance) -> &'static str {
        if let Some(language) = self.language {
            return language.word(if is_object { "herrn" } else { "title" }, self.sex);
        }
        match self.sex {
            Sex::Male => chance.word(&["Mr.", "Mr.", "Mr.", "Mr"]),
            Sex::Female => chance.word(&["Ms.", "Mrs.", "Ms.", "Mrs.", "Ms", "Miss"]),
        }
    }

    fn age(&self, count: Count, chance: &mut Chance) -> String {
        match count {
            Count::Figures => self.age.to_string(),
            Count::Words => match self.language {
                Some(language) => language.in_words(self.age).to_owned(),
                None => in_words(self.age),
            },
            Count::Months => self.months.to_string(),
            Count::Decade => {
                let decade = self.age.max(20) / 10 * 10;
                match chance.below(3) {
                    0 => format!("{decade}s"),
                    1 => format!("{decade}'s"),
                    _ => format!("{}ies", in_words(decade).trim_end_matches('y')),
                }
            }
        }
    }

    fn word(&self, word: Word, chance: &mut Chance) -> &'static str {
        let by_sex = |female, male| if self.sex == Sex::Female { female } else { male };
        match word {
            Word::He => by_sex("she", "he"),
            Word::Him => by_sex("her", "him"),
            Word::His => by_sex("her", "his"),
            Word::Man => by_sex("woman", "man"),
            Word::Male => by_sex("female", "male"),
            Word::Boy => by_sex("girl", "boy"),
            Word::M => by_sex("F", "M"),
            Word::Title => self.title(false, chance),
            Word::Of(name) => self.language.map_or("", |language| language.word(name, self.sex)),
            Word::Specialty => self.specialty,
            Word::Degree => self.degree,
            Word::Relation => self.relation,
        }
    }
}

/// Returns a title with a blank after it, if there is a title.
fn before_name(title: &str) -> String {
    if title.is_empty() {
        String::new()
    } else {
        format!("{title} ")
    }
}

fn initial(name: &str) -> String {
    name.chars()
        .find(|char| char.is_alphabetic())
        .map(|char| char.to_uppercase().to_string())
        .unwrap_or_default()
}

fn patient_age(chance: &mut Chance) -> i64 {
    let (low, high) = chance.weighted(
        &[
            ((1, 17), 0.1),
            ((18, 44), 0.25),
            ((45, 64), 0.28),
            ((65, 89), 0.31),
            ((90, 103), 0.06),
        ],
        (45, 64),
    );
    chance.within(low, high)
}

/// Returns a familiar form of a given name: a known one, or a part of it.
fn nickname(first: &str, chance: &mut Chance) -> String {
    let folded = lethe_text::fold(first);
    let known: Vec<&str> = lethe_surrogates::NICKNAMES
        .iter()
        .filter(|(_, names)| names.contains(&folded.as_str()))
        .map(|(nick, _)| *nick)
        .collect();
    if !known.is_empty() {
        return capital(chance.word(&known));
    }
    let short: String = first
        .chars()
        .take(if chance.often(0.5) { 3 } else { 4 })
        .collect();
    match chance.below(3) {
        0 => short,
        1 => format!("{short}y"),
        _ => first.to_owned(),
    }
}

/// Returns an age in words. Nobody here is older than 120.
fn in_words(age: i64) -> String {
    lethe_text::numbers::in_english(u8::try_from(age).unwrap_or_default())
}
