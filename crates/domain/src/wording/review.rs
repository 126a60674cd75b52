//! The pure review of a wording against plan and guard ([`review`]): an empty list means that it is sent.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Rejection,
    assent::{Tone, assents_beyond},
    frame::{breaks_frame, counts_what_remains, flips_role},
    guard::{GuardInput, says_something, wordings},
    language::speaks,
    literal::literals,
    template::{fence_length, template},
};
use crate::{
    controller::{SpeechAct, TurnPlan, WordingGuard},
    interpret::text::{
        Fit, Token, Words, code_spans, find, find_term_in, holds, phrase_places, polarity, prose,
        quotations, sentences, tokens, words,
    },
};

/// Why the text is not sent as the plan's message, each reason once.
///
/// What the author wrote for this very plan is no fault, hidden terms aside: so the template of a release that
/// lints clean passes. Reasons name the text's own words, never what is hidden.
pub fn review(text: &str, plan: &TurnPlan, guard: &WordingGuard) -> Vec<Rejection> {
    if text.trim().is_empty() {
        return [Rejection::Empty].into();
    }
    let mut found = Vec::new();
    let spoken = match take_statement(text, plan) {
        Some(spoken) => spoken,
        None => {
            found.push(Rejection::StatementChanged);
            text.to_string()
        }
    };
    let pattern = template(plan);
    let pattern = take_statement(&pattern, plan).unwrap_or(pattern);
    let says = Says { text: &spoken, pattern: &pattern, plan, own: tokens(&pattern) };
    says.length(&mut found);
    says.language(&mut found);
    says.questions(&mut found);
    says.code(&mut found);
    says.left_out(&mut found);
    says.too_much(guard, &mut found);
    says.tone(guard, &mut found);
    let mut seen = BTreeSet::new();
    found.retain(|rejection| seen.insert(rejection.clone()));
    found
}

/// The same for a text that is the template of its plan to the letter. What the author wrote for this very plan is no
/// fault, so only the terms that requirements hide are looked for, and what is public only where one is found.
pub fn review_template(text: &str, input: &GuardInput<'_>) -> Vec<Rejection> {
    let Some(spoken) = take_statement(text, input.plan) else {
        return [Rejection::StatementChanged].into();
    };
    let here = tokens(&spoken);
    let mut found = Vec::new();
    for term in input.hidden.iter().flat_map(|requirement| &requirement.hide) {
        let Some(at) = find_term_in(&here, term) else { continue };
        let mut known = input.public.iter().chain(input.agent);
        let said = Rejection::SaysTooMuch(spoken[at].to_string());
        if !known.any(|text| find_term_in(&tokens(text), term).is_some()) && !found.contains(&said)
        {
            found.push(said);
        }
    }
    found
}

/// A wording beside the author's own of the same plan, both without the statement.
struct Says<'a> {
    text: &'a str,
    pattern: &'a str,
    plan: &'a TurnPlan,
    own: Words,
}

