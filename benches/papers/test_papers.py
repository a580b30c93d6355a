"""Known values of the exact tests; how pages are read and votes are counted; and that the text of the pages holds no figure.

    python3 -m unittest discover -s benches/papers        (or benches/papers/run --self-test)
"""
import itertools
import math
import re
import tomllib
import unittest
from pathlib import Path

import common
import exact
import thresholds

HERE = Path(__file__).resolve().parent
# Names with digits: years, data sets, measures, levels, tables and figures; and placeholders.
NAMES = re.compile(
    r"\b(19|20)\d\d\b|i2b2|F1|5 % level|95 % (CI|interval)|[Tt]ables? \d( to \d| and \d| and figure \d)*|[Ff]igures? S?\d( and S\d)?"
    r"|MIMIC-III|\{\w+(:,)?\}"
)


class Kendall(unittest.TestCase):
    def test_full_agreement_has_the_smallest_p(self):
        for size in (4, 5, 6):
            found = exact.kendall(range(size), range(size))
            self.assertEqual(found.tau, 1)
            self.assertAlmostEqual(found.p, 2 / math.factorial(size))
            self.assertEqual(exact.kendall(range(size), range(size, 0, -1)).tau, -1)

    def test_tabled_p_values(self):
        # Two-sided p by the number of pairs in the other order: tables of Kendall's S.
        for order, p in (([0, 1, 3, 2], 8 / 24), ([0, 1, 2, 4, 3], 10 / 120), ([0, 1, 2, 3, 5, 4], 12 / 720)):
            self.assertAlmostEqual(exact.kendall(range(len(order)), order).p, p)

    def test_no_correlation_has_p_1(self):
        self.assertEqual(exact.kendall([0, 1, 2, 3], [1, 3, 0, 2]).tau, 0)
        self.assertEqual(exact.kendall([0, 1, 2, 3], [1, 3, 0, 2]).p, 1)

    def test_ten_systems_count_all_their_orders(self):
        counts = exact.inversions([1] * 10)
        self.assertEqual(sum(counts), math.factorial(10))
        self.assertEqual(counts[:4], [1, 9, 44, 155])
        self.assertEqual(len(counts), 46)

    def test_ties_in_one_ranking_equal_enumeration(self):
        for tied in ([0, 1, 1, 2, 3], [2, 2, 0, 0, 1, 1], [1, 0, 1, 1, 0, 2]):
            plain = range(len(tied))
            alike, opposed, _ = exact.score(plain, tied)
            scores = [exact.score(order, tied) for order in itertools.permutations(plain)]
            p = sum(abs(one - other) >= abs(alike - opposed) for one, other, _ in scores) / len(scores)
            self.assertAlmostEqual(exact.kendall(plain, tied).p, p)
            self.assertAlmostEqual(exact.kendall(tied, plain).p, p)

    def test_ties_in_both_are_enumerated(self):
        self.assertAlmostEqual(exact.kendall([0, 0, 1], [0, 0, 1]).p, 1 / 3)
        with self.assertRaises(ValueError):
            exact.kendall([0] * 2 + list(range(8)), [0] * 2 + list(range(8)))

    def test_interval_contains_tau(self):
        found = exact.kendall(range(6), [0, 1, 2, 3, 5, 4])
        self.assertTrue(-1 < found.low < found.tau < found.high < 1)


class Text(unittest.TestCase):
    def test_text_of_pages_has_no_figures(self):
        texts = {path.name: path.read_text(encoding="utf-8") for path in (HERE / "templates").glob("*.md")}
        for path in HERE.glob("*.toml"):
            texts[path.name] = "\n".join(tomllib.loads(path.read_text(encoding="utf-8"))["why"].values())
        for name, text in texts.items():
            for line in text.split("\n"):
                self.assertNotRegex(NAMES.sub("", line), r"\d", name)


