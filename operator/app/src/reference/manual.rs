//! The manual pages, one per command, from the definition of the command line.

use clap::Command;
use clap_mangen::Man;

use crate::cli::command;

/// Returns the path of each page in `docs`, and its content.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    page(&command, &mut pages);
    pages
}

fn page(command: &Command, pages: &mut Vec<(String, String)>) {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text).expect("memory takes everything");
    let text = String::from_utf8(text).expect("help texts are UTF-8");
    pages.push((format!("man/{}", man.get_filename()), text));
    command.get_subcommands().for_each(|command| page(command, pages));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::commands::each;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let pages = pages();
        let mut commands = 0;
        each(&mut |words, command| {
            let name = format!("man/{}.1", words.join("-"));
            let page = pages.iter().find(|(page, _)| *page == name);
            let (_, text) = page.unwrap_or_else(|| panic!("{name}"));
            let shown = command.get_arguments().filter(|option| !option.is_hide_set());
            for option in shown.filter_map(|option| option.get_long()) {
                let written = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(text.contains(&written), "{name}: --{option}");
            }
            commands += 1;
        });
        assert_eq!(commands, pages.len());
    }
}
