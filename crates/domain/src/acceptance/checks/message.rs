//! Messages of the agent (E5): one occurrence for each that satisfies every key of a demand.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{NoPattern, Reach, pattern, short};
use crate::{
    acceptance::Occurrence,
    evidence::{EventTime, Recorded},
    ids::Turn,
    interpret::{Context, interpret, text},
    release::{Codes, MessageCheck, PermissionAnswer, PermissionTable, WhichMessage},
};

/// What the agent said at the end of a turn.
pub(super) struct Said {
    turn: Turn,
    at_ms: i64,
    pub text: String,
}

/// The turns' messages; pieces of one message are put together.
pub(super) fn of_turns(evidence: &Recorded) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    for piece in evidence.agent_messages.iter().filter(|piece| piece.is_turn_message) {
        match said.iter_mut().find(|known| known.turn == piece.turn) {
            Some(known) => {
                known.text.push('\n');
                known.text.push_str(&piece.text);
                known.at_ms = known.at_ms.max(piece.at_ms);
            }
            None => {
                said.push(Said { turn: piece.turn, at_ms: piece.at_ms, text: piece.text.clone() })
            }
        }
    }
    said
}

pub(super) fn occurrences(
    demand: &MessageCheck,
    evidence: &Recorded,
) -> Result<Vec<Occurrence>, NoPattern> {
    let matches = pattern(demand.matches.as_deref())?;
    let lacks = pattern(demand.lacks.as_deref())?;
    let found = of_turns(evidence).into_iter().filter(|said| {
        let is_meant = match demand.which {
            WhichMessage::Any => true,
            WhichMessage::Handoff => evidence.handoffs.contains(&said.turn),
        };
        is_meant
            && !said.text.trim().is_empty()
            && matches.as_ref().is_none_or(|wanted| wanted.is_match(&said.text))
            && lacks
                .as_ref()
                .is_none_or(|refused| !refused.is_match(&text::without_code(&said.text)))
            && satisfies(demand, &said.text)
            && (!demand.cites_changed_files || cites_changed_files(&said.text, evidence))
    });
    Ok(found
        .map(|said| Occurrence {
            turn: said.turn,
            time: EventTime::exact(said.at_ms),
            subject: short(said.text.trim()),
        })
        .collect())
}

fn satisfies(demand: &MessageCheck, message: &str) -> bool {
    // Only what is demanded is counted: a long session is read again at each look.
    let within = |count: &dyn Fn() -> usize, least: Option<u32>, most: Option<u32>| {
        if least.is_none() && most.is_none() {
            return true;
        }
        let count = count() as u64;
        least.is_none_or(|least| count >= u64::from(least))
            && most.is_none_or(|most| count <= u64::from(most))
    };
    demand.mentions.iter().all(|aliases| text::mentions(message, aliases))
        && within(&|| text::words(message).count(), demand.words_min, demand.words_max)
        && within(&|| text::open_questions(message).len(), None, demand.questions_max)
        && within(&|| text::list_lines(message) as usize, demand.list_min, None)
        && (demand.code == Codes::Any || !text::holds_code(message))
        && demand.claims.is_none_or(|claim| {
            let no_words =
                PermissionTable { default: PermissionAnswer::Allowed, entries: Vec::new() };
            let context = Context { topics: &[], permissions: &no_words };
            interpret(message, &context).claims.contains(&claim)
        })
}

/// Whether the message names every file that differs from the base, and no other.
///
/// A file is named by its path from the working directory, its absolute path, or by its name alone where no
/// other changed file has it.
fn cites_changed_files(message: &str, evidence: &Recorded) -> bool {
    let Some(diffs) = evidence.diffs.get(&Turn::BASE) else { return false };
    let reach = Reach::new(&evidence.workdir, &[], &[]);
    let root = evidence.workdir.trim_end_matches('/');
    let changed: Vec<&str> = diffs
        .iter()
        .map(|diff| diff.path.as_str())
        .filter(|path| reach.counts(path) && !is_generated(path))
        .collect();
    let names = |path: &str, cited: &str| {
        let cited = cited.trim_start_matches("./");
        let relative = path.strip_prefix(root).map_or(path, |rest| rest.trim_start_matches('/'));
        let base = file_name(path);
        let is_alone = changed.iter().filter(|other| file_name(other) == base).count() == 1;
        cited == path || cited == relative || (is_alone && cited == base)
    };
    let cited = cited_files(message, &changed);
    // Where nothing changed there is nothing to name, and any message would do.
    !changed.is_empty()
        && changed.iter().all(|path| cited.iter().any(|cited| names(path, cited)))
        && cited.iter().all(|cited| changed.iter().any(|path| names(path, cited)))
}

/// Words of the message that are a file's name: with an ending of letters, or known as one that changed.
fn cited_files(message: &str, changed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let breaks = |c: char| c.is_whitespace() || "`'\"“”‘’()[]<>,;|*".contains(c);
    for word in message.split(breaks) {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let word = word.split_once(':').map_or(word, |(path, line)| {
            if line.starts_with(|c: char| c.is_ascii_digit()) { path } else { word }
        });
        if word.contains("://") || word.is_empty() {
            continue;
        }
        let is_known = changed.iter().any(|path| file_name(path) == file_name(word));
        if is_known || looks_like_file(word) {
            found.push(word.to_string());
        }
    }
    found
}

fn looks_like_file(word: &str) -> bool {
    const NO_FILES: [&str; 8] =
        ["e.g", "i.e", "node.js", "next.js", "vue.js", "react.js", "three.js", "express.js"];
    let Some((stem, ending)) = file_name(word).rsplit_once('.') else { return false };
    let is_ending = (1..=5).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(|c| c.is_ascii_alphanumeric());
    let is_stem = stem.chars().any(char::is_alphanumeric)
        && stem.chars().all(|c| c.is_alphanumeric() || "_-.+@".contains(c));
    // `module.Name` and `os.path` are code; a file's ending is short and in lower case.
    let is_code = ending.chars().any(char::is_uppercase) || word.contains("::");
    is_ending && is_stem && !is_code && !NO_FILES.contains(&word.to_lowercase().as_str())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What running a program leaves behind is no work to be reported.
fn is_generated(path: &str) -> bool {
    path.ends_with(".pyc")
        || path.split('/').any(|part| {
            ["__pycache__", ".pytest_cache", "node_modules", ".mypy_cache"].contains(&part)
        })
}
