"""Shared code of the stream benchmarks: servers, a topic of notes, configurations, runs of the program."""
import json
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LETHE, FEED = ROOT / "target/release/lethe", ROOT / "target/release/feed"
PARTITIONS = 8
TICKS = os.sysconf("SC_CLK_TCK")
# Engines by name, as lines of `[engine]`.
ENGINES = {
    "pass-through": "members = []\npass_through = true\nacknowledge = [\"not-redacted\"]",
    "rules": 'members = [{ kind = "known" }, { kind = "pattern" }, { kind = "gazetteer" }, { kind = "context" }]',
    "en-fast": 'bundle = "en-fast"',
    "en-clinical": 'bundle = "en-clinical"',
}


def build(*tools):
    """Builds the program, the feeder and these tools of the benches, unless LETHE_BENCH_BUILT says that they are there."""
    if not os.environ.get("LETHE_BENCH_BUILT"):
        command = ["cargo", "build", "--release", "--locked", "-p", "lethe", "-p", "lethe-benches"]
        command += [word for name in ("lethe", "feed", *tools) for word in ("--bin", name)]
        subprocess.run(command, cwd=ROOT, check=True)


@contextmanager
def page(name, wanted):
    """Where output goes: to the page docs/results/NAME/README.md, whole or not at all, if it is wanted."""
    if not wanted:
        yield
        return
    target = ROOT / "docs/results" / name / "README.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with part.open("w", encoding="utf-8") as out, redirect_stdout(out):
        yield
    part.rename(target)


def machine():
    """The processor's name and how many cores of it there are."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return f"{found[1] if found else 'an unknown processor'}, {os.cpu_count()} cores"


@contextmanager
def workplace(under=None):
    """A folder that is removed however the benchmark ends."""

    def leave(number, _frame):
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    folder = Path(tempfile.mkdtemp(prefix="lethe-bench-", dir=under))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Server:
    """A server started by one of the project's scripts; it ends with the `with` block, or with this process."""

    def __init__(self, script, folder, *more):
        self.script, self.folder = str(ROOT / "scripts" / script), folder
        said = self.tell("start", "--owner", str(os.getpid()), *more)
        self.env = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)

    def tell(self, *words):
        command = [self.script, *words, "--dir", str(self.folder)]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout

    def cpu(self):
        """Returns its CPU seconds so far."""
        return cpu_of(int((self.folder / "pid").read_text().split()[0]))

    def topic(self, name, *more):
        self.tell("topic", "create", name, "--partitions", str(PARTITIONS), *more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([self.script, "stop", "--dir", str(self.folder)], check=False, stdout=subprocess.DEVNULL)


def cpu_of(pid):
    """Processor seconds that a process has used, its ended children's apart."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS


def feed_command(broker, topic, notes, texts, *more):
    command = [FEED, "--brokers", broker.env["BOOTSTRAP"], "--topic", topic, "--partitions", PARTITIONS, "--notes", notes, *more]
    for path in texts:
        command += ["--from", path]
    return [str(word) for word in command]


def feed(broker, topic, notes, texts, *more):
    """Fills a topic and returns the bytes of text."""
    said = subprocess.run(feed_command(broker, topic, notes, texts, *more), check=True, text=True, stdout=subprocess.PIPE).stdout
    return int(re.search(r"(\d+) bytes of text", said).group(1))


def table(**values):
    """Formats an inline TOML table of strings and Booleans, without None values."""
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None) + " }"


def configure(path, *, brokers, topic, group, engine, store, security=None, more=""):
    """Writes a configuration. `engine` are lines of `[engine]`, `more` lines of `[sink]` and tables behind it."""
    lines = ["[source]", 'kind = "kafka"', f"brokers = {json.dumps([brokers])}", f"topics = {json.dumps([topic])}"]
    lines += [f"group = {json.dumps(group)}", f"security = {security}" if security else ""]
    path.write_text("\n".join([*lines, "[engine]", engine, "[sink]", f"store = {store}", more, ""]))
    return path


@dataclass
class Run:
    """The result of one run to the end of a topic: the program's own line, its CPU seconds, its peak memory in MiB."""

    line: str
    notes: int
    seconds: float
    cpu: float
    peak: float


def run(config, trust=None):
    """Runs the program to the end of its topic. `trust` is a file of authorities that it believes a store by."""
    env = dict(os.environ, SSL_CERT_FILE=str(trust)) if trust else None
    log = config.with_suffix(".log")
    with open(log, "wb") as to:
        process = subprocess.Popen([LETHE, "run", "-c", config, "--until-end"], stderr=to, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    done = re.search(r"done: ((\d+) notes, 0 tombstones, 0 quarantined;.* ([\d.]+) notes/s.*)", log.read_text())
    if process.returncode or not done:
        sys.exit(f"the run failed ({process.returncode}):\n{log.read_text()}")
    notes = int(done[2])
    # The line gives seconds to a tenth, notes a second to a note.
    return Run(done[1], notes, notes / float(done[3]), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def rows(trust=None, **where):
    """Returns whether a dataset is intact, and its number of rows. `where` is `path` or `config`."""
    what = ["--config", where["config"]] if "config" in where else [where["path"]]
    env = dict(os.environ, SSL_CERT_FILE=str(trust)) if trust else None
    said = subprocess.run([LETHE, "inspect", "--json", *map(str, what)], text=True, stdout=subprocess.PIPE, env=env, check=False)
    if said.returncode:
        return False, 0
    return True, sum(chain["notes"] for chain in json.loads(said.stdout)["chains"])
