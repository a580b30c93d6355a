# Messages: HL7 v2 in, redacted HL7 v2 out; and values back by the key that encrypted them.

mkdir messages
printf 'MSH|^~\\&|EHR|HOSP|LETHE|HOSP|20260314120000||MDM^T02|MSG1|P|2.5\rPID|1||4471920^^^MERCY^MR||Quayle^Marlo||19720303|M\rTXA|1|PN|TX|20260314\rOBX|1|TX|NOTE||Marlo Quayle is afebrile.||||||F\r' >messages/first.hl7
  lethe new-key --id csv-2026 --out keys.toml
cat >research.toml <<'TOML'
mode = "custom"
default = { action = "tag" }
[labels.PATIENT]
action = "encrypt"
[[authority]]
name = "mercy"
hl7_namespace = ["MERCY"]
[keys]
file = "keys.toml"
TOML
cat >lethe.toml <<'TOML'
policy_file = "research.toml"
[source]
kind = "files"
input = "messages"
codes = { kind = "folder", path = "codes" }
[format]
kind = "hl7v2"
keep_message = true
[engine]
bundle = "en-fast"
[sink]
store = { kind = "folder", path = "data" }
[emit]
kind = "files"
store = { kind = "folder", path = "emitted" }
suffix = ".hl7"
TOML
  lethe run -c lethe.toml --until-end
# The redacted messages, to a topic or a folder.
lethe emit -c lethe.toml --until-end

find emitted -name '*.hl7' -exec cat {} + >redacted.hl7
if grep Quayle redacted.hl7; then exit 1; fi
# A patient's values, as the authority of the patient's id is known in the source or in the policy.
lethe reveal --policy research.toml --patient 4471920 --authority mercy --input redacted.hl7 --output revealed.hl7
grep -q Quayle revealed.hl7
# A patient's rows, erased; --patients takes a file, which no history of a shell keeps.
lethe erase -c lethe.toml --patient 4471920 --authority mercy --reason 'request 2026-117'

echo '{"note_id": "n9", "text": "Patient: Marlo Quayle, afebrile.", "known": {"patient": "Marlo Quayle"}}' >note.jsonl
  lethe redact note.jsonl --policy research.toml --output redacted.jsonl
# Of a note whose event had no patient.
lethe reveal --policy research.toml --note n9 --input redacted.jsonl
