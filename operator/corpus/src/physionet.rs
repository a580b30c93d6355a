//! The input and output of PhysioNet's deid: `NAME.text` with the notes, and next to it `NAME.info` (spans with
//! their types) or `NAME.phi` (spans alone).
//!
//! A record of `.text` begins with the line `START_OF_RECORD=PATIENT||||NOTE||||`, and ends with
//! `||||END_OF_RECORD`. The output has the line `Patient PATIENT<TAB>Note NOTE` for each record, then its spans:
//! in `.info` `START<TAB>END<TAB>TEXT<TAB>TYPE...`, where `# ` before the text marks a word that deid examined and
//! left; in `.phi` `START<TAB>START<TAB>END`. Offsets count from the end of the record's first line, in bytes,
//! since deid does not decode its input. A document is named `PATIENT-NOTE`. A record without a line in the output
//! was not processed, and is left out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lethe_core::Span;

use crate::Document;
use crate::error::{CorpusError, content, named};
use crate::places::{Claim, Places, settle};

const START: &str = "START_OF_RECORD=";
const END: &str = "||||END_OF_RECORD";

/// The label of each type, by the first of these words that the type contains. Order matters: a doctor's last
/// name is a doctor, and a street address is no IP address.
const TYPES: &[(&str, &str)] = &[
    ("email", "Email"),
    ("e-mail", "Email"),
    ("url", "URL"),
    ("ip address", "IP"),
    ("ipaddress", "IP"),
    ("social security", "SSN"),
    ("ssn", "SSN"),
    ("doctor", "Doctor"),
    ("provider", "Doctor"),
    ("(md)", "Doctor"),
    ("hospital", "Hospital"),
    ("ward", "Hospital"),
    ("zip", "Zip"),
    ("address", "Address"),
    ("street", "Address"),
    ("company", "Organization"),
    ("university", "Organization"),
    ("telephone", "Telephone"),
    ("phone", "Telephone"),
    ("pager", "Telephone"),
    ("fax", "Telephone"),
    ("age over", "Age"),
    ("age ", "Age"),
    ("medical record", "ID"),
    ("unit number", "ID"),
    ("number", "ID"),
    ("mrn", "ID"),
    ("date", "Date"),
    ("month", "Date"),
    ("day", "Date"),
    ("year", "Date"),
    ("holiday", "Date"),
    ("season", "Date"),
    ("location", "Location"),
    ("state", "Location"),
    ("country", "Location"),
    ("name", "Name"),
    ("initial", "Name"),
];

/// Returns the label of a finding's types. Types that deid itself calls ambiguous count only if all are.
fn label(types: &[&str]) -> &'static str {
    let sure = types.iter().filter(|kind| !kind.contains("ambig"));
    let of = |kind: &&str| {
        let kind = format!("{} ", kind.to_lowercase());
        TYPES
            .iter()
            .find(|(word, _)| kind.contains(word))
            .map(|(_, label)| *label)
    };
    let mut all = sure.chain(types.iter());
    all.find_map(of).unwrap_or("Other")
}

/// Reads the documents of one of the three files.
pub(crate) fn read(path: &Path) -> Result<Vec<Document>, CorpusError> {
    let text_path = path.with_extension("text");
    let output = output_of(path);
    for (file, problem) in [
        (&text_path, "no `.text` file of the same name in this folder"),
        (
            &output,
            "no `.info` or `.phi` file of the same name in this folder",
        ),
    ] {
        if !file.is_file() {
            return Err(CorpusError::whole(path, problem));
        }
    }
    let typed = output.extension().is_some_and(|extension| extension == "info");
    let mut claims = claims(&output, typed)?;
    let mut documents = Vec::new();
    for (patient, note, text) in records(&text_path)? {
        let id = format!("{patient}-{note}");
        let Some(claims) = claims.remove(&id) else {
            continue;
        };
        let mut document = Document {
            marks: marks(&output, &text, &claims)?,
            id,
            patient: Some(patient),
            text,
        };
        document.sort();
        documents.push(document);
    }
    if !claims.is_empty() {
        return Err(CorpusError::whole(
            &output,
            "has a record that the `.text` file does not have",
        ));
    }
    Ok(documents)
}

/// Returns the file with the spans: the named one, else the one with types.
fn output_of(path: &Path) -> PathBuf {
    let info = path.with_extension("info");
    match path.extension().is_some_and(|extension| extension == "phi") || !info.is_file() {
        true => path.with_extension("phi"),
        false => info,
    }
}

