use proptest::prelude::*;

use super::*;
use crate::prediction_set::tests::document;
use crate::{Floor, Measure};

/// Twelve words, one per span; a member is given by the words that it finds (in lower case: under another
/// label).
const TEXT: &str = "aa bb cc dd ee ff gg hh ii jj kk ll";
const GOLD: &str = "ABCDEFGH";

fn predictions(members: &[&str]) -> PredictionSet {
    let marked = |words: &str| {
        let spans: Vec<(u32, u32, &str)> = words
            .bytes()
            .map(|word| {
                let place = u32::from(word.to_ascii_uppercase() - b'A') * 3;
                let label = if word.is_ascii_uppercase() { "NAME" } else { "CITY" };
                (place, place + 2, label)
            })
            .collect();
        vec![document("n", TEXT, &spans)]
    };
    let named = |(place, words): (usize, &&str)| (format!("m{place}"), marked(words));
    let labels = lethe_core::LabelSet::of_names("test", &["NAME", "CITY"].map(str::to_owned)).unwrap();
    PredictionSet::new(
        marked(GOLD),
        members.iter().enumerate().map(named).collect(),
        Some(labels.into()),
    )
    .unwrap()
}

fn cost(own: f64) -> Cost {
    Cost { own, shared: None }
}

fn dropped(path: &Path) -> Vec<usize> {
    path.steps[..path.stop].iter().map(|step| step.dropped).collect()
}

#[test]
fn the_member_goes_without_which_f1_is_highest_until_it_no_longer_improves() {
    // With one vote needed, the two members with false positives go, the worse first; the other two
    // complement each other.
    let predictions = predictions(&["ABCDE", "DEFGH", "ABCIJ", "GHIJKL"]);
    let pruned = prune(&predictions, &PruneOptions::default()).unwrap();
    let first = &pruned.paths[0];
    assert_eq!(dropped(first), [3, 2]);
    assert_eq!(first.stopped().value, 1.0);
    assert_eq!((first.steps.len(), first.steps[2].left.members.len()), (3, 1));
    assert!(first.steps[2].left.value < 1.0);
    assert_eq!((pruned.chosen.threshold, pruned.names()), (1, vec!["m0", "m1"]));
    assert_eq!(pruned.voting().ranks.len(), 2);
    assert!(pruned.by_stop_rule && pruned.paths.len() == 4);
}

#[test]
fn a_member_that_changes_nothing_is_dropped_and_of_two_such_the_dearer_then_the_worse_ranked() {
    let members = ["ABCDEFGH", "ABCDEFGH", "ABCDEFG"];
    let at_one = PruneOptions {
        thresholds: vec![1],
        ..PruneOptions::default()
    };
    let free = prune(&predictions(&members), &at_one).unwrap();
    assert_eq!(dropped(&free.paths[0]), [2, 1]);
    let costly = PruneOptions {
        costs: vec![cost(9.0), cost(1.0), cost(1.0)],
        ..at_one
    };
    let pruned = prune(&predictions(&members), &costly).unwrap();
    assert_eq!(dropped(&pruned.paths[0]), [0, 2]);
    assert_eq!(pruned.chosen.cost, 1.0);
    assert_eq!(pruned.all.without[0].saved, 9.0);
}

#[test]
fn a_kept_member_stays_and_one_that_always_counts_needs_no_second_vote() {
    let predictions = predictions(&["ABCDEFGH", "ABCDEF", "GHIJKL"]);
    let options = PruneOptions {
        keep: MemberSet(0b100),
        always_redact: MemberSet(0b100),
        ..PruneOptions::default()
    };
    let pruned = prune(&predictions, &options).unwrap();
    for path in &pruned.paths {
        assert!(path.steps.iter().all(|step| step.dropped != 2));
        assert_eq!(path.start.tally.covered.min(4), 4);
    }
    assert!(pruned.names().contains(&"m2"));
    assert_eq!(pruned.voting().always_redact.len(), 1);
}

