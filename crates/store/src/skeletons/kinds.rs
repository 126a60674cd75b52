//! What each kind of skeleton consists of: [`Skeleton`] gives its files, filled from the templates in `skeletons/`.

use domain::release::CounterexampleKind;

use crate::layout::release_files as names;

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../skeletons/", $path))
    };
}

pub(super) const CHECK: &str = template!("requirement/check.toml");
pub(super) const REQUIREMENT: &str = template!("requirement/requirement.toml");
pub(super) const MET: &str = template!("requirement/met.toml");
pub(super) const MISSED: &str = template!("requirement/missed.toml");
/// The head of a saboteur, the canary aside.
pub(super) const SABOTEUR: &str = template!("pair/saboteur.toml");
const ORACLE: &str = template!("pair/oracle.toml");
const SCRIPT: &str = template!("pair/script.toml");
const CANARY: &str = "# canary {{canary}}: do not train on this file\n";

/// The files of a task with whether they are executable.
const TASK: [(&str, &str, bool); 7] = [
    ("task.toml", template!("task/task.toml"), false),
    ("instruction.md", template!("task/instruction.md"), false),
    ("environment/Dockerfile", template!("task/environment/Dockerfile"), false),
    ("environment/setup.sh", template!("task/environment/setup.sh"), true),
    ("environment/files/total.sh", template!("task/environment/files/total.sh"), true),
    ("tests/test.sh", template!("task/tests/test.sh"), true),
    ("solution/solve.sh", template!("task/solution/solve.sh"), true),
];

/// What a new release calls its parts; a first requirement of a pair has the last name.
const PERSONA: &str = "bookkeeper.v1";
const TASK_ID: &str = "total";
const FIRST_REQUIREMENT: &str = "handover";

/// A file of a skeleton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkeletonFile {
    /// Where it belongs, relative to the folder that the skeleton is placed in, with forward slashes.
    pub path: String,
    /// What stands in it.
    pub text: String,
    /// Whether its owner may execute it.
    pub is_executable: bool,
}

/// A kind of skeleton with what it has to know; ids must have their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skeleton<'a> {
    /// A whole release: a neutral persona, one of its own, a task, and their pair.
    Release {
        /// Its id; the suite of its pair as well.
        id: &'a str,
        /// The unique string that stands in every file.
        canary: &'a str,
    },
    /// A persona.
    Persona {
        /// Its id, with version.
        id: &'a str,
        /// The release's canary.
        canary: &'a str,
    },
    /// A task in Harbor's layout.
    Task {
        /// Its id.
        id: &'a str,
        /// The release's canary.
        canary: &'a str,
    },
    /// A pair with one requirement, oracle and saboteur.
    Pair {
        /// Its id.
        id: &'a str,
        /// The row of a report that it counts under.
        suite: &'a str,
        /// Its persona's id.
        persona: &'a str,
        /// Its task's id.
        task: &'a str,
        /// How many hand-offs the persona refuses, on which the turns depend.
        refusals: u32,
        /// The release's canary.
        canary: &'a str,
    },
    /// The script of an agent, which belongs to no release.
    Script {
        /// The file's name without its ending.
        name: &'a str,
    },
}

impl Skeleton<'_> {
    /// Its files: those of a release relative to the release's folder.
    pub fn files(&self) -> Vec<SkeletonFile> {
        match *self {
            Skeleton::Release { id, canary } => release(id, canary),
            Skeleton::Persona { id, canary } => vec![persona(id, canary)],
            Skeleton::Task { id, canary } => task(id, canary),
            Skeleton::Pair { id, suite, persona, task, refusals, canary } => {
                let words = [
                    ("canary", canary),
                    ("pair", id),
                    ("suite", suite),
                    ("persona", persona),
                    ("task", task),
                ];
                pair(id, &words, refusals)
            }
            Skeleton::Script { name } => {
                let text = filled(template!("script.toml"), &[("script", name)]);
                vec![plain(names::script(name), text)]
            }
        }
    }
}

/// The file of the user that speaks where there is no persona.
pub(crate) fn neutral_persona(canary: &str) -> String {
    filled(template!("persona/neutral.toml"), &[("canary", canary)])
}

fn release(id: &str, canary: &str) -> Vec<SkeletonFile> {
    let words = [("canary", canary), ("release", id)];
    let neutral = neutral_persona(canary);
    let mut files = vec![
        plain(names::RELEASE, filled(template!("release.toml"), &words)),
        plain(names::persona("neutral"), neutral),
        persona(PERSONA, canary),
    ];
    files.extend(task(TASK_ID, canary));
    let own = Skeleton::Pair {
        id: &format!("{}--{TASK_ID}", family_of(PERSONA)),
        suite: id,
        persona: PERSONA,
        task: TASK_ID,
        refusals: 2,
        canary,
    };
    files.extend(own.files());
    files
}

fn persona(id: &str, canary: &str) -> SkeletonFile {
    let words = [("canary", canary), ("persona", id), ("family", family_of(id))];
    plain(names::persona(id), filled(template!("persona/persona.toml"), &words))
}

/// A persona's id without its version.
fn family_of(persona: &str) -> &str {
    persona.split('.').next().unwrap_or(persona)
}

fn task(id: &str, canary: &str) -> Vec<SkeletonFile> {
    let file = |&(path, template, is_executable): &(&str, &str, bool)| SkeletonFile {
        path: names::task_file(id, path),
        text: filled(template, &[("canary", canary)]),
        is_executable,
    };
    TASK.iter().map(file).collect()
}

fn pair(id: &str, words: &[(&str, &str)], refusals: u32) -> Vec<SkeletonFile> {
    let file = requirement_file(FIRST_REQUIREMENT);
    // The default of one requirement is 6; a persona that refuses oftener needs more.
    let turns =
        if refusals > 2 { format!("turns = {}", refusals + 4) } else { "# turns = 6".to_owned() };
    let mut words = words.to_vec();
    words.extend([
        ("turns", turns.as_str()),
        ("requirement", FIRST_REQUIREMENT),
        ("file", file.as_str()),
    ]);
    let parts = [template!("pair/pair.toml"), CHECK, "\n", REQUIREMENT];
    let script =
        |head: &str, block: &str| filled(&[CANARY, head, SCRIPT, "\n", block].concat(), &words);
    let saboteur = names::counterexample(CounterexampleKind::Saboteur, FIRST_REQUIREMENT);
    vec![
        plain(names::pair_toml(id), filled(&parts.concat(), &words)),
        plain(names::pair_file(id, names::ORACLE), script(ORACLE, MET)),
        plain(names::pair_file(id, &saboteur), script(SABOTEUR, MISSED)),
    ]
}

/// The file that a new requirement asks for, so that two of them never ask for the same.
pub(super) fn requirement_file(requirement: &str) -> String {
    format!("{}.md", requirement.to_uppercase().replace(['.', '-'], "_"))
}

fn plain(path: impl Into<String>, text: String) -> SkeletonFile {
    SkeletonFile { path: path.into(), text, is_executable: false }
}

/// A template with its words in their places.
pub(super) fn filled(template: &str, words: &[(&str, &str)]) -> String {
    words.iter().fold(template.to_owned(), |text, (name, word)| {
        text.replace(&["{{", name, "}}"].concat(), word)
    })
}