fn marks(path: &Path, text: &str, claims: &[Claim]) -> Result<Vec<crate::Mark>, CorpusError> {
    // A byte within a character is no place; it is given one that lies outside.
    let bytes = (0..=text.len()).map(|at| if text.is_char_boundary(at) { at } else { usize::MAX });
    let mut readings = vec![Places::from_starts(bytes.collect())];
    // A wrapper of deid may decode its input. Only quoted text shows it.
    if claims.iter().all(|claim| claim.text.is_some()) {
        readings.push(Places::of(text));
    }
    settle(path, text, &readings, claims)
}

/// Returns patient, note and text of each record.
fn records(path: &Path) -> Result<Vec<(String, String, String)>, CorpusError> {
    let source = content(path)?;
    let mut records = Vec::new();
    let (mut rest, mut line) = (source.as_str(), 1);
    while let Some((before, after)) = rest.split_once(START) {
        line += before.matches('\n').count();
        let wrong = |what| CorpusError::layout(path, line, what);
        let (head, body) = after
            .split_once('\n')
            .ok_or_else(|| wrong("a record without a text"))?;
        let mut ids = head.split('|').filter(|part| !part.is_empty());
        let number = |part: Option<&str>| {
            let part = part.map(str::trim)?;
            (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.to_owned())
        };
        let ids = number(ids.next()).zip(number(ids.next()));
        let (patient, note) = ids.ok_or_else(|| wrong("not `START_OF_RECORD=PATIENT||||NOTE||||`"))?;
        let (text, next) = body
            .split_once(END)
            .ok_or_else(|| wrong("a record without `||||END_OF_RECORD`"))?;
        line += 1 + text.matches('\n').count();
        let text = text.strip_suffix('\n').unwrap_or(text);
        records.push((patient, note, text.to_owned()));
        rest = next;
    }
    Ok(records)
}

/// Returns the spans of each record by the document's id.
fn claims(path: &Path, typed: bool) -> Result<HashMap<String, Vec<Claim>>, CorpusError> {
    // Quoted words of a text that is not UTF-8 could not be compared.
    let source = content(path)?;
    let mut all: HashMap<String, Vec<Claim>> = HashMap::new();
    let mut id = None;
    for (i, line) in source.lines().enumerate() {
        let wrong = |what| CorpusError::layout(path, i + 1, what);
        if line.trim().is_empty() {
            continue;
        }
        if let Some(head) = line.strip_prefix("Patient ") {
            let (patient, note) = head
                .split_once("Note ")
                .ok_or_else(|| wrong("not `Patient PATIENT<TAB>Note NOTE`"))?;
            let head = format!("{}-{}", patient.trim(), note.trim());
            if all.insert(head.clone(), Vec::new()).is_some() {
                return Err(wrong("a second time the same record"));
            }
            id = Some(head);
            continue;
        }
        let claims = id.as_ref().and_then(|id| all.get_mut(id));
        let claims =
            claims.ok_or_else(|| wrong("a span before the first `Patient PATIENT<TAB>Note NOTE`"))?;
        let claim = match typed {
            true => typed_span(line, i + 1, claims.len()),
            false => bare_span(line, i + 1, claims.len()),
        };
        claims.extend(claim.ok_or_else(|| {
            wrong(match typed {
                true => "not `START<TAB>END<TAB>TEXT<TAB>TYPE`",
                false => "not `START<TAB>START<TAB>END`",
            })
        })?);
    }
    Ok(all)
}

/// Reads a line of `.info`; `Some(None)` for a word that deid left.
#[expect(clippy::option_option, reason = "the outer one is for a line that is invalid")]
fn typed_span(line: &str, number: usize, index: usize) -> Option<Option<Claim>> {
    let mut columns = line.split('\t');
    let (start, end) = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    let quoted = columns.next()?;
    if quoted.starts_with('#') {
        return Some(None);
    }
    let types: Vec<&str> = columns.map(str::trim).filter(|kind| !kind.is_empty()).collect();
    // deid quotes the character behind the span as well.
    let text = Span::new(0, usize::checked_sub(end, start)?)
        .ok()?
        .get(quoted)
        .map(str::to_owned);
    Some(Some(Claim {
        which: named("span", None, index),
        line: number,
        parts: vec![(start, end)],
        label: label(&types).to_owned(),
        text,
        score: None,
    }))
}

#[expect(clippy::option_option, reason = "as of a line of `.info`")]
fn bare_span(line: &str, number: usize, index: usize) -> Option<Option<Claim>> {
    let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
    let (start, again, end): (usize, usize, usize) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (start == again && numbers.next().is_none()).then(|| {
        Some(Claim {
            which: named("span", None, index),
            line: number,
            parts: vec![(start, end)],
            label: "PHI".to_owned(),
            text: None,
            score: None,
        })
    })
}

#[cfg(test)]
#[path = "physionet/tests.rs"]
mod tests;
