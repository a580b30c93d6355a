# Another tool's spans against Lethe's on the same notes.

mkdir -p notes brat
echo 'Dr. Orla Penhallow called (612) 555-0142.' >notes/first.txt
echo 'No fever; continue aspirin.' >notes/second.txt
cat >presidio.json <<'JSON'
{"first": [{"entity_type": "PERSON", "start": 4, "end": 18, "score": 0.85}],
 "second": [{"entity_type": "NRP", "start": 19, "end": 26, "score": 0.4}]}
JSON
printf '%s\n' '{"doc_id": "a", "text": "Dr. Orla Penhallow called."}' '{"doc_id": "b", "text": "No fever."}' >notes.jsonl
echo '{"doc_id": "a", "spans": [{"start": 4, "end": 18, "label": "PERSON"}]}' >spans.jsonl
printf 'T1\tPERSON 4 18\tOrla Penhallow\n' >brat/first.ann
printf '[engine]\nbundle = "en-fast"\n' >lethe.toml
cp -r "$DOCS"/../models/de-clinical .
printf 'mode = "custom"\ndefault = { action = "tag" }\n' >policy.toml

# Counts, agreement, and the first differences.
lethe compare --other presidio.json notes/
# Their ORGANIZATION is our HOSPITAL; leave their NRP out.
lethe compare --other presidio.json --map ORGANIZATION=HOSPITAL,NRP= --examples 20 --show-text notes/
# A page with each difference in its context, and all differences as JSON lines. Notes that the other tool left out count as empty.
lethe compare --other spans.jsonl --missing empty --html differences.html --differences differences.jsonl notes.jsonl
lethe compare --other spans.jsonl --format jsonl --offsets utf16 --notes-format jsonl --missing empty --bundle en-clinical --operating-point recall notes.jsonl
# All notes by the English one of two bundles.
lethe compare --other spans.jsonl --missing empty --lang en --bundle en=en-fast --bundle de=de-clinical/ notes.jsonl
lethe compare --other brat/ -c lethe.toml --policy policy.toml --glob 'first*' --resamples 500 --seed 7 --json notes/ > comparison.json
