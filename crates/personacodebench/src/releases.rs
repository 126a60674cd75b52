//! Opens the release that a command names, and shows what is wrong with it.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use domain::{
    acceptance::glob,
    release::lint::{Note, Severity, lint},
};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
};
use store::{
    harbor::adhoc::{Completion, open_tasks},
    layout,
    release_files::{LoadedRelease, LockUse, Problem, Problems, open_release, open_release_with},
};

use crate::{bundled, failure::Failure, options};

/// The folder that a release's name or path means.
pub fn folder(release: &str) -> Result<PathBuf, Failure> {
    bundled::folder(release, &options::state_folder()?).map_err(Failure::input)
}

/// The release that a place lies in, whether something is there already or not. What lies in a release is part of it,
/// so that its next reading would refuse every file that does not belong there.
pub fn around(place: &Path) -> io::Result<Option<PathBuf>> {
    let absolute = std::path::absolute(place)?;
    Ok(absolute.ancestors().find(|folder| layout::is_release(folder)).map(Path::to_owned))
}

/// What to say if no pair fits a glob: that it is malformed, or where the pairs are listed.
pub fn no_pair(glob: &str, release: &str) -> Failure {
    Failure::input(match glob::trouble(glob) {
        Some(trouble) => format!(
            "--pairs: the glob `{glob}` {trouble}: use `*`, `?`, `[ab]` and `{{a,b}}`, for instance `caretaker--*`"
        ),
        None => {
            format!("no pair of the release fits `{glob}`: `pcb list pairs {release}` lists them")
        }
    })
}

/// Opens a release; a lock that does not agree is a mismatch, everything else bad input.
pub fn open(release: &str) -> Result<LoadedRelease, Failure> {
    let folder = folder(release)?;
    open_release(&folder).map_err(|problems| {
        let message = shown(&problems);
        match open_release_with(&folder, LockUse::Ignore) {
            Ok(_) => Failure::mismatch(message),
            Err(_) => Failure::input(message),
        }
    })
}

/// Opens a release for a run: what a lint calls an error keeps it from running.
pub fn open_clean(release: &str) -> Result<LoadedRelease, Failure> {
    let loaded = open(release)?;
    let errors: Vec<Note> =
        lint(&loaded.release).into_iter().filter(|note| note.severity == Severity::Error).collect();
    if errors.is_empty() {
        return Ok(loaded);
    }
    Err(Failure::input(shown_notes(&loaded, &errors)))
}

/// Reads tasks of others for a run; what is not refused is said.
pub fn open_adhoc(path: &Path, completion: &Completion) -> Result<LoadedRelease, Failure> {
    let loaded =
        open_tasks(path, completion).map_err(|problems| Failure::input(shown(&problems)))?;
    for warning in &loaded.warnings {
        let source =
            loaded.tree.bytes(&warning.file).map(|b| String::from_utf8_lossy(b).into_owned());
        eprint!("{}", render(warning, source, false));
    }
    Ok(loaded)
}

/// Problems as text: each with file, line, offending text and remedy.
pub fn shown(problems: &Problems) -> String {
    let each = problems.iter().map(|problem| {
        let source = problems.source(&problem.file).map(ToString::to_string);
        render(problem, source, true)
    });
    closed(each.collect(), problems.len())
}

/// What the lints say of a release.
pub struct Findings {
    /// All of it, as text.
    pub text: String,
    /// Whether some of it keeps the release from being locked.
    pub has_error: bool,
}

/// Asks every lint, those of the typed release and those of its files; none if there is nothing to mend.
pub fn findings(loaded: &LoadedRelease) -> Option<Findings> {
    let (notes, files) = (lint(&loaded.release), loaded.file_notes());
    if notes.is_empty() && files.is_empty() {
        return None;
    }
    let of_files = files.into_iter().map(|note| {
        let (file, message, remedy) = (note.file, note.message, note.remedy);
        let problem = Problem { file, spot: None, message, remedy };
        (note.severity, render(&problem, None, note.severity == Severity::Error))
    });
    let severities = notes.iter().map(|note| note.severity);
    let mut each: Vec<(Severity, String)> =
        severities.zip(rendered(loaded, &notes)).chain(of_files).collect();
    // What keeps the release from being locked comes first; the order of places stays otherwise.
    each.sort_by_key(|(severity, _)| *severity);
    let has_error = each.first().is_some_and(|(severity, _)| *severity == Severity::Error);
    let each: Vec<String> = each.into_iter().map(|(_, text)| text).collect();
    let count = each.len();
    Some(Findings { text: closed(each, count), has_error })
}

