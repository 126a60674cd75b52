//! The bases of a release's tasks looked at before anybody works on them ([`admitted`]).

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    calibration::{BaseSeen, Breach, Subject, admission},
    ids::{Hash, TaskId},
    release::Pair,
};
use engine::{
    admission::{BaseFound, look_at},
    materialise::task_limits,
    ports::sandbox::Base,
};
use store::release_files::LoadedRelease;

use crate::{
    conduct::{Bases, pair_and_task},
    host::Host,
};

/// What keeps the tasks of these pairs from being admitted.
pub async fn admitted(
    loaded: &LoadedRelease,
    pairs: &[&Pair],
    host: &Host,
    bases: &Bases,
) -> Vec<Breach> {
    let mut by_base: BTreeMap<(&TaskId, &Hash), (&Base, Vec<&Pair>)> = BTreeMap::new();
    for pair in pairs {
        // Why a base could not be made stands on every session that needed it.
        let Some(Ok(base)) = bases.get(&pair.id).map(|own| &own.agent) else { continue };
        let key = (&pair.task, &base.digest);
        by_base.entry(key).or_insert_with(|| (base, Vec::new())).1.push(pair);
    }
    let mut breaches = Vec::new();
    for ((id, _), (base, pairs)) in by_base {
        let Some((_, task)) = pairs.first().and_then(|pair| pair_and_task(loaded, &pair.id)) else {
            continue;
        };
        let looked =
            look_at(host.sandboxes.as_ref(), base, &task_limits(task), &task.environment.workdir)
                .await;
        match looked {
            Ok(found) => breaches.extend(admission(task, &pairs, &seen(loaded, id, found))),
            Err(fault) => breaches.push(Breach {
                subject: Subject::Task(id.clone()),
                arm: None,
                agent: None,
                requirement: None,
                expected: "a base that can be looked at".to_owned(),
                found: fault.to_string(),
                remedy: "see what `pcb doctor` says, and calibrate again".to_owned(),
            }),
        }
    }
    breaches
}

fn seen(loaded: &LoadedRelease, task: &TaskId, found: BaseFound) -> BaseSeen {
    let hidden = loaded.hidden_text(task);
    let mut answers = Vec::new();
    let mut told = BTreeSet::new();
    for (path, bytes) in &found.files {
        let Some(answer) = hidden.shown_by(bytes) else { continue };
        if told.insert(answer.to_owned()) {
            answers.push((answer.to_owned(), path.clone()));
        }
    }
    BaseSeen {
        places: found.places,
        files: found.files.into_keys().collect(),
        repositories: found.repositories,
        answers,
    }
}
