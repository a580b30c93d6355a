//! Golden cases: a text, and everything that must be found in it.

mod spoken;
mod times;

use spoken::SPOKEN;
use times::{AGES, DATES};

use super::*;

/// A text, and its findings in order as (words, label).
type Case = (&'static str, &'static [(&'static str, &'static str)]);

const CONTACTS: &[Case] = &[
    ("call (312) 847-5530 today", &[("(312) 847-5530", "PHONE")]),
    (
        "312.847.5530 or 312-847-5531",
        &[("312.847.5530", "PHONE"), ("312-847-5531", "PHONE")],
    ),
    ("reached at 5082785810.", &[("5082785810", "PHONE")]),
    (
        "Tel +1 614 882 3071 ext 2264",
        &[("+1 614 882 3071 ext 2264", "PHONE")],
    ),
    ("503-256-5366 x355", &[("503-256-5366 x355", "PHONE")]),
    ("clinic at 847-5530", &[("847-5530", "PHONE")]),
    (
        "pager x41736, page Cooper at #5254",
        &[("x41736", "PHONE"), ("#5254", "PHONE")],
    ),
    ("discussed with Dr. Hale (#5472).", &[("#5472", "PHONE")]),
    ("-- Ann Hale, PGY-2, p27599", &[("27599", "PHONE")]),
    ("Fax: 503-641-2290", &[("503-641-2290", "FAX")]),
    (
        "results were faxed to (812) 437-5149 today",
        &[("(812) 437-5149", "FAX")],
    ),
    (
        "Tel 716 721 0170  Fax (617)800-1234",
        &[("716 721 0170", "PHONE"), ("(617)800-1234", "FAX")],
    ),
    (
        "Tel.: 93 284 51 60 Fax: 985-62-40-83",
        &[("93 284 51 60", "PHONE"), ("985-62-40-83", "FAX")],
    ),
    (
        "Tfno: 956 718 320 y 956 718 321",
        &[("956 718 320", "PHONE"), ("956 718 321", "PHONE")],
    ),
    (
        "Tlf 918038014 / móvil 656352534",
        &[("918038014", "PHONE"), ("656352534", "PHONE")],
    ),
    (
        "or 011 44 20 7946 0958 at night",
        &[("011 44 20 7946 0958", "PHONE")],
    ),
    ("office, ext. 4567", &[("4567", "PHONE")]),
    ("Telf: +351253209110", &[("+351253209110", "PHONE")]),
    ("llame al +34 93 741 80 35", &[("+34 93 741 80 35", "PHONE")]),
    (
        "or j.hale-99@mail.example.org.",
        &[("j.hale-99@mail.example.org", "EMAIL")],
    ),
    (
        "Email: muñoz.garcía@salud.es",
        &[("muñoz.garcía@salud.es", "EMAIL")],
    ),
    (
        "see https://portal.example.org/u/73?x=1&y=2.",
        &[("https://portal.example.org/u/73?x=1&y=2", "URL")],
    ),
    ("at www.example.com/pt/284)", &[("www.example.com/pt/284", "URL")]),
    (
        "at mychart.example.org/pt/284 now",
        &[("mychart.example.org/pt/284", "URL")],
    ),
    ("from workstation 83.17.142.96", &[("83.17.142.96", "IPADDR")]),
    (
        "host 2001:db8:85a3::8a2e:370:7334 up",
        &[("2001:db8:85a3::8a2e:370:7334", "IPADDR")],
    ),
    ("adapter 00:1B:44:11:3A:B7", &[("00:1B:44:11:3A:B7", "DEVICE")]),
];

