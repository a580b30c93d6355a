//! `lethe init`: writes a configuration, a policy and a key for the start.

mod ask;
mod templates;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;

use self::ask::Questions;
use self::templates::{Answers, Input};
use super::new_key::{create_new, write_key};
use crate::cli::{InitArgs, InitPolicy, InitSource};
use crate::exit::usage;

/// The id of the key in a new key file.
const KEY: &str = "k1";

/// Asks for what the options leave open, and writes the files.
pub(crate) fn run(args: &InitArgs) -> anyhow::Result<()> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let answers = if is_terminal {
        let mut questions = Questions {
            input: std::io::stdin().lock(),
            output: std::io::stderr().lock(),
        };
        complete(args, &mut questions)?
    } else {
        let missing = missing(args);
        if !missing.is_empty() {
            return Err(usage(format!(
                "cannot ask without a terminal: give {} as well",
                missing.join(" and ")
            )));
        }
        complete(args, &mut Questions::none())?
    };
    let written = write(args, &answers)?;
    let mut to = std::io::stdout().lock();
    for path in &written {
        writeln!(to, "wrote {}", path.display())?;
    }
    if answers.policy != InitPolicy::Tags {
        writeln!(to, "Keep a copy of the key apart from the data.")?;
    }
    let config = args.out.display();
    let command = match answers.input {
        Input::Kafka { .. } => format!("lethe run -c {config}"),
        Input::Files(_) => format!("lethe run -c {config} --until-end"),
        Input::Tables(_) => format!("lethe backfill -c {config}"),
    };
    writeln!(to, "Next: lethe check -c {config} --connect, then {command}")?;
    Ok(())
}

/// Returns the options that are needed and missing.
fn missing(args: &InitArgs) -> Vec<&'static str> {
    let place: &[(&str, bool)] = match args.source {
        Some(InitSource::Kafka) => &[
            ("--brokers", args.brokers.is_empty()),
            ("--topic", args.topic.is_none()),
        ],
        Some(InitSource::Files | InitSource::Tables) => &[("--path", args.path.is_none())],
        None => &[],
    };
    [("--source", args.source.is_none())]
        .iter()
        .chain(place)
        .chain(&[("--policy", args.policy.is_none())])
        .filter(|(_, is_missing)| *is_missing)
        .map(|&(name, _)| name)
        .collect()
}

/// Returns the answers: the options, and for what they leave open, the user's.
fn complete<I: std::io::BufRead, O: std::io::Write>(
    args: &InitArgs,
    questions: &mut Questions<I, O>,
) -> anyhow::Result<Answers> {
    let source = match args.source {
        Some(source) => source,
        None => questions.choose("Where do the notes come from?")?,
    };
    let place = |path: Option<&PathBuf>, questions: &mut Questions<I, O>, default| match path {
        Some(path) => Ok(path.clone()),
        None => questions
            .text("Which file or folder?", default)
            .map(PathBuf::from),
    };
    let input = match source {
        InitSource::Kafka => Input::Kafka {
            brokers: match &args.brokers[..] {
                [] => {
                    let brokers = questions.text("Which brokers?", "localhost:9092")?;
                    brokers
                        .split(',')
                        .map(|broker| broker.trim().to_owned())
                        .collect()
                }
                brokers => brokers.to_vec(),
            },
            topic: match &args.topic {
                Some(topic) => topic.clone(),
                None => questions.text("Which topic?", "notes")?,
            },
        },
        InitSource::Files => Input::Files(place(args.path.as_ref(), questions, "notes")?),
        InitSource::Tables => Input::Tables(place(args.path.as_ref(), questions, "export")?),
    };
    let policy = match args.policy {
        Some(policy) => policy,
        None => questions.choose("What replaces identifiers?")?,
    };
    Ok(Answers {
        input,
        policy,
        data: args.data.clone(),
        folder: args.out.parent().unwrap_or(Path::new("")).to_owned(),
    })
}

/// Writes the files, the configuration last, and returns their paths.
fn write(args: &InitArgs, answers: &Answers) -> anyhow::Result<Vec<PathBuf>> {
    let keys = (answers.policy != InitPolicy::Tags).then(|| answers.keys());
    let files: Vec<PathBuf> = keys
        .iter()
        .cloned()
        .chain([answers.policy_file(), args.out.clone()])
        .collect();
    if let Some(path) = files.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(usage(format!(
            "{} exists and is not overwritten; choose another folder with --out",
            path.display()
        )));
    }
    if !answers.folder.as_os_str().is_empty() {
        std::fs::create_dir_all(&answers.folder)
            .with_context(|| format!("cannot create {}", answers.folder.display()))?;
    }
    if let Some(keys) = &keys {
        write_key(keys, KEY)?;
    }
    create_new(&answers.policy_file(), answers.policy_text().as_bytes(), 0o644)?;
    create_new(&args.out, answers.configuration().as_bytes(), 0o644)?;
    Ok(files)
}

