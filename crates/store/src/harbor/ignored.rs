//! What a task's `.harborignore` files leave out of its tests and solutions: [`Ignored`].

use std::path::Path;

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::release_files::{Problem, Problems};

/// The name of such a file.
pub(super) const IGNORE_FILE: &str = ".harborignore";

/// The rules that hold in a folder of a task: its own, then those of the folders above it.
#[derive(Clone, Default)]
pub(super) struct Ignored {
    rules: Vec<Gitignore>,
}

impl Ignored {
    /// The rules of a folder below the one whose rules these are; `folder` is relative to the task.
    #[must_use]
    pub(super) fn below(&self, folder: &str, text: Option<&str>, problems: &mut Problems) -> Self {
        let Some(text) = text else { return self.clone() };
        let mut builder = GitignoreBuilder::new(Path::new("/").join(folder));
        let file = format!("{folder}{IGNORE_FILE}");
        for (at, line) in text.lines().enumerate() {
            if let Err(error) = builder.add_line(None, line) {
                let message = format!("line {} is no rule: {error}", at + 1);
                let remedy = "write it as git reads a .gitignore";
                problems.add_whole_file(file.clone(), message, remedy);
            }
        }
        let mut rules = self.rules.clone();
        match builder.build() {
            Ok(built) => rules.insert(0, built),
            Err(error) => problems.add_whole_file(
                file,
                format!("the rules cannot be read together: {error}"),
                "write them as git reads a .gitignore",
            ),
        }
        Self { rules }
    }

    /// Whether a path of the task is left out; only tests and solutions are filtered.
    pub(super) fn leaves_out(&self, path: &str, is_folder: bool) -> bool {
        if !is_filtered(path) {
            return false;
        }
        let absolute = Path::new("/").join(path);
        let said = self.rules.iter().find_map(|rules| match rules.matched(&absolute, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        });
        said.unwrap_or(false)
    }
}

/// Says that a test's script is left out.
pub(super) fn without_script(path: &str) -> Problem {
    Problem {
        file: path.to_owned(),
        spot: None,
        message: format!("a `{IGNORE_FILE}` leaves out the script"),
        remedy: "let it keep the script: nothing decides without it".to_owned(),
    }
}

fn is_filtered(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["tests" | "solution", _, ..] | ["steps", _, "tests" | "solution", _, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_for_tests_and_solutions_downwards() {
        let mut problems = Problems::default();
        let root = Ignored::default().below("", Some("*.pyc\n/tests/data/\n# no\n"), &mut problems);
        let below = root.below("tests/", Some("!keep.pyc\n"), &mut problems);
        assert!(problems.is_empty(), "{problems}");
        let check = |rules: &Ignored, path: &str, is_folder: bool, expect: bool| {
            assert_eq!(rules.leaves_out(path, is_folder), expect, "{path}");
        };
        check(&root, "tests/a.pyc", false, true);
        check(&root, "solution/a.pyc", false, true);
        check(&root, "steps/one/tests/a.pyc", false, true);
        check(&root, "environment/a.pyc", false, false);
        check(&root, "steps/one/workdir/a.pyc", false, false);
        check(&root, "tests/data", true, true);
        check(&root, "solution/data", true, false);
        check(&root, "tests/a.py", false, false);
        check(&below, "tests/keep.pyc", false, false);
        check(&below, "tests/other.pyc", false, true);
    }
}
