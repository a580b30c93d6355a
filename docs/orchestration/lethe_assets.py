"""Dagster: redacted notes as an asset, and the Delta table as one that depends on it."""

import json
import os
import subprocess

import dagster as dg

#: The folder of the configurations, and that of the Delta table, which contains the dataset.
CONFIG = os.environ.get("LETHE_CONFIG", "/etc/lethe")
TABLE = os.environ.get("LETHE_TABLE", "/lake/notes")

#: Codes after which the same command can succeed: docs/orchestration.md.
RETRY = {1, 130, 137, 143}


def lethe(*arguments):
    """Run a command, and return its JSON report if it prints one."""
    done = subprocess.run(["lethe", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout) if "--json" in arguments else None
    # Negative: a signal, as Python counts.
    again = done.returncode < 0 or done.returncode in RETRY
    raise dg.Failure(f"lethe {arguments[0]} ended with {done.returncode}", allow_retries=again)


retries = dg.RetryPolicy(max_retries=5, delay=60, backoff=dg.Backoff.EXPONENTIAL)


@dg.asset(retry_policy=retries)
def redacted_notes() -> dg.MaterializeResult:
    lethe("run", "-c", f"{CONFIG}/lethe.toml", "--until-end")
    chains = lethe("inspect", f"{TABLE}/_lethe", "--quick", "--json")["chains"]
    return dg.MaterializeResult(
        metadata={name: sum(chain[name] for chain in chains) for name in ("notes", "quarantined", "files")}
    )


@dg.asset(deps=[redacted_notes], retry_policy=retries)
def notes_table() -> dg.MaterializeResult:
    (table,) = lethe("publish", f"{TABLE}/_lethe", "--delta", TABLE, "--json")["tables"]
    return dg.MaterializeResult(metadata={name: table[name] for name in ("version", "files", "rows")})


defs = dg.Definitions(assets=[redacted_notes, notes_table])