const IDS: &[Case] = &[
    ("SSN: 219-09-9999", &[("219-09-9999", "SSN")]),
    ("SSN 219 09 9999 on file", &[("219 09 9999", "SSN")]),
    ("social security number 219099999", &[("219099999", "SSN")]),
    ("last four of SSN 0640.", &[("0640", "SSN")]),
    ("MRN: 845-67-68", &[("845-67-68", "MEDICALRECORD")]),
    ("MRN 77 95 458 confirmed", &[("77 95 458", "MEDICALRECORD")]),
    ("HOSPITAL NO.: 00093971", &[("00093971", "MEDICALRECORD")]),
    (
        "Medical record number: MR7983699",
        &[("MR7983699", "MEDICALRECORD")],
    ),
    ("PT #: 212512", &[("212512", "MEDICALRECORD")]),
    ("RE: Hale | #A80972 | DOB", &[]),
    ("RE: Hale | #A8097211 | DOB", &[("A8097211", "MEDICALRECORD")]),
    ("NHC: 7803564.", &[("7803564", "MEDICALRECORD")]),
    ("Nº historia clínica: 45-3321", &[("45-3321", "MEDICALRECORD")]),
    ("NHS number 943 476 5919", &[("943 476 5919", "MEDICALRECORD")]),
    ("Acct #: A-730915246", &[("A-730915246", "ACCOUNT")]),
    ("account HAR 028456917.", &[("HAR 028456917", "ACCOUNT")]),
    (
        "IBAN ES91 2100 0418 4502 0005 1332",
        &[("ES91 2100 0418 4502 0005 1332", "ACCOUNT")],
    ),
    (
        "card 4111 1111 1111 1111 on file",
        &[("4111 1111 1111 1111", "ACCOUNT")],
    ),
    (
        "Insurance ID W3048 92751; thanks",
        &[("W3048 92751", "HEALTHPLAN")],
    ),
    ("beneficiary 1EG4-TE5-MK73", &[("1EG4-TE5-MK73", "HEALTHPLAN")]),
    ("NASS: 28 40917365 86.", &[("28 40917365 86", "HEALTHPLAN")]),
    ("Policy number: XKD318640952", &[("XKD318640952", "HEALTHPLAN")]),
    (
        "DEA AB1234563  NPI 1234567893",
        &[("AB1234563", "LICENSE"), ("1234567893", "LICENSE")],
    ),
    ("DL# FK3920510 on file", &[("FK3920510", "LICENSE")]),
    (
        "Médico: A. Gil NºCol: 28 28 46105.",
        &[("28 28 46105", "LICENSE")],
    ),
    ("colegiado nº 281234567", &[("281234567", "LICENSE")]),
    ("plate 7TRW098 outside", &[("7TRW098", "VEHICLE")]),
    ("license plate: DT 5019", &[("DT 5019", "VEHICLE")]),
    ("matrícula 1234 BCD", &[("1234 BCD", "VEHICLE")]),
    (
        "in a car, 1M8GDM9AXKP042788, seen",
        &[("1M8GDM9AXKP042788", "VEHICLE")],
    ),
    ("Pacemaker serial number BTQ530871", &[("BTQ530871", "DEVICE")]),
    (
        "Implant lot 7146-2093-K52 was used",
        &[("7146-2093-K52", "DEVICE")],
    ),
    (
        "UDI (01)00643169007222(17)141231(10)A213B1 scanned",
        &[("(01)00643169007222(17)141231(10)A213B1", "DEVICE")],
    ),
    ("S/N: RNB123456H", &[("RNB123456H", "DEVICE")]),
    ("phone IMEI 490154203237518", &[("490154203237518", "DEVICE")]),
    ("fingerprint ID 4471-A2 stored", &[("4471-A2", "BIOID")]),
    ("Job #: 14007735", &[("14007735", "IDNUM")]),
    ("Surgical pathology S97-20648 reviewed", &[("S97-20648", "IDNUM")]),
    ("Accession number: ACC-4085137", &[("ACC-4085137", "IDNUM")]),
    ("Episodio: 7266589.", &[("7266589", "IDNUM")]),
    ("DNI 12345678Z", &[("12345678Z", "IDNUM")]),
    ("con NIE X1234567L en vigor", &[("X1234567L", "IDNUM")]),
    ("application (no. 21413/02) against", &[("21413/02", "IDNUM")]),
    (
        "Signed: jsmith3 10/14/2021",
        &[("jsmith3", "USERNAME"), ("10/14/2021", "DATE")],
    ),
    ("Reviewed by Ann Hale, RN (ahale) today", &[("ahale", "USERNAME")]),
    (
        "Progress note\n02-Aug-2015  rcipo6\nStable",
        &[("02-Aug-2015", "DATE"), ("rcipo6", "USERNAME")],
    ),
];

