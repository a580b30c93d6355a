//! Form lines: "Nombre: …", "ATTENDING: …", "Facility: …". The value extends to the end of the line or to the
//! next field.

use crate::context::Scan;
use crate::lexicon::WordMap;
use crate::person::Evidence;
use crate::vocabulary::Traits;
use crate::words::Case;

/// The kind of value in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Patient,
    Doctor,
    /// A person or a log-in name.
    Signer,
    /// A surname and given names, in a form's own line, in any form.
    Hospital,
    City,
    State,
    Country,
    Street,
    Zip,
    Profession,
    Employer,
    Record,
    Sex,
}

/// Field names, folded, separated by bars, with the kind of their value. If a name occurs twice, the first
/// entry counts.
const FIELDS: &[(Field, &str)] = &[
    (
        Field::Patient,
        "patient|patient name|pt name|pt|name|name of patient|patient s name|re|regarding|member|\
         member name|subscriber|insured|guarantor|next of kin|nok|emergency contact|contact|proxy|\
         health care proxy|healthcare proxy|hcp|poa|mother|father|spouse|guardian|client|client name|\
         resident name|last name|first name|surname|middle name|maiden name|alias|aka|nombre|apellidos|\
         apellido|nombre y apellidos|nombre del paciente|paciente|primer apellido|segundo apellido|\
         familiar|persona de contacto|contact name|contact person|son|daughter|wife|husband|\
         accompanied by",
    ),
    (
        Field::Doctor,
        "attending|attending physician|attending md|surgeon|assistant|assistant surgeon|first assistant|\
         co surgeon|primary surgeon|anesthesiologist|anesthetist|anesthesia by|provider|provider name|pcp|\
         primary care physician|primary care provider|primary physician|primary care|referring physician|\
         referring provider|referring md|referring doctor|referred by|referring|ordering physician|\
         ordering provider|admitting physician|consulting physician|consultant|consultants|physician|\
         doctor|dr|md|resident|intern|fellow|nurse|rn|radiologist|pathologist|cardiologist|oncologist|\
         psychiatrist|psychologist|therapist|operator|endoscopist|technologist|technician|performed by|\
         requested by|ordered by|interpreted by|read by|seen by|examined by|evaluated by|attn|attention|\
         to|from|cc|copy to|copies to|assistants|surgeons|scrub|circulator|examiner|evaluator|interviewer|\
         case manager|social worker|medico|medico responsable|facultativo|doctora|remitido por|remitente|\
         cirujano|anestesista|firmado por|enfermera|enfermero|responsable|medico de familia|\
         medico remitente|autor|autores|jefe de servicio|correspondencia|primary|discussed with|staff|\
         staff physician|supervising physician|covering|covering physician",
    ),
    (
        Field::Signer,
        "signed|signed by|electronically signed by|electronically signed|esigned by|cosigned|cosigned by|\
         dictated by|dictated|dictating|dictator|authored by|author|transcribed by|transcriptionist|\
         transcriber|typed by|entered by|verified by|reviewed by|approved by|completed by|prepared by|\
         written by|signature|user|username|user name|user id|login|login id|logged in as|by|fdo|firmado|\
         firma|usuario|recorded by|documented by|attested by|authenticated by",
    ),
    (
        Field::Hospital,
        "facility|hospital|hospital name|clinic|site|institution|location|center|facility name|practice|\
         centro|centro de salud|institucion|hospital de|transferred from|referring facility|\
         referring hospital|pharmacy|centro hospitalario|place of service",
    ),
    (
        Field::City,
        "city|town|hometown|localidad|poblacion|municipio|ciudad|localidad provincia|birthplace|\
         place of birth|lugar de nacimiento",
    ),
    (
        Field::State,
        "state|provincia|comunidad|comunidad autonoma|province|county",
    ),
    (
        Field::Country,
        "country|pais|country of birth|country of origin|nationality|pais de nacimiento|pais de origen",
    ),
    (
        Field::Street,
        "address|home address|street|street address|mailing address|domicilio|direccion|calle|residence",
    ),
    (Field::Zip, "cp|zip|zip code|postal code|codigo postal|zipcode"),
    (
        Field::Profession,
        "occupation|profession|job|job title|profesion|ocupacion|employment|trabajo|vocation",
    ),
    (
        Field::Employer,
        "employer|company|empresa|employer name|workplace|school",
    ),
    (
        Field::Record,
        "nhc|historia clinica|numero de historia clinica|n historia clinica",
    ),
    (Field::Sex, "sexo|sex|gender"),
];

