//! The end of a session and the evidence for it: seal, native tests, flags, readings of each check, files.

use maud::{Markup, html};

use crate::{
    context::{
        ArtifactStory, CheckStory, CompletionStory, Difference, FileStory, LineKind, LookStory,
        StoryContext,
    },
    render::html::{
        tables::scrolling,
        text::{output, shown},
    },
};

/// Lines of one difference that are shown.
const DIFF_LINES_MAX: usize = 400;

pub(super) fn end(id: &str, story: &StoryContext) -> Markup {
    html! {
        h3 id=(format!("{id}-end")) { "The end" }
        p { "The session ended as " strong { (story.ending) } "." }
        @if let Some(words) = &story.closing_words {
            p.quote { (shown(words)) br; span.quiet { "closing words, stored and not sent" } }
        }
        @if !story.flags.is_empty() { (flags(story)) }
        h4 id=(format!("{id}-seal")) { "What the checks read at the seal" }
        @match &story.seal {
            Some(look) => (look_table(id, look, story)),
            None => p { "Nothing was read: the session was not sealed, or it has no checks." },
        }
        h4 { "Native tests" }
        @match &story.completion {
            Some(completion) => (native(completion)),
            None => p { "They did not run." },
        }
        @if !story.steps.is_empty() { (steps(story)) }
    }
}

fn steps(story: &StoryContext) -> Markup {
    html! {
        h4 { "Steps" }
        (scrolling("Steps", html! {
            table {
                thead {
                    tr {
                        th scope="col" { "step" } th scope="col" { "left behind" }
                        th scope="col" { "needed to go on" } th scope="col" { "in the log" }
                    }
                }
                tbody {
                    @for step in &story.steps {
                        tr {
                            th scope="row" { (shown(&step.step)) }
                            td { (shown(&step.outcome)) }
                            td { (shown(step.least.as_deref().unwrap_or("any reward"))) }
                            td { @if let Some(line) = &step.line { code.line { (shown(line)) } } }
                        }
                    }
                }
            }
        }))
        @for step in &story.steps {
            (artifacts(&step.artifacts))
            @if let Some(text) = step.output.as_deref().filter(|text| !text.is_empty()) {
                details {
                    summary { "What the tests of " (shown(&step.step)) " printed" }
                    (output(text, step.output_place.as_deref().unwrap_or_default()))
                }
            }
        }
    }
}

fn flags(story: &StoryContext) -> Markup {
    html! {
        h4 { "Flags" }
        (scrolling("Flags", html! {
            table {
                thead {
                    tr {
                        th scope="col" { "flag" } th scope="col" { "owner" }
                        th scope="col" { "counts" } th scope="col" { "detail" }
                    }
                }
                tbody {
                    @for flag in &story.flags {
                        tr {
                            th scope="row" { (flag.flag) }
                            td { (flag.owner) }
                            td { (if flag.counts { "yes" } else { "no" }) }
                            td { (shown(&flag.detail)) }
                        }
                    }
                }
            }
        }))
    }
}

/// What was kept beside a result.
fn artifacts(artifacts: &[ArtifactStory]) -> Markup {
    html! {
        @if !artifacts.is_empty() {
            ul {
                @for artifact in artifacts {
                    li {
                        (shown(&artifact.line()))
                        @for file in &artifact.files {
                            br;
                            (shown(&file.path)) " "
                            @if let Some(place) = &file.place { code.line { (shown(place)) } }
                        }
                    }
                }
            }
        }
    }
}

fn native(completion: &CompletionStory) -> Markup {
    let place = completion.output_place.as_deref().unwrap_or(&completion.line);
    html! {
        dl.facts {
            div { dt { "verdict" } dd { (completion.verdict) } }
            div { dt { "left behind" } dd { (shown(&completion.outcome)) } }
            div { dt { "asked for" } dd { (shown(&completion.rule)) } }
            div { dt { "took" } dd { (completion.took_ms) " ms" } }
            div { dt { "in the log" } dd { code.line { (shown(&completion.line)) } } }
            @if let Some(place) = &completion.output_place {
                div { dt { "output" } dd { code.line { (shown(place)) } } }
            }
            @if let Some(survivors) = &completion.survivors {
                div { dt { "ran beside them" } dd { (shown(&survivors.join(", "))) } }
            }
        }
        (artifacts(&completion.artifacts))
        @match completion.output.as_deref() {
            None => p { "What they printed is not kept." },
            Some("") => p { "They printed nothing." },
            Some(text) => details {
                summary { "What they printed" }
                (output(text, place))
            },
        }
    }
}

/// What was read at one look; every check leads to all that it read.
pub(super) fn look_table(id: &str, look: &LookStory, story: &StoryContext) -> Markup {
    let place = |check: &str| story.checks.iter().position(|known| known.check == check);
    html! {
        (scrolling(&format!("Readings, {}", look.look), html! {
            table.readings {
                thead { tr { th scope="col" { "check" } th scope="col" { "reading" } th scope="col" { "witness" } } }
                tbody {
                    @for reading in &look.readings {
                        tr {
                            th scope="row" {
                                @match place(&reading.check) {
                                    Some(at) => a href=(format!("#{id}-c{at}")) { (shown(&reading.check)) },
                                    None => (shown(&reading.check)),
                                }
                            }
                            td { (reading.answer) }
                            td.witness { (shown(&reading.witness)) }
                        }
                    }
                }
            }
        }))
        p.note { "In the log: " code.line { (shown(&look.line)) } }
    }
}

