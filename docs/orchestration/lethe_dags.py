"""Airflow: redact what is new and publish it, every hour; and backfill a warehouse once, in shards."""

import datetime
import json
import os
import subprocess

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, task

#: The folder of the configurations, and that of the Delta table, which contains the dataset.
CONFIG = os.environ.get("LETHE_CONFIG", "/etc/lethe")
TABLE = os.environ.get("LETHE_TABLE", "/lake/notes")
SHARDS = 4

#: Codes after which the same command can succeed: docs/orchestration.md.
RETRY = {1, 130, 137, 143}
RETRIES = {
    "retries": 5,
    "retry_delay": datetime.timedelta(minutes=1),
    "retry_exponential_backoff": True,
    # `run` and `backfill` wait for a store or a broker that does not respond.
    "execution_timeout": datetime.timedelta(hours=6),
}


def lethe(*arguments):
    """Run a command, and return its JSON report if it prints one. Airflow logs its standard error."""
    done = subprocess.run(["lethe", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout) if "--json" in arguments else None
    # Negative: a signal, as Python counts.
    again = done.returncode < 0 or done.returncode in RETRY
    error = AirflowException if again else AirflowFailException
    raise error(f"lethe {arguments[0]} ended with {done.returncode}")


@dag(schedule="@hourly", start_date=datetime.datetime(2026, 1, 1), catchup=False, max_active_runs=1, default_args=RETRIES)
def lethe_notes():
    @task
    def run():
        lethe("run", "-c", f"{CONFIG}/lethe.toml", "--until-end")

    @task
    def inspect():
        report = lethe("inspect", f"{TABLE}/_lethe", "--quick", "--json")
        return {"quarantined": sum(chain["quarantined"] for chain in report["chains"])}

    @task
    def publish():
        return lethe("publish", f"{TABLE}/_lethe", "--delta", TABLE, "--json")

    run() >> inspect() >> publish()


@dag(schedule=None, max_active_runs=1, default_args=RETRIES)
def lethe_backfill():
    @task
    def backfill(shard):
        return lethe("backfill", "-c", f"{CONFIG}/backfill.toml", "--shard", f"{shard}/{SHARDS}", "--json")["dataset"]

    @task
    def inspect():
        return lethe("inspect", "-c", f"{CONFIG}/backfill.toml", "--json")["verdict"]

    backfill.expand(shard=list(range(SHARDS))) >> inspect()


lethe_notes()
lethe_backfill()
