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
    (
        "Doctor: Your number? Patient: seven double o, five two o, o eight one nine. Bye.",
        &[("seven double o, five two o, o eight one nine", "PHONE")],
    ),
    (
        "one, six one four... three nine five two, X four two",
        &[("one, six one four... three nine five two, X four two", "PHONE")],
    ),
    (
        "It is 5 0 double 7... 2 9 8 0... 1, thanks",
        &[("5 0 double 7... 2 9 8 0... 1", "PHONE")],
    ),
    ("call 6 1 4 3 9 8 2 please", &[("6 1 4 3 9 8 2", "PHONE")]),
    ("pain on a scale of 0 1 2 3 4 5 6 7 8 9 10", &[]),
    ("PHQ-9 items 1 2 0 1 3 2 1 0 1, strength 5 5 5 4 4 5 5", &[]),
    (
        "and it's, er, S W one A, two A A. Lovely",
        &[("S W one A, two A A", "ZIP")],
    ),
    (
        "What's your postcode? X Q double seven, seven L R.",
        &[("X Q double seven, seven L R", "ZIP")],
    ),
    (
        "code R Q four four one two",
        &[("R Q four four one two", "IDNUM")],
    ),
    ("T two N one M zero, G two P one A zero L one", &[]),
    ("staged as T two N one M zero", &[]),
    ("she is G two P one A zero", &[]),
    (
        "live at thirty-six eighty Maple Road, and",
        &[("thirty-six eighty Maple Road", "STREET")],
    ),
    (
        "to four fifty-three Sunset Ave, Floor 1.",
        &[("four fifty-three Sunset Ave, Floor 1", "STREET")],
    ),
    ("one way street, two Lane County men, one Court", &[]),
];
