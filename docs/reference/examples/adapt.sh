# Adapting models to a new site.

echo '[labels]' >names.toml
echo 'epochs = 3' >settings.toml
printf 'rounds = 1\n[learner]\niterations = 5\n' >self-training.toml
  lethe synthesise --institutes summit --notes 60 --seed 7 --out home.jsonl
  lethe synthesise --institutes summit --notes 10 --seed 8 --out home-dev.jsonl
  lethe synthesise --institutes cedar --notes 16 --seed 18 --out local.jsonl
  lethe synthesise --institutes cedar --notes 10 --seed 19 --out local-test.jsonl
  lethe synthesise --institutes cedar --notes 10 --seed 11 --out unlabelled.jsonl
  lethe train crf --train home.jsonl --set iterations=20 --out models/crf
  mkdir -p lists/wards
  printf 'title = "Our wards"\norigin = "The hospital"\nlicence = "own"\ndate = "2026-11-01"\nlanguage = "en"\nmatch = "folded"\nmin-length = 4\nrole = "phi"\nlabel = "DEPARTMENT"\n' >lists/wards/SOURCE.toml
  printf 'quayle ward\npenhallow unit\n' >lists/wards/items.txt
  lethe dictionary build --builtin --lists lists/ --output site.dict
  lethe train crf --train home.jsonl --dictionary site.dict --set iterations=5 --out models/crf-site

# A few annotated notes of the new site.
lethe adapt fine-tune en-clinical/ssvm --train local.jsonl --out models/ssvm-local
lethe adapt fine-tune models/crf --train local.jsonl --dev local-test.jsonl --set iterations=10 --seed 3 --out models/crf-local
lethe adapt fine-tune en-clinical/ssvm --train local.jsonl --hold-out 0.2 --rename names.toml --settings settings.toml --restart --out models/ssvm-local-2
# With the dictionary that the model was trained with.
lethe adapt fine-tune models/crf-site --train local.jsonl --dictionary site.dict --set iterations=5 --out models/crf-site-local
# Notes without annotations: the model labels them itself, or an ensemble does. Its exit code is 5 if it loses more than --bound points at home.
lethe adapt self-train models/crf --train home.jsonl --unlabelled unlabelled.jsonl --held-out home-dev.jsonl --set rounds=1 --set learner.iterations=5 --bound 20 --out models/crf-self
lethe adapt self-train models/crf --train home.jsonl --unlabelled unlabelled.jsonl --held-out home-dev.jsonl --teacher en-fast --labelled local.jsonl --rename names.toml --settings self-training.toml --seed 3 --restart --bound 20 --test local-test.jsonl --label DOCTOR --analysis analysis/ --out models/crf-taught
lethe adapt self-train models/crf-site --train home.jsonl --unlabelled unlabelled.jsonl --held-out home-dev.jsonl --dictionary site.dict --set rounds=1 --set learner.iterations=5 --bound 20 --out models/crf-site-self

# Corpora with different labels as one.
sed 's/"label": *"DOCTOR"/"label":"CLINICIAN"/g' local.jsonl >away.jsonl
{ echo '[labels]' && grep -oh '"label": *"[A-Z-]*"' home.jsonl away.jsonl | sed 's/.*"\(.*\)"/\1/' | sort -u | sed 's/.*/"&" = "&"/; s/= "CLINICIAN"/= "DOCTOR"/'; } >away-labels.toml
lethe adapt merge --corpus home=home.jsonl --corpus away=away.jsonl:away-labels.toml --out merged.jsonl

# How much does each batch of annotated notes bring? (Singh 2020)
lethe adapt incremental --stream local.jsonl --test local-test.jsonl --increments 2 --repeats 1 --out study/
lethe adapt incremental --first models/crf --stream local.jsonl --test local-test.jsonl --batch 4 --unit documents --increments 2 --repeats 2 --jobs 2 --seed 3 --rename names.toml --title 'Local notes' --out study-crf/
lethe adapt incremental --first models/crf-first --first-train home-dev.jsonl --first-learns --stream local.jsonl --test local-test.jsonl --increments 2 --repeats 1 --out study-learns/
lethe adapt incremental --stream local.jsonl --test local-test.jsonl --dictionary site.dict --increments 2 --repeats 1 --out study-site/
