//! How good predictions are: scores, intervals, tests of significance, error analysis, and reports of them.