#[test]
fn under_a_floor_the_best_precision_is_of_a_set_that_keeps_it() {
    let predictions = predictions(&["ABCD", "ABEF", "GHIJKL"]);
    let objective = |least| Objective {
        measure: Measure::Precision,
        floor: Some(Floor::Characters(least)),
        ceiling: None,
    };
    let with = |least| {
        let options = PruneOptions {
            objective: objective(least),
            ..PruneOptions::default()
        };
        prune(&predictions, &options).unwrap()
    };
    let (loose, tight) = (with(0.7), with(1.0));
    assert_eq!((loose.chosen.value, loose.names()), (1.0, vec!["m0", "m1"]));
    assert_eq!((tight.chosen.tally.covered, tight.names().len()), (16, 3));
    assert!(loose.chosen.meets && tight.chosen.meets && !tight.by_stop_rule);
}

#[test]
fn under_a_ceiling_what_keeps_most_for_its_cost_stays_and_a_bound_that_cannot_be_kept_is_told() {
    let predictions = predictions(&["ABCDEFGH", "ABCD", "EFGH"]);
    let with = |ceiling| {
        let options = PruneOptions {
            objective: Objective {
                ceiling: Some(ceiling),
                ..Objective::default()
            },
            costs: vec![cost(10.0), cost(2.0), cost(2.0)],
            ..PruneOptions::default()
        };
        prune(&predictions, &options).unwrap()
    };
    assert_eq!(with(4.0).names(), ["m1", "m2"]);
    assert_eq!(with(4.0).chosen.value, 1.0);
    assert!(!with(1.0).chosen.meets);
}

#[test]
fn looking_at_every_set_finds_what_dropping_one_at_a_time_passes_by() {
    // The first is the best alone, but the other two complement each other at a lower cost.
    let predictions = predictions(&["ABCDEFG", "ABCDI", "EFGHJ", "ABIJKL"]);
    let with = |every_set| {
        let options = PruneOptions {
            every_set,
            objective: Objective {
                ceiling: Some(7.0),
                ..Objective::default()
            },
            costs: [6.0, 3.0, 3.0, 1.0].map(cost).to_vec(),
            ..PruneOptions::default()
        };
        prune(&predictions, &options).unwrap()
    };
    let (some, every) = (with(false), with(true));
    assert_eq!(some.paths, every.paths);
    assert!(every.chosen.value >= some.chosen.value);
    let most = (1u64..16).map(MemberSet).filter(|set| {
        let costs = [6.0, 3.0, 3.0, 1.0];
        set.iter().map(|member| costs[member]).sum::<f64>() <= 7.0
    });
    let f1 = |set, threshold| {
        let voting = Voting {
            threshold,
            ranks: predictions.ranks(),
            redact_uncovered: false,
            ..Voting::default()
        };
        VoteIndex::new(&predictions, false).tally(&voting, set).f1()
    };
    let best = most
        .flat_map(|set| (1..=4).map(move |threshold| (set, threshold)))
        .map(|(set, threshold)| f1(set, threshold))
        .fold(0.0, f64::max);
    assert_eq!(every.chosen.value, best);
}

#[test]
fn a_category_gets_the_threshold_that_serves_it_and_the_vote_of_the_rest_is_as_recorded() {
    // Names are found by one member each; cities are false positives of one member each.
    let predictions = predictions(&["ABCDEFij", "ABGHkl", "CDEFGHi"]);
    let options = PruneOptions {
        by_category: true,
        keep: MemberSet(0b111),
        ..PruneOptions::default()
    };
    let pruned = prune(&predictions, &options).unwrap();
    let by = pruned.by_category.as_ref().unwrap();
    assert_eq!(by.point.tally.f1(), 1.0);
    let voting = pruned.voting();
    let left = predictions.with(&pruned.chosen.members);
    let again = VoteIndex::new(&left, false).tally(&voting, everyone(left.members.len()));
    assert_eq!(again, by.point.tally);
    assert_eq!(pruned.held_out("the same", &predictions).unwrap().chosen, again);
}

