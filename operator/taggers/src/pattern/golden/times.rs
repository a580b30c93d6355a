//! Dates and ages.

use super::Case;

pub(super) const DATES: &[Case] = &[
    ("Seen on 03/18/2022.", &[("03/18/2022", "DATE")]),
    ("DOB: 3-18-62", &[("3-18-62", "DATE")]),
    ("DOB 1962-03-18, doing well", &[("1962-03-18", "DATE")]),
    ("reviewed 2016/04/29 with her", &[("2016/04/29", "DATE")]),
    ("Am 18.03.2022 gesehen", &[("18.03.2022", "DATE")]),
    ("T: 2014-11-05T14:30:00 signed", &[("2014-11-05", "DATE")]),
    ("MRI in 03/2022 was clean", &[("03/2022", "DATE")]),
    ("last mammogram in 10/99", &[("10/99", "DATE")]),
    ("Labs on 3/18 were normal.", &[("3/18", "DATE")]),
    (
        "seen 1/26, discharged 02/03",
        &[("1/26", "DATE"), ("02/03", "DATE")],
    ),
    (
        "cultures from 03/12-03/15 negative",
        &[("03/12", "DATE"), ("03/15", "DATE")],
    ),
    ("Dr Hale 3/23\n", &[("3/23", "DATE")]),
    ("She was stable. 9/1: afebrile overnight", &[("9/1", "DATE")]),
    ("seen in the ED on Mon 8/18 again", &[("Mon 8/18", "DATE")]),
    ("on March 19, 1992 she fell", &[("March 19, 1992", "DATE")]),
    ("Mar 19: better", &[("Mar 19", "DATE")]),
    ("born 19 March 1992", &[("19 March 1992", "DATE")]),
    ("on the 14th of June, 2021", &[("the 14th of June, 2021", "DATE")]),
    ("in June 2021 he moved", &[("June 2021", "DATE")]),
    ("since Jan. '09 on insulin", &[("Jan. '09", "DATE")]),
    (
        "13JAN2009 and 05-OCT-14 and 27-Jan-2014",
        &[
            ("13JAN2009", "DATE"),
            ("05-OCT-14", "DATE"),
            ("27-Jan-2014", "DATE"),
        ],
    ),
    ("admitted March 3-5, 2020 for it", &[("March 3-5, 2020", "DATE")]),
    (
        "heard on 13 July, 21 October and 2 May",
        &[("13 July", "DATE"), ("21 October", "DATE"), ("2 May", "DATE")],
    ),
    (
        "Return on Sunday, January 27 at noon",
        &[("Sunday, January 27", "DATE")],
    ),
    (
        "Return on Friday, 06/28 please",
        &[("Friday", "DATE"), ("06/28", "DATE")],
    ),
    (
        "dialysis Tuesdays and Thursdays",
        &[("Tuesdays", "DATE"), ("Thursdays", "DATE")],
    ),
    (
        "TTE 2/05 EF 60, CVA-2001, colonoscopy 2006",
        &[("2/05", "DATE"), ("2001", "DATE"), ("2006", "DATE")],
    ),
    (
        "quit smoking in 1998, restarted 2003.",
        &[("1998", "DATE"), ("2003", "DATE")],
    ),
    (
        "PMH: 1) stroke in 1996,2. hernia in 2001,3. gout",
        &[("1996", "DATE"), ("2001", "DATE")],
    ),
    (
        "worked there 1998-2003 as a cook",
        &[("1998", "DATE"), ("2003", "DATE")],
    ),
    ("discharged '22, stable", &[("'22", "DATE")]),
    ("an angiogram in the early 1990s", &[("1990s", "DATE")]),
    ("in the spring of 2011 she", &[("spring of 2011", "DATE")]),
    ("fell on Christmas Eve", &[("Christmas Eve", "DATE")]),
    (
        "since Labor Day and New Year's Day 2020",
        &[("Labor Day", "DATE"), ("New Year's Day 2020", "DATE")],
    ),
    (
        "nacido el uno de enero de 1950",
        &[("uno de enero de 1950", "DATE")],
    ),
    (
        "en Semana Santa y el pasado 12/5",
        &[("Semana Santa", "DATE"), ("12/5", "DATE")],
    ),
    (
        "dx'd 1999, again in Q3 2019",
        &[("1999", "DATE"), ("2019", "DATE")],
    ),
    ("in December the pain", &[("December", "DATE")]),
    ("Fecha: 20220318", &[("20220318", "DATE")]),
    (
        "el 12 de marzo de 2012 ingresa",
        &[("12 de marzo de 2012", "DATE")],
    ),
    (
        "del 3 al 5 de mayo de 2010",
        &[("3 al 5 de mayo de 2010", "DATE")],
    ),
    (
        "en marzo de 2012 y 3 mar 2013",
        &[("marzo de 2012", "DATE"), ("3 mar 2013", "DATE")],
    ),
    ("operado el 12-III-2004", &[("12-III-2004", "DATE")]),
    (
        "desde 1990 y en el año 2006",
        &[("1990", "DATE"), ("año 2006", "DATE")],
    ),
    (
        "acude el lunes, 4 de abril de 2016",
        &[("lunes, 4 de abril de 2016", "DATE")],
    ),
    ("Fecha de nacimiento: 01/03/1937.", &[("01/03/1937", "DATE")]),
];

pub(super) const AGES: &[Case] = &[
    ("A 53-year-old man", &[("53", "AGE")]),
    (
        "53 y/o F, 61yo M, 70 y.o. male",
        &[("53", "AGE"), ("61", "AGE"), ("70", "AGE")],
    ),
    ("a 17-month-old girl", &[("17", "AGE")]),
    ("Age: 53  Sex: F", &[("53", "AGE")]),
    (
        "Mother died at age 71; father alive at 90.",
        &[("71", "AGE"), ("90", "AGE")],
    ),
    ("She turned 57 last week", &[("57", "AGE")]),
    ("a sister in her early 60s", &[("60s", "AGE")]),
    ("a fifty-three year old cook", &[("fifty-three", "AGE")]),
    (
        "children ages 3 and 5 live with her",
        &[("3", "AGE"), ("5", "AGE")],
    ),
    ("a 5-1/2-year-old boy", &[("5-1/2", "AGE")]),
    ("53M with chest pain", &[("53", "AGE")]),
    ("Varón de 53 años con fiebre", &[("53 años", "AGE")]),
    ("Lactante de 22 meses", &[("22 meses", "AGE")]),
    ("recién nacido de 17 días de vida", &[("17 días", "AGE")]),
    ("Edad: 47 Sexo: M", &[("47", "AGE")]),
    ("mujer de diecisiete años", &[("diecisiete años", "AGE")]),
    ("niño de tres años y medio", &[("tres años y medio", "AGE")]),
];
