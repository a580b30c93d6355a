# A stream from Kafka, and what operators do with its output.

kafka() {
  "$LETHE_TEST_KAFKA_SCRIPT" "$@" --dir "$LETHE_TEST_SERVERS_DIR/kafka" >>kafka.log
}
kafka topic create "$TOPIC"
kafka topic create "$TOPIC-redacted"
# Four events; two lack the note's id.
kafka produce "$TOPIC" <<'EVENTS'
{"note_id": "n1", "patient_id": "4471920", "text": "Marlo Quayle, MRN 4471920, seen by Dr. Orla Penhallow.", "known": {"patient": "Marlo Quayle"}}
{"note_id": "n2", "patient_id": "4471921", "text": "Tamsin Orrery called (612) 555-0142.", "known": {"patient": "Tamsin Orrery"}}
{"key": "n3", "patient_id": "4471921", "text": "Tamsin Orrery is afebrile."}
{"note_id": "n4", "patient_id": "4471921", "text": "No complaints."}
EVENTS
mkdir corrections
  lethe ensemble publish en-fast --to bundles/
  lethe new-key --id csv-2026 --out keys.toml
cat >policy.toml <<'TOML'
mode = "custom"
default = { action = "tag" }
[labels.PATIENT]
action = "encrypt"
[labels.MEDICALRECORD]
action = "pseudonym"
[keys]
file = "keys.toml"
TOML
cat >lethe.toml <<TOML
policy_file = "policy.toml"
[source]
kind = "kafka"
brokers = ["$KAFKA"]
topics = ["$TOPIC"]
group = "$TOPIC"
[format]
kind = "json"
[engine]
bundle = "bundles"
[sink]
store = { kind = "folder", path = "data" }
[emit]
kind = "kafka"
brokers = ["$KAFKA"]
topic = "$TOPIC-redacted"
[corrections]
from = { kind = "jsonl", input = "corrections.jsonl" }
state = "corrections"
TOML

# Are the brokers, the topics and the store there?
lethe check -c lethe.toml --policy policy.toml --connect
lethe run -c lethe.toml --until-end
# Chains, digests and audit, and a comparison with the topic.
lethe inspect data/ --audit
lethe inspect -c lethe.toml --against-topic
lethe inspect -c lethe.toml --quick --json > inspected.json
  lethe inspect data/ | sed -n 's/^ *head \([0-9a-f]*\) .*/\1/p' >heads.txt
# Does the dataset still contain what it contained at an earlier head of a chain?
lethe inspect data/ --head heads.txt --remove-orphans
# Why was something redacted: all of a record, or the span at a byte?
lethe inspect data/ --why $TOPIC/0@0
lethe inspect data/ --why $TOPIC/0@1:20
# What did each member catch, and what only one of them?
lethe inspect data/ --by-member
lethe inspect data/ --only-by pattern --list --json > only-pattern.jsonl
lethe inspect data/ --fingerprint program!=0.0.1

# The cause of the quarantine is fixed: process those records again.
sed 's/^kind = "json"/&\nfields = { note_id = "key" }/' lethe.toml >fixed.toml
lethe replay -c fixed.toml --code invalid_payload:note_id --topic "$TOPIC" --since 2026-01-01 --dry-run
lethe replay -c fixed.toml --policy policy.toml --json > replayed.json
lethe replay -c fixed.toml --again

# Corrections of reviewers, learnt while the stream runs.
echo '{"note": "n4", "text": "Zorvane is afebrile.", "spans": [{"start": 0, "end": 7, "label": "PATIENT"}], "who": "reviewer-7", "when": "2026-03-01T10:00:00Z"}' >corrections.jsonl
lethe adapt corrections -c lethe.toml --until-end

# A patient's records, erased.
echo 4471921 >ids.txt
echo "$TOPIC/0@0" >records.txt
lethe erase -c lethe.toml --patients ids.txt --reason 'request 2026-117' --dry-run --json > erased.json
lethe erase -c lethe.toml --policy policy.toml --patients ids.txt --reason 'request 2026-117' --possible --keep-vault
lethe erase -c lethe.toml --records records.txt --reason 'request 2026-118'

# The dataset as Delta tables, for those who query them.
lethe publish data/ --delta lake/notes --audit-table lake/audit --json > published.json
lethe publish data/ --delta lake/notes --audit-table lake/audit --check
# The same as an Iceberg table of a catalogue.
lethe publish data/ --iceberg "lake.$TOPIC" --catalog "$CATALOG" --warehouse lake

# Retention removed records before they were read, and the lane halted: go on after them.
kafka produce "$TOPIC" <<<'{"note_id": "n5", "text": "No complaints."}'
kafka trim "$TOPIC" 0 -1
lethe skip -c lethe.toml --topic "$TOPIC" --partition 0 --to 5 --reason 'expired during the outage of 3 March'
lethe run -c lethe.toml --until-end --policy policy.toml
