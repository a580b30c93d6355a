//! `lethe completions`: writes the completions of a shell.

use std::io::Write as _;
use std::path::Path;

use clap_complete::generate;
use clap_complete::shells::{Bash, Fish, Zsh};

use super::documents::create;
use crate::cli::{Shell, command};

/// Prints the script.
pub(crate) fn run(shell: Shell) -> anyhow::Result<()> {
    // The generators panic if they cannot write, and a closed pipe is not a failure.
    let script = script(shell);
    let mut out = create(Path::new("-"))?;
    out.write_all(&script)?;
    Ok(out.flush()?)
}

fn script(shell: Shell) -> Vec<u8> {
    let (mut command, mut script) = (command(), Vec::new());
    match shell {
        Shell::Bash => generate(Bash, &mut command, "lethe", &mut script),
        Shell::Zsh => generate(Zsh, &mut command, "lethe", &mut script),
        Shell::Fish => generate(Fish, &mut command, "lethe", &mut script),
    }
    script
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn each_script_names_every_command_and_its_shell_can_read_it() {
        for (shell, program) in [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")] {
            let script = script(shell);
            let text = String::from_utf8(script.clone()).unwrap();
            for name in command().get_subcommands().map(clap::Command::get_name) {
                assert!(text.contains(name), "{program}: {name}");
            }
            let checked = Command::new(program)
                .arg("-n")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            // bash is everywhere; the others are checked where they are installed.
            let mut checked = match checked {
                Ok(child) => child,
                Err(_) if program != "bash" => continue,
                Err(error) => panic!("{error}"),
            };
            checked.stdin.take().unwrap().write_all(&script).unwrap();
            let ended = checked.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && said.is_empty(), "{program}: {said}");
        }
    }
}