pub(super) fn checks(id: &str, story: &StoryContext) -> Markup {
    html! {
        h3 id=(format!("{id}-checks")) { "Evidence: what each check read" }
        p.note { "A check answers what it saw and never judges; verdicts are derived from these readings." }
        @for (at, check) in story.checks.iter().enumerate() { (self::check(id, at, check, story)) }
    }
}

fn check(id: &str, at: usize, check: &CheckStory, story: &StoryContext) -> Markup {
    let last = check.looks.last().map_or("not read", |look| look.answer.as_str());
    html! {
        details.check {
            summary { code { (shown(&check.check)) } " " span.quiet { (last) } }
            div id=(format!("{id}-c{at}")) {
                (serves(id, check, story))
                (scrolling(&format!("Readings of {}", check.check), html! {
                    table.readings {
                        thead {
                            tr {
                                th scope="col" { "look" } th scope="col" { "reading" }
                                th scope="col" { "witness" } th scope="col" { "in the log" }
                            }
                        }
                        tbody {
                            @for look in &check.looks {
                                tr {
                                    th scope="row" { (look.look) }
                                    td { (look.answer) }
                                    td.witness { (shown(&look.witness)) }
                                    td { code.line { (shown(&look.line)) } }
                                }
                            }
                        }
                    }
                }))
                @if !check.occurrences.is_empty() { (occurrences(check)) }
            }
        }
    }
}

fn serves(id: &str, check: &CheckStory, story: &StoryContext) -> Markup {
    let place = |wanted: &str| story.lanes.iter().position(|lane| lane.id == wanted);
    html! {
        p.note {
            @if check.serves.is_empty() { "No acceptance rests on it; it is read for a condition." }
            @else {
                "Acceptances that rest on it: "
                @for (nth, requirement) in check.serves.iter().enumerate() {
                    @if nth > 0 { ", " }
                    @match place(requirement) {
                        Some(at) => a href=(format!("#{id}-r{at}")) { (shown(requirement)) },
                        None => (shown(requirement)),
                    }
                }
            }
        }
    }
}

fn occurrences(check: &CheckStory) -> Markup {
    html! {
        @if check.occurrences_more > 0 {
            p.left-out { (check.occurrences_more) " earlier occurrences are in the log." }
        }
        (scrolling(&format!("Occurrences of {}", check.check), html! {
            table.readings {
                thead {
                    tr { th scope="col" { "turn" } th scope="col" { "at, ms" } th scope="col" { "what" } }
                }
                tbody {
                    @for occurrence in &check.occurrences {
                        tr {
                            td.figure { (occurrence.turn) }
                            td.figure {
                                (occurrence.earliest_ms)
                                @if occurrence.latest_ms != occurrence.earliest_ms { "–" (occurrence.latest_ms) }
                            }
                            td.witness { (shown(&occurrence.subject)) }
                        }
                    }
                }
            }
        }))
    }
}

pub(super) fn files(id: &str, story: &StoryContext) -> Markup {
    html! {
        h3 id=(format!("{id}-files")) { "Files at the end, against the base" }
        @if story.files.is_empty() { p { "No file differs from the base, or the state was not sealed." } }
        @else {
            ul.changes { @for file in &story.files { li { (self::file(file)) } } }
            @if story.files_more > 0 { p.left-out { (story.files_more) " more are in the seal." } }
        }
    }
}

fn file(file: &FileStory) -> Markup {
    html! {
        (what_changed(&file.what, &file.path, &file.difference))
        p.note {
            (file.size) " bytes"
            @if let Some(place) = &file.place { " in " code.line { (shown(place)) } }
            @if let Some(why) = &file.unkept { "; its content was not kept: " (shown(why)) }
        }
    }
}

/// A change with the difference of its lines folded.
pub(super) fn what_changed(what: &str, path: &str, difference: &Difference) -> Markup {
    html! {
        @match difference {
            Difference::NotShown(why) => p.change { (what) " " code { (shown(path)) } " " span.quiet { "(" (why) ")" } },
            Difference::Lines { lines, added, removed, from_release } => details {
                summary.change {
                    (what) " " code { (shown(path)) } " "
                    span.good { "+" (added) } " " span.bad { "−" (removed) }
                }
                @if *from_release {
                    p.note { "Before: the file as the release brings it; the environment's setup may have changed it." }
                }
                pre.diff {
                    @for line in lines.iter().take(DIFF_LINES_MAX) {
                        @let (class, mark) = line_kind(line.kind);
                        span class=(class) { (mark) (shown(&line.text)) "\n" }
                    }
                }
                @if lines.len() > DIFF_LINES_MAX {
                    p.left-out { (lines.len() - DIFF_LINES_MAX) " more lines are left out here." }
                }
            },
        }
    }
}

fn line_kind(kind: LineKind) -> (&'static str, &'static str) {
    match kind {
        LineKind::Place => ("place", ""),
        LineKind::Kept => ("kept", " "),
        LineKind::Added => ("added", "+"),
        LineKind::Removed => ("removed", "-"),
    }
}
