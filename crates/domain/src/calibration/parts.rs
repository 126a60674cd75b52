//! Each part of an acceptance must be seen to fail: one that passes for the oracle and for every counterexample of its
//! requirement proves nothing.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{Breach, CalibrationAgent, Part, Shown, Subject};
use crate::{ids::RequirementId, release::Pair};

/// The parts of the pair's acceptances that nobody breaks, each once whatever the arms.
pub(super) fn unbroken(pair: &Pair, shown: &[&Shown]) -> Vec<Breach> {
    let mut seen: BTreeMap<(&RequirementId, u32), Seen<'_>> = BTreeMap::new();
    for one in shown {
        for part in &one.parts {
            let seen = seen.entry((&part.requirement, part.place)).or_insert(Seen {
                part,
                passes: false,
                is_challenged: false,
                breaks: false,
            });
            match &one.agent {
                CalibrationAgent::Oracle => seen.passes |= part.passes,
                CalibrationAgent::Counterexample(of, _) if of == &part.requirement => {
                    seen.is_challenged = true;
                    seen.breaks |= !part.passes;
                }
                _ => {}
            }
        }
    }
    let unbroken = seen.values().filter(|seen| seen.passes && seen.is_challenged && !seen.breaks);
    unbroken.map(|seen| seen.breach(pair)).collect()
}

/// What all sessions say of one part.
struct Seen<'a> {
    part: &'a Part,
    passes: bool,
    is_challenged: bool,
    breaks: bool,
}

impl Seen<'_> {
    fn breach(&self, pair: &Pair) -> Breach {
        let (part, requirement) = (&self.part.name, &self.part.requirement);
        Breach {
            subject: Subject::Pair(pair.id.clone()),
            arm: None,
            agent: None,
            requirement: Some(requirement.clone()),
            expected: format!("`{part}` fails for a counterexample of the requirement"),
            found: String::from("it passes for the oracle and for each of them"),
            remedy: format!(
                "let a script of {} break it, or take it out of the acceptance",
                scripts(pair, requirement)
            ),
        }
    }
}

fn scripts(pair: &Pair, requirement: &RequirementId) -> String {
    format!("`pairs/{}/{{saboteurs,evaders,liars}}/{requirement}.toml`", pair.id)
}
