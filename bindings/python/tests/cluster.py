"""A standalone cluster of Spark: a master and workers, each a process of its own on this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pyspark

#: How long to wait for a process of Spark, in seconds. Only a fault takes as long.
LIMIT = 300


class Cluster:
    """Starts a master and workers with the `spark-class` of the installed package."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.master_port, self.page_port = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{self.master_port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._start(
            "master",
            ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
            + ["--port", str(self.master_port), "--webui-port", str(self.page_port)],
        )
        for number in range(workers):
            self.start_worker(f"worker-{number}")
        self.wait_for_workers(workers)

    def start_worker(self, name: str) -> None:
        """Start a worker with one core."""
        self._start(
            name,
            ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g"]
            + ["--webui-port", "0", "--work-dir", str(self.folder / name), self.url],
        )

    def kill_worker(self, name: str) -> None:
        """Kill a worker with its executors and their Python processes, as a machine that goes down would."""
        process = self.processes.pop(name)
        for child in descendants(process.pid):
            os.kill(child, signal.SIGKILL)
        process.wait(timeout=LIMIT)

    def wait_for_workers(self, count: int) -> None:
        """Wait until the master knows of `count` workers that are alive."""
        deadline = time.monotonic() + LIMIT
        alive = -1
        while time.monotonic() < deadline:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"the {name} ended with {process.returncode}:\n{self.log(name)}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.page_port}/json/", timeout=10) as page:
                    alive = json.load(page)["aliveworkers"]
            except (OSError, ValueError):
                # A master that starts listens before it has all of its pages, and answers with another one meanwhile.
                alive = -1
            if alive == count:
                return
            time.sleep(0.2)
        raise TimeoutError(f"the master has {alive} workers instead of {count} after {LIMIT} s:\n{self.log('master')}")

    def stop(self) -> None:
        """Kill what is left."""
        for name in list(self.processes):
            self.kill_worker(name)

    def log(self, name: str) -> str:
        """Return the end of what a process wrote."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-4000:]

    def _start(self, name: str, arguments: list[str]) -> None:
        program = Path(pyspark.__file__).parent / "bin/spark-class"
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [str(program), *arguments], stdout=log, stderr=subprocess.STDOUT, env=environment
            )


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def descendants(pid: int) -> list[int]:
    """Return a process and all that it started, the newest first."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        below = [int(child) for child in children.read_text().split()]
    except FileNotFoundError:
        return []
    return [found for child in below for found in descendants(child)] + [pid]
