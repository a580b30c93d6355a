//! The words before an identifier, and the kind of identifier that they announce.

use super::{Kind, Language};

/// The token required between a cue and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// None: the words suffice.
    Nothing,
    /// A colon, a number sign, or a number word.
    Mark,
    /// A number sign or a number word.
    Number,
}

/// Words after which an identifier stands.
pub(crate) struct Cue {
    /// The phrases, folded, separated by `|`.
    pub(crate) phrases: &'static str,
    /// The kind of identifier.
    pub(crate) kind: Kind,
    /// The token required before the value.
    pub(crate) need: Need,
    /// The fewest digits of a value.
    pub(crate) digits: u8,
    /// The language of the notes in which it counts; `None` for any.
    pub(crate) language: Option<Language>,
    /// Its rule.
    pub(crate) rule: &'static str,
}

const fn en(kind: Kind, need: Need, digits: u8, rule: &'static str, phrases: &'static str) -> Cue {
    Cue {
        phrases,
        kind,
        need,
        digits,
        language: Some(Language::En),
        rule,
    }
}

const fn es(kind: Kind, need: Need, digits: u8, rule: &'static str, phrases: &'static str) -> Cue {
    Cue {
        phrases,
        kind,
        need,
        digits,
        language: Some(Language::Es),
        rule,
    }
}

const fn any(kind: Kind, need: Need, digits: u8, rule: &'static str, phrases: &'static str) -> Cue {
    Cue {
        phrases,
        kind,
        need,
        digits,
        language: None,
        rule,
    }
}

