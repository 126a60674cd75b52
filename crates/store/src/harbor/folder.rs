//! A task's folder read whole, links followed as long as they stay inside: [`read_task_folder`].

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::ignored::{IGNORE_FILE, Ignored, without_script};
use crate::release_files::{Problems, SourceFile};

/// Folders that hold nothing of a task.
const SKIPPED: [&str; 1] = [".git"];

/// Every file of a task by its path within the task's folder. A link stands for what it leads to, because a copy of
/// the task elsewhere must mean the same.
pub(super) fn read_task_folder(
    folder: &Path,
    problems: &mut Problems,
) -> BTreeMap<String, SourceFile> {
    let mut walk = Walk { root: PathBuf::new(), files: BTreeMap::new(), problems };
    match fs::canonicalize(folder) {
        Ok(root) => {
            walk.root = root.clone();
            walk.folder(&root, "", &mut vec![root.clone()], &Ignored::default());
        }
        Err(error) => walk.problems.add_whole_file(
            folder.to_string_lossy(),
            error.to_string(),
            "name a folder that can be read",
        ),
    }
    walk.files
}

struct Walk<'p> {
    root: PathBuf,
    files: BTreeMap<String, SourceFile>,
    problems: &'p mut Problems,
}

impl Walk<'_> {
    /// Reads a folder; `above` are the real folders that lead to it, so that a circle is seen.
    fn folder(&mut self, real: &Path, name: &str, above: &mut Vec<PathBuf>, ignored: &Ignored) {
        let mut entries = Vec::new();
        match fs::read_dir(real).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(found) => entries.extend(found),
            Err(error) => self.unreadable(name, &error),
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        let rules = fs::read_to_string(real.join(IGNORE_FILE)).ok();
        let ignored = ignored.below(name, rules.as_deref(), self.problems);
        for entry in entries {
            let file_name = entry.file_name();
            let plain = file_name
                .to_str()
                .filter(|name| !name.contains('\\') && !name.chars().any(char::is_control));
            let Some(own) = plain else {
                let shown = format!("{name}{}", file_name.to_string_lossy());
                let remedy = "name files in printable Unicode without backslash";
                self.problems.add_whole_file(shown, "the file's name cannot be kept", remedy);
                continue;
            };
            if !SKIPPED.contains(&own) && own != IGNORE_FILE {
                self.entry(&entry.path(), &format!("{name}{own}"), above, &ignored);
            }
        }
    }

    fn entry(&mut self, path: &Path, name: &str, above: &mut Vec<PathBuf>, ignored: &Ignored) {
        let Some(real) = self.real(path, name) else { return };
        let kind = match fs::metadata(&real) {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(name, &error),
        };
        if ignored.leaves_out(name, kind.is_dir()) {
            if name.ends_with("tests/test.sh") {
                self.problems.add(without_script(name));
            }
            return;
        }
        if kind.is_dir() {
            if above.contains(&real) {
                let remedy = "let the link lead to a folder that does not hold it";
                self.problems.add_whole_file(name, "the link leads in a circle", remedy);
                return;
            }
            above.push(real.clone());
            self.folder(&real, &format!("{name}/"), above, ignored);
            above.pop();
        } else if kind.is_file() {
            match fs::read(&real) {
                Ok(bytes) => {
                    let is_executable = kind.permissions().mode() & 0o100 != 0;
                    let file = SourceFile { bytes: bytes.into(), is_executable };
                    self.files.insert(name.to_owned(), file);
                }
                Err(error) => self.unreadable(name, &error),
            }
        } else {
            let remedy = "remove it: a task holds files, folders and links between them";
            self.problems.add_whole_file(name, "neither file, folder nor link", remedy);
        }
    }

    /// What a path is in truth; none if it is a link that a copy of the task could not keep.
    fn real(&mut self, path: &Path, name: &str) -> Option<PathBuf> {
        const REMEDY: &str = "put the file itself there, or a relative link to a file of this task";
        match fs::read_link(path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Some(path.to_owned());
            }
            Err(error) => {
                self.unreadable(name, &error);
                return None;
            }
            Ok(target) if target.is_absolute() => {
                let message = format!("an absolute link to {}", target.display());
                self.problems.add_whole_file(name, message, REMEDY);
                return None;
            }
            Ok(_) => {}
        }
        match fs::canonicalize(path) {
            Ok(real) if real.starts_with(&self.root) => Some(real),
            Ok(_) => {
                self.problems.add_whole_file(name, "the link leads out of the task", REMEDY);
                None
            }
            Err(error) => {
                let message = format!("the link leads nowhere: {error}");
                self.problems.add_whole_file(name, message, REMEDY);
                None
            }
        }
    }

    fn unreadable(&mut self, name: &str, error: &io::Error) {
        self.problems.add_whole_file(name, error.to_string(), "make it readable");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn check(make: impl FnOnce(&Path), expect: &[&str]) {
        let outside = tempfile::tempdir().expect("a folder");
        let task = outside.path().join("task");
        fs::create_dir_all(task.join("tests/sub")).expect("folders");
        fs::write(outside.path().join("secret"), "s").expect("a file");
        fs::write(task.join("tests/test.sh"), "#!/bin/sh\n").expect("a file");
        make(&task);
        let mut problems = Problems::default();
        let files = read_task_folder(&task, &mut problems);
        let mut found: Vec<String> = files.keys().cloned().collect();
        found.extend(problems.iter().map(|one| format!("{}: {}", one.file, one.message)));
        assert_eq!(found, expect);
    }

    #[test]
    fn links_are_followed_as_long_as_they_stay_inside() {
        let link = |target: &'static str, at: &'static str| {
            move |task: &Path| symlink(target, task.join(at)).expect("a link")
        };
        check(|_| {}, &["tests/test.sh"]);
        check(link("test.sh", "tests/again.sh"), &["tests/again.sh", "tests/test.sh"]);
        check(link("../test.sh", "tests/sub/up.sh"), &["tests/sub/up.sh", "tests/test.sh"]);
        check(link("tests", "more"), &["more/test.sh", "tests/test.sh"]);
        let out = "the link leads out of the task";
        check(link("../../secret", "tests/s"), &["tests/test.sh", &format!("tests/s: {out}")]);
        check(
            link("../../task/../secret", "tests/s"),
            &["tests/test.sh", &format!("tests/s: {out}")],
        );
        check(
            link("/etc/hostname", "tests/h"),
            &["tests/test.sh", "tests/h: an absolute link to /etc/hostname"],
        );
        check(
            link("..", "tests/sub/round"),
            &["tests/test.sh", "tests/sub/round: the link leads in a circle"],
        );
        check(
            link("gone", "tests/g"),
            &[
                "tests/test.sh",
                "tests/g: the link leads nowhere: No such file or directory (os error 2)",
            ],
        );
    }

    #[test]
    fn what_is_ignored_is_left_out_but_no_script() {
        let rules = |text: &'static str| {
            move |task: &Path| {
                fs::write(task.join(".harborignore"), text).expect("a file");
                fs::write(task.join("tests/sub/x.pyc"), "").expect("a file");
                fs::create_dir(task.join("environment")).expect("a folder");
                fs::write(task.join("environment/y.pyc"), "").expect("a file");
            }
        };
        check(rules("*.pyc\n"), &["environment/y.pyc", "tests/test.sh"]);
        check(rules("sub/\n"), &["environment/y.pyc", "tests/test.sh"]);
        check(
            rules("*.sh\n"),
            &[
                "environment/y.pyc",
                "tests/sub/x.pyc",
                "tests/test.sh: a `.harborignore` leaves out the script",
            ],
        );
    }
}