/// Lint notes as text, in the same shape.
fn shown_notes(loaded: &LoadedRelease, notes: &[Note]) -> String {
    closed(rendered(loaded, notes), notes.len())
}

fn rendered(loaded: &LoadedRelease, notes: &[Note]) -> Vec<String> {
    let each = notes.iter().map(|note| {
        let place = loaded.locate(&note.path);
        let source =
            loaded.tree.bytes(&place.file).map(|b| String::from_utf8_lossy(b).into_owned());
        let problem = Problem {
            file: place.file,
            spot: place.spot,
            message: note.message.clone(),
            remedy: note.remedy.clone(),
        };
        render(&problem, source, note.severity == Severity::Error)
    });
    each.collect()
}

fn closed(each: Vec<String>, count: usize) -> String {
    let noun = if count == 1 { "problem" } else { "problems" };
    format!("{}\n{count} {noun}", each.concat().trim_end())
}

fn render(problem: &Problem, source: Option<String>, is_error: bool) -> String {
    let severity = if is_error { miette::Severity::Error } else { miette::Severity::Warning };
    let mut diagnostic = MietteDiagnostic::new(format!("{}: {}", place(problem), problem.message))
        .with_severity(severity)
        .with_help(problem.remedy.clone());
    if let Some(spot) = &problem.spot {
        let span = visible(source.as_deref().unwrap_or_default(), spot.span.clone());
        diagnostic = diagnostic.with_label(LabeledSpan::underline(span));
    }
    let report = match source.filter(|_| problem.spot.is_some()) {
        Some(text) => {
            Report::new(diagnostic).with_source_code(NamedSource::new(problem.file.clone(), text))
        }
        None => Report::new(diagnostic),
    };
    let mut text = String::new();
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_context_lines(0);
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text = problem.to_string();
    }
    text.push('\n');
    text
}

/// A place between two characters shows nothing: its whole line stands in.
fn visible(text: &str, span: Range<usize>) -> Range<usize> {
    let Some((before, after)) = text.split_at_checked(span.start).filter(|_| span.is_empty())
    else {
        return span;
    };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = span.start + after.find('\n').unwrap_or(after.len());
    start..end
}

fn place(problem: &Problem) -> String {
    match &problem.spot {
        Some(spot) => format!("{}:{}:{}", problem.file, spot.line, spot.column),
        None => problem.file.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder") {
            let path = entry.expect("an entry").path();
            let target = to.join(path.file_name().expect("a name"));
            if path.is_dir() { copy(&path, &target) } else { drop(fs::copy(&path, &target)) }
        }
    }

    #[test]
    fn files_are_looked_at_too() {
        let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases/tiny");
        let folder = tempfile::tempdir().expect("a folder");
        copy(&bundled, folder.path());
        let found = |folder: &Path| {
            let loaded = open_release_with(folder, LockUse::Ignore).expect("a release");
            findings(&loaded).map(|found| (found.has_error, found.text))
        };
        assert_eq!(found(folder.path()), None);

        // The reference solution lies open in the agent's folder.
        let solution = folder.path().join("tasks/greet/solution/solve.sh");
        let plain = fs::read_to_string(&solution).expect("a script");
        let longer = format!("{plain}echo one\necho two\necho three\necho four\necho five\n");
        fs::write(&solution, &longer).expect("a script");
        fs::write(folder.path().join("tasks/greet/environment/files/note.sh"), longer)
            .expect("a file");
        let (has_error, text) = found(folder.path()).expect("findings");
        assert!(has_error && text.contains("tasks/greet/solution/solve.sh"), "{text}");
    }
}
