//! Numbers, codes and network addresses.

use lethe_text::check::{dea_digit, luhn_digit, vin_check};

use super::Cast;
use crate::chance::Chance;
use crate::slot::{Item, Role};

const MAIL: &[&str] = &[
    "gmail.com",
    "yahoo.com",
    "hotmail.com",
    "aol.com",
    "outlook.com",
    "icloud.com",
    "comcast.net",
    "verizon.net",
    "msn.com",
    "protonmail.com",
    "att.net",
    "example.com",
    "example.org",
];
const TOP: &[&str] = &["org", "com", "net", "edu", "health", "us", "gov", "care"];
const PATHS: &[&str] = &[
    "",
    "",
    "/",
    "/portal",
    "/patients/~~~~",
    "/mychart",
    "/results?id=######",
    "/forms/intake.pdf",
    "/staff/~~~~~~",
    "/visit/######",
    "/telehealth/~~~-~~~~-~~~",
    "/appointments",
];

impl Cast<'_> {
    /// Returns an item that is not a place, with its label.
    pub(super) fn number(&mut self, item: Item) -> (&'static str, String) {
        match item {
            Item::Zip => ("ZIP", self.zip()),
            Item::Phone | Item::Phone2 | Item::PhoneDoctor => ("PHONE", self.laid_out("phone")),
            Item::Pager => ("PHONE", self.laid_out("pager")),
            Item::Ext => ("PHONE", self.laid_out("ext")),
            Item::Fax => ("FAX", self.laid_out("phone")),
            Item::Email => ("EMAIL", self.email(Role::Patient)),
            Item::EmailDoctor => ("EMAIL", self.email(Role::Doctor)),
            Item::Url => ("URL", self.url()),
            Item::Ip => ("IPADDR", self.ip()),
            Item::Ssn => ("SSN", self.laid_out("ssn")),
            Item::SsnLast4 => ("SSN", self.chance.layout("####")),
            Item::Account => ("ACCOUNT", self.laid_out("account")),
            Item::Card => ("ACCOUNT", card(&mut self.chance)),
            Item::HealthPlan => ("HEALTHPLAN", self.laid_out("healthplan")),
            Item::License => ("LICENSE", self.laid_out("license")),
            Item::Dea => ("LICENSE", dea(&mut self.chance)),
            Item::Npi => ("LICENSE", npi(&mut self.chance)),
            Item::Plate => ("VEHICLE", self.laid_out("plate")),
            Item::Vin => ("VEHICLE", vin(&mut self.chance)),
            Item::Device => ("DEVICE", self.laid_out("device")),
            Item::BioId => ("BIOID", self.laid_out("bioid")),
            Item::IdNum | Item::IdNum2 => ("IDNUM", self.laid_out("idnum")),
            Item::Username => ("USERNAME", self.username()),
            Item::Postcode => ("ZIP", postcode(&mut self.chance)),
            Item::Nhs => ("MEDICALRECORD", nhs(&mut self.chance)),
            Item::Medicare => ("HEALTHPLAN", self.chance.layout("%### ##### #")),
            Item::Sin => ("IDNUM", sin(&mut self.chance)),
            Item::Aadhaar => ("IDNUM", self.chance.layout("%### #### ####")),
            // The rest is MRN: places are generated elsewhere.
            _ => ("MEDICALRECORD", self.laid_out("mrn")),
        }
    }

    fn laid_out(&mut self, key: &str) -> String {
        let layout = self.institute.layout(key, &mut self.chance).to_owned();
        self.chance.layout(&layout)
    }

    fn zip(&mut self) -> String {
        if self.institute.language.is_some() {
            return self.laid_out("zip");
        }
        let layout = if self.chance.often(0.85) {
            "#####"
        } else {
            "#####-####"
        };
        self.chance.layout(layout)
    }

    fn email(&mut self, role: Role) -> String {
        let handle = self.handle(role);
        let domain = if role.treats() {
            self.domain()
        } else {
            let private = self.institute.language.map(|language| language.mail.as_slice());
            match private {
                Some(private) => self.chance.word(private),
                None => self.chance.word(MAIL),
            }
            .to_owned()
        };
        let address = format!("{handle}@{domain}");
        if self.chance.often(0.08) {
            address.to_uppercase()
        } else {
            address
        }
    }

    fn domain(&mut self) -> String {
        if self.chance.often(0.4) {
            return self.chance.word(&self.institute.domains).to_owned();
        }
        let host = self.host();
        let top = match self.institute.language {
            Some(language) => self.chance.word(&language.tops),
            None => self.chance.word(TOP),
        };
        format!("{host}.{top}")
    }

    fn url(&mut self) -> String {
        let before = self
            .chance
            .word(&[
                "https://",
                "http://www.",
                "www.",
                "https://www.",
                "",
                "https://portal.",
                "https://",
            ])
            .to_owned();
        let domain = self.domain();
        let path = self.chance.word(PATHS).to_owned();
        format!("{before}{domain}{}", self.chance.layout(&path))
    }

    fn ip(&mut self) -> String {
        if self.chance.often(0.1) {
            let mut group = || format!("{:x}", self.chance.within(1, 0xffff));
            let groups: Vec<String> = (0..8).map(|_| group()).collect();
            return groups.join(":");
        }
        let groups: Vec<String> = [(1, 223), (0, 255), (0, 255), (1, 254)]
            .iter()
            .map(|&(low, high)| self.chance.within(low, high).to_string())
            .collect();
        groups.join(".")
    }

    fn username(&mut self) -> String {
        let role = if self.chance.often(0.75) {
            Role::Doctor
        } else {
            Role::Patient
        };
        let handle = self.handle(role);
        let short: String = handle
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(8)
            .collect();
        match self.chance.below(6) {
            0 => self.chance.layout("@@@##"),
            1 => format!("{short}{}", self.chance.layout("##")),
            2 => short.to_uppercase(),
            3 => handle,
            4 => self.chance.layout("~~~###"),
            _ => short,
        }
    }
}

