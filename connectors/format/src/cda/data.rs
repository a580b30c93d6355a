//! Handles elements of data types: codes, ids, quantities, dates, templates.

use std::sync::Arc;

use jiff::ToSpan as _;

use super::codes::{self, RELEASES, is_template, is_unit};
use super::draft::{Attributes, Draft};
use super::envelope::{Hole, Root};
use super::table::{self, Rule};
use super::times;
use crate::hl7v2::codes::is_amount;
use crate::hl7v2::time::Stamp;

/// Roots of ids that belong to no organization: social security numbers and national provider identifiers.
const SOCIAL_SECURITY: &str = "2.16.840.1.113883.4.1";
const PROVIDER: &str = "2.16.840.1.113883.4.6";
const MEDICARE: &str = "2.16.840.1.113883.4.572";
/// The type id of every CDA release 2 document (CDA R2, section 4.2.1.2).
const TYPE_ID: (&str, &str) = ("2.16.840.1.113883.1.3", "POCD_HD000040");

impl Draft<'_> {
    /// Writes the attributes of a data type's element and ends its start tag.
    pub(super) fn data(&mut self, rule: Rule, mut attributes: Attributes) {
        let null = attributes.take("@nullFlavor");
        self.kind(&mut attributes);
        let had = self.content(rule, &mut attributes);
        match had {
            Content::Kept => {}
            Content::Lost => self.attribute("@nullFlavor", "MSK"),
            Content::Absent => {
                if let Some(null) = null.and_then(|null| table::accepted("@nullFlavor", &null)) {
                    self.attribute("@nullFlavor", &null);
                }
            }
        }
        self.attributes(attributes);
        self.opened();
    }

    /// Handles the element's type.
    fn kind(&mut self, attributes: &mut Attributes) {
        if let Some(kind) = attributes.take("@xsi:type") {
            // The prefix is the sender's; HL7's namespace is the default here.
            let local = kind.rsplit(':').next().unwrap_or_default();
            match table::accepted("@xsi:type", local) {
                Some(kind) => self.attribute("@xsi:type", &kind),
                None => self.removed_at("@xsi:type", "not in the table"),
            }
        }
    }

    /// Handles the attributes that the element's rule has not read.
    pub(super) fn attributes(&mut self, mut attributes: Attributes) {
        self.kind(&mut attributes);
        if let Some(id) = attributes.take("@ID") {
            self.anchored(&id);
        }
        self.rest(attributes);
    }

    fn content(&mut self, rule: Rule, attributes: &mut Attributes) -> Content {
        match rule {
            Rule::Code => self.code(attributes),
            Rule::OneOf(list) => self.one_of(list, attributes),
            Rule::Id => self.id(attributes),
            Rule::Quantity => {
                self.dates(false);
                self.quantity(attributes)
            }
            Rule::Integer => self.integer(attributes),
            Rule::Limit if self.frames.last().is_some_and(|frame| frame.dates) => self.date(attributes),
            Rule::Limit => self.quantity(attributes),
            Rule::Date => {
                self.dates(true);
                self.date(attributes)
            }
            Rule::BirthDate => self.birth_date(attributes),
            Rule::Flag => self.flag(attributes),
            Rule::Telecom => self.telecom(attributes),
            Rule::Template => self.template(attributes),
            Rule::TypeId => self.type_id(attributes),
            Rule::Mask => Content::Lost,
            _ => Content::Absent,
        }
    }

    fn dates(&mut self, dates: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.dates = dates;
        }
    }

    fn lost(&mut self, name: &'static str) -> Content {
        let rule = self.rule().word();
        self.removed_at(name, rule);
        Content::Lost
    }

    fn code(&mut self, attributes: &mut Attributes) -> Content {
        let (code, system) = (attributes.take("@code"), attributes.take("@codeSystem"));
        let named = attributes.take("@codeSystemName").is_some();
        let Some(code) = code else {
            if system.is_some() {
                self.removed_at("@codeSystem", "not a code of the system");
            }
            return Content::Absent;
        };
        let Some(system) = system else {
            return self.lost("@code");
        };
        let Some(name) = codes::system_of(&system, &code, self.local) else {
            self.removed_at("@codeSystem", "not a code of the system");
            return self.lost("@code");
        };
        self.attribute("@code", &code);
        self.attribute("@codeSystem", &system);
        if named && !name.is_empty() {
            self.attribute("@codeSystemName", name);
        }
        Content::Kept
    }

    fn one_of(&mut self, list: &str, attributes: &mut Attributes) -> Content {
        let (code, system) = (attributes.take("@code"), attributes.take("@codeSystem"));
        let Some(code) = code else {
            return Content::Absent;
        };
        let Some(code) = table::accepted(list, &code) else {
            return self.lost("@code");
        };
        self.attribute("@code", &code);
        if let Some(system) = system {
            match codes::system_of(&system, &code, self.local) {
                Some(_) => self.attribute("@codeSystem", &system),
                None => self.removed_at("@codeSystem", "not a code of the system"),
            }
        }
        Content::Kept
    }

    fn id(&mut self, attributes: &mut Attributes) -> Content {
        let (root, extension) = (attributes.take("@root"), attributes.take("@extension"));
        let (hole, number) = match (root, extension) {
            (None, None) => return Content::Absent,
            (Some(root), None) => (Root::Alone, self.identifier("IDNUM", &root, None)),
            (root, Some(extension)) => {
                let root = root.map(|root| root.trim().to_owned());
                let authority = root.as_ref().map(|root| Arc::from(format!("oid:{root}")));
                let published = [SOCIAL_SECURITY, PROVIDER, MEDICARE]
                    .into_iter()
                    .find(|one| root.as_deref() == Some(*one));
                let label = match published {
                    Some(SOCIAL_SECURITY) => "SSN",
                    Some(PROVIDER) => "LICENSE",
                    Some(_) => "HEALTHPLAN",
                    None => match self.name(1) {
                        "patientRole" => "MEDICALRECORD",
                        "encompassingEncounter" => "ACCOUNT",
                        _ => "IDNUM",
                    },
                };
                let number = self.identifier(label, &extension, authority);
                let hole = match (published, root) {
                    (Some(root), _) => Root::Published(root),
                    (None, Some(root)) => Root::Number(self.root(&root)),
                    (None, None) => Root::Absent,
                };
                (hole, number)
            }
        };
        self.hole(Hole::Id(number, hole));
        Content::Kept
    }

    fn quantity(&mut self, attributes: &mut Attributes) -> Content {
        let (value, unit) = (attributes.take("@value"), attributes.take("@unit"));
        let (value, unit) = (value.as_deref().map(str::trim), unit.as_deref().map(str::trim));
        if value.is_none() && unit.is_none() {
            return Content::Absent;
        }
        let fits = value.is_none_or(is_amount) && unit.is_none_or(is_unit) && !is_great_age(value, unit);
        if !fits {
            // A number without its unit would be another quantity.
            return self.lost("@value");
        }
        for (name, value) in [("@value", value), ("@unit", unit)] {
            if let Some(value) = value {
                self.attribute(name, value);
            }
        }
        Content::Kept
    }

    fn integer(&mut self, attributes: &mut Attributes) -> Content {
        let Some(value) = attributes.take("@value") else {
            return Content::Absent;
        };
        if value.len() > 3 || !is_amount(&value) || value.contains(['.', '+']) {
            return self.lost("@value");
        }
        self.attribute("@value", &value);
        Content::Kept
    }

    fn flag(&mut self, attributes: &mut Attributes) -> Content {
        let Some(value) = attributes.take("@value") else {
            return Content::Absent;
        };
        if !matches!(value.as_str(), "true" | "false") {
            return self.lost("@value");
        }
        self.attribute("@value", &value);
        Content::Kept
    }

    fn date(&mut self, attributes: &mut Attributes) -> Content {
        let Some(value) = attributes.take("@value") else {
            return Content::Absent;
        };
        if self.frames.len() == 2 && self.name(0) == "effectiveTime" {
            self.authored = value.get(..8).and_then(times::date);
        }
        self.date_hole(&value)
    }

    fn date_hole(&mut self, value: &str) -> Content {
        let Some(stamp) = Stamp::read(value.trim()).filter(Stamp::is_of_a_person) else {
            return self.lost("@value");
        };
        let number = self.identifier("DATE", &stamp.iso(), None);
        self.hole(Hole::Date(number, stamp.time.into()));
        Content::Kept
    }

    /// Handles a birth date. It is dropped, even its year, if the person may be over 89: 45 CFR
    /// 164.514(b)(2)(i)(C).
    fn birth_date(&mut self, attributes: &mut Attributes) -> Content {
        let Some(value) = attributes.take("@value") else {
            return Content::Absent;
        };
        let digits = value.trim().bytes().take_while(u8::is_ascii_digit).count().min(8);
        let born = value.trim().get(..digits).and_then(times::date);
        let ninety = born.and_then(|born| born.checked_add(90.years()).ok());
        match (self.authored, ninety) {
            (Some(authored), Some(ninety)) if authored < ninety => self.date_hole(&value),
            _ => self.lost("@value"),
        }
    }

    fn telecom(&mut self, attributes: &mut Attributes) -> Content {
        let Some(value) = attributes.take("@value") else {
            return Content::Absent;
        };
        let value = value.trim();
        let (scheme, rest) = value.split_once(':').unwrap_or(("tel", value));
        let (label, scheme) = match scheme {
            "mailto" => ("EMAIL", "mailto"),
            "fax" => ("FAX", "fax"),
            "http" | "https" | "ftp" => ("URL", "https"),
            _ if value.contains('@') => ("EMAIL", "mailto"),
            _ => ("PHONE", "tel"),
        };
        if rest.trim().is_empty() {
            return Content::Absent;
        }
        let whole = if label == "URL" { value } else { rest };
        let number = self.identifier(label, whole, None);
        self.hole(Hole::Url(number, scheme));
        Content::Kept
    }

    fn template(&mut self, attributes: &mut Attributes) -> Content {
        let (root, extension) = (attributes.take("@root"), attributes.take("@extension"));
        let Some(root) = root else {
            return Content::Absent;
        };
        if !is_template(&root) {
            return self.lost("@root");
        }
        self.attribute("@root", &root);
        match extension {
            Some(extension) if RELEASES.contains(&extension.as_str()) => {
                self.attribute("@extension", &extension)
            }
            Some(_) => self.removed_at("@extension", "template"),
            None => {}
        }
        Content::Kept
    }

    fn type_id(&mut self, attributes: &mut Attributes) -> Content {
        attributes.take("@root");
        attributes.take("@extension");
        self.attribute("@root", TYPE_ID.0);
        self.attribute("@extension", TYPE_ID.1);
        Content::Kept
    }
}

/// The fate of an element's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Kept,
    Lost,
    /// It had none.
    Absent,
}

/// Returns whether it is an age over 89 years.
fn is_great_age(value: Option<&str>, unit: Option<&str>) -> bool {
    matches!(unit, Some("a" | "a_j" | "a_g"))
        && value
            .and_then(|value| value.parse::<f64>().ok())
            .is_some_and(|value| value >= 90.0)
}
