//! One attempt told from everything that its run keeps of it ([`told`]), the same for every command that shows it.

use domain::session::{Answer, Event};
use report::context::{StoryContext, StorySources, story};
use store::{reader::RunReader, release_files::LoadedRelease};

use crate::attempts::Attempt;

/// The story of an attempt; none while it still runs.
pub fn told(run: &RunReader, release: &LoadedRelease, attempt: &Attempt) -> Option<StoryContext> {
    with_sources(run, release, attempt, |sources| story(&sources))
}

/// Hands over what an attempt is told from; none while it still runs.
pub fn with_sources<T>(
    run: &RunReader,
    release: &LoadedRelease,
    attempt: &Attempt,
    tell: impl FnOnce(StorySources<'_>) -> T,
) -> Option<T> {
    let result = attempt.result.as_ref()?;
    let sealed = attempt.entries.iter().find_map(|entry| match &entry.event {
        Event::Answered(_, Answer::Sealed { digest, .. }) => Some(digest),
        _ => None,
    });
    // A seal that is not the one which the log names is no evidence.
    let seal = sealed.and_then(|digest| attempt.found.seal_of(digest).ok().flatten());
    let task = &attempt.scenario.task;
    Some(tell(StorySources {
        scenario: &attempt.scenario,
        entries: &attempt.entries,
        places: &attempt.places,
        result,
        payloads: &run.payloads(),
        seal: seal.as_ref(),
        environment_file: &|path: &str| release.environment_file(task, path).map(<[u8]>::to_vec),
    }))
}
