//! Pods of the chart, without Kubernetes: helm's rendered output determines how a pod is started, its
//! environment, when it is ready, and how long it has to stop.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kafka::Topic;
use super::pages::{Pages, TELEMETRY};
use super::process::{Lethe, Running, TIMEOUT, python, system};
use super::{Place, folder_sink};

/// A Kubernetes version that the chart supports; no cluster is contacted.
const KUBERNETES: &str = "1.33.0";
/// Where the chart mounts the configuration.
const MOUNTED: &str = "/etc/lethe/";
const READ: &str = "
import json, sys, yaml
print(json.dumps([each for each in yaml.safe_load_all(open(sys.argv[1])) if each]))
";

/// A release of the chart, rendered.
pub(crate) struct Chart {
    /// The Deployment or StatefulSet.
    workload: Value,
    /// The files of the configuration volume, as a folder.
    mounted: PathBuf,
}

impl Chart {
    /// Renders the chart with one of its examples and with values of the test. Pods write to the folder
    /// `out`.
    pub(crate) fn rendered(place: &Place, release: &str, example: &str, values: &Value, out: &Path) -> Self {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../helm");
        let (example, chart) = (chart.join("ci").join(example), chart.to_str().unwrap().to_owned());
        let values = place.write(&format!("{release}/values.json"), values.to_string());
        let arguments = [
            "template",
            "lethe",
            &chart,
            "--kube-version",
            KUBERNETES,
            "--values",
            example.to_str().unwrap(),
            "--values",
            values.to_str().unwrap(),
        ];
        let helm = super::env("LETHE_TEST_HELM");
        assert!(Path::new(&helm).exists(), "there is no {helm}: run scripts/setup");
        let manifests = place.write(&format!("{release}/manifests.yaml"), system(helm, arguments));
        let objects: Vec<Value> =
            serde_json::from_str(&python(READ, &[manifests.to_str().unwrap()])).unwrap();
        let of = |kinds: &[&str]| {
            let mut found = objects
                .iter()
                .filter(|object| kinds.iter().any(|kind| object["kind"] == *kind));
            let only = found.next().unwrap().clone();
            assert!(found.next().is_none(), "more than one of {kinds:?}");
            only
        };
        let workload = of(&["Deployment", "StatefulSet"]);
        for (name, text) in of(&["ConfigMap"])["data"].as_object().unwrap() {
            let text = text.as_str().unwrap();
            assert_eq!(name, "lethe.toml");
            place.write(&format!("{release}/mounted/{name}"), led(text, out));
        }
        Self {
            workload,
            mounted: place.at(&format!("{release}/mounted")),
        }
    }

    /// Returns the update strategy of a Deployment's pods.
    pub(crate) fn strategy(&self) -> &Value {
        &self.workload["spec"]["strategy"]
    }

    /// Returns whether pods belong to a StatefulSet, as static members of the group.
    pub(crate) fn is_static(&self) -> bool {
        self.workload["kind"] == "StatefulSet"
    }

    /// Returns the number of pods.
    pub(crate) fn replicas(&self) -> usize {
        usize::try_from(self.workload["spec"]["replicas"].as_u64().unwrap()).unwrap()
    }