fn card(chance: &mut Chance) -> String {
    let (layout, groups): (&str, &[usize]) = match chance.below(4) {
        0 => ("37############", &[4, 6, 5]),
        1 => ("5%#############", &[4, 4, 4, 4]),
        _ => ("4##############", &[4, 4, 4, 4]),
    };
    let digits = chance.layout(layout);
    let digits = completed(digits, luhn_digit);
    grouped(&digits, groups, chance)
}

/// Returns a National Provider Identifier, whose sum includes the prefix 80840 (45 CFR 162.406).
fn npi(chance: &mut Chance) -> String {
    let digits = chance.layout("1########");
    completed(digits, |digits| luhn_digit(&[b"80840", digits].concat()))
}

/// Returns a DEA registration with its check digit.
fn dea(chance: &mut Chance) -> String {
    let letters = chance.layout("@");
    let first = chance.word(&["A", "B", "F", "M"]).to_owned();
    let digits = chance.layout("######");
    format!("{first}{letters}{}", completed(digits, dea_digit))
}

/// Returns a vehicle identification number with its check digit.
fn vin(chance: &mut Chance) -> String {
    const LETTERS: &[u8; 33] = b"ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
    let mut vin: Vec<u8> = (0..17).map(|_| LETTERS[chance.below(LETTERS.len())]).collect();
    if let Some(check) = vin_check(&vin) {
        vin[8] = check;
    }
    vin.into_iter().map(char::from).collect()
}

/// Returns a postcode of the United Kingdom (BS 7666), of an area that exists.
fn postcode(chance: &mut Chance) -> String {
    const UNIT: &[u8; 20] = b"ABDEFGHJLNPQRSTUWXYZ";
    let area = chance.word(lethe_text::postcode::AREAS).to_owned();
    let district = chance.word(&["%", "%", "%", "%#", "%#", "%@"]).to_owned();
    let between = if chance.often(0.9) { " " } else { "" };
    let outward = chance.layout(&format!("{district}{between}#"));
    let unit: String = (0..2)
        .map(|_| char::from(UNIT[chance.below(UNIT.len())]))
        .collect();
    format!("{area}{outward}{unit}")
}

/// Returns an NHS number, with its check digit four times of five.
fn nhs(chance: &mut Chance) -> String {
    let digits = loop {
        let digits = chance.layout("%#########");
        if lethe_text::check::nhs(digits.as_bytes()) || chance.often(0.02) {
            break digits;
        }
    };
    grouped(&digits, &[3, 3, 4], chance)
}

/// Returns a Social Insurance Number of Canada, with its check digit.
fn sin(chance: &mut Chance) -> String {
    let digits = completed(chance.layout("%#######"), luhn_digit);
    grouped(&digits, &[3, 3, 3], chance)
}

/// Writes digits in groups of these lengths, or together.
fn grouped(digits: &str, groups: &[usize], chance: &mut Chance) -> String {
    let between = chance.word(&[" ", " ", "-", ""]);
    let mut left = digits.chars();
    let groups: Vec<String> = groups
        .iter()
        .map(|&length| left.by_ref().take(length).collect())
        .collect();
    groups.join(between)
}

/// Returns digits followed by their check digit.
fn completed(mut digits: String, check: impl FnOnce(&[u8]) -> u8) -> String {
    let last = check(digits.as_bytes());
    digits.push(char::from(last));
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_have_their_length() {
        let mut chance = Chance::new(5, 0);
        for _ in 0..50 {
            let digits: String = card(&mut chance).chars().filter(char::is_ascii_digit).collect();
            assert!(
                digits.len() == if digits.starts_with('3') { 15 } else { 16 },
                "{digits}"
            );
            assert!(lethe_text::check::luhn(digits.as_bytes()), "{digits}");
        }
    }
}
