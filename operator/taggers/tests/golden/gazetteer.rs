//! Cases of the `gazetteer` member.

use crate::{Group, check};

const CASES: &[Group] = &[
    (
        "PATIENT",
        &[
            "[Margaret Thompson] came in.",
            "[Thompson, Margaret] came in.",
            "[John Smith] came to the clinic.",
            "[Mark A. Hill] has no pain.",
            "Mark left knee.",
            "[Margaret J. Thompson] came in.",
            "[Carmen García López] acude a consulta.",
            "The chart of [Carmen de la Fuente] was lost.",
            "[Margaret] tolerated the procedure well.",
            "[Margaret] and [Kenneth] agree with the plan.",
            "SEEN TODAY: [MARGARET THOMPSON] WITH COUGH",
            "Crohn's disease, Foley catheter, Down syndrome, Parkinson disease.",
            "A Kelly clamp, a Blake drain, Allis clamps, Jackson-Pratt drains.",
            "Allegra, Claritin and Zyrtec were tried.",
            "He may grant her the hope to mark a page.",
            "Bence Jones protein and Epstein-Barr virus were absent.",
            "Endo GIA and EndoGIA staplers were used.",
        ],
    ),
    (
        "CITY",
        &[
            "She moved to [Albuquerque] last year.",
            "Lives near [Minneapolis].",
            "Acude desde [Salamanca] a urgencias.",
            "He was seen in [Boston], MA.",
            "The Cleveland Clinic and a Mobile unit.",
            "IgA was raised.",
        ],
    ),
    (
        "STATE",
        &[
            "She grew up in [Nebraska].",
            "Born in Savannah, [Georgia].",
            "Moved to [North Carolina].",
        ],
    ),
    (
        "COUNTRY",
        &["Recently returned from [Guatemala].", "Madrid ([España])."],
    ),
    ("HOSPITAL", &["Seen at [Massachusetts General Hospital]."]),
    ("ORGANIZATION", &["He works at [Home Depot]."]),
];

const KNOWN_FAILURES: &[Group] = &[
    // These names are also cities or words: alone they are left to the `context` member.
    ("PATIENT", &["[Lamar] reports low mood.", "[Grace] slept well."]),
    // In capitals, a single name is left to the `context` member.
    ("PATIENT", &["[MARGARET] TOLERATED THE PROCEDURE WELL."]),
];

#[test]
fn gazetteer_finds_what_its_golden_cases_mark() {
    check("gazetteer", CASES, KNOWN_FAILURES);
}
