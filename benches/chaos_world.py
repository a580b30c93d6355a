"""The faults of `benches/chaos`: of members of consumer groups, a broker, a store, a disk."""
import errno
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import stream

# Short sessions, so that partitions move within seconds; small files, so that many writes can be interrupted.
PROPERTIES = {"session.timeout.ms": 2000, "heartbeat.interval.ms": 400, "reconnect.backoff.max.ms": 500}
ROLL = "roll = { max_rows = 400, max_age_seconds = 1.0, max_idle_seconds = 1.0 }"
DRAIN = 10
# Seconds that a member may take to end after a stop.
LEAVE = DRAIN + 20
# Exit codes after which a supervisor restarts the program.
RESTARTS = (1,)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@dataclass
class Counts:
    """Counts of faults by kind, and of members' reactions."""

    faults: dict = field(default_factory=dict)
    exits: dict = field(default_factory=dict)
    slowest_stop: float = 0.0
    wrong: list = field(default_factory=list)

    def fault(self, kind):
        self.faults[kind] = self.faults.get(kind, 0) + 1

    def exit(self, code):
        self.exits[code] = self.exits.get(code, 0) + 1


class Member:
    """One member of a group, restarted whenever it ends, as an orchestrator does."""

    def __init__(self, name, program, config, logs, counts):
        self.name, self.program, self.config, self.logs, self.counts = name, program, config, logs, counts
        self.process, self.frozen, self.asked, self.due, self.pause = None, False, None, 0.0, 1.0
        self.incarnation = 0

    def start(self):
        self.incarnation += 1
        log = open(self.logs / f"{self.name}-{self.incarnation}.log", "wb")
        with log:
            self.process = subprocess.Popen([self.program, "run", "-c", self.config], stdout=log, stderr=log)
        self.frozen, self.asked, self.began = False, None, time.monotonic()

    def signal(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def stop(self):
        """Requests an orderly end."""
        if self.process and self.process.poll() is None and self.asked is None:
            self.thaw()
            self.asked = time.monotonic()
            self.signal(signal.SIGTERM)

    def kill(self):
        self.signal(signal.SIGKILL)

    def freeze(self):
        self.signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self):
        self.signal(signal.SIGCONT)
        self.frozen = False

    def look(self, now, again=True):
        """Records an end, and restarts the member when it is due."""
        if self.process is None:
            if again and now >= self.due:
                self.start()
            return
        code = self.process.poll()
        if code is None:
            if self.asked and now - self.asked > LEAVE:
                self.counts.wrong.append(f"{self.name} did not end within {LEAVE} s of SIGTERM")
                self.kill()
            elif now - self.began > 20:
                self.pause = 1.0
            return
        self.counts.exit(code)
        if self.asked:
            self.counts.slowest_stop = max(self.counts.slowest_stop, now - self.asked)
            # A signal that arrives before the handler is there ends the process by itself.
            if code not in (0, -signal.SIGTERM) and code not in RESTARTS:
                self.counts.wrong.append(f"{self.name} ended with {code} after SIGTERM")
        elif code != -signal.SIGKILL and code not in RESTARTS:
            self.counts.wrong.append(f"{self.name} ended by itself with {code}")
        self.process, self.due = None, now + self.pause
        if code in RESTARTS and not self.asked:
            self.pause = min(self.pause * 2, 10.0)

    def close(self):
        if self.process and self.process.poll() is None:
            self.thaw()
            self.process.kill()
            self.process.wait()


class Disk:
    """A small file system that can be filled: a tmpfs, mounted in this process' own mount namespace."""

    def __init__(self, folder, size):
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
        self.folder, self.filler = folder, folder / "filler"

    def fill(self):
        block = bytes(1 << 20)
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(block)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self):
        self.filler.unlink(missing_ok=True)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=False)


