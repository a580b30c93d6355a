//! A headless Chromium that shows a page to a test. It is controlled over its DevTools protocol: commands and
//! events are JSON objects separated by null bytes, on the browser's descriptors 3 and 4.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::process::TIMEOUT;

/// How a page is viewed: the width and height of the window in CSS pixels, and the preferred colour scheme.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
}

/// Returns the name of Chromium on this machine.
fn chromium() -> &'static str {
    let paths: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let there = |name: &&str| paths.iter().any(|folder| folder.join(name).exists());
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(there);
    found.expect("this test looks at a page as a person would, and there is no browser: scripts/setup installs Debian's package chromium")
}

/// A browser with one tab. It ends when it is dropped.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// Unread events.
    events: Vec<Value>,
    /// Its profile and its home, which are removed with it.
    _place: tempfile::TempDir,
}

impl Browser {
    /// Starts it with an empty tab.
    ///
    /// # Panics
    /// If there is no browser on this machine.
    pub(crate) fn start() -> Self {
        let place = tempfile::Builder::new()
            .prefix("lethe-browser-")
            .tempdir()
            .unwrap();
        // The shell connects standard input and output to the descriptors that Chromium uses. Chromium has no
        // sandbox for root, and for others only if the system's administrator allows it; all pages are our
        // own.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >&2", "sh", chromium()])
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox"])
            .args([
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--no-proxy-server",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg(format!(
                "--user-data-dir={}",
                place.path().join("profile").display()
            ))
            .env("HOME", place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Its messages about a machine without a desktop do not matter.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            sent: 0,
            events: Vec::new(),
            _place: place,
        };
        let tab = browser.tell("Target.createTarget", json!({"url": "about:blank"}));
        let attached = json!({"targetId": tab["targetId"], "flatten": true});
        let attached = browser.tell("Target.attachToTarget", attached);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network", "Audits"] {
            browser.tell(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Runs a command and returns its result.
    fn tell(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{command}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let message = self.from.recv_timeout(TIMEOUT);
            let mut message = message.unwrap_or_else(|error| panic!("chromium, {method}: {error}"));
            if message["id"] != self.sent {
                self.events.push(message);
            } else if message["error"].is_null() {
                return Ok(message["result"].take());
            } else {
                return Err(message["error"].to_string());
            }
        }
    }

    /// Opens a page, and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str) {
        let opened = self.tell("Page.navigate", json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
        self.until(
            "whether the page is there",
            "document.readyState === 'complete'",
            |there| there == true,
        );
    }

    /// Evaluates a JavaScript expression in the page, whatever scripts the page itself may run.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let began = Instant::now();
        // A page that loads itself again has no body for a moment: the question waits until it is there.
        let whole = format!("document.readyState === 'complete' ? [{expression}\n] : null");
        loop {
            let asked = json!({"expression": whole, "returnByValue": true});
            let why = match self.ask("Runtime.evaluate", asked) {
                Ok(mut answer) if answer["exceptionDetails"].is_null() => {
                    match answer["result"]["value"].take() {
                        Value::Array(mut value) => return value.pop().unwrap(),
                        other => format!("the page is loading: {other}"),
                    }
                }
                Ok(answer) => panic!("{expression}: {}", answer["exceptionDetails"]),
                // The page was just reloaded; the question is repeated on the new one.
                Err(error) => error,
            };
            assert!(began.elapsed() < TIMEOUT, "{expression}: {why}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a condition holds for an expression's value, and returns the value.
    pub(crate) fn until(&mut self, what: &str, expression: &str, check: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let value = self.value(expression);
            if check(&value) {
                return value;
            }
            assert!(
                began.elapsed() < TIMEOUT,
                "not within {TIMEOUT:?}: {what}: {value:#}"
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Changes the view.
    pub(crate) fn look(&mut self, view: View) {
        let (width, height) = (view.width, view.height);
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.tell("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if view.dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tell("Emulation.setEmulatedMedia", media);
    }

    /// Returns the browser's complaints about pages below an address so far: console messages, policy
    /// violations, failed requests, and requests to other hosts.
    pub(crate) fn complaints(&mut self, below: &str) -> Vec<String> {
        // Events come before the response to a later command.
        self.value("1");
        const BAD: [&str; 5] = [
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Network.loadingFailed",
            "Audits.issueAdded",
        ];
        let events = std::mem::take(&mut self.events);
        let asked = |event: &Value| event["params"]["request"]["url"].as_str().map(str::to_owned);
        let elsewhere = |event: &&Value| {
            event["method"] == "Network.requestWillBeSent"
                && asked(event).is_none_or(|url| !url.starts_with(below))
        };
        let bad = events
            .iter()
            .filter(|event| BAD.iter().any(|name| event["method"] == *name) || elsewhere(event));
        bad.map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
