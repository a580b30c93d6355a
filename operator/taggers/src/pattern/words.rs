//! The words of [`super::lexicon`], by language and class. `word=number` gives a word its number; months and
//! number words get theirs from [`lethe_text`].

use super::Language;
use super::lexicon::class::*;

/// Rows of a language: classes, and the words that have them.
pub(crate) type Table = &'static [(u64, &'static str)];

/// The table of each language.
pub(crate) const TABLES: &[(Language, Table)] = &[(Language::En, ENGLISH), (Language::Es, SPANISH)];

/// English.
const ENGLISH: Table = &[
    (
        MONTH,
        "january february april june july august september october november december",
    ),
    (
        MONTH_WEAK,
        "jan feb mar march apr may jun jul aug sep sept oct nov dec",
    ),
    (
        MONTH_FIRST,
        "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec",
    ),
    (WEEKDAY_SHORT, "mon tue wed thu fri sat sun"),
    (
        WEEKDAY,
        "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays tues thurs",
    ),
    (
        HOLIDAY,
        "christmas thanksgiving easter halloween hanukkah ramadan passover juneteenth",
    ),
    (
        HOLIDAY_HEAD,
        "new labor labour memorial veterans independence columbus presidents mother father mothers fathers valentine valentines boxing groundhog patrick",
    ),
    (SEASON, "spring summer fall autumn winter"),
    (
        YEAR_CUE,
        "in since of by from until till during before after circa year years through thru around about approximately to between late early mid on dated last and or fy class dx diagnosed",
    ),
    (
        DATE_CUE,
        "on in date dated dates dob dos doa dod dot born admitted admit admission discharged discharge seen performed reviewed since from by until till through thru between after before signed dictated transcribed arrival visit surgery expired deceased started stopped begun last next due scheduled appointment updated received collected drawn resulted reported labs lab d t dd dt rd td notified of as interrogated evaluation visited returned placed removed completed obtained done taken mri ct xray cxr echo cultures culture repeat repeated week tte tee cath egd ekg ecg echocardiogram colonoscopy mammogram pap biopsy bx mibi ett pft pfts cabg mi cva tia dexa effective revised electronically and to",
    ),
    (
        TIME_UNIT,
        "year=1 years=1 yr=1 yrs=1 month=2 months=2 mo=2 mos=2 week=3 weeks=3 wk=3 wks=3 day=4 days=4",
    ),
    (YEARS_SHORT, "yo y yr yrs yof yom"),
    (OLD, "old older"),
    (AGE_CUE, "age aged ages"),
    (
        PERSON,
        "man woman male female boy girl gentleman lady infant child patient baby newborn m f",
    ),
    (
        LIFE,
        "died alive dead deceased living turned turning lived passed",
    ),
    (POSSESSIVE, "his her their my your"),
    (PART_OF, "early mid late"),
    (
        PHONE,
        "phone telephone tel ph phones cell cellphone mobile telephones landline",
    ),
    (FAX, "fax faxed facsimile telefax fx faxing"),
    (PAGER, "pager beeper pgr bpr"),
    (
        REACH,
        "call called calling page paged reach reached contact contacted telephoned phoned dial beep proxy kin relative hotline emergency discussed notify notified text voicemail",
    ),
    (EXTENSION, "ext extension extn x xt"),
    (
        NUMBER_WORD,
        "number numbers num no nos nr nbr id ids identifier identification code",
    ),
    (
        LINK,
        "is was the of to with ending in for are as at on be being a an",
    ),
    (
        STREET,
        "street avenue ave blvd boulevard road lane ln pkwy parkway hwy highway terrace rd dr cir",
    ),
    (
        STREET_WEAK,
        "st drive court ct circle cir place pl way square sq trail trl loop pike alley plaza path row crossing run crescent cres ter green walk mews heights commons freeway expressway turnpike causeway point pt bend ridge view manor landing cove",
    ),
    (
        APARTMENT,
        "apt apartment suite ste unit floor fl bldg building rm lot trlr",
    ),
    (
        STATE_CODE,
        "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc pr gu vi",
    ),
    (
        STATE,
        "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada hampshire jersey mexico york carolina dakota ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia washington wisconsin wyoming columbia rico mass calif penn tex fla ariz colo conn",
    ),
    (
        UNIT,
        "mg mcg g gm gms gram grams kg kgs ml mls cc ccs l liter liters litre litres mm cm m km inch inches ft feet foot lb lbs pound pounds oz ounces ounce unit units u iu meq meqs mmol mol mmhg hg percent hour hours hr hrs h minute minutes min mins second seconds sec secs gy cgy rad rads beats bpm rpm french fr gauge ga degree degrees deg tablet tablets tabs tab capsule capsules caps pill pills drop drops gtt puff puffs spray sprays times x dl ng pg mcgs micrograms milligrams milliliters millimeters centimeters watts joules volts ma kv cells copies calories kcal cal cycles sets pack packs steps kilograms meters yards miles mile mph dollars cent cents hpf lpf w hz khz mhz db per am pm",
    ),
    (
        UNIT,
        "year=1 years=1 months=2 month=2 weeks=3 week=3 days=4 day=4 yr=1 yrs=1",
    ),
    (ROOM, "room rm bed bay ward cubicle"),
    (
        TLD,
        "com org net edu gov mil int info biz us uk ca de fr es cat eu au mx ar cl co br it pt ch io app health care me tv nl be ie in jp cn gal pe ve uy",
    ),
    (
        FUNCTION,
        "the a an and or of in on at to for with was were is are be been by from as that this his her he she it they we you had has have not no but if then than when which who into over under per via about after before during without within also there their our your my its patient left right seen given noted using used approximately was lives living mm cm ml mg",
    ),
    (
        CREDENTIAL,
        "md do rn np pa lpn phd dds pharmd crna cnm aprn rph pgy msw licsw lcsw dpm od bsn msn cna mph mbbs frcs facs",
    ),
    (TITLE, "dr dra mr mrs ms miss doctor prof professor nurse drs"),
    (
        SCORE_BEFORE,
        "strength murmur bp pressure vision visual acuity grade reflexes reflex pulses pulse score scores gcs apgar apgars mallampati pain ratio sensation muscle motor power dtrs dtr scale rated gleason stage asa mmse moca ros iv levine ejection o2 sat systolic lead leads level levels x hemoglobin suture sutures chromic prolene vicryl nylon monocryl silk ethilon pds blade age approximately about c l s over od os va fundal positive out",
    ),
    (
        SCORE_AFTER,
        "strength strengths murmur murmurs systolic diastolic inch inches inchs tablet tablets tab of normal bilaterally pain reflexes pulses vision positive ratio in on cm mm ml cc mg kg hpf lb pounds motor power ejection cup cups teaspoon tsp tbsp oz ounce pack ppd times hours hrs days weeks months years day week month year symmetric symmetrical throughout intact edema cores cells nodes dextrose ns saline half normal vicryl prolene nylon silk chromic monocryl suture sutures concentration percent way lower upper the max maximum",
    ),
    (ORDINAL, "st nd rd th"),
    (
        USER,
        "signed user username userid login logon by dictated transcribed entered reviewed authenticated",
    ),
    (JOIN, "to and or through thru until till"),
    (OF, "of"),
    (POSTAL, "zip zipcode postcode postal"),
    (
        DOTTED,
        "version versions ver v section sections software release figure table chapter build firmware",
    ),
    (ADDRESS, "address addr residence"),
    (SCHEME, "http https ftp www"),
    (BOX, "box"),
    (HOST, "ip ipv host workstation server address addr terminal"),
];

