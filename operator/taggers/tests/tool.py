"""An external tool for tests: finds a few invented names, and misbehaves if asked.

    python3 tool.py [OPTIONS]                     answers lines of standard input
    python3 tool.py [OPTIONS] --serve PORT_FILE   answers POST requests, and writes its port to the file

A misbehaviour is `--on WORD MODE`: it happens with notes that contain the word. With `--once FILE` it happens only
while FILE does not exist, and creates it.
"""

import argparse
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMES = re.compile(r"\b(?:Okafor|Quill|Lindqvist)\b")


def spans(text):
    """Returns the names in a text, in code points."""
    return [
        {"start": match.start(), "end": match.end(), "label": "PERSON", "score": 0.75}
        for match in NAMES.finditer(text)
    ]


def answer(request):
    """Returns the answer to a request."""
    return {"id": request["id"], "spans": spans(request["text"])}


def changed(mode, request):
    """Returns what a tool with this defect answers, as bytes."""
    right = answer(request)
    first = {"start": 0, "end": 1, "label": "PERSON"}
    wrong = {
        "id": {**right, "id": right["id"] + 1},
        "keys": {"id": right["id"]},
        "range": {**right, "spans": [{**first, "end": len(request["text"]) + 1}]},
        "label": {**right, "spans": [{**first, "label": "Okafor"}]},
        "score": {**right, "spans": [{**first, "score": 7}]},
    }
    if mode in wrong:
        return json.dumps(wrong[mode]).encode() + b"\n"
    if mode == "two":
        return (json.dumps(right) + "\n" + json.dumps(right) + "\n").encode()
    if mode == "text":
        return request["text"].encode() + b"\n"
    raise SystemExit(f"no mode {mode}")


def misbehaves(options, text):
    """Returns whether the misbehaviour happens with this text."""
    if not options.on or options.on[0] not in text:
        return False
    if options.once:
        try:
            os.close(os.open(options.once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
    return True


def react(options, request, write):
    """Answers a request, or misbehaves."""
    if not misbehaves(options, request["text"]):
        write(json.dumps(answer(request)).encode() + b"\n")
        return
    mode = options.on[1]
    if mode == "crash":
        os._exit(3)
    if mode == "hang":
        time.sleep(3600)
    if mode == "flood":
        while True:
            write(b"x" * 65536)
    if mode == "later":
        write(json.dumps(answer(request)).encode() + b"\n")
        time.sleep(0.2)
        write(b"a line without a request\n")
        return
    write(changed(mode, request))


def lines(options):
    """Answers lines until the input ends."""

    def write(data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    for line in sys.stdin.buffer:
        request = json.loads(line)
        # What a careless tool logs.
        print(request["text"], file=sys.stderr)
        react(options, request, write)


def serve(options):
    """Answers requests until it is killed."""

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def do_POST(self):
            """Answers a note."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if options.token and self.headers["Authorization"] != f"Bearer {options.token}":
                self.send_error(401)
                return
            request = json.loads(body)
            if options.on and options.on[1] == "refuse" and misbehaves(options, request["text"]):
                self.send_error(422, explain=request["text"])
                return
            parts = []
            react(options, request, parts.append)
            data = b"".join(parts)
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    partial = options.serve + ".new"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.replace(partial, options.serve)
    server.serve_forever()


def main():
    """Runs the tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", nargs=2, metavar=("WORD", "MODE"))
    parser.add_argument("--once")
    parser.add_argument("--serve")
    parser.add_argument("--token")
    options = parser.parse_args()
    if options.serve:
        serve(options)
    else:
        lines(options)


if __name__ == "__main__":
    main()
