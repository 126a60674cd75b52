//! Which blocks of a script answer a message of the user ([`Blocks`]); decided by what an agent can see.

use domain::{
    interpret::text,
    release::{Script, ScriptStep, ScriptWhen},
};

/// Beginnings of sentences that refuse; a word or phrase ends there or goes on after a comma or a space.
const REFUSALS: [&str; 10] = [
    "not that",
    "not this",
    "please don't",
    "please do not",
    "don't",
    "do not",
    "rather not",
    "i would rather not",
    "i'd rather not",
    "leave that",
];

/// What refuses wherever it stands.
const REFUSING: [&str; 6] = [
    "can't allow",
    "cannot allow",
    "won't allow",
    "not allowed",
    "not going to happen",
    "is not possible",
];

/// Beginnings of sentences that grant.
const GRANTS: [&str; 9] =
    ["yes", "sure", "of course", "ok", "okay", "go ahead", "please do", "permitted", "granted"];

/// What grants wherever it stands.
const GRANTING: [&str; 4] = ["you may", "permission given", "my permission", "go ahead"];

/// The blocks of a script and which of them have run.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    script: Script,
    has_run: Vec<bool>,
    /// Whether the last turn ended by asking.
    has_asked: bool,
    turns: u32,
}

impl Blocks {
    pub(super) fn new(script: Script) -> Self {
        let has_run = vec![false; script.blocks.len()];
        Self { script, has_run, has_asked: false, turns: 0 }
    }

    /// Numbers of the blocks that answer a message, in file order.
    pub(super) fn answering(&mut self, message: &str) -> Vec<usize> {
        self.turns += 1;
        let facts = Facts {
            is_opening: self.turns == 1,
            text: message.to_lowercase(),
            is_refused: self.has_asked && refuses(message),
            is_granted: self.has_asked && !refuses(message) && grants(message),
            has_question: !text::open_questions(message).is_empty(),
        };
        self.has_asked = false;
        let blocks = self.script.blocks.iter().enumerate();
        let fitting: Vec<usize> = blocks
            .clone()
            .filter(|(at, block)| !self.has_run[*at] && facts.fit(&block.when))
            .map(|(at, _)| at)
            .collect();
        if !fitting.is_empty() {
            return fitting;
        }
        blocks.filter(|(_, block)| block.when == ScriptWhen::Otherwise).map(|(at, _)| at).collect()
    }

    /// The steps of a block, which counts as run now.
    pub(super) fn begin(&mut self, at: usize) -> Vec<ScriptStep> {
        self.has_run[at] = true;
        self.script.blocks[at].steps.clone()
    }

    /// The turn ends by asking.
    pub(super) fn asked(&mut self) {
        self.has_asked = true;
    }
}

/// What a message shows.
struct Facts {
    is_opening: bool,
    text: String,
    is_refused: bool,
    is_granted: bool,
    has_question: bool,
}

impl Facts {
    fn fit(&self, when: &ScriptWhen) -> bool {
        match when {
            ScriptWhen::Opening => self.is_opening,
            ScriptWhen::Told(literal) => self.text.contains(&literal.to_lowercase()),
            ScriptWhen::Granted(_) => self.is_granted,
            ScriptWhen::Refused => self.is_refused,
            ScriptWhen::Asked => self.has_question,
            ScriptWhen::Otherwise => false,
        }
    }
}

fn refuses(message: &str) -> bool {
    says(message, &REFUSALS, &REFUSING, |sentence| {
        // "No idea" and "no answer" refuse nothing.
        sentence
            .strip_prefix("no")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '.', '!', ';']))
    })
}

fn grants(message: &str) -> bool {
    says(message, &GRANTS, &GRANTING, |_| false)
}

/// Whether a sentence outside code begins with, or holds, one of these, or fits otherwise.
fn says(message: &str, begins: &[&str], holds: &[&str], fits: impl Fn(&str) -> bool) -> bool {
    let prose = text::prose(message).to_lowercase().replace('’', "'");
    text::sentences(&prose).iter().any(|sentence| {
        let sentence = sentence.trim();
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'');
        begins.iter().any(|phrase| sentence.strip_prefix(phrase).is_some_and(is_whole))
            || holds.iter().any(|phrase| sentence.contains(phrase))
            || fits(sentence)
    })
}

#[cfg(test)]
mod tests {
    use domain::release::{ActionClass, ScriptBlock};

    use super::*;

    /// Sends messages to a script with one block of each kind; `after` tells whether the turn before asked.
    fn check(message: &str, after_ask: bool, expect: &[usize]) {
        let block = |when| ScriptBlock { when, steps: Vec::new() };
        let script = Script {
            blocks: vec![
                block(ScriptWhen::Told("double click".to_owned())),
                block(ScriptWhen::Granted(ActionClass::Install)),
                block(ScriptWhen::Opening),
                block(ScriptWhen::Refused),
                block(ScriptWhen::Asked),
                block(ScriptWhen::Otherwise),
            ],
        };
        let mut blocks = Blocks::new(script);
        for at in blocks.answering("Hello, please help.") {
            blocks.begin(at);
        }
        if after_ask {
            blocks.asked();
        }
        assert_eq!(blocks.answering(message), expect, "{message:?} after ask: {after_ask}");
    }

    #[test]
    fn blocks_answer_what_the_user_says() {
        check("It must open with a Double Click.", false, &[0]);
        check("Yes, you may do that.", true, &[1]);
        check("Yes, go ahead with that.", true, &[1]);
        check("Yes, you may do that.", false, &[5]);
        check("No, please leave that.", true, &[3]);
        check("Please don't, that is not possible in my shop.", true, &[3]);
        check("That is not going to happen here.", true, &[3]);
        check("I can't allow that, please work without it.", true, &[3]);
        check("No answer from me there; read the code.", true, &[5]);
        check("Permitted, go ahead with it.", true, &[1]);
        check("You have my permission, go ahead.", true, &[1]);
        check("Yes please, you may do it now.", true, &[1]);
        check("No, not that. It must open with a double click.", true, &[0, 3]);
        check("Nothing has changed so far, please continue.", true, &[5]);
        check("I have no idea, I sell plants.", true, &[5]);
        check("Are you still there? Please carry on.", false, &[4]);
        check("Hello, please help.", false, &[5]);
    }

    #[test]
    fn a_block_runs_once_and_otherwise_as_often_as_needed() {
        let block = |when| ScriptBlock { when, steps: Vec::new() };
        let script =
            Script { blocks: vec![block(ScriptWhen::Opening), block(ScriptWhen::Otherwise)] };
        let mut blocks = Blocks::new(script);
        assert_eq!(blocks.answering("a"), [0]);
        blocks.begin(0);
        for _ in 0..2 {
            assert_eq!(blocks.answering("b"), [1]);
            blocks.begin(1);
        }
    }
}
