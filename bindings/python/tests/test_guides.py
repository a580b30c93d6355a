"""The README and the guides as somebody follows them: from top to bottom, in one session and one folder."""

import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]


def follow(page, session):
    """Run the examples of a page, and compare what each prints with what the page says. Return how many were compared."""
    blocks = re.findall(r"```(python|text)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    printed, compared = "", 0
    for kind, block in blocks:
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, page, "exec"), session)
            printed = output.getvalue()
        else:
            assert printed.rstrip() == block.rstrip()
            compared += 1
    return compared


@pytest.mark.parametrize("page", ["bindings/python/README.md", "docs/python.md"])
@pytest.mark.filterwarnings("default")
def test_each_example_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert follow(page, {"__name__": "__main__"}) >= 4
