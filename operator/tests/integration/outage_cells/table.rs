//! Reads the table of outages, `cells.toml`, and generates `docs/outages.md` from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::common::gate::OutageKind;

/// When the dependency is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Moment {
    /// Before the program starts.
    Start,
    /// While notes stream.
    Middle,
    /// While an open file holds rows.
    Buffered,
    /// During a rebalance.
    Rebalance,
}

impl Moment {
    pub(crate) const ALL: [Self; 4] = [Self::Start, Self::Middle, Self::Buffered, Self::Rebalance];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::Buffered => "buffered",
            Self::Rebalance => "rebalance",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Start => "Unavailable at start",
            Self::Middle => "Unavailable while streaming",
            Self::Buffered => "Unavailable at shutdown, with rows in open files",
            Self::Rebalance => "Unavailable at shutdown, during a rebalance",
        }
    }
}

/// A service that Lethe depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dependency {
    Broker,
    Oauth,
    S3,
    Registry,
    Postgres,
}

impl Dependency {
    pub(crate) const ALL: [Self; 5] = [
        Self::Broker,
        Self::Oauth,
        Self::S3,
        Self::Registry,
        Self::Postgres,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Oauth => "oauth",
            Self::S3 => "s3",
            Self::Registry => "registry",
            Self::Postgres => "postgres",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Broker => "Kafka brokers",
            Self::Oauth => "OAuth issuer",
            Self::S3 => "S3 store",
            Self::Registry => "Schema registry",
            Self::Postgres => "PostgreSQL (the vault)",
        }
    }
}

const FAULTS: [(OutageKind, &str); 3] = [
    (OutageKind::Refuses, "refuses"),
    (OutageKind::Frozen, "frozen"),
    (OutageKind::Gone, "gone"),
];

/// The expected result of a stop while the dependency is unavailable.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// The exit code after SIGTERM.
    pub(crate) exit: i32,
    /// A substring of the log; empty if nothing is logged.
    pub(crate) log: String,
}

/// An outage of one dependency at one moment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outage {
    pub(crate) dependency: Dependency,
    pub(crate) moment: Moment,
    /// What Lethe does during the outage.
    happens: String,
    /// How long it lasts.
    lasts: String,
    /// A metric and its value during the outage, as `name > 0` or `name = 1`; empty if no metric shows it.
    pub(crate) metric: String,
    /// What the operator should do.
    action: String,
    refuses: Expected,
    frozen: Expected,
    gone: Expected,
}

/// One cell of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) outage: Outage,
    pub(crate) fault: OutageKind,
}

impl Cell {
    /// Returns its name, such as `broker/frozen/start`.
    pub(crate) fn name(&self) -> String {
        name(&self.outage, self.fault)
    }

    pub(crate) const fn expected(&self) -> &Expected {
        self.outage.expected(self.fault)
    }
}

impl Outage {
    const fn expected(&self, fault: OutageKind) -> &Expected {
        match fault {
            OutageKind::Refuses => &self.refuses,
            OutageKind::Frozen => &self.frozen,
            OutageKind::Gone => &self.gone,
        }
    }
}

fn name(outage: &Outage, fault: OutageKind) -> String {
    let fault = FAULTS.iter().find(|(one, _)| *one == fault).unwrap().1;
    format!("{}/{fault}/{}", outage.dependency.name(), outage.moment.name())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    outage: Vec<Outage>,
}

/// Returns every outage of the table.
pub(crate) fn outages() -> Vec<Outage> {
    let table: Table = toml::from_str(&read("cells.toml")).unwrap();
    table.outage
}

/// Returns every cell, in the table's order.
pub(crate) fn cells() -> Vec<Cell> {
    let of = |outage: Outage| {
        FAULTS.map(|(fault, _)| Cell {
            outage: outage.clone(),
            fault,
        })
    };
    outages().into_iter().flat_map(of).collect()
}

/// Seconds from SIGTERM to the end of the process, by cell, as `benches/outages` measured them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    #[serde(rename = "idle_seconds")]
    idle: BTreeMap<String, f64>,
    #[serde(rename = "busy_seconds")]
    busy: BTreeMap<String, f64>,
}

/// Reads a file of this folder when the tests run, so that the benchmark that writes it need not rebuild them.
fn read(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/outage_cells");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// Returns the path of the page.
pub(crate) fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/outages.md")
}

const HEAD: &str = "# Outages

What Lethe does while a service that it depends on is unavailable. This page is generated from
`operator/tests/integration/outage_cells/cells.toml`; the tests in that folder check the exit codes, log lines and metrics, and `benches/outages` measured the seconds.

A dependency can be unavailable in three ways:

| name | what a client sees | example |
|---|---|---|
| refuses | Connections are refused, and open ones are closed. | The process ended. |
| frozen | Connections are accepted, but requests get no response. | A process is stopped by SIGSTOP; a disk hangs. |
| gone | Connection attempts get no response, and open connections are silent. | A machine or a network is down. |

No outage loses a note: Lethe never releases the offset of a record that is not durable, and reads it again. `SIGTERM` ends the process
within `resources.drain_seconds` plus 2 s, whichever service is unavailable. A second `SIGTERM` ends it at once.
";

/// Generates the page.
pub(crate) fn page() -> String {
    let measured: Measured = serde_json::from_str(&read("measured.json")).unwrap();
    let outages = outages();
    let mut page = HEAD.to_owned();
    for dependency in Dependency::ALL {
        write!(page, "\n## {}\n", dependency.title()).unwrap();
        for moment in Moment::ALL {
            let found = |one: &&Outage| one.dependency == dependency && one.moment == moment;
            let outage = outages.iter().find(found).unwrap();
            section(&mut page, outage, &measured);
        }
    }
    page
}

fn section(page: &mut String, outage: &Outage, measured: &Measured) {
    let metric = match outage.metric.as_str() {
        "" => "None.".to_owned(),
        metric => format!("`{metric}`"),
    };
    write!(
        page,
        "\n### {}: {}\n\n{}\n\n- **How long:** {}\n- **Metric:** {metric}\n- **What to do:** {}\n\n\
         | | log line | exit code after `SIGTERM` | seconds to exit (drain of 3 s) | the same, with two busy loops |\n|---|---|---|---|---|\n",
        outage.dependency.title(),
        outage.moment.title().to_lowercase(),
        outage.happens,
        outage.lasts,
        outage.action
    )
    .unwrap();
    for (fault, called) in FAULTS {
        let expected = outage.expected(fault);
        let log = match expected.log.as_str() {
            "" => "none in the first seconds".to_owned(),
            log => format!("`{log}`"),
        };
        let cell = name(outage, fault);
        let seconds = |of: &BTreeMap<String, f64>| {
            of.get(&cell)
                .map_or_else(|| "not measured".to_owned(), |one| format!("{one:.1}"))
        };
        let (idle, busy) = (seconds(&measured.idle), seconds(&measured.busy));
        writeln!(page, "| {called} | {log} | {} | {idle} | {busy} |", expected.exit).unwrap();
    }
}
