# Ensembles: which members vote, with which thresholds, and bundles of them.

echo '[labels]' >names.toml
  lethe synthesise --institutes summit --notes 30 --seed 7 --out gold.jsonl
  lethe synthesise --institutes summit --notes 10 --seed 8 --out gold-test.jsonl
mkdir predicted
for member in ssvm mira naive-bayes; do
  lethe train $member --train gold.jsonl --out models/$member
  lethe crossval $member --train gold.jsonl --folds 3 --out cv/$member
  lethe annotate --member models/$member --input gold-test.jsonl --output predicted/$member.jsonl
done
# Rules are not trained: they predict the documents as they are.
lethe crossval gazetteer --train gold.jsonl --out cv/gazetteer
  mkdir -p lists/wards
  printf 'title = "Our wards"\norigin = "The hospital"\nlicence = "own"\ndate = "2026-11-01"\nlanguage = "en"\nmatch = "folded"\nmin-length = 4\nrole = "phi"\nlabel = "DEPARTMENT"\n' >lists/wards/SOURCE.toml
  printf 'quayle ward\npenhallow unit\n' >lists/wards/items.txt
  lethe dictionary build --builtin --lists lists/ --output site.dict
  lethe train ogd --train gold.jsonl --dictionary site.dict --out models-site/ogd
  lethe crossval ogd --train gold.jsonl --dictionary site.dict --folds 3 --out cv-site/ogd
  lethe annotate --member models-site/ogd --dictionary site.dict --input gold-test.jsonl --output predicted-site.jsonl

# The whole elimination path, as a table and as a page.
lethe ensemble prune gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --html prune.html --svg prune.svg
lethe ensemble prune gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --json > costs.json
# The best set of members under a floor of recall and a ceiling of cost, evaluated on other documents.
lethe ensemble prune gold.jsonl cv/ssvm cv/mira cv/naive-bayes --costs costs.json --every-set --measure f2 --floor characters:0.5 --ceiling 10000 --test gold-test.jsonl --test-predictions predicted/
# Thresholds by category of labels; overruled spans are redacted, too.
lethe ensemble prune gold.jsonl cv/ssvm cv/mira cv/naive-bayes --labels i2b2-2014 --rename names.toml --only ssvm --only mira --keep ssvm --by-category --solo-min-scores --require-corroboration --overlap --redact-uncovered
lethe ensemble prune gold.jsonl cv/ssvm cv/mira cv/naive-bayes --always-redact ssvm
# Models that were trained with a dictionary of your own.
lethe ensemble prune gold.jsonl ogd=cv-site/ogd --models models-site/ --dictionary site.dict

# A bundle of the chosen members.
lethe ensemble fit voting-pruned gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --union-rule known --out bundle/
lethe ensemble fit voting-pruned gold.jsonl cv/ssvm cv/mira cv/gazetteer --models models/ --models gazetteer=gazetteer --keep gazetteer --out bundle-gazetteer/
lethe ensemble fit voting-pruned gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --costs costs.json --every-set --measure f2 --floor characters:0.5 --ceiling 10000 --labels i2b2-2014 --rename names.toml --only ssvm --only mira --keep ssvm --out bundle-f2/
lethe ensemble fit voting gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --by-category --solo-min-scores --require-corroboration --always-redact naive-bayes --union-rule pattern --always-min-score 0.6 --overlap --redact-uncovered --out bundle-by-category/
lethe ensemble fit decision-templates gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --seed 3 --out bundle-templates/
# With thresholds for two other operating points, which --operating-point and `engine.operating_point` name.
lethe ensemble fit voting gold.jsonl cv/ssvm cv/mira cv/naive-bayes --models models/ --by-category --measure f2 --point balanced=f1 --point precision=precision --out bundle-points/
lethe annotate --bundle bundle-points/ --operating-point balanced --input gold-test.jsonl --output balanced.jsonl
# It carries its dictionary.
lethe ensemble fit voting gold.jsonl ogd=cv-site/ogd --models models-site/ --dictionary site.dict --out bundle-site/

# Every combiner on other documents.
lethe ensemble compare gold.jsonl cv/ssvm cv/mira cv/naive-bayes --test gold-test.jsonl --test-predictions predicted/ --methods voting --methods voting-pruned --methods decision-templates
lethe ensemble compare gold.jsonl cv/ssvm cv/mira cv/naive-bayes --test gold-test.jsonl --test-predictions predicted/ --methods voting --methods decision-templates --seed 3 --out compared/ --json > compared.json
lethe ensemble compare gold.jsonl cv/ssvm cv/mira cv/naive-bayes --test gold-test.jsonl --test-predictions predicted/ --methods voting-pruned --models models/ --costs costs.json --every-set --measure f2 --floor characters:0.5 --ceiling 10000 --labels i2b2-2014 --rename names.toml --only ssvm --only mira --keep ssvm
lethe ensemble compare gold.jsonl cv/ssvm cv/mira cv/naive-bayes --test gold-test.jsonl --test-predictions predicted/ --methods voting --by-category --solo-min-scores --require-corroboration --always-redact naive-bayes --overlap --redact-uncovered
lethe ensemble compare gold.jsonl ogd=cv-site/ogd --test gold-test.jsonl --test-predictions ogd=predicted-site.jsonl --methods voting --models models-site/ --dictionary site.dict
# Predictions without any text of the notes, which the commands above read as well.
lethe ensemble export-offsets gold.jsonl cv/ssvm cv/mira --out predictions.jsonl

# What is in a bundle.
lethe ensemble show bundle/
lethe ensemble show bundle/ --json > bundle.json
lethe bundle show en-clinical
lethe bundle show en-clinical --json > en-clinical.json
# Change a member, or make a bundle without fitting its vote.
lethe bundle export en-clinical bundles/en-clinical
lethe bundle swap bundle/ --member ssvm=models/ssvm --gold gold-test.jsonl --out bundles/swapped
lethe bundle swap bundle-templates/ --member ssvm=models/ssvm --keep-combiner --out bundles/swapped-templates
lethe bundle quantize en-clinical --member cnn --member lstm-crf-l --notes gold.jsonl --gold gold-test.jsonl --out bundles/bytes
lethe bundle create --member ssvm=models/ssvm --member mira=models/mira --rule known --threshold 2 --labels i2b2-2014 --out bundles/voted
lethe bundle create --member ogd=models-site/ogd --dictionary site.dict --labels i2b2-2014 --out bundles/site

# Versions that running streams take up.
lethe ensemble publish bundle/ --to versions/
lethe ensemble publish bundles/voted --to versions/
lethe ensemble versions versions/
lethe ensemble versions versions/ --json > versions.json
lethe ensemble roll-back versions/
VERSION=$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' versions.json | head -1)
lethe ensemble roll-back versions/ --to "$VERSION"
