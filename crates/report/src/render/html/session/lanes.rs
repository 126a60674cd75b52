//! The way of each requirement as a table over turns, each stage in words, and what each one asks.

use maud::{Markup, html};

use crate::{
    context::{Lane, LaneCell, LaneStep, Stage, StoryContext},
    render::html::{tables::scrolling, text::shown},
};

pub(super) fn lanes(id: &str, story: &StoryContext) -> Markup {
    let moments: Vec<&str> = story
        .lanes
        .first()
        .map(|lane| lane.cells.iter().map(|cell| cell.moment.as_str()).collect())
        .unwrap_or_default();
    html! {
        h3 id=(format!("{id}-lanes")) { "Requirements, from hidden to verdict" }
        p.note { "Each column is the state at the end of that turn; a verdict leads to what the checks read then." }
        (scrolling("Requirements, from hidden to verdict", html! {
            table.lanes {
                thead {
                    tr {
                        th scope="col" { "requirement" }
                        @for moment in &moments { th scope="col" { (heading(id, moment)) } }
                        th scope="col" { "outcome" }
                    }
                }
                tbody {
                    @for (at, lane) in story.lanes.iter().enumerate() {
                        tr {
                            th scope="row" { a href=(format!("#{id}-r{at}")) { (shown(&lane.id)) } }
                            @for cell in &lane.cells { td.lane { (track(id, cell, story)) } }
                            td.outcome { (outcome(lane)) }
                        }
                    }
                }
            }
        }))
        @for (at, lane) in story.lanes.iter().enumerate() { (asked(id, at, lane, story)) }
    }
}

fn heading(id: &str, moment: &str) -> Markup {
    html! {
        @match moment.strip_prefix("turn ") {
            Some(turn) => a href=(format!("#{id}-t{turn}")) { (moment) },
            None if moment == "seal" => a href=(format!("#{id}-end")) { (moment) },
            None => (moment),
        }
    }
}

fn track(id: &str, cell: &LaneCell, story: &StoryContext) -> Markup {
    html! {
        ol.track {
            @for step in &cell.steps {
                li class=(kind(step.stage)) {
                    @match evidence(id, cell, step, story) {
                        Some(href) => a href=(href) { (words(step)) },
                        None => (words(step)),
                    }
                }
            }
        }
    }
}

fn words(step: &LaneStep) -> Markup {
    html! { span aria-hidden="true" { (mark(step.stage)) } " " (step.words) }
}

/// The look that a verdict rests on, or the turn in which something was said.
fn evidence(id: &str, cell: &LaneCell, step: &LaneStep, story: &StoryContext) -> Option<String> {
    let turn = cell.moment.strip_prefix("turn ");
    match (step.stage, turn) {
        (Stage::Hidden | Stage::Due | Stage::Waiting | Stage::Planned, _) => None,
        (Stage::Delivered | Stage::Corrected, Some(turn)) => Some(format!("#{id}-t{turn}")),
        (_, Some(turn)) => {
            let was_read =
                story.turns.iter().any(|t| t.turn.to_string() == turn && t.look.is_some());
            was_read.then(|| format!("#{id}-t{turn}-look"))
        }
        (_, None) => story.seal.as_ref().map(|_| format!("#{id}-seal")),
    }
}

fn kind(stage: Stage) -> &'static str {
    match stage {
        Stage::Hidden => "hidden-yet",
        Stage::Due | Stage::Planned => "due",
        Stage::Delivered => "told",
        Stage::Corrected => "corrected",
        Stage::Waiting => "waiting",
        Stage::Met => "good",
        Stage::Unmet | Stage::Violated => "bad",
        Stage::Undecided | Stage::Vacuous => "open",
    }
}

fn mark(stage: Stage) -> &'static str {
    match stage {
        Stage::Hidden => "·",
        Stage::Due => "◔",
        Stage::Planned => "◑",
        Stage::Delivered => "●",
        Stage::Corrected => "↻",
        Stage::Waiting => "…",
        Stage::Met => "✓",
        Stage::Unmet => "○",
        Stage::Violated => "✕",
        Stage::Undecided => "?",
        Stage::Vacuous => "–",
    }
}

fn outcome(lane: &Lane) -> Markup {
    let (kind, mark) = match lane.outcome.as_str() {
        "passed" => ("good", "✓"),
        "failed" => ("bad", "✕"),
        _ => ("open", "?"),
    };
    html! {
        span class=(format!("chip {kind}")) { span aria-hidden="true" { (mark) } " " (lane.outcome) }
        @if !lane.mandatory { " " span.quiet { "optional" } }
    }
}

fn asked(id: &str, at: usize, lane: &Lane, story: &StoryContext) -> Markup {
    let place = |check: &String| story.checks.iter().position(|known| known.check == *check);
    html! {
        article.asked id=(format!("{id}-r{at}")) aria-labelledby=(format!("{id}-r{at}-title")) {
            h4 id=(format!("{id}-r{at}-title")) { (shown(&lane.id)) " " (outcome(lane)) }
            p.quote { (shown(&lane.text)) }
            dl.facts {
                div { dt { "area" } dd { (lane.area) (if lane.mandatory { ", mandatory" } else { ", optional" }) } }
                div { dt { "why" } dd { (shown(&lane.because)) } }
                div { dt { "told" } dd { (shown(&lane.told_when)) } }
                div { dt { "met if" } dd { (shown(&lane.met_if)) } }
                @if let Some(applies_if) = &lane.applies_if {
                    div { dt { "applies if" } dd { (shown(applies_if)) } }
                }
                div {
                    dt { "rests on" }
                    dd {
                        @for (nth, check) in lane.checks.iter().enumerate() {
                            @if nth > 0 { ", " }
                            @match place(check) {
                                Some(place) => a href=(format!("#{id}-c{place}")) { (shown(check)) },
                                None => (shown(check)),
                            }
                        }
                    }
                }
                div { dt { "its way" } dd { (shown(&lane.path)) } }
            }
        }
    }
}
