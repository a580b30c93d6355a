//! The examples of the command reference, and the tests that every option has one and that every command line of the
//! documentation is one that the program accepts.
//!
//! They are the lines of the scripts in `docs/reference/examples` that begin with `lethe`. An integration test runs
//! the scripts. An indented line only prepares something. A comment directly above an example is shown with it.

use std::path::Path;

use clap::Command;

use crate::cli::command;

/// What the reference shows in place of the variables that only a test can set.
const VARIABLES: [(&str, &str); 7] = [
    ("\"$LETTERS\"", "s3://clinic/letters"),
    ("\"$DATABASE\"", "postgresql://reader@db.example/clinic"),
    ("\"$TOPIC\"", "notes"),
    ("$TOPIC", "notes"),
    ("\"$VERSION\"", "5754f32f1e54c65b"),
    ("127.0.0.1:$PORT", "127.0.0.1:3000"),
    ("\\\n", ""),
];

/// A command line that the reference shows.
pub(super) struct Example {
    /// The command's words after `lethe`; empty for `lethe` itself.
    pub(super) command: String,
    /// The comment above it, with its `#`.
    pub(super) comment: Option<String>,
    /// The whole line.
    pub(super) line: String,
}

/// Returns the examples of all scripts, ordered by script and line.
pub(super) fn examples() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/examples");
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .expect("the scripts are there")
        .map(|entry| entry.expect("a folder can be read").path())
        .collect();
    scripts.sort();
    let mut root = command().disable_help_subcommand(true);
    root.build();
    let mut examples = Vec::new();
    for script in scripts {
        let text = std::fs::read_to_string(&script).expect("scripts are text");
        let text = VARIABLES
            .iter()
            .fold(text, |text, (variable, value)| text.replace(variable, value));
        let mut comment = None;
        for line in text.lines() {
            if line.starts_with("lethe ") {
                let line = line.trim_end_matches(" &").to_owned();
                let command = called(&root, &line);
                let comment = comment.take();
                examples.push(Example {
                    command,
                    comment,
                    line,
                });
            }
            comment = line.starts_with('#').then(|| line.to_owned());
        }
    }
    examples
}

/// Returns the words of the command that a line calls: none if options come before it.
fn called(root: &Command, line: &str) -> String {
    let (mut words, mut command) = (Vec::new(), root);
    for word in line.split(' ').skip(1) {
        let Some(inner) = command.find_subcommand(word) else {
            break;
        };
        words.push(word);
        command = inner;
    }
    words.join(" ")
}

// Without Kafka there are fewer commands.
#[cfg(all(test, feature = "kafka"))]
mod tests {
    use std::path::PathBuf;

    use clap::Arg;
    use clap::error::ErrorKind;

    use super::*;
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
    fn every_example_is_accepted_and_every_command_and_option_has_one() {
        let examples = examples();
        let refused: Vec<_> = examples
            .iter()
            .filter_map(|example| refusal(&example.line))
            .collect();
        assert!(refused.is_empty(), "{}", refused.join("\n"));
        let mut missing = Vec::new();
        each(&mut |path, command| {
            let name = path[1..].join(" ");
            // Options of all commands have an example somewhere.
            let own = |example: &&Example| name.is_empty() || example.command == name;
            let used: Vec<String> = examples
                .iter()
                .filter(own)
                .flat_map(|example| words(&example.line))
                .collect();
            if used.is_empty() && !command.has_subcommands() {
                missing.push(path.join(" "));
            }
            let shown = |option: &&Arg| {
                !option.is_hide_set()
                    && (name.is_empty() || !option.is_global_set())
                    && option.get_id() != "help"
            };
            for option in command.get_arguments().filter(shown) {
                let long = option.get_long().map(|long| format!("--{long}"));
                let short = option.get_short().map(|short| format!("-{short}"));
                let forms: Vec<String> = long.into_iter().chain(short).collect();
                if !forms.is_empty() && !forms.iter().any(|form| used.contains(form)) {
                    missing.push(format!("{} {}", path.join(" "), forms.join(" or ")));
                }
            }
        });
        assert!(missing.is_empty(), "without an example:\n{}", missing.join("\n"));
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
