//! The table of endings and flags: complete, named once, consistent with itself.

use std::collections::BTreeSet;

use domain::fault::{Effect, Ending, Flag, Owner, Remedy, Weight};

#[test]
fn endings_are_named_once_and_found_by_name() {
    let names: BTreeSet<_> = Ending::ALL.into_iter().map(Ending::name).collect();
    assert_eq!(names.len(), Ending::ALL.len());
    for ending in Ending::ALL {
        assert_eq!(Ending::parse(ending.name()), Some(ending));
    }
    assert_eq!(Ending::parse("finished"), None);
}

#[test]
fn flags_are_named_once_and_found_by_name() {
    let names: BTreeSet<_> = Flag::ALL.into_iter().map(Flag::name).collect();
    assert_eq!(names.len(), Flag::ALL.len());
    for flag in Flag::ALL {
        assert_eq!(Flag::parse(flag.name()), Some(flag));
    }
}

#[test]
fn an_ending_is_graded_unless_it_is_a_fault_with_a_flag_of_the_same_owner() {
    for ending in Ending::ALL {
        match ending.effect() {
            Effect::Ungraded => {
                let flag = ending.flag().expect("a fault sets a flag");
                assert_eq!(flag.owner(), ending.owner(), "{ending:?}");
                assert_eq!(flag.name(), ending.name());
            }
            Effect::Grade | Effect::GradeOverBudget => {
                assert!(matches!(ending.owner(), Owner::Agent | Owner::Nobody), "{ending:?}");
                assert_eq!(ending.flag(), None);
            }
        }
    }
    let over_budget = Ending::ALL.into_iter().filter(|e| e.effect() == Effect::GradeOverBudget);
    assert_eq!(
        over_budget.collect::<Vec<_>>(),
        [Ending::TurnCap, Ending::AgentTime, Ending::AgentTokens, Ending::AgentCost]
    );
}

#[test]
fn remedies_follow_owners() {
    for flag in Flag::ALL {
        let expected = match (flag.owner(), flag) {
            (Owner::Agent, _) => Remedy::Score,
            (Owner::Judge, _) | (_, Flag::VerificationIncomplete) => Remedy::Regrade,
            (_, Flag::Lost | Flag::OperatorAbort) => Remedy::RerunFree,
            _ => Remedy::Rerun,
        };
        assert_eq!(flag.remedy(), expected, "{flag:?}");
        let undecided =
            matches!(flag, Flag::JudgeUndecided | Flag::EvidenceMissing | Flag::OrderUnknown);
        assert_eq!(flag.weight() == Weight::IfDecisive, undecided, "{flag:?}");
    }
}
