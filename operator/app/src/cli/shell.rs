//! Options that every command has for the terminal, the styles of help texts, and the options of the commands
//! that write for shells.

use std::ffi::{OsStr, OsString};

use anstream::ColorChoice;
use clap::builder::Styles;
use clap::builder::styling::{AnsiColor, Effects};
use clap::{Args, ValueEnum};

/// The styles of help texts and errors of the command line, as Cargo and uv have them.
pub(super) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().effects(Effects::BOLD))
    .valid(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .invalid(AnsiColor::Yellow.on_default().effects(Effects::BOLD));

#[derive(Args)]
pub(crate) struct TerminalArgs {
    /// When to use colours; `auto` uses them on a terminal, and honours NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    /// Log only errors and show no progress, whatever --log says
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Returns the last value of `--color` among the arguments, as far as there is a valid one. The parser
    /// itself needs it: it may print a help text or an error before it returns.
    fn among(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut color = Self::Auto;
        let mut arguments = arguments.into_iter().take_while(|argument| argument != "--");
        while let Some(argument) = arguments.next() {
            let value = match argument.to_str() {
                Some("--color") => arguments.next(),
                Some(text) => text.strip_prefix("--color=").map(OsString::from),
                None => None,
            };
            let parsed = value.as_deref().and_then(OsStr::to_str);
            color = parsed
                .and_then(|text| Self::from_str(text, false).ok())
                .unwrap_or(color);
        }
        color
    }

    /// Makes every stream of the program use colours as the command line asks for.
    pub(super) fn apply() {
        match Self::among(std::env::args_os()) {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Args)]
#[command(
    after_help = "Where the script goes:\n  bash  lethe completions bash > ~/.local/share/bash-completion/completions/lethe\n  zsh   lethe completions zsh > ~/.zfunc/_lethe    (with `fpath+=~/.zfunc` before `compinit`)\n  fish  lethe completions fish > ~/.config/fish/completions/lethe.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_chosen_before_the_command_line_is_parsed() {
        for (line, expected) in [
            ("lethe redact", Color::Auto),
            ("lethe --color never redact", Color::Never),
            ("lethe redact --color=always", Color::Always),
            ("lethe --color=always redact --color never", Color::Never),
            ("lethe redact -- --color=always", Color::Auto),
            ("lethe --color sometimes", Color::Auto),
        ] {
            let arguments = line.split(' ').map(OsString::from);
            assert_eq!(Color::among(arguments), expected, "{line}");
        }
    }
}