const PLACES: &[Case] = &[
    (
        "lives at 1234 Maple Ave., Apt 5B, Gary",
        &[("1234 Maple Ave., Apt 5B", "STREET")],
    ),
    (
        "2746 103rd Rd\nRochester, NY 13211-0042",
        &[("2746 103rd Rd", "STREET"), ("13211-0042", "ZIP")],
    ),
    (
        "518 W 114th Terrace, Unit 3, Dallas",
        &[("518 W 114th Terrace, Unit 3", "STREET")],
    ),
    (
        "P.O. Box 9076, Atlanta, GA 30301",
        &[("P.O. Box 9076", "STREET"), ("30301", "ZIP")],
    ),
    (
        "5920 7TH COURT, PUEBLO, COLORADO 80502 WAS HIS HOME",
        &[("5920 7TH COURT", "STREET"), ("80502", "ZIP")],
    ),
    ("transferred to Room 412 today", &[("412", "ROOM")]),
    (
        "Domicilio: Calle Tomás Arriaza 48.",
        &[("Calle Tomás Arriaza 48", "STREET")],
    ),
    (
        "C/ del Abedul 5-7, 2º dcha, Soria",
        &[("C/ del Abedul 5-7, 2º dcha", "STREET")],
    ),
    (
        "Av. Simón Olmedo, 57. 28016 Madrid",
        &[("Av. Simón Olmedo, 57", "STREET"), ("28016", "ZIP")],
    ),
    (
        "Ctra. de Colmenar, km 12,500. 28049 Madrid",
        &[("Ctra. de Colmenar, km 12,500", "STREET"), ("28049", "ZIP")],
    ),
    (
        "Paseo de la Castellana, s/n. E-28046 Madrid",
        &[("Paseo de la Castellana, s/n", "STREET"), ("E-28046", "ZIP")],
    ),
    (
        "Domicilio: Los Tilos 4, bajo.\nCP: 06004.",
        &[("Los Tilos 4, bajo", "STREET"), ("06004", "ZIP")],
    ),
    (
        "Hospital Viejo. Irunberri, 3. 31008 Pamplona",
        &[("Irunberri, 3", "STREET"), ("31008", "ZIP")],
    ),
    (
        "12 Mill Lane\nLeeds LS9 7TF\nDear Ann",
        &[("12 Mill Lane", "STREET"), ("LS9 7TF", "ZIP")],
    ),
    ("SW1A 2AA, EC1A 1BB", &[("SW1A 2AA", "ZIP"), ("EC1A 1BB", "ZIP")]),
    ("Ottawa ON K1A 0B1", &[("K1A 0B1", "ZIP")]),
    ("Q: Your postcode\nA: XQ5Z 3ZW\nQ: Mobile", &[("XQ5Z 3ZW", "ZIP")]),
    ("Postcode: K1A0B1", &[("K1A0B1", "ZIP")]),
    (
        "Thanks! And the zip on file?\n93901\nPerfect.",
        &[("93901", "ZIP")],
    ),
];

