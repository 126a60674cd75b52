//! The only place that spells file names: those of a run directory ([`RunLayout`], [`AttemptLayout`]) and of a release.

/// The lock of a release, in its folder.
pub const LOCK_FILE: &str = "release.lock";

/// Paths within a release, with forward slashes.
pub(crate) mod release_files {
    pub(crate) const RELEASE: &str = "release.toml";
    pub(crate) const PERSONAS: &str = "personas/";
    pub(crate) const TASKS: &str = "tasks/";
    pub(crate) const PAIRS: &str = "pairs/";

    pub(crate) fn persona(id: &str) -> String {
        format!("{PERSONAS}{id}.toml")
    }

    pub(crate) fn task_toml(task: &str) -> String {
        format!("{TASKS}{task}/task.toml")
    }

    pub(crate) fn instruction(task: &str) -> String {
        format!("{TASKS}{task}/instruction.md")
    }

    /// A folder of a task, with the slash.
    pub(crate) fn task_folder(task: &str, folder: &str) -> String {
        format!("{TASKS}{task}/{folder}/")
    }

    pub(crate) fn pair_toml(pair: &str) -> String {
        pair_file(pair, "pair.toml")
    }

    pub(crate) fn pair_file(pair: &str, name: &str) -> String {
        format!("{PAIRS}{pair}/{name}")
    }

    /// What could stand beside a path that nothing reads; none if the path is read or free.
    pub(crate) fn known_beside(path: &str) -> Option<&'static [&'static str]> {
        const ROOT: &[&str] = &["release.toml", "personas/", "tasks/", "pairs/", "README.md"];
        const PERSONA: &[&str] = &["ID.toml"];
        const FOLDER: &[&str] = &["a folder for each"];
        const TASK: &[&str] =
            &["task.toml", "instruction.md", "environment/", "tests/", "solution/", "README.md"];
        const PAIR: &[&str] =
            &["pair.toml", "oracle.toml", "saboteurs/", "checks/", "judge/", "README.md"];
        const SABOTEUR: &[&str] = &["REQUIREMENT.toml"];
        let is_note = |name: &str| {
            ["README", "LICENSE", "LICENCE", "NOTICE", ".gitignore"]
                .iter()
                .any(|note| name.starts_with(note))
        };
        let parts: Vec<&str> = path.split('/').collect();
        let (is_known, known) = match parts[..] {
            [name] => (name == RELEASE || is_note(name), ROOT),
            ["personas", name] => (name.ends_with(".toml") || is_note(name), PERSONA),
            ["personas", ..] => (false, PERSONA),
            ["tasks" | "pairs", name] => (is_note(name), FOLDER),
            ["tasks", _, name] => {
                (["task.toml", "instruction.md"].contains(&name) || is_note(name), TASK)
            }
            ["tasks", _, folder, ..] => {
                (["environment", "tests", "solution"].contains(&folder), TASK)
            }
            ["pairs", _, name] => {
                (["pair.toml", "oracle.toml"].contains(&name) || is_note(name), PAIR)
            }
            ["pairs", _, "saboteurs", name] => (name.ends_with(".toml"), SABOTEUR),
            ["pairs", _, "saboteurs", ..] => (false, SABOTEUR),
            ["pairs", _, folder, ..] => (["checks", "judge"].contains(&folder), PAIR),
            _ => (false, ROOT),
        };
        (!is_known).then_some(known)
    }
}