/// Spanish.
const SPANISH: Table = &[
    (
        MONTH,
        "enero febrero marzo abril junio julio agosto septiembre setiembre octubre noviembre diciembre",
    ),
    (
        MONTH_WEAK,
        "mayo ene feb mar abr may jun jul ago sep sept oct nov dic",
    ),
    (
        WEEKDAY,
        "lunes martes miercoles jueves viernes sabado domingo sabados domingos",
    ),
    (HOLIDAY, "navidad navidades nochebuena nochevieja"),
    (
        SPAN_OF,
        "evolucion seguimiento duracion tratamiento antiguedad la del un una su",
    ),
    (SPAN_AFTER, "despues tras antes posteriores previos mas"),
    (AT_AGE, "los con tenia tiene y"),
    (HOLIDAY_HEAD, "semana"),
    (SEASON, "primavera verano otono invierno"),
    (
        YEAR_CUE,
        "en desde hasta ano anos del de durante hacia tras antes despues sobre y entre",
    ),
    (
        DATE_CUE,
        "pasado pasada proximo proxima fecha fechas dia el al del desde hasta nacimiento nacido nacida ingreso ingresado ingresada alta intervencion fallece fallecio exitus",
    ),
    (
        TIME_UNIT,
        "ano=1 anos=1 mes=2 meses=2 semana=3 semanas=3 dia=4 dias=4 anito=1 anitos=1",
    ),
    (AGE_CUE, "edad edades"),
    (
        PERSON,
        "varon mujer hombre nino nina paciente lactante bebe anciano anciana chico chica joven adolescente neonato senor senora recien nacido nacida hermano hermana hijo hija padre madre varones mujeres gestante primigesta enfermo enferma adulto adulta sujeto femenino masculino individuo femenina masculina caucasica caucasico raza blanca abuelo abuela tio tia primo prima marido esposa esposo hermanos hijos escolar",
    ),
    (LIFE, "fallecio fallecido fallecida fallecidos murio muerto"),
    (
        PHONE,
        "telefono telefonos tfno tlf tlfno telf tel telef movil moviles tfn tf telefonico fono tlfn",
    ),
    (FAX, "fax telefax"),
    (PAGER, "busca buscapersonas"),
    (
        REACH,
        "llamar llame contactar contacto localizable avisar citas previas",
    ),
    (EXTENSION, "ext extension"),
    (
        NUMBER_WORD,
        "numero numeros num nro no nos identificador identificacion codigo",
    ),
    (LINK, "de del la el es los las al"),
    (
        CALLE,
        "calle avda av avenida plaza pza plza paseo po pso ctra carretera camino ronda travesia rambla glorieta rua urbanizacion urb carrer poligono cuesta callejon pasaje alameda bulevar autovia avinguda passeig c costanilla barrio partida parque via pl",
    ),
    (APARTMENT, "piso puerta planta apto bloque bl portal esc escalera"),
    (
        FLOOR,
        "sotano izq izda drta izqda izquierda dcha drcha derecha dch bajo esc piso puerta planta pta atico entlo entresuelo bl bloque portal escalera der pto ptal bis principal pral dpto depto duplicado",
    ),
    (
        UNIT,
        "mg mcg g gr gramos kg ml cc l litros mm cm m km unidades ui ul mmhg hg horas hora h minutos min segundos seg gy cgy lpm rpm grados veces comprimidos comprimido capsulas gotas puntos latidos ng pg dl mmol meq kcal semanas dias meses anos pacientes casos celulas euros",
    ),
    (
        INSTITUTION,
        "hospital universitario universitaria centro servicio facultad clinica clinico instituto departamento unidad general fundacion fundacio complejo campus universidad medico salud residencia dr dra d dona",
    ),
    (ROOM, "habitacion cama hab box sala"),
    (
        FUNCTION,
        "el la los las un una de del y o en con por para que se su al es fue sin sobre entre desde hasta tras no si lo le",
    ),
    (CREDENTIAL, "due enf"),
    (TITLE, "dr dra sr sra don dona d"),
    (
        SCORE_BEFORE,
        "fuerza agudeza visual tension ta glasgow escala indice puntuacion grado estadio soplo dosis gleason balance muscular titulo apgar av tipo",
    ),
    (SCORE_AFTER, "puntos ambos bilateral"),
    (ORDINAL, "o a er ero do ra da to ta mo vo no"),
    (
        DURATION,
        "hace hacia durante tras unos ultimos proximos primeros siguientes cada cerca unas ultimas",
    ),
    (USER, "usuario firmado"),
    (JOIN, "al y a hasta"),
    (OF, "de del"),
    (POSTAL, "cp postal"),
    (SCHEME, "http https ftp www"),
    (BOX, "apartado apdo correos"),
    (ADDRESS, "domicilio direccion"),
    (DOTTED, "version apartado seccion"),
];
