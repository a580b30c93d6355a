//! Measures how often the language of a text is found, by the length of the text.
//!
//! `languages LANGUAGE=GOLD...`: GOLD has documents in that language. Each is cut to its first characters at several
//! lengths. Prints a Markdown table: the share of texts that are taken for their own language, for none (they would go
//! to the fallback language), and for another one.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for the terminal.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use lethe_core::ChooseLanguage as _;
use lethe_corpus::read;
use lethe_ensemble::{ByLanguage, NoteLanguage};

/// Characters; the last stands for the whole text.
const LENGTHS: [usize; 6] = [40, 80, 160, 320, 640, usize::MAX];

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("languages: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let mut texts = Vec::new();
    for argument in arguments {
        let (code, path) = argument
            .split_once('=')
            .ok_or("usage: languages LANGUAGE=GOLD...")?;
        let language: NoteLanguage = code.parse()?;
        for document in read(Path::new(path), None)? {
            texts.push((language, document.text));
        }
    }
    let mut languages: Vec<NoteLanguage> = texts.iter().map(|(language, _)| *language).collect();
    languages.sort();
    languages.dedup();
    let choices: Vec<ByLanguage> = languages
        .iter()
        .map(|fallback| ByLanguage::new(&languages, *fallback))
        .collect();
    println!("| language | characters | texts | its own | none | another |\n|---|---|---|---|---|---|");
    for (own, language) in languages.iter().enumerate() {
        let of_language = texts.iter().filter(|(of, _)| of == language);
        let of_language: Vec<&String> = of_language.map(|(_, text)| text).collect();
        for length in LENGTHS {
            let (mut right, mut none, mut wrong) = (0, 0, 0);
            for text in &of_language {
                let text: String = text.chars().take(length).collect();
                // Without a clear language, the choice follows the fallback.
                let mut chosen = choices.iter().map(|choice| choice.choose(&text));
                let first = chosen.next().unwrap_or_default();
                match (chosen.all(|other| other == first), first == own) {
                    (false, _) => none += 1,
                    (true, true) => right += 1,
                    (true, false) => wrong += 1,
                }
            }
            let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / of_language.len() as f64);
            let characters = match length {
                usize::MAX => "all".to_owned(),
                length => length.to_string(),
            };
            println!(
                "| {language} | {characters} | {} | {} | {} | {} |",
                of_language.len(),
                share(right),
                share(none),
                share(wrong)
            );
        }
    }
    Ok(())
}
