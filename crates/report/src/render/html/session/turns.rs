//! The conversation turn by turn, with what was run, changed, asked for and read in each.

use maud::{Markup, html};

use super::evidence::{look_table, what_changed};
use crate::{
    context::{
        ActStory, CallStory, ModelStory, RanProgram, StoryContext, TextStory, ToldWork, ToolStory,
        TurnStory, WorkStory, usd_words,
    },
    render::html::{
        tables::scrolling,
        text::{message, shown},
    },
};

pub(super) fn turns(id: &str, story: &StoryContext) -> Markup {
    html! {
        h3 id=(format!("{id}-turns")) { "The conversation" }
        @if story.turns.is_empty() { p { "Nothing was said." } }
        @for turn in &story.turns { (self::turn(id, turn, story)) }
    }
}

fn turn(id: &str, turn: &TurnStory, story: &StoryContext) -> Markup {
    let own = format!("{id}-t{}", turn.turn);
    html! {
        article.turn id=(own) aria-labelledby=(format!("{own}-title")) {
            h4 id=(format!("{own}-title")) { "Turn " (turn.turn) }
            div.says.user {
                h5 { "User" }
                (acts(id, &turn.acts, story))
                (message(&turn.user, &turn.line))
                @for grant in &turn.granted { p.granted { strong { "Granted" } " " (shown(grant)) } }
            }
            div.says.agent {
                h5 { "Agent" }
                (did(&own, turn))
                @if turn.agent.is_empty() {
                    p.quiet { "It said nothing." }
                } @else {
                    (message(&turn.agent, turn.agent_line.as_deref().unwrap_or(&turn.line)))
                }
                @if !turn.asked_for.is_empty() {
                    p.asked-for { strong { "Asked for permission" } " " (turn.asked_for.join(", ")) }
                }
                @if let Some(ended) = &turn.ended {
                    p.quiet {
                        (shown(ended))
                        @if let Some(agent_ms) = turn.agent_ms { "; " (agent_ms) " ms of agent time" }
                    }
                }
            }
            @if !turn.events.is_empty() {
                ul.events {
                    @for event in &turn.events {
                        li { (shown(&event.words)) " " code.line { (shown(&event.line)) } }
                    }
                }
            }
            @if let Some(look) = &turn.look {
                details.look {
                    summary { "What the checks read at the end of turn " (turn.turn) }
                    div id=(format!("{own}-look")) { (look_table(id, look, story)) }
                }
            }
        }
    }
}

fn acts(id: &str, acts: &[ActStory], story: &StoryContext) -> Markup {
    let place = |wanted: &str| story.lanes.iter().position(|lane| lane.id == wanted);
    html! {
        @if !acts.is_empty() {
            ul.acts {
                @for act in acts {
                    li {
                        @match act.requirement.as_deref().and_then(place) {
                            Some(at) => a href=(format!("#{id}-r{at}")) { (shown(&act.words)) },
                            None => (shown(&act.words)),
                        }
                    }
                }
            }
        }
    }
}

/// What the agent did before it spoke.
fn did(own: &str, turn: &TurnStory) -> Markup {
    let ran = turn.ran.len() + turn.ran_more;
    let reached = turn.reached.len() + turn.reached_more;
    let changed = turn.changed.len() + turn.changed_more + turn.changed_git;
    html! {
        @if !turn.narration.is_empty() {
            details {
                summary { "What it said while it worked" }
                (message(&turn.narration, &turn.line))
            }
        }
        (told(&turn.work))
        @if let Some(model) = &turn.model { (asked(model)) }
        @if ran > 0 {
            details {
                summary { (counted(ran, "program", "programs")) " run" }
                (programs(&turn.ran))
                @if turn.ran_more > 0 { p.left-out { (turn.ran_more) " more are in the log." } }
            }
        }
        @if reached > 0 {
            details {
                summary { (counted(reached, "attempt", "attempts")) " to reach a host" }
                ul.changes {
                    @for host in &turn.reached {
                        li { (host.outcome) " " code { (host.place) } " (" (host.rule) ")"
                            @if let Some((sent, received)) = host.bytes {
                                ", " (sent) " bytes sent, " (received) " received"
                            }
                        }
                    }
                }
                @if turn.reached_more > 0 { p.left-out { (turn.reached_more) " more are in the log." } }
            }
        }
        @if changed > 0 {
            details open[changed <= 3] {
                summary { (counted(changed, "file", "files")) " changed" }
                ul.changes {
                    @for (at, change) in turn.changed.iter().enumerate() {
                        li id=(format!("{own}-f{at}")) { (what_changed(&change.what, &change.path, &change.difference)) }
                    }
                }
                @if turn.changed_more > 0 { p.left-out { (turn.changed_more) " more are in the log." } }
                @if turn.changed_git > 0 { p.left-out { (turn.changed_git) " of git's own files." } }
            }
        }
    }
}