class World:
    """Everything that runs: the servers, the members of two groups over one topic, and what is wrong with it now."""

    def __init__(self, work, broker, s3, disk, programs, topic, engine):
        self.broker, self.s3, self.disk, self.programs = broker, s3, disk, programs
        self.counts, self.members, self.configs, self.addresses = Counts(), [], {}, {}
        self.logs = work / "logs"
        self.logs.mkdir()
        self.pages = set()
        env = s3.env
        stores = {
            "s3": stream.table(kind="s3", bucket=env["BUCKET"], region=env["REGION"], endpoint=env["ENDPOINT"], prefix="chaos",
                               access_key=env["ACCESS_KEY"], secret_key=env["SECRET_KEY"], allow_http=True),
            "folder": stream.table(kind="folder", path=str(disk.folder / "dataset")),
        }
        for place, members in (("s3", 3), ("folder", 2)):
            self.configs[place] = self.configure(work, place, "end", topic, engine, stores[place])
            for number in range(members):
                name = f"{place}-{number}"
                config = self.configure(work, place, name, topic, engine, stores[place])
                self.members.append(Member(name, programs[0], config, self.logs, self.counts))

    def configure(self, work, place, name, topic, engine, store):
        self.addresses[name] = f"127.0.0.1:{free_port()}"
        path = stream.configure(
            work / f"{name}-{place}.toml", brokers=self.broker.env["BOOTSTRAP"], topic=topic, group=f"chaos-{place}",
            engine=engine, store=store,
            more=f'{ROLL}\n[resources]\ndrain_seconds = {DRAIN}\n[telemetry]\nlisten = "{self.addresses[name]}"')
        text = path.read_text()
        assignment = "cooperative-sticky" if place == "s3" else "range"
        properties = ", ".join(f'"{key}" = {value}' for key, value in PROPERTIES.items())
        path.write_text(text.replace("[engine]", f'assignment = "{assignment}"\nproperties = {{ {properties} }}\n[engine]', 1))
        return path

    def look(self, now, again=True):
        for member in self.members:
            member.look(now, again)

    def read_pages(self):
        """Reads every member's status pages, to search them for identifiers at the end."""
        for member in self.members:
            if member.frozen or member.process is None:
                continue
            for page in ("", "metrics"):
                try:
                    with urllib.request.urlopen(f"http://{self.addresses[member.name]}/{page}", timeout=2) as answer:
                        self.pages.add(answer.read())
                except OSError:
                    # It starts, or it ends.
                    pass

    def close(self):
        for member in self.members:
            member.close()


def of_kind(kinds, chance):
    """Yields kinds of faults forever: each once in a random order, then by weight."""
    first = list(kinds)
    chance.shuffle(first)
    yield from first
    names, weights = list(kinds), [kinds[kind][0] for kind in kinds]
    while True:
        yield chance.choices(names, weights)[0]


def alive(world, chance):
    running = [m for m in world.members if m.process and m.process.poll() is None and not m.frozen and m.asked is None]
    return chance.choice(running) if running else None


def member_fault(act):
    """Injects an instantaneous fault of one member."""

    def begin(world, chance):
        member = alive(world, chance)
        if member:
            act(member)
        return None

    return begin


def freeze(world, chance):
    member = alive(world, chance)
    if not member:
        return None
    member.freeze()
    return chance.uniform(1, 15), member.thaw


def server(which, down, up, shortest, longest):
    """Begins an outage of a server, from `down` to `up`; one of its kind at a time."""

    def begin(world, chance):
        one = getattr(world, which)
        if getattr(one, "away", False):
            return None
        one.away = True
        one.tell(down)

        def end():
            one.tell(up)
            one.away = False

        return chance.uniform(shortest, longest), end

    return begin


def full_disk(world, chance):
    world.disk.fill()
    return chance.uniform(2, 8), world.disk.free


def upgrade(world, _chance):
    """A rolling upgrade: every member is replaced in turn by the other program; the supervisor starts it."""
    for member in world.members:
        member.program = world.programs[1]
    waiting = [member for member in world.members if not member.frozen]

    def step():
        if not waiting:
            return None
        waiting.pop().stop()
        return 2.0, step

    return step()


# Name: weight and start function. It returns None for an instantaneous fault, else seconds and the function that ends it.
KINDS = {
    "member killed": (6, member_fault(Member.kill)),
    "member frozen": (4, freeze),
    "member stopped": (2, member_fault(Member.stop)),
    "broker killed": (1, server("broker", "kill", "restart", 0, 6)),
    "broker frozen": (1, server("broker", "pause", "resume", 1, 10)),
    "store killed": (1, server("s3", "kill", "restart", 0, 6)),
    "store frozen": (1, server("s3", "pause", "resume", 1, 10)),
    "disk full": (1, full_disk),
    "rolling upgrade": (0.3, upgrade),
}


def inspect(program, config, against_topic):
    """Runs `lethe inspect` and returns its exit code and its JSON."""
    command = [program, "inspect", "--config", config, "--json", *(["--against-topic"] if against_topic else [])]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        return done.returncode or 1, {}, done.stderr


def own_namespace(environment="LETHE_CHAOS_NAMESPACE"):
    """Runs this program again in a mount namespace of its own, where it may mount a tmpfs."""
    if os.environ.get(environment):
        return
    os.environ[environment] = "1"
    import sys

    for options in (["--mount", "--user", "--map-root-user"], ["--mount"]):
        if subprocess.run(["unshare", *options, "true"], check=False, capture_output=True).returncode == 0:
            os.execvp("unshare", ["unshare", *options, "--", sys.executable, *sys.argv])
    sys.exit("cannot create a mount namespace (unshare --mount), which the full disk needs")


def search(paths, pages, canaries):
    """Returns where a log or a page contains an identifier of the notes, without the identifier."""
    found = []
    for path in paths:
        text = path.read_bytes()
        if any(canary in text for canary in canaries):
            found.append(str(Path(path).name))
    if any(canary in page for page in pages for canary in canaries):
        found.append("a page")
    return found