/// All cues.
pub(crate) const CUES: &[Cue] = &[
    en(
        Kind::Ssn,
        Need::Nothing,
        4,
        "ssn.cue",
        "ssn|social security|soc sec|s s n|ssan",
    ),
    en(Kind::Ssn, Need::Number, 4, "ssn.cue", "ss|social"),
    any(
        Kind::Mrn,
        Need::Nothing,
        3,
        "mrn.cue",
        "mrn|emrn|mpi|empi|cipa|nhc|nuhsa|m r n",
    ),
    en(
        Kind::Mrn,
        Need::Nothing,
        4,
        "mrn.cue",
        "medical record|med rec|medical rec|med record|mr num",
    ),
    en(Kind::Mrn, Need::Nothing, 10, "nhs.cue", "nhs|health service"),
    en(
        Kind::Mrn,
        Need::Number,
        3,
        "mrn.cue",
        "mr|chart|hospital|unit|patient|pt|record|file|clinic|hosp|history",
    ),
    en(Kind::Mrn, Need::Mark, 5, "mrn.cue", "chart|record|pid"),
    es(
        Kind::Mrn,
        Need::Nothing,
        3,
        "mrn.cue",
        "historia clinica|h clinica|hist clinica|n historia|no historia|no de historia|num historia|numero de historia|numero historia|expediente|cip|num hist|numero de paciente|registro hospitalario",
    ),
    es(Kind::Mrn, Need::Mark, 5, "mrn.cue", "historia|paciente|registro"),
    any(Kind::Account, Need::Nothing, 5, "account.cue", "acct|fin|har"),
    en(
        Kind::Account,
        Need::Nothing,
        5,
        "account.cue",
        "account|hospital account|patient account|acc",
    ),
    en(
        Kind::Account,
        Need::Number,
        4,
        "account.cue",
        "billing|invoice|bill|receipt|guarantor|acct|account",
    ),
    es(
        Kind::Account,
        Need::Mark,
        5,
        "account.cue",
        "cuenta|cuenta corriente|factura|iban",
    ),
    en(
        Kind::Plan,
        Need::Nothing,
        5,
        "plan.cue",
        "medicare|medicaid|subscriber|policy|hicn|mbi|beneficiary|health plan|insurance|member|insured|hmo|masshealth|medi cal|tricare|bcbs|aetna|cigna|humana",
    ),
    en(
        Kind::Plan,
        Need::Number,
        3,
        "plan.cue",
        "group|grp|plan|member|policy|subscriber|insurance|payer|payor|certificate|coverage|enrollee|beneficiary|rx bin|rx grp|bin|pcn",
    ),
    es(
        Kind::Plan,
        Need::Nothing,
        5,
        "plan.cue",
        "nass|nuss|nss|naf|asegurado|afiliacion|poliza|seguridad social|tarjeta sanitaria|tis|asegurada|numero de asegurado",
    ),
    es(
        Kind::Plan,
        Need::Mark,
        5,
        "plan.cue",
        "sip|mutua|beneficiario|afiliado|tarjeta",
    ),
    en(
        Kind::License,
        Need::Nothing,
        4,
        "license.cue",
        "dea|npi|upin|driver license|drivers license|driver s license|driving license|medical license|state license|license|licence|licensure",
    ),
    en(Kind::License, Need::Mark, 5, "license.cue", "dl"),
    en(
        Kind::License,
        Need::Number,
        3,
        "license.cue",
        "lic|certificate|certification|provider|registration|provider id",
    ),
    es(
        Kind::License,
        Need::Nothing,
        4,
        "license.cue",
        "colegiado|colegiada|ncol|no col|n col|num col|num colegiado|colegiacion|permiso de conducir|carne de conducir|licencia",
    ),
    en(
        Kind::Vehicle,
        Need::Nothing,
        3,
        "vehicle.cue",
        "license plate|licence plate|plate|vin|vehicle identification|tag",
    ),
    es(
        Kind::Vehicle,
        Need::Nothing,
        3,
        "vehicle.cue",
        "matricula|bastidor|placa",
    ),
    en(
        Kind::Device,
        Need::Nothing,
        4,
        "device.cue",
        "serial|serial number|ser no|udi|imei|lot|device id|device identifier|meid|batch",
    ),
    en(Kind::Device, Need::Mark, 5, "device.cue", "s n|sn"),
    en(
        Kind::Device,
        Need::Number,
        3,
        "device.cue",
        "lot|device|implant|pacemaker|generator|model|prosthesis|icd|equipment|catalog|ref|serial|batch|lead|pump|unit serial",
    ),
    es(
        Kind::Device,
        Need::Nothing,
        4,
        "device.cue",
        "no serie|no de serie|numero de serie|num serie|num de serie|n serie|n de serie|lote|imei",
    ),
    en(
        Kind::Id,
        Need::Nothing,
        5,
        "id.cue",
        "accession|pathology|encounter|csn|passport|claim|requisition|visit number|job|acc no|confirmation|authorization|visit id|surgical|cytology|specimen",
    ),
    en(
        Kind::Id,
        Need::Number,
        3,
        "id.cue",
        "accession|case|specimen|encounter|visit|order|reference|ref|auth|authorization|document|doc|dictation|transcription|episode|report|study|exam|requisition|employee|badge|tracking|ticket|invoice|application|job|req|confirmation|referral|prescription|rx|block|slide|sample|voucher|student|military|service|staff",
    ),
    en(
        Kind::Id,
        Need::Mark,
        4,
        "id.cue",
        "id|accession|passport|specimen|dictation|job|case|encounter|ref|reference|visit|doc|report",
    ),
    es(
        Kind::Id,
        Need::Nothing,
        5,
        "id.cue",
        "dni|nie|nif|cif|pasaporte|episodio|n episodio|cedula|curp|rut|expediente judicial|biopsia no|biopsia n|solicitud no",
    ),
    es(
        Kind::Id,
        Need::Mark,
        4,
        "id.cue",
        "episodio|peticion|solicitud|muestra|caso|documento|identificacion|referencia|contacto|visita|ingreso no",
    ),
    en(
        Kind::Bio,
        Need::Number,
        3,
        "biometric.cue",
        "fingerprint|thumbprint|retinal scan|iris scan|biometric|voiceprint|palm scan|palm vein|finger scan|facial scan",
    ),
    es(
        Kind::Bio,
        Need::Mark,
        4,
        "biometric.cue",
        "huella dactilar|huella|biometrico|iris",
    ),
];
