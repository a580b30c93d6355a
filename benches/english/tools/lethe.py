"""Runs Lethe through its program: `python -m tools.lethe IN OUT COST PROGRAM [OPTION...]`.

Its clock is the processor time of the whole program, as for the other tools, less that of a run over one note. It works
on all cores at once; the rate is per second of CPU time.
"""
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import common

ENOUGH = 2.0  # seconds: less is noise


def main(source, target, costs, program, *options):
    def annotate(read, written):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, "annotate", *options, "--log", "warn", "--input", str(read), "--output", str(written)]
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    notes = common.read(source)
    annotate(source, target)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # before any other run
    with tempfile.TemporaryDirectory(dir=Path(target).parent) as folder:
        one, many, out = (Path(folder) / name for name in ("one.jsonl", "many.jsonl", "out.jsonl"))
        common.write(one, notes[:1])
        start_up = min(annotate(one, out) for _ in range(3))
        copies, seconds = 1, 0.0
        while seconds < ENOUGH:
            # The same notes again under other names, until the time is long compared with the start-up.
            copies = min(copies * 4, max(copies + 1, int(copies * ENOUGH * 1.2 / seconds))) if seconds else copies
            common.write(many, ({**n, "doc_id": f"{n['doc_id']}-{k}"} for k in range(copies) for n in notes))
            seconds = max(annotate(many, out) - start_up, 1e-3)
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    common.cost(costs, version, copies * len(notes) - 1, seconds, peak)


if __name__ == "__main__":
    main(*sys.argv[1:])
