"""The smallest external tool: answers each line with the telephone numbers in its text."""

import json
import re
import sys

for line in sys.stdin:
    request = json.loads(line)
    numbers = re.finditer(r"\d{3}-\d{4}", request["text"])
    spans = [{"start": n.start(), "end": n.end(), "label": "TELEPHONE"} for n in numbers]
    print(json.dumps({"id": request["id"], "spans": spans}), flush=True)
