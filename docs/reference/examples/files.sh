# Notes in files: redacting them, looking at what was found, and asking why.

cp "$DOCS"/policies/safe-harbor.toml policy.toml
mkdir -p letters/2026 export
cat >note.txt <<'NOTE'
Patient: Marlo Quayle, MRN 4471920. Seen on 03/14/2026 by Dr. Orla Penhallow.
Phone: (612) 555-0142. No fever; continue aspirin.
NOTE
cp note.txt letters/2026/first.txt
printf '<p>Dr. Orla Penhallow called (612) 555-0142.</p>\n' >letters/second.html
cp note.txt export/third.txt
tar -czf export.tar.gz export
printf '%s\n' '{"doc_id": "n1", "text": "Seen by Dr. Orla Penhallow on 03/14/2026.", "ward": "7B"}' \
  '{"doc_id": "n2", "text": "Call (612) 555-0142. No fever.", "ward": "7B"}' >notes.jsonl
printf 'MSH|^~\\&|EHR|HOSP|LETHE|HOSP|20260314120000||MDM^T02|MSG1|P|2.5\rPID|1||4471920^^^HOSP^MR||Quayle^Marlo||19720303|M\rTXA|1|PN|TX|20260314\rOBX|1|TX|NOTE||Dr. Orla Penhallow called.||||||F\r' >messages.hl7
printf '[engine]\nbundle = "en-fast"\n' >lethe.toml
cp -r "$DOCS"/../models/de-clinical .

# A note, to standard output.
lethe redact note.txt
# From standard input, under a policy.
lethe redact --policy policy.toml --bundle en-clinical --operating-point recall - < note.txt > redacted.txt
# Notes in several languages: each note is redacted by the bundle of its language, or all by one of them.
lethe redact --lang auto --bundle en=en-clinical --bundle de=de-clinical/ note.txt
lethe redact --lang en --bundle en=en-clinical --bundle de=de-clinical/ note.txt
# One input by name, to one output.
lethe redact --input note.txt --output note-redacted.txt
# A folder and an archive, with the same tree in another folder. Run again, it redacts only what is new or changed.
lethe redact letters/ export.tar.gz --out clean/ --glob '*.txt'
lethe redact letters/ export.tar.gz --out clean/ --glob '*.txt' --overwrite
# Which files would be read, in which format, and where would the output be?
lethe redact letters/ export.tar.gz --out clean/ --dry-run
# Next to each input, as first.redacted.txt.
lethe redact letters/ --suffix .redacted
# Over each input, which is kept as note.txt.orig.
lethe redact note.txt --in-place .orig
# JSON lines: keep a key that identifies nobody.
lethe redact -c lethe.toml notes.jsonl --keep ward --output notes-redacted.jsonl
# Messages: skip refused ones.
lethe redact messages.hl7 --format hl7v2 --skip-refused --output messages-redacted.hl7
mv note.txt.orig note.txt

# In colours by label, with scores and the members that voted.
lethe show note.txt
lethe show --format text --diff note.txt
lethe show -c lethe.toml --policy policy.toml --html note.html note.txt
lethe show --bundle en-fast --operating-point recall note.txt --json > shown.json

# What did each member say about a word?
lethe explain Penhallow note.txt
lethe explain -c lethe.toml --policy policy.toml 'Orla Penhallow' note.txt
lethe explain --bundle en-clinical --operating-point recall --format text --json aspirin - < note.txt > why.json
# Which language was found?
lethe show --lang auto --bundle en=en-fast --bundle de=de-clinical/ note.txt
lethe explain --lang auto --bundle en=en-fast --bundle de=de-clinical/ aspirin note.txt

# The notes with their spans, for other programs.
lethe annotate --input notes.jsonl --output found.jsonl
lethe annotate --explain --offsets byte --bundle en-clinical --input notes.jsonl --output found.jsonl
lethe annotate --lang auto --bundle en=en-fast --bundle de=de-clinical/ --input notes.jsonl --output found.jsonl
lethe annotate --member en-clinical/ssvm --input notes.jsonl --output ssvm.jsonl
lethe annotate -c lethe.toml --input letters/ --output letters.jsonl

# What was done to a folder, for people who decide about its release.
lethe report clean/ --html report.html
lethe report clean/ --bundle en-clinical --output report.md
lethe report clean/ --json > report.json
# With what an evaluation on annotated notes found.
lethe synthesise --notes 10 --out gold.jsonl
lethe annotate --input gold.jsonl --output gold-found.jsonl
lethe evaluate gold.jsonl gold-found.jsonl --labels i2b2-2014 --json > evaluation.json
lethe report clean/ --evaluation evaluation.json

if grep -rl Penhallow clean redacted.txt note-redacted.txt notes-redacted.jsonl messages-redacted.hl7 letters/2026/first.redacted.txt report.*; then exit 1; fi
