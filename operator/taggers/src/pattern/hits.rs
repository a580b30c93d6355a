//! The findings of the recognisers in a note, and the choice between two that overlap.

/// The kinds of findings, in the order of [`LABELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Date,
    Age,
    Phone,
    Fax,
    Email,
    Url,
    Ip,
    Ssn,
    Mrn,
    Plan,
    Account,
    License,
    Vehicle,
    Device,
    Bio,
    Id,
    User,
    Street,
    Zip,
    Room,
}

/// The 2014 i2b2 label for each [`Kind`].
pub(crate) const LABELS: [&str; 20] = [
    "DATE",
    "AGE",
    "PHONE",
    "FAX",
    "EMAIL",
    "URL",
    "IPADDR",
    "SSN",
    "MEDICALRECORD",
    "HEALTHPLAN",
    "ACCOUNT",
    "LICENSE",
    "VEHICLE",
    "DEVICE",
    "BIOID",
    "IDNUM",
    "USERNAME",
    "STREET",
    "ZIP",
    "ROOM",
];

/// One finding: tokens `first` to `last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) kind: Kind,
    pub(crate) score: f32,
    pub(crate) rule: &'static str,
}

/// The findings of one note.
#[derive(Default)]
pub(crate) struct Hits {
    pub(crate) found: Vec<Hit>,
    /// One past the last token of the last URL: no other URL starts inside it.
    pub(crate) url_end: usize,
    /// One past the last token of the last number that is said digit by digit.
    pub(crate) spoken_end: usize,
    /// One past the last token of the last house number in words.
    pub(crate) house_end: usize,
    /// The last words so far that announce an age, a telephone number and a postal code; 0 before the first.
    pub(crate) age_cue: usize,
    pub(crate) phone_cue: usize,
    pub(crate) postal_cue: usize,
}

impl Hits {
    /// Forgets everything of the note before.
    pub(crate) fn forget(&mut self) {
        self.found.clear();
        (self.url_end, self.spoken_end, self.house_end) = (0, 0, 0);
        (self.age_cue, self.phone_cue, self.postal_cue) = (0, 0, 0);
    }

    pub(crate) fn push(&mut self, first: usize, last: usize, kind: Kind, score: f32, rule: &'static str) {
        self.found.push(Hit {
            first,
            last,
            kind,
            score,
            rule,
        });
    }

    /// Keeps the better of any two findings that overlap: the one with the higher score, then the longer.
    pub(crate) fn settle(&mut self) {
        self.found
            .sort_by_key(|hit| (hit.first, std::cmp::Reverse(hit.last)));
        let mut kept = 0;
        for at in 0..self.found.len() {
            let hit = self.found[at];
            let rank = |hit: &Hit| (hit.score, hit.last - hit.first);
            let mut overruled = false;
            while kept > 0 && self.found[kept - 1].last >= hit.first {
                if rank(&self.found[kept - 1]) >= rank(&hit) {
                    overruled = true;
                    break;
                }
                kept -= 1;
            }
            if !overruled {
                self.found[kept] = hit;
                kept += 1;
            }
        }
        self.found.truncate(kept);
    }
}
