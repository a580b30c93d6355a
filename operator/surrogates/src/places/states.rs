//! The states of the US. A state's name, older abbreviation and postal abbreviation belong together.

use lethe_text::fold;

use crate::draw::{Draw, Stream};
use crate::real::solid;
use lethe_text::Case;

/// Name, older abbreviation (or the name itself) and postal abbreviation.
pub const STATES: [(&str, &str, &str); 51] = [
    ("Alabama", "Ala.", "AL"),
    ("Alaska", "Alaska", "AK"),
    ("Arizona", "Ariz.", "AZ"),
    ("Arkansas", "Ark.", "AR"),
    ("California", "Calif.", "CA"),
    ("Colorado", "Colo.", "CO"),
    ("Connecticut", "Conn.", "CT"),
    ("Delaware", "Del.", "DE"),
    ("District of Columbia", "D.C.", "DC"),
    ("Florida", "Fla.", "FL"),
    ("Georgia", "Ga.", "GA"),
    ("Hawaii", "Hawaii", "HI"),
    ("Idaho", "Idaho", "ID"),
    ("Illinois", "Ill.", "IL"),
    ("Indiana", "Ind.", "IN"),
    ("Iowa", "Iowa", "IA"),
    ("Kansas", "Kans.", "KS"),
    ("Kentucky", "Ky.", "KY"),
    ("Louisiana", "La.", "LA"),
    ("Maine", "Maine", "ME"),
    ("Maryland", "Md.", "MD"),
    ("Massachusetts", "Mass.", "MA"),
    ("Michigan", "Mich.", "MI"),
    ("Minnesota", "Minn.", "MN"),
    ("Mississippi", "Miss.", "MS"),
    ("Missouri", "Mo.", "MO"),
    ("Montana", "Mont.", "MT"),
    ("Nebraska", "Nebr.", "NE"),
    ("Nevada", "Nev.", "NV"),
    ("New Hampshire", "N.H.", "NH"),
    ("New Jersey", "N.J.", "NJ"),
    ("New Mexico", "N.M.", "NM"),
    ("New York", "N.Y.", "NY"),
    ("North Carolina", "N.C.", "NC"),
    ("North Dakota", "N.D.", "ND"),
    ("Ohio", "Ohio", "OH"),
    ("Oklahoma", "Okla.", "OK"),
    ("Oregon", "Ore.", "OR"),
    ("Pennsylvania", "Pa.", "PA"),
    ("Rhode Island", "R.I.", "RI"),
    ("South Carolina", "S.C.", "SC"),
    ("South Dakota", "S.D.", "SD"),
    ("Tennessee", "Tenn.", "TN"),
    ("Texas", "Tex.", "TX"),
    ("Utah", "Utah", "UT"),
    ("Vermont", "Vt.", "VT"),
    ("Virginia", "Va.", "VA"),
    ("Washington", "Wash.", "WA"),
    ("West Virginia", "W.Va.", "WV"),
    ("Wisconsin", "Wis.", "WI"),
    ("Wyoming", "Wyo.", "WY"),
];

/// Other older abbreviations.
const OLDER: [(&str, &str); 10] = [
    ("cal", "CA"),
    ("kan", "KS"),
    ("neb", "NE"),
    ("ndak", "ND"),
    ("sdak", "SD"),
    ("nmex", "NM"),
    ("oreg", "OR"),
    ("penn", "PA"),
    ("penna", "PA"),
    ("wisc", "WI"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Name,
    Older,
    Postal,
}

/// Returns another state in the same form. `None` if the text is not a state; if `region` is false, only
/// abbreviations count as states.
pub(super) fn surrogate(text: &str, region: bool, draw: &dyn Draw) -> Option<String> {
    let name = |c: char| c.is_alphanumeric();
    let end = text.rfind(name)? + 1;
    // A full stop belongs to an abbreviation; other punctuation stays after it.
    let (body, tail) = text.split_at_checked(end)?;
    let dotted = tail.starts_with('.');
    let key = solid(&fold(body));
    // The first letter distinguishes most; postal abbreviations share it with their state.
    let first = key.as_bytes().first().map(u8::to_ascii_uppercase);
    let find = |wanted: &dyn Fn(&(&str, &str, &str)) -> bool| {
        STATES
            .iter()
            .position(|state| state.2.as_bytes().first().copied() == first && wanted(state))
    };
    let postal = key.len() == 2 && !body.contains(['.', ' ']);
    let known = find(&|state| solid(&fold(state.0)) == key).map(|at| (at, Form::Name));
    let known = known.or_else(|| {
        let upper = Case::of(body) == Case::Upper;
        let at = find(&|state| postal && upper && !dotted && state.2.eq_ignore_ascii_case(&key))?;
        Some((at, Form::Postal))
    });
    let known = known.or_else(|| {
        let older = OLDER
            .iter()
            .find(|(short, _)| *short == key)
            .map(|(_, postal)| *postal);
        let at = find(&|state| solid(&fold(state.1)) == key || older == Some(state.2))?;
        Some((at, Form::Older))
    });
    let (at, form) = known?;
    if form == Form::Name && !region || form == Form::Older && !dotted && !body.contains('.') && !region {
        return None;
    }
    let mut stream = Stream::of(draw, &[b"state", STATES[at].2.as_bytes()]);
    for _ in 0..64 {
        let (name, older, postal) = STATES[stream.below(STATES.len())];
        if postal == STATES[at].2 {
            continue;
        }
        let case = Case::of(body);
        return Some(match form {
            Form::Name => case.apply(name) + tail,
            Form::Postal => postal.to_owned() + tail,
            Form::Older => {
                let tail = if dotted {
                    tail.strip_prefix('.').unwrap_or(tail)
                } else {
                    tail
                };
                let plain = older.trim_end_matches('.');
                let shown = if dotted { older } else { plain };
                // "Mass." in a lower-case text keeps its case; capitals with full stops are an abbreviation,
                // not upper-case text.
                let case = if body.contains('.') { Case::None } else { case };
                case.apply(shown) + tail
            }
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::testing::Seeded;

    fn get(text: &str, seed: u64) -> Option<String> {
        surrogate(text, true, &Seeded(seed))
    }

    #[test]
    fn every_form_of_a_state_becomes_the_same_other_state() {
        for seed in 0..60 {
            let postal = get("MA", seed).unwrap();
            let state = STATES.iter().find(|state| state.2 == postal).unwrap();
            assert_ne!(postal, "MA");
            assert_eq!(get("Massachusetts", seed).unwrap(), state.0);
            assert_eq!(get("MASSACHUSETTS,", seed).unwrap(), state.0.to_uppercase() + ",");
            assert_eq!(get("Mass.", seed).unwrap(), state.1);
        }
    }

    #[test]
    fn what_is_no_state_is_left() {
        for text in ["Ontario", "XX", "ma", "", "M"] {
            assert_eq!(get(text, 1), None, "{text}");
        }
    }
}