/// The agent's own account: tool calls with what came of them, thoughts, plan, what it says it used.
fn told(work: &WorkStory) -> Markup {
    let (tools, thoughts) = (work.tools().count(), work.told.len() - work.tools().count());
    let mut parts = Vec::new();
    if tools > 0 {
        parts.push(counted(tools, "tool call", "tool calls"));
    }
    if thoughts > 0 {
        parts.push(counted(thoughts, "thought", "thoughts"));
    }
    if !work.plan.is_empty() {
        parts.push("a plan".to_owned());
    }
    if parts.is_empty() && !work.is_empty() {
        parts.push("what it used".to_owned());
    }
    html! {
        @if !work.is_empty() {
            details {
                summary { (parts.join(", ")) " by its own account" }
                ol.tools {
                    @for told in &work.told {
                        @match told {
                            ToldWork::Tool(tool) => li { (told_tool(tool)) },
                            ToldWork::Thought(text) => li { p.quiet { "thought" } (told_text(text)) },
                        }
                    }
                }
                @if work.told_more > 0 { p.left-out { (work.told_more) " more are in the log." } }
                @if !work.plan.is_empty() {
                    p { "Its plan:" }
                    ul.tools { @for line in &work.plan { li { (shown(&line.state)) ": " (shown(&line.text)) } } }
                }
                @for claim in &work.claims { p.quiet { "It says it used " (shown(claim)) "." } }
            }
        }
    }
}

/// What it asked of its model, as the gateway saw it.
fn asked(model: &ModelStory) -> Markup {
    let calls = model.sum.all().calls as usize;
    html! {
        details {
            summary { (counted(calls, "call", "calls")) " of its model" }
            ul.changes { @for line in model.lines() { li { (shown(&line)) } } }
            @if !model.calls.is_empty() { (calls_table(&model.calls)) }
            @if model.calls_more > 0 { p.left-out { (model.calls_more) " more are in the log." } }
        }
    }
}

fn calls_table(calls: &[CallStory]) -> Markup {
    let heads = ["for", "model", "effort", "in", "out", "cost", "took", "outcome"];
    let tokens = |count: Option<u64>| count.map_or("unknown".to_owned(), |n| n.to_string());
    scrolling(
        "Calls of the model",
        html! {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody {
                    @for call in calls {
                        tr {
                            td { (call.purpose) ", " (call.format) }
                            td {
                                code { (shown(&call.model_asked)) }
                                @if let Some(answered) = &call.model_answered { " → " code { (shown(answered)) } }
                                @for parameter in &call.parameters { " " span.quiet { (shown(parameter)) } }
                            }
                            td { @match &call.effort { Some(effort) => (shown(effort)), None => "unset" } }
                            td.figure { (tokens(call.input)) @if let Some(cached) = call.cached_input { ", " (cached) " cached" } }
                            td.figure { (tokens(call.output)) @if let Some(part) = call.reasoning { ", " (part) " of reasoning" } }
                            td.figure { @match call.cost_microusd { Some(cost) => (usd_words(cost)), None => "unknown" } }
                            td.figure {
                                (call.took_ms) " ms"
                                @if call.retries > 0 {
                                    ", asked again " (call.retries) "×, clock stood still " (call.paused_ms) " ms"
                                }
                            }
                            td {
                                (call.outcome) " (" (call.status) ", " (call.owner) ")"
                                @for tool in &call.hosted { "; hosted tool " (shown(tool)) }
                                @if let Some(place) = &call.exchange_place { " " code.line { (place) } }
                            }
                        }
                    }
                }
            }
        },
    )
}

fn told_tool(tool: &ToolStory) -> Markup {
    let outcome = tool.outcome.as_deref().unwrap_or("never came back");
    let exit = tool.exit_code.map_or(String::new(), |code| format!(", exit {code}"));
    let kind = tool.kind.as_ref().map_or(String::new(), |kind| format!("{kind}: "));
    html! {
        (kind) code { (shown(&tool.title)) } " " span.quiet { (outcome) (exit) }
        @if let Some(input) = &tool.input { details { summary { "given" } (told_text(input)) } }
        @if let Some(output) = &tool.output { details { summary { "gave back" } (told_text(output)) } }
    }
}

fn told_text(text: &TextStory) -> Markup {
    html! {
        pre { (shown(&text.text)) }
        @if let Some(place) = &text.place { p.left-out { "The whole lies at " code { (place) } "." } }
    }
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn programs(ran: &[RanProgram]) -> Markup {
    scrolling(
        "Programs",
        html! {
            table.programs {
                thead { tr { th scope="col" { "exit" } th scope="col" { "program with its arguments" } } }
                tbody {
                    @for program in ran {
                        tr {
                            td.figure { @match program.exit_code { Some(code) => (code), None => "not seen" } }
                            td { code { (shown(&program.command)) } }
                        }
                    }
                }
            }
        },
    )
}