impl Says<'_> {
    fn length(&self, found: &mut Vec<Rejection>) {
        let count = |text: &str| u32::try_from(words(text).count()).unwrap_or(u32::MAX);
        let words_max = self.plan.words_max.max(count(self.pattern));
        let words = count(self.text);
        if words == 0 {
            found.push(Rejection::Empty);
        }
        if words > words_max {
            found.push(Rejection::TooLong { words, words_max });
        }
    }

    fn language(&self, found: &mut Vec<Rejection>) {
        let language = &self.plan.language;
        if !speaks(self.text, language) && speaks(self.pattern, language) {
            found.push(Rejection::Language);
        }
    }

    fn questions(&self, found: &mut Vec<Rejection>) {
        let count = |text: &str| sentences(text).iter().filter(|s| s.ends_with('?')).count();
        let allowed = (self.plan.questions_max as usize).max(count(self.pattern));
        if count(self.text) > allowed {
            found.push(Rejection::Questions);
        }
    }

    fn code(&self, found: &mut Vec<Rejection>) {
        let quoted = code_spans(self.text).into_iter().map(|span| self.text[span].trim());
        let foreign = quoted.filter(|code| !self.own_holds(code)).count() > 0;
        let is_code = |line: &str| looks_like_code(line) && !self.pattern.contains(line);
        if foreign || self.text.lines().map(str::trim).any(is_code) || self.holds_command() {
            found.push(Rejection::Code);
        }
    }

    fn holds_command(&self) -> bool {
        let words = tokens(self.text);
        COMMANDS.iter().any(|command| {
            phrase_places(&words, command).next().is_some()
                && phrase_places(&self.own, command).next().is_none()
        })
    }

    fn own_holds(&self, words: &str) -> bool {
        find(&self.own, &tokens(words), Fit::Exact).next().is_some()
    }

    fn left_out(&self, found: &mut Vec<Rejection>) {
        for act in &self.plan.acts {
            match act {
                SpeechAct::Tell { say, must_say, .. }
                | SpeechAct::Acknowledge { say, must_say, .. } => {
                    let missing = must_say.iter().filter(|entry| !self.says_any(entry, say));
                    found.extend(
                        missing
                            .filter_map(|entry| entry.first().cloned())
                            .map(Rejection::LeavesOut),
                    );
                }
                SpeechAct::Answer { say, .. } | SpeechAct::Correct { say, .. }
                    if !self.conveys(say) =>
                {
                    found.push(Rejection::LeavesOut(say.clone()));
                }
                SpeechAct::Refuse { say, .. } if !self.refuses() && !self.conveys_all(say) => {
                    found.push(Rejection::LeavesOut(say.clone()));
                }
                SpeechAct::Grant { say, .. }
                    if assents_beyond(self.text, &Words::default(), Tone::Plain).is_none()
                        && !self.conveys_all(say) =>
                {
                    found.push(Rejection::LeavesOut(say.clone()));
                }
                _ => {}
            }
        }
    }

    /// Whether one alternative stands in the text as it stands in the author's wording, negated or not.
    fn says_any(&self, alternatives: &[String], say: &str) -> bool {
        alternatives.is_empty()
            || alternatives.iter().any(|literal| {
                if !literal.chars().any(char::is_alphanumeric) {
                    return holds(self.text, literal);
                }
                let wanted = alternatives.iter().flat_map(|other| polarity(say, other));
                let wanted: Vec<_> = wanted.collect();
                polarity(self.text, literal).iter().any(|pole| wanted.contains(pole))
            })
    }

    /// Whether the text holds the numbers of the wording and a quarter of its telling words.
    fn conveys(&self, say: &str) -> bool {
        let here = tokens(self.text);
        let telling = tokens(say);
        let telling: Vec<&Token> = telling.iter().filter(|word| says_something(word)).collect();
        let kept = telling
            .iter()
            .filter(|word| {
                find(&here, core::slice::from_ref(word), Fit::Inflected).next().is_some()
            })
            .count();
        let numbers = |text: &str| -> BTreeSet<String> {
            let is_number = |literal: &String| literal.starts_with(|c: char| c.is_ascii_digit());
            literals(text).into_iter().filter(is_number).collect()
        };
        let wanted = telling.len().div_ceil(4);
        kept >= wanted && numbers(say).is_subset(&numbers(self.text))
    }

    fn conveys_all(&self, say: &str) -> bool {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        squeeze(self.text).contains(&squeeze(say))
    }

    fn refuses(&self) -> bool {
        let refusals =
            ["no", "not", "never", "nothing", "refuse", "forbid", "forbidden", "rather", "leave"];
        tokens(self.text).iter().any(|word| refusals.contains(&word.text.as_str()))
    }

    fn too_much(&self, guard: &WordingGuard, found: &mut Vec<Rejection>) {
        let here = tokens(self.text);
        let hidden = guard.hidden_terms.iter().filter_map(|term| find_term_in(&here, term));
        found.extend(hidden.map(|at| Rejection::SaysTooMuch(self.text[at].to_string())));
        let own: BTreeSet<String> = wordings(self.plan).into_iter().flat_map(literals).collect();
        let is_allowed =
            |literal: &String| own.contains(literal) || guard.allowed_literals.contains(literal);
        let invented = literals(self.text).into_iter().filter(|literal| !is_allowed(literal));
        found.extend(invented.map(Rejection::SaysTooMuch));
        for span in quotations(self.text) {
            let quoted = self.text[span].trim();
            let known = guard.allowed_literals.contains(&quoted.to_lowercase());
            if words(quoted).count() > 3 && !known && !self.own_holds(quoted) {
                found.push(Rejection::SaysTooMuch(quoted.to_string()));
            }
        }
        if let Some(words) = counts_what_remains(self.text, &self.own) {
            found.push(Rejection::SaysTooMuch(words.to_string()));
        }
    }

    fn tone(&self, guard: &WordingGuard, found: &mut Vec<Rejection>) {
        let goes_on = self.plan.acts.iter().any(|act| {
            matches!(
                act,
                SpeechAct::Nudge { .. } | SpeechAct::CheckAgain { .. } | SpeechAct::Continue { .. }
            )
        });
        let tone = if goes_on { Tone::GoesOn } else { Tone::Plain };
        if !guard.has_grant
            && let Some(words) = assents_beyond(self.text, &self.own, tone)
        {
            found.push(Rejection::Assents(words.to_string()));
        }
        if let Some(words) = flips_role(&prose(self.text), &self.own) {
            found.push(Rejection::RoleFlip(words.to_string()));
        }
        if let Some(words) = breaks_frame(self.text, &self.own) {
            found.push(Rejection::BreaksFrame(words.to_string()));
        }
    }
}