/// Medical numbers in which nothing must be found.
const NOTHING: &[&str] = &[
    "given L5 5HR before, B12 2ND dose, S12 8FR sheath",
    "screws at L4 5MM and S1 6CM, lot QX12 7AB",
    "staging at T2N0M0, a G2P1A0, Dr Lane",
    "c/o stomach ache before math, 2nd time this week",
    "NS C/D 0.35",
    "BP 120/80, pulse 88, RR 18, T 98.6, O2 sat 97% on 2 L",
    "strength 5/5 throughout, reflexes 2/4, a 2/6 systolic murmur",
    "take 1/2 tablet daily and 3/4 cup of water",
    "GCS 15/15, Apgars 8/9, MMSE 28/30, pain 7/10, Gleason 3+4",
    "degenerative change at L4-5 and C5-6, T11-12",
    "closed with 4-0 Prolene and 3-0 Vicryl; 2-0 silk",
    "a 14 French Foley and a 22-gauge needle, a 7.5 ET tube",
    "aspirin 81 mg, heparin 5000 units, 1,200 mL of saline, 2000 mL",
    "WBC 8.4, Hgb 12.1, Plt 210, Na 137, K 3.9, glucose 1012 mg/dL",
    "vision 20/20 OD, 20/40 OS",
    "at 14:30 and 7 a.m., lasting 45 minutes; tourniquet 69 minutes",
    "ICD-9 250.00, CPT 99213, ICD-10 E11.9",
    "vitamin B12, CD4 250, HbA1c 7.2, p53, T4, COVID19, IL-6",
    "q.i.d., e.g. the patient, i.e. none, vs. none",
    "may require 2 units; we may see her; march in place",
    "a mass of 3.5 x 4.2 x 1.8 cm in the left lobe",
    "version 4.2.1 of the software, section 2.1.3",
    "Allergies: none. See page 3. No. of lesions: 12",
    "6-hole plate with 3.5 mm screws",
    "estimated blood loss 300 cc, urine output 1500 cc",
    "the emergency room 2 days ago; room air",
    "a lot of pain, lots of 3; the unit was full",
    "Prolene 5-0, ratio 1:10000, 1/1000, PSA from 7 to 12",
    "IgG 450 mg/dl (normal: 751-1560), ferritina 265 ng/ml (20-250)",
    "TA 130/85 mmHg, FC 80 lpm, hematíes 4.860.000/μl, Hb 13,2 g/dl",
    "durante 3 años, hace 5 años, 10 años de evolución, cada 8 horas",
    "a los 3 meses de la cirugía; control a las 6 semanas",
    "AV OD de 0,1 y OI 4/10; PIO 20 mmHg",
    "cirugía por vía oral 3 veces al día; calle abajo",
    "pidió ayuda el mayor de los tres hermanos",
    "extension 0-130, flexion 10-15 degrees",
    "Percocet 5/325, Advair 250/50, insulin 70/30, 10/12.5 mg",
    "ABG 7.32/45/88 on 2L; 7.40-38-92-24; G3P2012; 39w2d",
    "Bactrim 800/160, sats 92-95%, in the 90s, BP 130-140/70-80",
    "36.8 - 88 - 118/72 - 16 - 98% on room air",
    "NDC 0093-0058-01, two refills",
    "The number is 12345. Call us",
    "he may march on; april showers; june bug",
    "38 3/7 weeks, PPD 1-2 x 20-30 years",
    "Christmas disease and a Christmas tree rash",
    "Mayo stand, Mayo scissors, a Mayo score",
];

/// Cases that are known to fail, by their text. A case that begins to pass must leave this list.
const KNOWN_FAILURES: &[&str] = &[];

fn found(pattern: &Pattern, labels: &LabelSet, text: &'static str) -> Vec<(&'static str, String)> {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let annotations = pattern.tag(&batch).pop().unwrap().unwrap();
    annotations
        .iter()
        .map(|a| (a.span.of(text), labels.label(a.label).name.clone()))
        .collect()
}

#[test]
fn golden_cases_hold_save_those_known_to_fail() {
    let labels = LabelSet::i2b2_2014();
    let pattern = Config::default().build(&labels).unwrap();
    let tables = [DATES, AGES, CONTACTS, IDS, PLACES, SPOKEN];
    let nothing = NOTHING.iter().map(|&text| (text, &[] as &[_]));
    let mut failed = Vec::new();
    for (text, wanted) in tables
        .iter()
        .flat_map(|table| table.iter().copied())
        .chain(nothing)
    {
        let got = found(&pattern, &labels, text);
        let same = got.len() == wanted.len()
            && got
                .iter()
                .zip(wanted)
                .all(|((words, label), (want, name))| words == want && label == name);
        if same == KNOWN_FAILURES.contains(&text) {
            failed.push(format!("{text:?}\n  wanted {wanted:?}\n  got    {got:?}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} cases:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn a_holding_check_digit_is_certain() {
    let labels = LabelSet::i2b2_2014();
    let pattern = Config::default().build(&labels).unwrap();
    for (text, score) in [
        ("DEA AB1234563", 1.0),
        ("DEA AB1234564", 0.96),
        ("DNI 12345678Z", 1.0),
        ("DNI 12345678A", 0.96),
    ] {
        let batch = NoteBatch::from_texts([text]).unwrap();
        let annotations = pattern.tag(&batch).pop().unwrap().unwrap();
        assert_eq!(
            annotations.iter().map(|a| a.score).collect::<Vec<_>>(),
            [score],
            "{text}"
        );
    }
}
