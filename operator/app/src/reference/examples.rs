//! An example of each command, and the test that every command line of the documentation is one that the
//! program accepts.

/// A command line that the reference shows.
pub(super) struct Example {
    /// The command's words after `lethe`.
    pub(super) command: &'static str,
    /// The whole line.
    pub(super) line: &'static str,
}

const fn example(command: &'static str, line: &'static str) -> Example {
    Example { command, line }
}

pub(super) const EXAMPLES: &[Example] = &[
    example("demo", "lethe demo --out lethe-demo"),
    example(
        "init",
        "lethe init --source files --path notes/ --policy safe-harbor --out lethe.toml",
    ),
    example("run", "lethe run -c lethe.toml --until-end"),
    example("backfill", "lethe backfill -c lethe.toml --shard 0/4"),
    example(
        "backfill",
        "lethe backfill -c lethe.toml --source postgresql://reader@db.example/clinic --query 'SELECT * FROM notes' --key note_id",
    ),
    example(
        "redact",
        "lethe redact --policy docs/policies/safe-harbor.toml note.txt",
    ),
    example(
        "redact",
        "lethe redact letters/ export.zip --out clean/ --glob '*.txt'",
    ),
    example(
        "redact",
        "lethe redact notes.csv --out clean/ --text-columns note --known patient_name=PATIENT --keep sex",
    ),
    example("redact", "lethe redact letters/ --in-place .orig"),
    example("redact", "lethe redact in.jsonl --keep ward --output out.jsonl"),
    example(
        "redact",
        "lethe redact messages.hl7 --format hl7v2 --skip-refused --output redacted.hl7",
    ),
    example("show", "lethe show note.txt --html note.html"),
    example("explain", "lethe explain Okafor note.txt"),
    example("compare", "lethe compare --other presidio.json notes/"),
    example(
        "compare",
        "lethe compare --other spans.jsonl --map PERSON=PATIENT --html differences.html notes.jsonl",
    ),
    example("profile", "lethe profile notes.csv --out columns.toml"),
    example(
        "profile",
        "lethe profile --source postgresql://reader@db.example/clinic --query 'SELECT * FROM notes'",
    ),
    example("report", "lethe report clean/ --html report.html"),
    example("bundle show", "lethe bundle show en-clinical"),
    example(
        "bundle export",
        "lethe bundle export en-clinical bundles/en-clinical",
    ),
    example(
        "bundle swap",
        "lethe bundle swap en-clinical --member ssvm=tuned/ --out bundles/tuned",
    ),
    example(
        "bundle create",
        "lethe bundle create --member crf=models/crf --member ssvm=models/ssvm --rule known --threshold 2 --out voted/",
    ),
    example("new-key", "lethe new-key --id csv-2026 --out keys.toml"),
    example(
        "reveal",
        "lethe reveal --policy research.toml --patient 4471920 --input redacted.txt",
    ),
    example("emit", "lethe emit -c lethe.toml --until-end"),
    example(
        "annotate",
        "lethe annotate --explain --offsets byte --input notes.jsonl --output found.jsonl",
    ),
    example(
        "serve",
        "lethe serve --policy docs/policies/safe-harbor.toml --listen 127.0.0.1:3000",
    ),
    example(
        "serve",
        "lethe serve -c lethe.toml --listen 10.0.0.7:3443 --token-file tokens --tls-cert server.pem --tls-key server.key",
    ),
    example("check", "lethe check -c lethe.toml --connect"),
    example("check", "lethe check -c lethe.toml --explain"),
    example("metrics", "lethe metrics --json"),
    example("probe", "lethe probe --timeout 2 http://127.0.0.1:9464/ready"),
    example("inspect", "lethe inspect data/ --audit"),
    example("inspect", "lethe inspect data/ --why notes/0@1234"),
    example("inspect", "lethe inspect data/ --only-by known --list --json"),
    example("inspect", "lethe inspect -c lethe.toml --against-topic"),
    example(
        "inspect",
        "lethe inspect redacted/ --fingerprint program!=0.1.0 --json",
    ),
    example("schema config", "lethe schema config > lethe.schema.json"),
    example("schema event", "lethe schema event > event.schema.json"),
    example("schema policy", "lethe schema policy > policy.schema.json"),
    example(
        "skip",
        "lethe skip -c lethe.toml --topic notes --partition 0 --to 4711 --reason 'expired during the outage of 3 March'",
    ),
    example(
        "replay",
        "lethe replay -c lethe.toml --code invalid_payload:note_id --dry-run",
    ),
    example(
        "erase",
        "lethe erase -c lethe.toml --patients ids.txt --reason 'request 2026-117' --dry-run",
    ),
    example(
        "synthesise",
        "lethe synthesise --institutes summit --notes 30 --seed 7 --out gold.jsonl",
    ),
    example("train", "lethe train crf --train gold/ --out models/crf"),
    example(
        "crossval",
        "lethe crossval crf --train gold/ --folds 10 --by patient --out folds/",
    ),
    example(
        "evaluate",
        "lethe evaluate gold.jsonl crf=found.jsonl --html report.html",
    ),
    example(
        "ensemble prune",
        "lethe ensemble prune gold/ cv/crf cv/ssvm --models models --html prune.html",
    ),
    example(
        "ensemble fit",
        "lethe ensemble fit voting-pruned gold/ cv/crf cv/ssvm --models models --union-rule known --out bundle/",
    ),
    example(
        "ensemble compare",
        "lethe ensemble compare gold/ cv/crf cv/ssvm --test gold-test.jsonl --test-predictions predicted/",
    ),
    example(
        "ensemble export-offsets",
        "lethe ensemble export-offsets gold/ cv/crf cv/ssvm --out predictions.jsonl",
    ),
    example("ensemble show", "lethe ensemble show bundle/"),
    example("ensemble publish", "lethe ensemble publish bundle/ --to bundles/"),
    example("ensemble versions", "lethe ensemble versions bundles/"),
    example("ensemble roll-back", "lethe ensemble roll-back bundles/"),
    example(
        "adapt incremental",
        "lethe adapt incremental --stream local.jsonl --test local-test.jsonl --out study/",
    ),
    example("adapt corrections", "lethe adapt corrections -c lethe.toml"),
    example(
        "adapt fine-tune",
        "lethe adapt fine-tune models/crf --train local/ --out models/crf-local",
    ),
    example(
        "adapt self-train",
        "lethe adapt self-train models/crf --train home/ --unlabelled local/ --held-out home-dev/ --out models/crf-local",
    ),
    example(
        "adapt merge",
        "lethe adapt merge --corpus home=home.jsonl --corpus away=away.jsonl:away-labels.toml --out merged.jsonl",
    ),
    example(
        "dictionary build",
        "lethe dictionary build --lists lists/ --output local.dict",
    ),
    example(
        "completions",
        "lethe completions bash > ~/.local/share/bash-completion/completions/lethe",
    ),
];

