//! Cases of the `context` member.

use crate::{Group, check};

const CASES: &[Group] = &[
    (
        "DOCTOR",
        &[
            "Seen by Dr. [Pellworth] today.",
            "Discussed with Dr [Amara Okafor], who agrees.",
            "Dr. [de la Vega] and Dr. [O'Malley] were present.",
            "Referred by Drs. [Hale] and [Quiroga].",
            "Prof. [McAllister] advised surgery.",
            "Spoke with her aunt (tel. 617-555-0199) and Dr [Brandvold].",
            "SENT HOME IN 2019 BY DR [BRANDVOLD] LATE AT NIGHT",
            "[Owen Pellworth], M.D.",
            "[Tess Brandvold], PA-C, assisted.",
            "Wound care by [Inez Castellano], RN.",
            "Electronically signed by [Ruth Abernathy], MD on the same day.",
            "Attending: [Owen Pellworth]",
            "SURGEON: [OWEN PELLWORTH], M.D.\nASSISTANT: [INEZ CASTELLANO], PA-C",
            "cc: [Ruth Abernathy], MD",
            "PCP: [L. Castellano]",
            "Dictated by [Nils Brandvold].",
            "Discussed with [Abernathy] before discharge.",
            "Sincerely,\n\n[Nils Brandvold]\nLakeview Clinic",
            "Dear Dr. [Abernathy],",
            "Remitido por: Dra. [Lucía Moreno Gallardo]",
            "El paciente acude con su madre a la consulta.\nMédico: [José David Cumplido Quiroga]",
            "El Dr. [Quiroga] valora al paciente.",
            "Mr. Hale's cardiologist is Dr. [Duncan].",
            "DICTATED BY: [OWEN]\n[OP]/[ic]\nD: today",
            "PCP is [Tessa Hale].",
            "Per Dr. [Hale]'s note she is well.",
            "Page [Castellano] at the desk with questions.",
            "Signed out to [Ruth Abernathy], [Hale] covering.",
            "Nurse [Castellano] called.",
            "Consult requested by [R. Abernathy].",
            "Social work ([Greta Lindqvist], LICSW) was consulted.",
            "Fdo.: Dr. [Andrés Quiroga]",
            "Attending Physician: [Pellworth, Owen], MD",
            "Authored by: [Ruth Abernathy], MD",
        ],
    ),
    (
        "PATIENT",
        &[
            "Mr. [Hargrove] was admitted.",
            "Mrs. [Hargrove-Lane] and her son left. [Hargrove] walks well.",
            "Ms. [van der Berg] is seen in follow-up.",
            "PATIENT: [HARGROVE, TESSA M]",
            "Patient name: [Tessa M. Hargrove]   Sex: F",
            "RE: [Hargrove, Tessa]",
            "Name: [Tessa Hargrove]",
            "Her brother [Ruben] has asthma.",
            "Here with his wife [Greta Hargrove].",
            "Health care proxy is [Greta Hargrove].",
            "Next of kin: [Greta]",
            "Her daughter, [Ingrid Hargrove], drove her.",
            "A boy named [Tobias] came in.",
            "Pt [T.H.] seen and examined.",
            "Pt [TH] seen and examined.",
            "53 yo F, [TH], admitted overnight.",
            "Nombre: [Lucía]. \nApellidos: [Moreno Gallardo].",
            "La Sra. [Moreno] acude a consulta.",
            "Doña [Carmen Gallardo] vive sola.",
            "Su hija [Elena] la acompaña.",
            "Patient [Tessa Hargrove] was seen.",
            "Mr. and Mrs. [Hargrove] were here.",
            "MR. [HARGROVE] IS A PLEASANT MAN SEEN TODAY.",
            "His son, [Ruben], and daughter [Ingrid] visited.",
            "|[Tessa Hargrove]|4471|",
            "Patient: [Tessa Hargrove], DOB unknown",
            "Vive con su hija en la calle de la iglesia.\nApellidos: [Pastor Gallardo].",
            "Paciente: [Lucía Moreno]",
            "His mother has MS and his father had MR imaging.",
            "Mother died; brother healthy, sister well.",
            "Son Doctor's advice was kept.",
        ],
    ),
    (
        "USERNAME",
        &[
            "Reviewed by Inez Castellano, RN ([icastel3])",
            "Signed: [opellworth4] on arrival",
            "User: [jdoe_17]",
        ],
    ),
    (
        "HOSPITAL",
        &[
            "Transferred from [Lakeview Regional Medical Center] overnight.",
            "Seen at [St. Brendan's Hospital] last year.",
            "Followed at the [Harmon and Reyes Clinic].",
            "Discharged to [Cedar Hollow Nursing Home].",
            "Treated at [Mercy Hospital Dayton] before.",
            "Facility: [Harmon County Hospital]",
            "At [VA Houston] he was told otherwise.",
            "Ingresa en el [Hospital Universitario San Telmo] por disnea.",
            "Derivada de la [Clínica Santa Eulalia] a urgencias.",
            "Acude al Centro y al [Centro de Salud Los Olivos] a diario.",
            "The plan: hospital course, general hospital routine, medical center policy.",
        ],
    ),
    (
        "ORGANIZATION",
        &[
            "He works at [Northgate Public Schools].",
            "She used to work for [Brandvold Foods] in Dayton.",
            "Employer [Hale, Reyes and Lund] notified.",
            "Graduated from the [University of Dayton].",
        ],
    ),
    (
        "CITY",
        &[
            "She lives in [Ketterby] alone.",
            "Born in [Port Anselm], she moved away.",
            "Home is [Dayton], OH 45402.",
            "Clinics in [Provo], UT [Dayton], OH and elsewhere.",
            "Natural de [Zamora].",
            "Casado, vecino de [Zamora].",
            "Localidad/ Provincia: [Zamora].",
            "Originally from [San Anselmo].",
            "She was in Bed 4, in Trendelenburg position.",
        ],
    ),
    ("STATE", &["Home is Dayton, [OH] 45402.", "Lives in Provo, [UT]."]),
    (
        "COUNTRY",
        &["She immigrated from [Ghana] as a child.", "País: [Portugal]."],
    ),
    (
        "PROFESSION",
        &[
            "She works as a [line cook] at Harmon Foods.",
            "Retired [bus driver], lives alone.",
            "He is a [flight attendant].",
            "A 61-year-old [school teacher] with cough.",
            "Occupation: [welder]",
            "Trabaja como [camarera] en un bar.",
            "She is a smoker and a poor historian.",
            "He is a healthy man, a former smoker.",
        ],
    ),
];

const KNOWN_FAILURES: &[Group] = &[
    // In capitals, a name that is in no list looks like any other word.
    ("DOCTOR", &["CONSULT REQUESTED BY [VELLANTINE]."]),
    ("CITY", &["SHE LIVES IN [KETTERBY] ALONE."]),
    // Only its name identifies it.
    ("HOSPITAL", &["The [Westmark] took her in."]),
];

#[test]
fn context_finds_what_its_golden_cases_mark() {
    check("context", CASES, KNOWN_FAILURES);
}