/// Returns a choice by its name or its number, counted from 1.
fn by_name_or_number<T: ValueEnum>(text: &str) -> Option<T> {
    let by_number = text
        .parse::<usize>()
        .ok()
        .and_then(|number| T::value_variants().get(number.checked_sub(1)?));
    by_number.cloned().or_else(|| T::from_str(text, true).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::load;

    fn args(folder: &Path, source: InitSource, policy: InitPolicy) -> InitArgs {
        InitArgs {
            source: Some(source),
            path: Some(folder.join("in $1")),
            brokers: vec!["b1:9092".to_owned(), "b2:9092".to_owned()],
            topic: Some("notes".to_owned()),
            policy: Some(policy),
            data: folder.join("redacted"),
            out: folder.join("conf/lethe.toml"),
        }
    }

    #[test]
    fn every_combination_is_a_configuration_that_lethe_accepts() {
        for &source in InitSource::value_variants() {
            for &policy in InitPolicy::value_variants() {
                let folder = tempfile::tempdir().unwrap();
                let args = args(folder.path(), source, policy);
                run(&args).unwrap();
                let checked = crate::cli::CheckArgs {
                    config: args.out.clone(),
                    policy: None,
                    connect: false,
                    explain: false,
                    json: true,
                };
                super::super::check::run(&checked).unwrap_or_else(|error| {
                    panic!(
                        "{source:?} {policy:?}: {error:#}\n{}",
                        std::fs::read_to_string(&args.out).unwrap()
                    )
                });
                let keys = folder.path().join("conf/keys.toml");
                match keys.metadata() {
                    Ok(about) => assert_eq!(about.permissions().mode() & 0o777, 0o600),
                    Err(_) => assert_eq!(policy, InitPolicy::Tags),
                }
                // A second time, nothing is overwritten.
                let before = std::fs::read(&args.out).unwrap();
                let refused = run(&args).unwrap_err().to_string();
                assert!(refused.contains("not overwritten"), "{refused}");
                assert_eq!(std::fs::read(&args.out).unwrap(), before);
            }
        }
    }

    #[test]
    fn what_the_options_leave_open_is_asked_until_the_answer_is_valid() {
        let folder = tempfile::tempdir().unwrap();
        let mut args = args(folder.path(), InitSource::Kafka, InitPolicy::Tags);
        (args.source, args.policy, args.topic) = (None, None, None);
        args.brokers.clear();
        let mut questions = Questions {
            input: &b"kafak\nkafka\n\nnotes-2\n2\n"[..],
            output: Vec::new(),
        };
        let answers = complete(&args, &mut questions).unwrap();
        let asked = String::from_utf8(questions.output).unwrap();
        assert!(
            asked.contains("`kafak` is not one of these; did you mean `kafka`?"),
            "{asked}"
        );
        assert_eq!(answers.policy, InitPolicy::Research);
        let Input::Kafka { brokers, topic } = answers.input else {
            panic!("kafka was chosen");
        };
        assert_eq!(
            (brokers, topic.as_str()),
            (vec!["localhost:9092".to_owned()], "notes-2")
        );
    }

    #[test]
    fn missing_options_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut args = args(folder.path(), InitSource::Kafka, InitPolicy::Tags);
        assert!(missing(&args).is_empty());
        args.brokers.clear();
        args.policy = None;
        assert_eq!(missing(&args), ["--brokers", "--policy"]);
        args.source = None;
        assert_eq!(missing(&args), ["--source", "--policy"]);
    }

    #[test]
    fn a_source_that_is_there_is_read_by_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in $1")).unwrap();
        std::fs::write(folder.path().join("in $1/a.txt"), "a").unwrap();
        let args = args(folder.path(), InitSource::Files, InitPolicy::Tags);
        run(&args).unwrap();
        let text = std::fs::read_to_string(&args.out).unwrap();
        assert!(text.contains("kind = \"text\""), "{text}");
        assert!(load(&args.out).is_ok());
    }
}
