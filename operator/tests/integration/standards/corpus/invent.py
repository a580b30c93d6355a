"""Invented people, places, numbers and dates, and published codes with their displays."""

GIVEN = """Mara Tobias Ngozi Ines Leopold Yusuf Harriet Anselm Priya Rosalind Dmitri Celeste Kwame Beatriz Soren Imelda Grace
Mark Rose Will Hope Frank Daisy Victor April Dean Amaru Signe Ravindra Odette Fergus Wilhelmina Chidi Marisol Otto""".split()
FAMILY = """Quillfeather Voss Okafor Lindqvist Zubiri Marchbanks Thistlewood Oyelaran Varga Petrossian Hollowell Brandvold
Castellanos Iwasaki Ferncliff Dunmore Abernathy Sokolova Whitlock Gray Stone Bell Young Field Rivers Banks Marsh Winter Park
Adeyemi Van-Houten O'Rourke Delacroix Nakamura Silverthorne""".split()
STREETS = "Quarrystone Alderbrook Millrace Copperfield Larkspur Beaconsfield Juniper Harrowgate Tanner Wickham".split()
STREET_TYPES = "Lane Street Road Avenue Court Drive".split()
CITIES = [("Reusville", "MA", "02139"), ("Fernmere", "OH", "45402"), ("Port Alder", "OR", "97103"), ("Holloway", "NY", "12207"),
          ("Dunmore Falls", "MN", "55401"), ("Saltmarsh", "ME", "04101")]
HOSPITALS = ["Northgate General Hospital", "St Brannock Medical Center", "Lakemoor Children's Hospital", "Harrowgate Clinic",
             "Fernmere Regional Medical Center"]
COMPANIES = ["Larkspur Foods", "Copperfield Motors", "Beacon Freight", "Sun Mutual Insurance"]

LOINC = [("8867-4", "Heart rate"), ("8310-5", "Body temperature"), ("29463-7", "Body weight"), ("8302-2", "Body height"),
         ("8480-6", "Systolic blood pressure"), ("8462-4", "Diastolic blood pressure"),
         ("718-7", "Hemoglobin [Mass/volume] in Blood"), ("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood"),
         ("2339-0", "Glucose [Mass/volume] in Blood"), ("2160-0", "Creatinine [Mass/volume] in Serum or Plasma"),
         ("2951-2", "Sodium [Moles/volume] in Serum or Plasma"), ("6690-2", "Leukocytes [#/volume] in Blood by Automated count"),
         ("11506-3", "Progress note"), ("18842-5", "Discharge summary"), ("72166-2", "Tobacco smoking status")]
SNOMED = [("38341003", "Hypertensive disorder"), ("44054006", "Diabetes mellitus type 2"), ("195967001", "Asthma"),
          ("22298006", "Myocardial infarction"), ("233604007", "Pneumonia"), ("80146002", "Appendectomy"),
          ("73761001", "Colonoscopy"), ("386661006", "Fever"), ("271807003", "Eruption of skin"), ("49727002", "Cough"),
          ("84229001", "Fatigue"), ("368009", "Heart valve disorder"), ("40733004", "Disorder due to infection"),
          ("24700007", "Multiple sclerosis"), ("26929004", "Alzheimer's disease"), ("13645005", "Chronic obstructive lung disease"),
          ("72892002", "Normal pregnancy"), ("168537006", "Plain radiography"), ("387713003", "Surgical procedure"),
          ("225358003", "Wound care"), ("408443003", "General medical practice"), ("394579002", "Cardiology"),
          ("368208006", "Left upper arm structure"), ("26643006", "Oral route"), ("78421000", "Intramuscular route"),
          ("119297000", "Blood specimen"), ("122555007", "Venous blood specimen"), ("91936005", "Allergy to penicillin")]
RXNORM = [("314076", "lisinopril 10 MG Oral Tablet"), ("860975", "metformin hydrochloride 500 MG Oral Tablet"),
          ("308182", "amoxicillin 250 MG Oral Capsule"), ("197361", "amlodipine 5 MG Oral Tablet"),
          ("617312", "atorvastatin 20 MG Oral Tablet"), ("745679", "albuterol 0.09 MG/ACTUAT Metered Dose Inhaler")]
CVX = [("140", "Influenza, seasonal, injectable, preservative free"), ("03", "MMR"), ("113", "Td (adult) preservative free"),
       ("43", "Hep B, adult")]
ICD10 = [("I10", "Essential (primary) hypertension"), ("E11.9", "Type 2 diabetes mellitus without complications"),
         ("J45.909", "Unspecified asthma, uncomplicated"), ("M54.5", "Low back pain")]
UNITS = [("mm[Hg]", "mmHg"), ("mg/dL", "mg/dL"), ("kg", "kg"), ("cm", "cm"), ("/min", "beats/minute"), ("Cel", "C"), ("mg", "mg"),
         ("mL", "mL"), ("mmol/L", "mmol/L"), ("%", "%"), ("d", "days"), ("10*3/uL", "10*3/uL")]


def person(rng):
    """Returns a given name, a middle initial and a family name."""
    return rng.choice(GIVEN), rng.choice("ABCDEFGHJKLMNPRSTVW"), rng.choice(FAMILY)


def street(rng):
    return f"{rng.randrange(2, 990)} {rng.choice(STREETS)} {rng.choice(STREET_TYPES)}"


def phone(rng):
    return rng.choice(["({}) 555-{:04}", "{}-555-{:04}", "+1 {} 555 {:04}"]).format(
        rng.choice((207, 312, 503, 612, 617)), rng.randrange(100, 10000))


def email(rng):
    return f"{rng.choice(GIVEN).lower()}.{rng.choice(FAMILY).lower()}@example.org"


def number(rng, digits=8):
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


def ssn(rng):
    return f"{rng.randrange(900, 999)}-{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}"


def date(rng, first=2018, last=2024):
    return f"{rng.randrange(first, last + 1)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


def clock(rng):
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"


def uuid(rng):
    digits = "".join(rng.choice("0123456789abcdef") for _ in range(32))
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
