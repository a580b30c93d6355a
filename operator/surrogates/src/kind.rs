//! The kinds of identifiers that have surrogates: the labels of i2b2-2014, and their counterparts in
//! MEDDOCAN.

/// The kind of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // Each is the label of its name.
pub enum Kind {
    Patient,
    Doctor,
    Username,
    Profession,
    Room,
    Department,
    Hospital,
    Organization,
    Street,
    City,
    State,
    Country,
    Zip,
    LocationOther,
    Age,
    Date,
    Phone,
    Fax,
    Email,
    Url,
    IpAddress,
    Ssn,
    MedicalRecord,
    HealthPlan,
    Account,
    License,
    Vehicle,
    Device,
    BioId,
    IdNum,
}

/// Kinds by label: those of i2b2-2014 first, each once.
const LABELS: &[(&str, Kind)] = &[
    ("PATIENT", Kind::Patient),
    ("DOCTOR", Kind::Doctor),
    ("USERNAME", Kind::Username),
    ("PROFESSION", Kind::Profession),
    ("ROOM", Kind::Room),
    ("DEPARTMENT", Kind::Department),
    ("HOSPITAL", Kind::Hospital),
    ("ORGANIZATION", Kind::Organization),
    ("STREET", Kind::Street),
    ("CITY", Kind::City),
    ("STATE", Kind::State),
    ("COUNTRY", Kind::Country),
    ("ZIP", Kind::Zip),
    ("LOCATION-OTHER", Kind::LocationOther),
    ("AGE", Kind::Age),
    ("DATE", Kind::Date),
    ("PHONE", Kind::Phone),
    ("FAX", Kind::Fax),
    ("EMAIL", Kind::Email),
    ("URL", Kind::Url),
    ("IPADDR", Kind::IpAddress),
    ("SSN", Kind::Ssn),
    ("MEDICALRECORD", Kind::MedicalRecord),
    ("HEALTHPLAN", Kind::HealthPlan),
    ("ACCOUNT", Kind::Account),
    ("LICENSE", Kind::License),
    ("VEHICLE", Kind::Vehicle),
    ("DEVICE", Kind::Device),
    ("BIOID", Kind::BioId),
    ("IDNUM", Kind::IdNum),
    ("NOMBRE_SUJETO_ASISTENCIA", Kind::Patient),
    ("NOMBRE_PERSONAL_SANITARIO", Kind::Doctor),
    ("EDAD_SUJETO_ASISTENCIA", Kind::Age),
    ("FECHAS", Kind::Date),
    ("PROFESION", Kind::Profession),
    ("CENTRO_SALUD", Kind::Hospital),
    ("INSTITUCION", Kind::Organization),
    ("CALLE", Kind::Street),
    ("TERRITORIO", Kind::City),
    ("PAIS", Kind::Country),
    ("NUMERO_TELEFONO", Kind::Phone),
    ("NUMERO_FAX", Kind::Fax),
    ("CORREO_ELECTRONICO", Kind::Email),
    ("DIREC_PROT_INTERNET", Kind::IpAddress),
    ("URL_WEB", Kind::Url),
    ("ID_SUJETO_ASISTENCIA", Kind::MedicalRecord),
    ("ID_CONTACTO_ASISTENCIAL", Kind::IdNum),
    ("ID_ASEGURAMIENTO", Kind::HealthPlan),
    ("ID_TITULACION_PERSONAL_SANITARIO", Kind::License),
    ("ID_EMPLEO_PERSONAL_SANITARIO", Kind::IdNum),
    ("IDENTIF_VEHICULOS_NRSERIE_PLACAS", Kind::Vehicle),
    ("IDENTIF_DISPOSITIVOS_NRSERIE", Kind::Device),
    ("IDENTIF_BIOMETRICOS", Kind::BioId),
    ("NUMERO_BENEF_PLAN_SALUD", Kind::HealthPlan),
    ("OTRO_NUMERO_IDENTIF", Kind::IdNum),
];

impl Kind {
    /// Returns the kind of a label of i2b2-2014 or MEDDOCAN; `None` for another.
    pub fn of_label(label: &str) -> Option<Self> {
        let found = LABELS.iter().find(|(name, _)| *name == label)?;
        Some(found.1)
    }

    /// Returns the label of i2b2-2014.
    pub fn label(self) -> &'static str {
        // Every kind is in the table; a test checks each.
        LABELS
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_of_the_set_has_a_kind_of_its_own() {
        let toml = include_str!("../../core/labels/i2b2-2014.toml");
        let names = toml
            .lines()
            .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let kind = Kind::of_label(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(kind.label(), name);
            seen.insert(kind);
        }
        assert_eq!(seen.len(), 30);
        assert_eq!(Kind::of_label("NOTHING"), None);
    }

    #[test]
    fn every_label_of_meddocan_has_a_kind_but_those_that_are_sentences() {
        // Sex, relatives and other facts are words of the text: a realistic replacement would need their
        // context.
        let free = [
            "SEXO_SUJETO_ASISTENCIA",
            "FAMILIARES_SUJETO_ASISTENCIA",
            "OTROS_SUJETO_ASISTENCIA",
        ];
        let toml = include_str!("../../core/labels/meddocan.toml");
        for name in toml
            .lines()
            .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        {
            assert_eq!(Kind::of_label(name).is_none(), free.contains(&name), "{name}");
        }
    }
}