/// Commands that no person says in a sentence.
const COMMANDS: &[&str] = &[
    "pip install",
    "pip3 install",
    "npm install",
    "npm run",
    "npm ci",
    "git commit",
    "git push",
    "git add",
    "git checkout",
    "git reset",
    "git rebase",
    "cargo build",
    "cargo test",
    "cargo run",
    "apt get",
    "apt install",
    "brew install",
    "sudo",
    "rm rf",
    "chmod",
    "docker run",
    "python m",
    "python3 m",
    "curl s",
    "make install",
];

fn looks_like_code(line: &str) -> bool {
    let starts = [
        "```",
        "~~~",
        "$ ",
        "> ",
        "+++ ",
        "--- ",
        "@@ ",
        "diff --git",
        "#!/",
        "import ",
        "from __",
        "def ",
        "class ",
        "function ",
        "func ",
        "fn ",
        "const ",
        "let ",
        "var ",
        "return ",
        "#include",
        "public ",
        "private ",
        "SELECT ",
        "<html",
        "<div",
        "<script",
        "</",
        "<?",
    ];
    let is_prose_start = line.starts_with("let ") && !line.contains('=')
        || ["class ", "import ", "public ", "private ", "return ", "function "]
            .iter()
            .any(|word| line.starts_with(word) && line.ends_with(['.', '!', '?']));
    let closes = [";", "{", "}", "};", ");", "=>", "</div>"];
    starts.iter().any(|start| line.starts_with(start)) && !is_prose_start
        || closes.iter().any(|end| line.ends_with(end))
        || line.contains("</") && line.contains('>')
        || line.contains(" == ")
        || line.contains(" != ")
        || line.contains("();")
        || line.contains(" = ") && line.contains('(')
}

/// The text without its fenced statement; none if the plan opens and the statement is not there verbatim.
fn take_statement(text: &str, plan: &TurnPlan) -> Option<String> {
    let statement = plan.acts.iter().find_map(|act| match act {
        SpeechAct::Open { statement, .. } => Some(statement),
        _ => None,
    });
    let Some(statement) = statement else { return Some(text.to_string()) };
    let body = statement.strip_suffix('\n').unwrap_or(statement);
    let needed = fence_length(statement);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_end_matches('\n');
        let inside = at + line.len();
        at = inside;
        if fence.len() < needed || !fence.bytes().all(|b| b == b'`') {
            continue;
        }
        let rest = text[inside..]
            .strip_prefix(body)
            .and_then(|rest| rest.strip_prefix('\n'))
            .and_then(|rest| rest.strip_prefix(fence));
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('\n')) {
            let mut spoken = text[..inside - line.len()].to_string();
            spoken.push('\n');
            spoken.push_str(rest);
            return Some(spoken);
        }
    }
    None
}