// Without Kafka there are fewer commands.
#[cfg(all(test, feature = "kafka"))]
mod tests {
    use std::path::{Path, PathBuf};

    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::command;
    use crate::reference::commands::each;

    /// Returns the words of a line as a shell splits it, up to a redirection, a pipe or a comment.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for character in line.chars() {
            match (quote, character) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (None, ' ') => words.extend(word.take()),
                (None, '#' | '>' | '<' | '|' | ';' | '&') if word.is_none() => return words,
                (None, ';') => break,
                (_, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    /// Returns why the program refuses a command line; nothing if it accepts it.
    fn refusal(line: &str) -> Option<String> {
        let result = command().try_get_matches_from(words(line));
        let accepted = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion];
        result
            .err()
            .filter(|error| !accepted.contains(&error.kind()))
            .map(|error| error.to_string())
    }

    #[test]
    fn every_command_has_an_example_that_the_program_accepts() {
        each(&mut |words, command| {
            let name = words[1..].join(" ");
            let examples: Vec<_> = EXAMPLES
                .iter()
                .filter(|example| example.command == name)
                .collect();
            assert_eq!(!examples.is_empty(), !command.has_subcommands(), "{name}");
            for Example { line, .. } in examples {
                let called = format!("lethe {name}");
                assert!(
                    *line == called || line.starts_with(&format!("{called} ")),
                    "{line}"
                );
                assert_eq!(refusal(line), None, "{line}");
            }
        });
    }

    fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_command_line_of_the_documentation_is_one_that_the_program_accepts() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = vec![root.join("README.md")];
        pages(&root.join("docs"), &mut found);
        let (mut lines, mut refused) = (0, Vec::new());
        for path in found {
            let text = std::fs::read_to_string(&path)
                .unwrap()
                .replace("\\\n> ", " ")
                .replace("\\\n", " ");
            let mut inside = false;
            for line in text.lines() {
                if line.trim_start().starts_with("```") {
                    inside = !inside;
                }
                let line = line.trim_start().trim_start_matches("$ ");
                if !inside || !line.starts_with("lethe ") {
                    continue;
                }
                // A loop over members.
                if line.contains("$m") {
                    continue;
                }
                // A placeholder of the synopsis of the command reference.
                if line.contains(['[', '<']) && path.ends_with("reference/commands.md") {
                    continue;
                }
                lines += 1;
                refused.extend(refusal(line).map(|why| format!("{}: {line}\n{why}", path.display())));
            }
        }
        assert!(lines > 100, "{lines}");
        assert!(refused.is_empty(), "{}", refused.join("\n"));
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        let line = "lethe skip --reason 'a b' x=\"c d\"e '' > out.txt # and more";
        assert_eq!(words(line), ["lethe", "skip", "--reason", "a b", "x=c de", ""]);
        assert_eq!(words("lethe redact < note.txt"), ["lethe", "redact"]);
    }
}
