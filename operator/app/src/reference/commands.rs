//! The page of every command and its options, from the definition of the command line.

use clap::{Arg, Command};

use super::examples::{Example, examples};
use super::markdown::{GENERATED, code, fragment, table};
use crate::cli::command;

const INTRODUCTION: &str = "# Command reference

Every command and its options. `lethe COMMAND --help` prints the same, and `docs/man` has it as manual pages:
`man -l docs/man/lethe.1`. [Completions](#lethe-completions) complete commands and options in bash, zsh and
fish.

";

/// Calls `visit` with every command, after the words that call it; a command comes before its subcommands.
pub(super) fn each(visit: &mut impl FnMut(&[String], &Command)) {
    fn down(words: &mut Vec<String>, command: &Command, visit: &mut impl FnMut(&[String], &Command)) {
        words.push(command.get_name().to_owned());
        visit(words, command);
        for inner in command.get_subcommands() {
            down(words, inner, visit);
        }
        words.pop();
    }
    let mut root = command().disable_help_subcommand(true);
    root.build();
    down(&mut Vec::new(), &root, visit);
}

/// Returns the page.
pub(super) fn page() -> String {
    let (mut contents, mut sections, examples) = (Vec::new(), String::new(), examples());
    each(&mut |words, command| {
        let title = words.join(" ");
        if words.len() > 1 {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            contents.push([format!("[`{title}`](#{})", fragment(&title)), about]);
        }
        sections.push_str(&section(&title, words, command, &examples));
    });
    let contents = table(["command", "purpose"], contents);
    let page = format!("{GENERATED}{INTRODUCTION}{contents}\n{sections}");
    format!("{}\n", page.trim_end())
}

fn section(title: &str, words: &[String], command: &Command, examples: &[Example]) -> String {
    let mut section = format!("## {title}\n\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        section.push_str(&format!("{}.\n\n", about.to_string().trim_end_matches('.')));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    section.push_str(&format!("```text\n{usage}\n```\n\n"));
    let examples: Vec<String> = examples
        .iter()
        .filter(|example| example.command == words[1..].join(" "))
        .flat_map(|example| example.comment.clone().into_iter().chain([example.line.clone()]))
        .collect();
    if !examples.is_empty() {
        section.push_str(&format!("Examples:\n\n```sh\n{}\n```\n\n", examples.join("\n")));
    }
    // Those of all commands are described once.
    let own = |option: &&Arg| {
        words.len() == 1
            || !(option.is_global_set() || matches!(option.get_id().as_str(), "help" | "version"))
    };
    let rows: Vec<_> = command.get_arguments().filter(own).map(row).collect();
    if !rows.is_empty() {
        if words.len() == 1 {
            section.push_str("Every command has these options:\n\n");
        }
        section.push_str(&table(["option", "default", "meaning"], rows));
        section.push('\n');
    }
    if let Some(after) = command.get_after_help() {
        section.push_str(&format!("```text\n{}\n```\n\n", after.to_string().trim_end()));
    }
    section
}

fn row(option: &Arg) -> [String; 3] {
    let values: Vec<_> = option.get_value_names().unwrap_or_default().to_vec();
    let values = values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    let takes = option.get_action().takes_values();
    let name = match (option.get_short(), option.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => String::new(),
    };
    let shown = match (name.as_str(), takes) {
        ("", _) => format!("<{values}>"),
        (_, true) => format!("{name} <{values}>"),
        (_, false) => name,
    };
    let defaults: Vec<_> = option
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .filter(|_| takes)
        .collect();
    let default = match () {
        () if option.is_required_set() => "required".to_owned(),
        () => code(&defaults.join(", ")),
    };
    let mut meaning = option.get_help().map(ToString::to_string).unwrap_or_default();
    if let Some(name) = option.get_env() {
        meaning.push_str(&format!("; also by {}", code(&name.to_string_lossy())));
    }
    let names: Vec<_> = option
        .get_possible_values()
        .iter()
        .filter(|value| takes && !value.is_hide_set())
        .map(|value| code(value.get_name()))
        .collect();
    if !names.is_empty() {
        meaning.push_str(&format!(". One of {}", names.join(", ")));
    }
    [code(&shown), default, meaning]
}