class Shares(unittest.TestCase):
    def test_sign_test(self):
        for above, below, p in ((5, 0, 0.0625), (9, 1, 22 / 1024), (3, 3, 1), (0, 6, 0.03125), (4, 0, 0.125)):
            self.assertAlmostEqual(exact.sign_test(above, below), p)
        self.assertIsNone(exact.sign_test(0, 0))

    def test_clopper_pearson(self):
        # The rule of three's exact form for none, and tabled values.
        for count, of, low, high in ((0, 10, 0, 1 - 0.025**0.1), (10, 10, 0.025**0.1, 1), (1, 10, 0.0025286, 0.4450161),
                                     (5, 10, 0.1870860, 0.8129140), (0, 4, 0, 0.6023646)):
            found = exact.clopper_pearson(count, of)
            self.assertAlmostEqual(found[0], low, places=6)
            self.assertAlmostEqual(found[1], high, places=6)

    def test_fisher(self):
        # Fisher's lady and her tea.
        self.assertAlmostEqual(exact.fisher(3, 1, 1, 3), 34 / 70)
        self.assertAlmostEqual(exact.fisher(4, 0, 0, 4), 2 / 70)

    def test_rank_sum(self):
        # The most extreme of the 120 choices of 3 of 10, on either side.
        self.assertAlmostEqual(exact.rank_sum([8, 9, 10], list(range(1, 8))), 2 / 120)
        self.assertEqual(exact.rank_sum([1, 1], [1, 1, 1]), 1)


class Reading(unittest.TestCase):
    def test_numbers_of_cells(self):
        self.assertEqual(common.numbers("−0.11 (-0.40 to +0.09)"), [-0.11, -0.40, 0.09])
        self.assertEqual(common.number("**97.70** (+0.00)".replace("*", "")), 97.70)
        self.assertEqual(common.number("1,982"), 1982)
        self.assertEqual(common.numbers("+0.6, -3.8, +1.5"), [0.6, -3.8, 1.5])

    def test_equal_headings_are_numbered(self):
        page = common.Page.__new__(common.Page)
        page.path, page.text = "page", "text\n\n| A | B | B |\n|---|---|---|\n| x | 1 | 2 |\n\nmore"
        self.assertEqual(page.table("A"), [{"A": "x", "B": "1", "B.1": "2"}])
        with self.assertRaises(SystemExit):
            page.table("C")

    def test_each_statement_that_does_not_hold_needs_a_sentence(self):
        say = common.Statements({"why": {"known": "few documents."}})
        say.signs("known", "signs", "all", [1, -1, 0])
        self.assertEqual(say.verdicts, [common.OPEN])
        with self.assertRaises(SystemExit):
            say.signs("unknown", "signs", "all", [1, -1])
        with self.assertRaises(SystemExit):
            common.Statements({"why": {"unused": "no statement."}}).finish()

    def test_a_difference_needs_every_test(self):
        verdicts = []
        for value, low, high, tests in ((1, 0.5, 1.5, {"t-test": 0.01, "Wilcoxon": 0.02}), (1, 0.5, 1.5, {"t-test": 0.01, "Wilcoxon": 0.06}),
                                        (-1, -1.5, -0.5, {}), (0.1, -0.2, 0.4, {})):
            say = common.Statements({"why": {"key": "a sentence."}})
            say.difference("key", "a difference", 0.9, common.Difference(value, low, high, tests))
            verdicts += say.verdicts
        self.assertEqual(verdicts, [common.AGREES, common.OPEN, common.CONTRADICTS, common.SMALLER])


class Votes(unittest.TestCase):
    def test_more_votes_win_an_overlap_then_the_better_member(self):
        spans = {(0, 5, "NAME"): 0b011, (3, 9, "DATE"): 0b100, (20, 25, "NAME"): 0b010, (22, 30, "NAME"): 0b001}
        ranks = {0: 1, 1: 0, 2: 2}
        self.assertEqual(thresholds.vote(spans, [0, 1, 2], 1, ranks), [(0, 5, "NAME"), (20, 25, "NAME")])
        self.assertEqual(thresholds.vote(spans, [0, 1, 2], 2, ranks), [(0, 5, "NAME")])
        self.assertEqual(thresholds.vote(spans, [2], 1, ranks), [(3, 9, "DATE")])


if __name__ == "__main__":
    unittest.main()