    /// Returns the time that a pod has to stop.
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs(self.pod()["terminationGracePeriodSeconds"].as_u64().unwrap())
    }

    fn pod(&self) -> &Value {
        &self.workload["spec"]["template"]["spec"]
    }

    /// Returns the program with a container's arguments and environment, in a pod of that name.
    fn container(&self, container: &Value, name: &str) -> Lethe {
        let mounted = format!("{}/", self.mounted.display());
        let arguments = container["args"].as_array().unwrap().iter();
        let arguments = arguments.map(|argument| argument.as_str().unwrap().replace(MOUNTED, &mounted));
        let variables = container["env"].as_array().unwrap().iter();
        variables.fold(Lethe::new(arguments), |program, variable| {
            let value = variable["value"].as_str().unwrap_or_else(|| {
                let field = &variable["valueFrom"]["fieldRef"]["fieldPath"];
                assert_eq!(*field, "metadata.name", "{variable}");
                name
            });
            program.env(variable["name"].as_str().unwrap(), value)
        })
    }

    /// Starts a pod: its init containers, one after the other, then its container.
    pub(crate) fn start(&self, name: &str) -> Pod {
        for first in self.pod()["initContainers"].as_array().unwrap() {
            self.container(first, name).end().expect(0);
        }
        let containers = self.pod()["containers"].as_array().unwrap();
        assert_eq!(containers.len(), 1);
        let mut running = self.container(&containers[0], name).start();
        let pages = Pages::of(&mut running);
        let ready = &containers[0]["readinessProbe"]["httpGet"]["path"];
        Pod {
            name: name.to_owned(),
            running,
            pages,
            ready: ready.as_str().unwrap().to_owned(),
        }
    }
}

/// Returns values that depend on the test: its topic, the number of pods, and a roll that makes files durable
/// during the test. `config` is merged into the program's configuration.
pub(crate) fn values(topic: &Topic, pods: usize, config: &Value) -> Value {
    let mut all = json!({
        "source": {"brokers": [topic.brokers], "topics": [topic.name], "group": group(topic)},
        "sink": {"roll": {"max_age_seconds": 0.5, "max_idle_seconds": 0.5}},
    });
    for (table, value) in config.as_object().unwrap() {
        all[table] = value.clone();
    }
    json!({"replicas": pods, "partitions": topic.partitions, "config": all})
}

/// Adapts a rendered configuration to this machine: a folder replaces the bucket, and each process gets its
/// own port.
fn led(config: &str, out: &Path) -> String {
    let mut config: toml::Table = toml::from_str(config).unwrap();
    for (table, key, value) in [
        ("sink", "store", folder_sink(out)),
        ("telemetry", "listen", TELEMETRY.to_owned()),
    ] {
        let ours: toml::Table = toml::from_str(&value).unwrap();
        let theirs = config[table].as_table_mut().unwrap();
        theirs.insert(key.to_owned(), ours[table][key].clone()).unwrap();
    }
    toml::to_string(&config).unwrap()
}

/// Returns the consumer group of the pods of a topic.
pub(crate) fn group(topic: &Topic) -> String {
    format!("{}-group", topic.name)
}

/// The digests of bundle and policy.
pub(crate) type Version = [String; 2];

/// A pod with its one container.
pub(crate) struct Pod {
    /// The value of its `POD_NAME`.
    pub(crate) name: String,
    /// Its process.
    pub(crate) running: Running,
    /// Its telemetry port.
    pub(crate) pages: Pages,
    /// The path of its readiness probe.
    ready: String,
}

impl Pod {
    /// Waits until it is ready, as Kubernetes does.
    pub(crate) fn until_ready(&mut self) {
        let began = Instant::now();
        loop {
            let over = !self.running.lives() || began.elapsed() > TIMEOUT;
            assert!(!over, "never ready; it said:\n{}", self.running.err());
            if self.pages.get(&self.ready).0 == 200 {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the digests of its bundle and policy.
    pub(crate) fn version(&self) -> Version {
        let metrics = self.pages.metrics();
        let build = metrics.keys().find(|key| key.starts_with("lethe_build_info"));
        let build = build.unwrap();
        ["bundle", "policy"].map(|label| {
            let value = build.split(&format!("{label}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().to_owned()
        })
    }

    /// Waits until it has ended in order, within the rest of its time to stop.
    #[allow(clippy::print_stdout, reason = "a test that fails shows the log")]
    pub(crate) fn gone(self, told: Instant, grace: Duration) {
        let ended = self.running.wait(grace.saturating_sub(told.elapsed())).expect(0);
        println!(
            "{} ended in {:?}; its log:\n{}",
            self.name,
            told.elapsed(),
            ended.err
        );
    }
}
