//! One session told: its requirements as lanes, its turns, its end, and the evidence for every verdict.

mod evidence;
mod lanes;
mod turns;

use maud::{Markup, html};

use super::{SessionPage, text::shown};
use crate::context::{SessionFacts, StoryContext};

/// A session, its anchors beginning with its id.
pub(super) fn session(page: &SessionPage<'_>) -> Markup {
    let (id, story) = (page.id, page.story);
    let facts = &story.facts;
    html! {
        section.story id=(id) aria-labelledby=(format!("{id}-title")) {
            nav.back aria-label="Back" {
                a href=(page.place.of_index("sessions")) { "← All sessions" }
            }
            p.kicker { (shown(&page.run.configuration)) " · repeat " (facts.repeat) " · attempt " (facts.attempt) }
            h2 id=(format!("{id}-title")) { (shown(&facts.pair)) }
            p.role { (shown(&facts.role)) }
            (marks(facts))
            nav.contents aria-label="Parts of this session" {
                ul {
                    @if !story.lanes.is_empty() { li { a href=(format!("#{id}-lanes")) { "Requirements" } } }
                    li { a href=(format!("#{id}-turns")) { "The conversation" } }
                    li { a href=(format!("#{id}-end")) { "The end" } }
                    @if !story.checks.is_empty() { li { a href=(format!("#{id}-checks")) { "Evidence" } } }
                    li { a href=(format!("#{id}-files")) { "Files" } }
                    li { a href=(format!("#{id}-about")) { "About" } }
                }
            }
            @if !story.lanes.is_empty() { (lanes::lanes(id, story)) }
            (turns::turns(id, story))
            (evidence::end(id, story))
            @if !story.checks.is_empty() { (evidence::checks(id, story)) }
            (evidence::files(id, story))
            (about(id, page.run.folder.as_str(), story))
            nav.back aria-label="Back, below" {
                a href=(page.place.of_index("sessions")) { "← All sessions" }
            }
        }
    }
}

/// What the session came to, each mark with its word.
fn marks(facts: &SessionFacts) -> Markup {
    let truth = |value: Option<bool>, yes: &'static str, no: &'static str, open: &'static str| {
        match value {
            Some(true) => ("good", "✓", yes),
            Some(false) => ("bad", "✕", no),
            None => ("open", "?", open),
        }
    };
    let has_persona = facts.arm == "progressive" || facts.arm == "opening";
    let mut marks =
        vec![truth(facts.completed, "completed", "not completed", "completion not graded")];
    if has_persona {
        marks.push(truth(
            facts.personalized,
            "personalized",
            "not personalized",
            "personalization not graded",
        ));
    }
    marks.push(truth(Some(facts.within_budget), "within budget", "over budget", ""));
    marks.push(truth(Some(facts.valid), "valid", "not valid", ""));
    html! {
        ul.marks {
            li.class { (facts.class) }
            @for (kind, mark, word) in marks {
                li class=(kind) { span aria-hidden="true" { (mark) } " " (word) }
            }
        }
    }
}

fn about(id: &str, folder: &str, story: &StoryContext) -> Markup {
    let facts = &story.facts;
    let unknown = || "unknown".to_owned();
    let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1000.0);
    let rows = [
        ("task", facts.task.clone()),
        ("suite", facts.suite.clone()),
        ("persona", facts.persona.clone()),
        ("arm", facts.arm.clone()),
        ("user worded by", facts.user.clone()),
        ("agent's own name", facts.agent.clone().unwrap_or_else(unknown)),
        ("turns", format!("{} of {}", facts.turns, facts.turns_max)),
        ("agent time", format!("{} of {}", seconds(facts.agent_ms), seconds(facts.agent_max_ms))),
        ("tokens", facts.tokens.map_or_else(|| "not counted".to_owned(), |n| n.to_string())),
        (
            "cost of its model",
            facts.model_use.as_ref().map_or_else(unknown, |all| all.all().cost_words()),
        ),
        ("began (UTC)", facts.started_utc.clone().unwrap_or_else(unknown)),
        ("ended (UTC)", facts.ended_utc.clone().unwrap_or_else(unknown)),
        ("log", format!("{folder}/{}", facts.log)),
    ];
    html! {
        h3 id=(format!("{id}-about")) { "About this session" }
        dl.facts {
            @for (name, value) in rows {
                div { dt { (name) } dd { (shown(&value)) } }
            }
        }
        p { "Tell it again, and decide its log again:" }
        pre.output {
            "pcb show " (shown(folder)) " " (shown(&facts.pair)) " --repeat " (facts.repeat) " --attempt " (facts.attempt) "\n"
            "pcb replay " (shown(folder))
        }
    }
}
