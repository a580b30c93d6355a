//! A page as a browser has it: headless Chromium, told what to do over its command line.

use std::path::Path;
use std::process::Command;

/// What a browser made of a page.
pub(crate) struct Seen {
    /// The document after it was loaded and laid out.
    pub(crate) dom: String,
    /// What the browser's console said.
    pub(crate) console: Vec<String>,
}

fn chromium() -> String {
    let there = |name: &str| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|done| done.status.success())
    };
    let mut names = ["chromium", "chromium-browser", "google-chrome"].into_iter();
    let found = names.find(|name| there(name));
    let found = found.expect("this test needs a browser: scripts/setup installs the Debian package chromium");
    found.to_owned()
}

fn command(profile: &Path, size: (u32, u32)) -> Command {
    let mut command = Command::new(chromium());
    command.args([
        "--headless=new",
        "--no-first-run",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]);
    // Test machines run as root, where the browser refuses its sandbox; the page is ours.
    command.arg("--no-sandbox");
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("--window-size={},{}", size.0, size.1));
    command.args(["--enable-logging=stderr", "--log-level=0"]);
    command
}

/// Opens a page in a window of this size.
///
/// # Panics
/// If there is no browser, or it fails.
pub(crate) fn open(url: &str, profile: &Path, size: (u32, u32)) -> Seen {
    let done = command(profile, size).args(["--dump-dom", url]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    Seen {
        dom: String::from_utf8_lossy(&done.stdout).into_owned(),
        console: said
            .lines()
            .filter(|line| line.contains(":CONSOLE"))
            .map(str::to_owned)
            .collect(),
    }
}

/// A picture of the page as a person would see it, as PNG.
///
/// # Panics
/// As [`open`].
pub(crate) fn picture(url: &str, profile: &Path, size: (u32, u32), to: &Path) -> Vec<u8> {
    let shot = format!("--screenshot={}", to.display());
    let done = command(profile, size).args([&shot, url]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(to).unwrap()
}
