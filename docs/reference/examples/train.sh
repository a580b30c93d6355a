# Training members, and measuring them.

cat >names.toml <<'TOML'
[labels]
DOCTOR = "PATIENT"
TOML
echo 'epochs = 3' >settings.toml
printf 'Marlo\tQuayle\tM\nTamsin\tOrrery\tF\n' >names.tsv
mkdir -p lists/wards
cat >lists/wards/SOURCE.toml <<'TOML'
title = "Our wards"
origin = "The hospital's own list"
licence = "own"
date = "2026-11-01"
language = "en"
match = "folded"
min-length = 4
role = "phi"
label = "DEPARTMENT"
TOML
printf 'quayle ward\npenhallow unit\n' >lists/wards/items.txt

# Notes to try everything on; the same seed gives the same notes.
lethe synthesise --institutes summit --notes 60 --seed 7 --out gold.jsonl
lethe synthesise --institutes cedar --notes 20 --names names.tsv --negatives 0.2 --noise typing --out gold-test.jsonl
# Text of one kind, and text without it for training, to test a model on a kind that it has not seen.
lethe synthesise --kinds consultation,telephone --notes 10 --out spoken.jsonl
lethe synthesise --disguise zero-width,lookalikes --notes 10 --out disguised.jsonl
lethe synthesise --without-kinds consultation,telephone --notes 20 --out written.jsonl
# In German.
lethe synthesise --language de --notes 20 --out briefe.jsonl
# Into clinical text of your own, and as a stream's events.
lethe annotate --input gold-test.jsonl --output text.jsonl
lethe synthesise --carriers text.jsonl --notes 10 --as events --out events.jsonl

# What the notes contain, and how those of two institutes differ.
lethe corpus stats gold.jsonl
lethe corpus stats summit=gold.jsonl cedar=gold-test.jsonl --labels i2b2-2014 --terms 10 --least-documents 3
lethe corpus stats gold.jsonl gold-test.jsonl --rename names.toml --json > statistics.json

lethe train ssvm --train gold.jsonl --out models/ssvm
lethe train naive-bayes --train gold.jsonl --dev gold-test.jsonl --rename names.toml --seed 3 --out models/naive-bayes
lethe train mira --train gold.jsonl --hold-out 0.2 --settings settings.toml --set epochs=2 --restart --out models/mira
# Each document is predicted by a model that was not trained on it.
lethe crossval ssvm --train gold.jsonl --folds 3 --by patient --jobs 2 --out folds/
lethe crossval mira --train gold.jsonl --folds 3 --rename names.toml --hold-out 0.2 --settings settings.toml --set epochs=2 --seed 3 --out folds-mira/
# Few documents of your own: every fold also trains on synthetic ones.
lethe crossval ssvm --train gold-test.jsonl --also gold.jsonl --folds 3 --out folds-few/

# The settings that do best, of every combination; the model is then trained with them.
printf 'epochs = [2, 3]\n"features.lists" = [true, false]\n' >grid.toml
lethe tune ssvm --train gold.jsonl --folds 2 --grid grid.toml --measure f2 --out tuned/
lethe tune ssvm --train gold.jsonl --folds 2 --grid grid.toml --out tuned/ --json > tuning.json
lethe train ssvm --train gold.jsonl --settings tuned/best.toml --out models/tuned

# Predictions against gold.
lethe annotate --member models/ssvm --input gold-test.jsonl --output found.jsonl
lethe annotate --member gazetteer --labels i2b2-2014 --input gold-test.jsonl --output listed.jsonl
lethe evaluate gold-test.jsonl ssvm=found.jsonl --html report.html
lethe evaluate gold-test.jsonl ssvm=found.jsonl --html report.html --no-contexts --train gold.jsonl --resamples 500 --seed 3
lethe evaluate gold-test.jsonl found.jsonl --labels i2b2-2014 --beta 1 --json > report.json
lethe evaluate gold-test.jsonl found.jsonl --rename names.toml
lethe evaluate gold-test.jsonl found.jsonl --require tokens:0.3 --require leaks:100000

# Lists of your own, for `phrases` and `gazetteer`.
lethe dictionary build --lists lists/ --output local.dict
# Together with the built-in ones, for members that learn.
lethe dictionary build --builtin --lists lists/ --output site.dict
lethe train ssvm --train gold.jsonl --dictionary site.dict --set epochs=2 --out models/site-ssvm
lethe annotate --member models/site-ssvm --dictionary site.dict --input gold-test.jsonl --output found-site.jsonl
lethe crossval ssvm --train gold.jsonl --dictionary site.dict --folds 3 --set epochs=2 --out folds-site/
lethe tune mira --train gold-test.jsonl --also gold.jsonl --rename names.toml --dictionary site.dict --folds 2 --by patient --jobs 2 \
  --hold-out 0.2 --settings settings.toml --set scheme=bilou --seed 3 --grid grid.toml --out tuned-site/
lethe dictionary build --lists lists/ --output local.dict --json > local.json
# With the lists of a language that the built-in dictionary does not have.
lethe dictionary build --language de --output de.dict
