"""Exact tests for few cases: rank agreement, signs, shares.

Kendall's tau has its exact permutation distribution, from the numbers of inversions of (multiset) permutations; the sign test and
the interval of Clopper and Pearson come from the binomial distribution, and Fisher's test from the hypergeometric one. Nothing is
resampled. All p-values are two-sided.
"""
import itertools
import math
from collections import Counter, namedtuple

LEVEL = 0.95
# How many pairs have the same order in both rankings, the other order, or a tie in either; tau-b and its p; approximate interval.
Agreement = namedtuple("Agreement", "alike opposed tied tau p low high")


def inversions(groups):
    """Returns how many orders of a multiset, with groups of these sizes, have 0, 1, 2, ... inversions."""
    counts, size = [1], 0
    for group in groups:
        # A Gaussian binomial, with one factor (1 - q^a) / (1 - q^b) at a time.
        for step in range(1, group + 1):
            size += 1
            counts = product(counts, [1] + [0] * (size - 1) + [-1])
            counts = quotient(counts, step)
    return counts


def product(one, other):
    out = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            out[i + j] += a * b
    return out


def quotient(counts, step):
    """Divides a polynomial by 1 - q^step; there is no remainder."""
    out = list(counts)
    for place in range(step, len(out)):
        out[place] += out[place - step]
    return out[: len(out) - step]


def score(x, y):
    """Returns the numbers of pairs in the same order, in the other order, and tied in either ranking."""
    signs = [sign(a - b) * sign(c - d) for (a, c), (b, d) in itertools.combinations(list(zip(x, y)), 2)]
    return signs.count(1), signs.count(-1), signs.count(0)


def sign(value):
    return (value > 0) - (value < 0)


def ties(values):
    return sorted(Counter(values).values())


def share_as_far(x, y, far):
    """Returns the share of all orders of y whose score is at least this far from 0."""
    if len(ties(x)) < len(x) and len(ties(y)) < len(y):
        if len(x) > 8:
            raise ValueError("ties in both rankings of more than 8 systems")
        scores = [score(x, order) for order in itertools.permutations(y)]
        return sum(abs(alike - opposed) >= far for alike, opposed, _ in scores) / len(scores)
    groups = ties(x) if len(ties(x)) < len(x) else ties(y)
    counts = inversions(groups)
    # Pairs within a group count for neither order.
    pairs = len(counts) - 1
    return sum(count for place, count in enumerate(counts) if abs(pairs - 2 * place) >= far) / sum(counts)


def kendall(x, y):
    """Returns the agreement of two rankings of the same systems. The interval is Fieller's, which is approximate; from five systems
    on, unless they agree wholly."""
    alike, opposed, tied = score(x, y)
    pairs = math.comb(len(x), 2)
    untied = [pairs - sum(math.comb(size, 2) for size in ties(values)) for values in (x, y)]
    if not all(untied):
        raise ValueError("a ranking of equal values has no order")
    tau = (alike - opposed) / math.sqrt(untied[0] * untied[1])
    low = high = None
    if len(x) > 4 and abs(tau) < 1:
        width = 1.96 * math.sqrt(0.437 / (len(x) - 4))
        low, high = (math.tanh(math.atanh(tau) + side * width) for side in (-1, 1))
    return Agreement(alike, opposed, tied, tau, share_as_far(x, y, abs(alike - opposed)), low, high)


def binomial_tail(least, of, share):
    """Returns the probability of at least so many successes."""
    return math.fsum(math.comb(of, count) * share**count * (1 - share) ** (of - count) for count in range(least, of + 1))


def sign_test(above, below):
    """Returns p of as uneven a split, if both sides are equally likely. Ties are left out."""
    of = above + below
    return min(1.0, 2 * binomial_tail(max(above, below), of, 0.5)) if of else None


def clopper_pearson(count, of, level=LEVEL):
    """Returns the exact interval of a share."""
    rest = (1 - level) / 2
    low = 0.0 if count == 0 else bisect(lambda share: binomial_tail(count, of, share) - rest)
    high = 1.0 if count == of else bisect(lambda share: 1 - binomial_tail(count + 1, of, share) - rest, falling=True)
    return low, high


def bisect(function, falling=False):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if (function(middle) > 0) == falling:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def fisher(a, b, c, d):
    """Returns p of Fisher's exact test for the table ((a, b), (c, d)): all tables that are no more likely than this one."""
    rows, column, total = (a + b, c + d), a + c, a + b + c + d
    ways = {x: math.comb(rows[0], x) * math.comb(rows[1], column - x) for x in range(max(0, column - rows[1]), min(rows[0], column) + 1)}
    return sum(count for count in ways.values() if count <= ways[a]) / math.comb(total, column)


def rank_sum(few, others):
    """Returns p of the rank-sum test of two groups, by all choices of the first."""
    values = few + others

    def distance(chosen):
        rest = [place for place in range(len(values)) if place not in chosen]
        return abs(sum(sign(values[one] - values[other]) for one in chosen for other in rest))

    found = distance(range(len(few)))
    distances = [distance(chosen) for chosen in itertools.combinations(range(len(values)), len(few))]
    return sum(one >= found for one in distances) / len(distances)
