# Tables: which columns identify patients, and redacting CSV files and queries of a database.

cat >notes.csv <<'ROWS'
note_id,mrn,patient_name,sex,seen,note
n1,4471920,Marlo Quayle,M,2026-03-14,"Patient: Marlo Quayle, seen by Dr. Orla Penhallow.
Phone: (612) 555-0142."
n2,4471921,Tamsin Orrery,F,2026-03-15,"Tamsin is afebrile; ""no complaints""."
ROWS
tr , '\t' <<<'note_id,note' >notes.tsv
printf 'n1\tDr. Orla Penhallow called.\n' >>notes.tsv

# Propose a treatment for each column.
lethe profile notes.csv
lethe profile notes.csv --rows 1000 --labels i2b2-2014 --out columns.toml
lethe profile notes.tsv --format tsv --json > columns.json
# Redact a table by the treatment that you have read and, where needed, changed.
lethe redact notes.csv --out clean/ --columns columns.toml
# Or name the columns.
lethe redact notes.csv --suffix .redacted --text-columns note --known patient_name=PATIENT --keep sex --patient-column mrn --id-column note_id

test "$(wc -l <notes.redacted.csv)" -ge 3
if grep -rlE 'Quayle|Penhallow|555-0142' clean notes.redacted.csv; then exit 1; fi

