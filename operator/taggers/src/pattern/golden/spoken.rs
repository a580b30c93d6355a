//! Golden cases of what is written in words.

use super::Case;

pub(super) const SPOKEN: &[Case] = &[
    (
        "born on the third of March nineteen seventy-two",
        &[("third of March nineteen seventy-two", "DATE")],
    ),
    (
        "It was March the twenty-second, two thousand and four.",
        &[("March the twenty-second, two thousand and four", "DATE")],
    ),
    (
        "since october twelve nineteen oh five",
        &[("october twelve nineteen oh five", "DATE")],
    ),
    ("on the twenty first of May", &[("twenty first of May", "DATE")]),
    ("seen March nineteen eighty", &[("March nineteen eighty", "DATE")]),
    (
        "Friday the tenth of June 2011",
        &[("Friday", "DATE"), ("tenth of June 2011", "DATE")],
    ),
    (
        "married in nineteen sixty-eight",
        &[("nineteen sixty-eight", "DATE")],
    ),
    ("the third may be the last", &[]),
    ("we march two miles", &[]),
    ("twenty twenty vision, nineteen twenty milligram tablets", &[]),
    (
        "It's oh seven seven nine one, four four two, one double six.",
        &[("oh seven seven nine one, four four two, one double six", "PHONE")],
    ),
    (
        "code five five oh one two, yes",
        &[("five five oh one two", "IDNUM")],
    ),
    ("one, two, three and up", &[]),
    ("uno o dos o tres o cuatro o cinco", &[]),
    (
        "write to ann dot quayle seven at example dot com please",
        &[("ann dot quayle seven at example dot com", "EMAIL")],
    ),
    (
        "j underscore hale at clinic dash north dot co dot uk",
        &[("j underscore hale at clinic dash north dot co dot uk", "EMAIL")],
    ),
    ("look it up on example dot org", &[("example dot org", "URL")]),
];