/// The most words of a field's name.
const MOST_WORDS: usize = 5;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the value of the field whose colon is at token `colon`.
    pub(super) fn field(&mut self, colon: usize) {
        let Some(field) = self.field_before(colon) else {
            return;
        };
        let note = self.note;
        let mut at = colon + 1;
        // The value may be on the line below its name, but not after an empty one.
        if note.ends_line(colon) {
            let below = colon + 1 < note.len() && note.words.breaks_after(colon) == 1 && note.is_capital(at);
            if !below || !matches!(field, Field::Patient | Field::Doctor) || self.is_field_name(at) {
                return;
            }
        }
        while at < colon + 4
            && note.case(at) == Case::Mark
            && !matches!(note.get(at), "[" | "<")
            && !note.ends_field(at)
        {
            at += 1;
        }
        if at >= note.len() {
            return;
        }
        match field {
            Field::Patient | Field::Doctor | Field::Signer => self.person_field(field, at),
            Field::Hospital => self.span_field(at, self.labels.hospital, 8, "context.field-hospital"),
            Field::City => self.span_field(at, self.labels.city, 5, "context.field-city"),
            Field::State => self.span_field(at, self.labels.state, 4, "context.field-state"),
            Field::Country => self.span_field(at, self.labels.country, 4, "context.field-country"),
            Field::Street => self.street_field(at),
            Field::Profession => self.span_field(at, self.labels.profession, 5, "context.field-profession"),
            Field::Employer => self.span_field(at, self.labels.organization, 6, "context.field-employer"),
            Field::Zip if note.case(at) == Case::Digits && (4..=6).contains(&note.get(at).len()) => {
                self.out.tokens(at, at, self.labels.zip, 0.9, "context.field-zip");
            }
            Field::Record if note.case(at) == Case::Digits => {
                self.out
                    .tokens(at, at, self.labels.record, 0.8, "context.field-record");
            }
            Field::Sex => {
                if let Some(label) = self.labels.sex {
                    self.out.tokens(at, at, label, 0.9, "context.field-sex");
                }
            }
            Field::Zip | Field::Record => {}
        }
    }

    /// Finds a name that fills a table cell after the bar at token `bar`.
    pub(super) fn cell(&mut self, bar: usize) {
        let note = self.note;
        if note.ends_line(bar) {
            return;
        }
        if let Some(name) = note.name_at(bar + 1, Evidence::Field)
            && note.get(name.last + 1) == "|"
            && name.words >= 2
            && name.listed >= 1
        {
            self.person(name, self.labels.patient, 0.8, "context.cell");
        }
    }

    fn person_field(&mut self, field: Field, from: usize) {
        let note = self.note;
        let label = if field == Field::Patient {
            self.labels.patient
        } else {
            self.labels.doctor
        };
        if field == Field::Signer
            && let Some(last) = self.user_name(from)
            && (last > from || !note.is_shapeless(from))
        {
            self.out
                .tokens(from, last, self.labels.username, 0.8, "context.field-user");
            return;
        }
        let mut at = from;
        // The title's own rule finds the name after it; several names may follow one field.
        for _ in 0..6 {
            if self.is_title(at) {
                at += 1;
                if note.get(at) == "." {
                    at += 1;
                }
            }
            let Some(name) = note.name_at(at, Evidence::Field) else {
                return;
            };
            // "Name: Date of birth:" has no name.
            if self.is_field_name(at) || note.is_eponym(name.last) {
                return;
            }
            // "CC: Right shoulder pain" is a chief complaint, "cc: Ruth Hale" a copy.
            if note.words.before(from, 2) == "cc"
                && (name.words < 2 || !(name.first..=name.last).any(|i| note.is_plain_name(i)))
            {
                return;
            }
            self.person(name, label, 0.9, "context.field-person");
            let mut next = name.last + 1;
            if note.ends_line(name.last) || !matches!(note.get(next), "," | ";" | "/" | "&" | "and" | "y") {
                return;
            }
            while note.is(next, Traits::CREDENTIAL)
                || note.case(next) == Case::Mark
                || matches!(note.get(next), "and" | "y" | "md")
            {
                if note.ends_line(next) || next > name.last + 8 {
                    return;
                }
                next += 1;
            }
            if label == self.labels.patient {
                return;
            }
            at = next;
        }
    }

    /// Returns whether token `at` is a title in a field's value. Surnames that are titles too ("Pastor",
    /// "Judge") do not count here.
    fn is_title(&self, at: usize) -> bool {
        matches!(
            self.note.get(at),
            "dr" | "dra"
                | "mr"
                | "mrs"
                | "ms"
                | "miss"
                | "sr"
                | "sra"
                | "srta"
                | "don"
                | "dona"
                | "prof"
                | "doctor"
                | "doctora"
        )
    }

    /// Reports a whole value, up to the field's end, if it is short and looks like a proper name.
    fn span_field(&mut self, at: usize, label: lethe_core::LabelId, most: usize, rule: &'static str) {
        let note = self.note;
        let Some(last) = self.value_end(at, most) else {
            return;
        };
        let profession = label == self.labels.profession;
        if !profession && !note.is_capital(at) {
            return;
        }
        // "SITE: Left subclavian vein" names no place: in a place every word is capitalised and one of them
        // is proper.
        let capitals =
            (at..=last).all(|i| !note.case(i).is_word() || note.is_capital(i) || note.get(i).len() < 4);
        let known = capitals && (at..=last).any(|i| self.is_proper(i) && note.case(i).is_word());
        if profession || known {
            self.out.tokens(at, last, label, 0.8, rule);
        }
    }

    fn street_field(&mut self, at: usize) {
        let note = self.note;
        // It extends to the end of the line, but a comma and a capitalised place after it belong to the
        // place.
        if let Some(last) = self.value_end(at, 16) {
            let street = (at..=last).any(|i| note.case(i) == Case::Digits || note.is(i, Traits::STREET));
            if street && last > at {
                self.out
                    .tokens(at, last, self.labels.street, 0.7, "context.field-street");
            }
        }
    }

    /// Returns the last token of the value that begins at `at`: before a comma, a stop, a wide gap, or the
    /// next field's name.
    fn value_end(&self, at: usize, most: usize) -> Option<usize> {
        let note = self.note;
        let mut last = None;
        for i in at..note.len() {
            if matches!(note.get(i), "," | ";" | ":" | "|" | "(")
                || (note.get(i) == "." && i > at && note.get(i - 1).len() > 3)
            {
                break;
            }
            // "Walgreens on Main Street": text after a preposition is not part of it.
            if i > at
                && note.case(i) == Case::Lower
                && matches!(
                    note.get(i),
                    "on" | "in" | "at" | "by" | "with" | "for" | "from" | "to"
                )
            {
                break;
            }
            if i >= at + most {
                return None;
            }
            last = Some(i);
            if note.ends_field(i) {
                break;
            }
        }
        let last = last?;
        // "City: Boston State: MA" with single blanks: the next field's name is not part of the value.
        if note.get(last + 1) == ":" && !note.ends_line(last) {
            return last.checked_sub(1).filter(|&before| before >= at);
        }
        Some(last)
    }

    /// Returns whether a field's name begins at token `at`: a colon follows within three words.
    pub(super) fn is_field_name(&self, at: usize) -> bool {
        (at + 1..=at + 3)
            .take_while(|&i| !self.note.ends_field(i - 1))
            .any(|i| self.note.get(i) == ":")
    }

    /// Returns the field whose name ends before the colon: the longest of one to five words.
    fn field_before(&self, colon: usize) -> Option<Field> {
        let note = self.note;
        let mut words: [usize; MOST_WORDS] = [0; MOST_WORDS];
        let mut count = 0;
        let mut at = colon;
        while at > 0 && count < MOST_WORDS {
            at -= 1;
            if note.ends_line(at) {
                break;
            }
            match note.case(at) {
                Case::Mark if matches!(note.get(at), "'" | "’" | "/" | "-" | "(" | ")" | "." | "#") => {}
                case if case.is_word() => {
                    words[count] = at;
                    count += 1;
                }
                _ => break,
            }
        }
        // The name as one string, and where each of its words begins in it.
        let mut name = String::new();
        let mut from = [0; MOST_WORDS];
        for (n, &word) in words[..count].iter().rev().enumerate() {
            if n > 0 {
                name.push(' ');
            }
            from[n] = name.len();
            name.push_str(note.get(word));
        }
        (0..count).find_map(|skipped| {
            let field = self.fields.get(name.get(from[skipped]..)?)?;
            self.is_field_here(field, words[count - 1 - skipped], skipped)
                .then_some(field)
        })
    }

    /// Returns whether a field begins here. A one-word name amid a sentence ("patient:") needs the start of a
    /// line or column before it.
    fn is_field_here(&self, field: Field, first: usize, skipped: usize) -> bool {
        let note = self.note;
        let fresh = first == 0
            || note.ends_field(first - 1)
            || matches!(note.get(first - 1), "." | "|" | ";" | "," | ")" | "•" | "*");
        match note.get(first) {
            "to" | "from" | "by" | "re" | "primary" | "contact" | "location" | "site" | "center"
            | "school" | "staff" | "attention" | "state" => note.starts_sentence(first) && skipped == 0,
            _ => fresh || field == Field::Doctor || field == Field::Signer || note.is_capital(first),
        }
    }
}

/// The fields' names, by their hash.
pub(super) struct Fields(WordMap<&'static str, Field>);

impl Fields {
    pub(super) fn new() -> Self {
        let pairs = FIELDS
            .iter()
            .flat_map(|&(field, names)| names.split('|').map(move |name| (name, field)));
        let mut fields = WordMap::default();
        for (name, field) in pairs {
            // If a name occurs twice, the first entry counts.
            fields.entry(name).or_insert(field);
        }
        Self(fields)
    }

    fn get(&self, name: &str) -> Option<Field> {
        self.0.get(name).copied()
    }
}
