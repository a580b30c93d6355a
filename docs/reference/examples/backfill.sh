# A backfill of tables that a warehouse exported.

mkdir -p export
cat >export/notes.csv <<'ROWS'
note_id,mrn,patient_name,ward,note
n1,4471920,Marlo Quayle,7B,"Patient: Marlo Quayle, seen by Dr. Orla Penhallow. Phone: (612) 555-0142."
n2,4471921,Tamsin Orrery,7B,"Tamsin is afebrile; no complaints."
ROWS
printf 'mode = "custom"\ndefault = { action = "tag", numbered = "note" }\n' >tags.toml
cat >lethe.toml <<'TOML'
[engine]
bundle = "en-fast"
[backfill]
input = { kind = "folder", path = "export" }
[backfill.columns]
text = ["note"]
keep = ["ward"]
reasons = { ward = "a code of eight wards" }
known = { patient = ["patient_name"] }
patient_id = "mrn"
[sink]
store = { kind = "folder", path = "redacted" }
TOML

lethe check -c lethe.toml --connect
# Two processes, each on its part of the work. Run again, each continues.
lethe backfill -c lethe.toml --shard 0/2
lethe backfill -c lethe.toml --shard 1/2
# Is every table complete in the dataset, and does every audit row match its note?
lethe inspect -c lethe.toml --sources --audit
lethe report -c lethe.toml --html report.html
# Objects that another version of the program wrote, and the same objects again, in a new dataset and under another policy.
lethe inspect redacted/ --fingerprint program!=0.0.1 --json > old.jsonl
sed s/redacted/again/ lethe.toml >again.toml
lethe backfill -c again.toml --policy tags.toml --only old.jsonl --json > summary.json

grep -q '"rows": *2' summary.json