#[test]
fn options_that_are_not_of_these_members_are_refused() {
    let predictions = predictions(&["A", "B"]);
    let refused = |options: PruneOptions| prune(&predictions, &options).unwrap_err();
    let costs = |costs| PruneOptions {
        costs,
        ..PruneOptions::default()
    };
    assert_eq!(
        refused(costs(vec![cost(1.0)])),
        PruneError::Costs { members: 2, costs: 1 }
    );
    assert_eq!(
        refused(costs(vec![cost(1.0), cost(f64::NAN)])),
        PruneError::Cost("m1".to_owned())
    );
    let objective = Objective {
        ceiling: Some(1.0),
        ..Objective::default()
    };
    let ceiling = PruneOptions {
        objective,
        ..PruneOptions::default()
    };
    assert_eq!(refused(ceiling), PruneError::Ceiling);
    let keep = PruneOptions {
        keep: MemberSet(0b100),
        ..PruneOptions::default()
    };
    assert_eq!(
        refused(keep),
        PruneError::NoMember {
            member: 2,
            members: 2
        }
    );
    let thresholds = PruneOptions {
        thresholds: vec![3],
        ..PruneOptions::default()
    };
    assert_eq!(
        refused(thresholds),
        PruneError::Threshold {
            threshold: 3,
            members: 2
        }
    );
}

#[test]
fn the_report_reads_back_and_its_page_is_well_formed_and_needs_nothing_else() {
    let predictions = predictions(&["ABCDEF", "abGH", "CDEFGHI"]);
    let options = PruneOptions {
        by_category: true,
        costs: vec![cost(1.5), cost(2.0), cost(0.1)],
        ..PruneOptions::default()
    };
    let pruned = prune(&predictions, &options).unwrap();
    let json = serde_json::to_string(&pruned).unwrap();
    let back: Pruned = serde_json::from_str(&json).unwrap();
    assert_eq!((back.objective, back.names()), (pruned.objective, pruned.names()));
    assert_eq!(back.all.shared_errors, pruned.all.shared_errors);
    assert_eq!(
        back.held_out("x", &predictions).unwrap(),
        pruned.held_out("x", &predictions).unwrap()
    );
    let held_out = pruned.held_out("<other>", &predictions).unwrap();
    assert_eq!(held_out.thresholds[0].all, pruned.paths[0].start.tally);
    let page = page(&pruned, &[held_out], "A & B");
    for nowhere in [
        "<script",
        "http:",
        "https:",
        "src=",
        "href=\"http",
        "<other>",
        "NaN",
        "inf",
    ] {
        let found = page.replace("http://www.w3.org/", "").contains(nowhere);
        assert!(!found, "{nowhere}");
    }
    assert_eq!(unclosed(&page), Vec::<String>::new());
    assert_eq!(page.matches("<svg").count(), 3);
}

/// Returns the tags that are not closed in order; a well-formed page has none.
fn unclosed(page: &str) -> Vec<String> {
    let mut open = Vec::new();
    for tag in page.split('<').skip(2) {
        let (tag, _) = tag.split_once('>').unwrap();
        let name = tag.split_whitespace().next().unwrap().to_owned();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    open
}

proptest! {
    #[test]
    fn each_step_is_the_best_drop_and_the_rule_stops_at_the_first_that_is_worse(
        members in proptest::collection::vec("[A-La-c]{0,10}", 1..6),
        redact_uncovered in any::<bool>(),
    ) {
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let predictions = predictions(&members);
        let options = PruneOptions { redact_uncovered, ..PruneOptions::default() };
        let pruned = prune(&predictions, &options).unwrap();
        let f1 = |threshold: u32, members: MemberSet| {
            let voting = Voting { threshold, ranks: predictions.ranks(), redact_uncovered, ..Voting::default() };
            VoteIndex::new(&predictions, false).tally(&voting, members).f1()
        };
        for path in &pruned.paths {
            let mut now = everyone(members.len());
            for (i, step) in path.steps.iter().enumerate() {
                let best = now.iter().map(|m| f1(path.threshold, without(now, m))).fold(0.0, f64::max);
                let before = f1(path.threshold, now);
                now = without(now, step.dropped);
                prop_assert_eq!(step.left.set(), now);
                prop_assert_eq!(step.left.value, best);
                if i <= path.stop {
                    prop_assert_eq!(best >= before, i < path.stop);
                }
            }
            prop_assert!(path.stopped().value <= pruned.chosen.value);
        }
    }
}
