//! A group as tables and a session as a story, for a terminal.

use std::fmt::Write as _;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, TableComponent, presets,
};

use crate::context::{
    GroupContext, Lane, LookStory, ModelStory, StoryContext, Table, ToldWork, TurnStory, WorkStory,
    tables,
};

/// Characters of a command or witness that are shown.
const LINE_MAX: usize = 160;

/// The tables of a group, at most `width` columns wide if the terminal has a width.
pub fn group_terminal(group: &GroupContext, width: Option<u16>) -> String {
    let mut text = String::new();
    for line in header_lines(group) {
        let _ = writeln!(text, "{}", plain(&line));
    }
    text.push_str(&tables_terminal(&tables(group), width));
    text
}

/// Tables one after the other, at most `width` columns wide if the terminal has a width.
pub fn tables_terminal(tables: &[Table], width: Option<u16>) -> String {
    let mut text = String::new();
    for table in tables {
        write_table(&mut text, table, width);
    }
    text
}

/// The lines above the tables.
pub(super) fn header_lines(group: &GroupContext) -> Vec<String> {
    let header = &group.header;
    let lock = if header.locked { "locked" } else { "UNLOCKED" };
    let short = header.digest.get(..12).unwrap_or(&header.digest);
    let mut lines = vec![format!(
        "{} ({lock} {short}) · protocol {} · arm {} · sandbox {} · user {} · budget {}x · {} × {}",
        header.release,
        header.protocol,
        header.arm,
        header.sandbox,
        header.user,
        header.budget_multiplier,
        counted(header.pairs, "pair"),
        counted(header.repeats as usize, "repeat"),
    )];
    for shortfall in &header.shortfalls {
        lines.push(format!("this host does not enforce: {shortfall}"));
    }
    lines
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Characters of a name in front of a row that are kept together.
const NAME_MAX: usize = 20;

pub(super) fn write_table(text: &mut String, table: &Table, width: Option<u16>) {
    let _ = writeln!(text, "\n{}", plain(&table.title));
    let mut shown = comfy_table::Table::new();
    shown.load_preset(presets::NOTHING);
    shown.set_style(TableComponent::HeaderLines, '─');
    shown.set_style(TableComponent::MiddleHeaderIntersections, '─');
    if let Some(width) = width {
        shown.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    shown.set_header(table.head.iter().enumerate().map(cell));
    for row in &table.rows {
        shown.add_row(row.iter().enumerate().map(cell));
    }
    // Figures are found by the name in front of them, so a short one is never broken.
    let longest = table.rows.iter().filter_map(|row| row.first()).map(|name| name.chars().count());
    if longest.max().is_some_and(|longest| longest <= NAME_MAX)
        && let Some(names) = shown.column_mut(0)
    {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    let _ = writeln!(text, "{shown}");
    for note in &table.notes {
        let _ = writeln!(text, "{}", plain(note));
    }
}

fn cell((column, text): (usize, &String)) -> Cell {
    let alignment = if column == 0 { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new(plain(text)).set_alignment(alignment)
}

/// One session as a story that a person can follow.
pub fn story_terminal(story: &StoryContext) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", plain(&story.title));
    for line in &story.preface {
        let _ = writeln!(text, "  {}", plain(line));
    }
    for turn in &story.turns {
        write_turn(&mut text, turn);
    }
    if let Some(seal) = &story.seal {
        let _ = writeln!(text, "\n── seal ──");
        write_look(&mut text, seal);
    }
    let _ = writeln!(text, "\nEnd: {}", plain(&story.ending));
    if let Some(words) = &story.closing_words {
        let _ = writeln!(text, "  closing words, not sent: {}", plain(words));
    }
    for line in &story.closing {
        let _ = writeln!(text, "  {}", plain(line));
    }
    if !story.lanes.is_empty() {
        let _ = writeln!(text, "\nRequirements");
        for lane in &story.lanes {
            write_lane(&mut text, lane);
        }
    }
    text
}

fn write_turn(text: &mut String, turn: &TurnStory) {
    let _ = writeln!(text, "\n── turn {} ──", turn.turn);
    for act in &turn.acts {
        let _ = writeln!(text, "  · {}", plain(&act.words));
    }
    for grant in &turn.granted {
        let _ = writeln!(text, "  granted {}", plain(grant));
    }
    let _ = writeln!(text, "  user:");
    indented(text, &turn.user);
    if !turn.narration.is_empty() {
        let _ = writeln!(text, "  agent, before its last tool call:");
        indented(text, &turn.narration);
    }
    write_work(text, &turn.work);
    for told in turn.model.iter().flat_map(ModelStory::lines) {
        let _ = writeln!(text, "  model: {}", line(&told));
    }
    for program in &turn.ran {
        let exit = program.exit_code.map_or("?".to_owned(), |code| code.to_string());
        let _ = writeln!(text, "  ran [{exit}] {}", line(&program.command));
    }
    if turn.ran_more > 0 {
        let _ = writeln!(text, "  … and {} more programs", turn.ran_more);
    }
    for host in &turn.reached {
        let bytes = host.bytes.map_or_else(String::new, |(sent, received)| {
            format!(", {sent} bytes sent, {received} received")
        });
        let (place, rule) = (line(&host.place), line(&host.rule));
        let _ = writeln!(text, "  {} {place} ({rule}){bytes}", host.outcome);
    }
    if turn.reached_more > 0 {
        let _ = writeln!(text, "  … and {} more attempts to reach a host", turn.reached_more);
    }
    for change in &turn.changed {
        let _ = writeln!(text, "  {} {}", change.what, plain(&change.path));
    }
    if turn.changed_more > 0 {
        let _ = writeln!(text, "  … and {} more changes", turn.changed_more);
    }
    if turn.changed_git > 0 {
        let _ = writeln!(text, "  … and {} of git's own files", turn.changed_git);
    }
    if !turn.agent.is_empty() {
        let _ = writeln!(text, "  agent:");
        indented(text, &turn.agent);
    }
    for event in &turn.events {
        let _ = writeln!(text, "  {}", plain(&event.words));
    }
    if !turn.asked_for.is_empty() {
        let _ = writeln!(text, "  asked for permission: {}", turn.asked_for.join(", "));
    }
    if let Some(ended) = &turn.ended {
        let _ = writeln!(text, "  {ended}");
    }
    if let Some(look) = &turn.look {
        write_look(text, look);
    }
}

/// The agent's own account, a line for each piece; what is long is cut, the page has it all.
fn write_work(text: &mut String, work: &WorkStory) {
    for told in &work.told {
        let _ = match told {
            ToldWork::Thought(thought) => writeln!(text, "  thought: {}", line(&thought.text)),
            // A bare title says no more than the programs below, which were seen.
            ToldWork::Tool(tool) if tool.outcome.is_none() && tool.input.is_none() => Ok(()),
            ToldWork::Tool(tool) => {
                let outcome = tool.outcome.as_ref().map_or(String::new(), |outcome| {
                    let exit = tool.exit_code.map_or(String::new(), |code| format!(" [{code}]"));
                    format!(" — {outcome}{exit}")
                });
                writeln!(text, "  tool: {}{outcome}", line(&tool.title))
            }
        };
    }
    if work.told_more > 0 {
        let _ = writeln!(text, "  … and {} more tool calls and thoughts", work.told_more);
    }
    for entry in &work.plan {
        let _ = writeln!(text, "  plan [{}] {}", entry.state, line(&entry.text));
    }
    for claim in &work.claims {
        let _ = writeln!(text, "  says it used {}", plain(claim));
    }
}

fn write_look(text: &mut String, look: &LookStory) {
    for reading in &look.readings {
        let _ = write!(text, "  check {}: {}", plain(&reading.check), reading.answer);
        if !reading.witness.is_empty() {
            let _ = write!(text, " — {}", line(&reading.witness));
        }
        text.push('\n');
    }
}

fn write_lane(text: &mut String, lane: &Lane) {
    let must = if lane.mandatory { "" } else { " (optional)" };
    let _ = writeln!(text, "  {}{must} [{}] — {}", plain(&lane.id), lane.area, lane.outcome);
    let _ = writeln!(text, "    {}", plain(&lane.text));
    let _ = writeln!(text, "    {}", plain(&lane.path));
}

/// One line of at the most [`LINE_MAX`] characters.
fn line(text: &str) -> String {
    let line = plain(&text.replace(['\n', '\t'], " "));
    match line.char_indices().nth(LINE_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

fn indented(text: &mut String, words: &str) {
    for line in words.lines() {
        let _ = writeln!(text, "    {}", plain(line));
    }
}

/// Agents and authors write these words: control characters must not reach the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\t' => ' ',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            _ if character.is_control() => '\u{fffd}',
            _ => character,
        })
        .collect()
}
