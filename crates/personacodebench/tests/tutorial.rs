//! Executes `docs/tutorial.md` as a reader would: files are written, commands run in order, what is shown is compared.
//!
//! Blocks: `sh` is run by a shell (`sh exit=1`: it ends so); `text` after it is what it prints; `LANGUAGE file=PATH` is
//! written; `diff file=PATH` replaces the lines with `-` by those with `+`. In what is printed `…` stands for any text,
//! and alone on a line for any lines; how many spaces or rules stand in a row does not count.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");

/// A fenced block of a page.
#[derive(Debug)]
struct Block<'t> {
    line: usize,
    language: &'t str,
    file: Option<&'t str>,
    exit: i32,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (index, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(info) => {
                is_open = true;
                let mut words = info.split_whitespace();
                let language = words.next().unwrap_or_default();
                let setting = |name: &str| {
                    let mut settings = info.split_whitespace().skip(1);
                    settings.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
                };
                let exit = setting("exit").map_or(0, |code| code.parse().expect("an exit code"));
                let file = setting("file");
                found.push(Block { line: index + 1, language, file, exit, text: String::new() });
            }
            None if is_open => {
                let block = found.last_mut().expect("an open block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!is_open, "a block is not closed");
    found
}

/// A folder with a shell that finds the binary.
struct Reader {
    folder: TempDir,
}

impl Reader {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join("work").join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Replaces lines of a file; what is replaced must stand there once.
    fn change(&self, file: &str, change: &str) {
        let side = |other: char| -> String {
            let lines = change.lines().filter(|line| !line.starts_with(other));
            lines.map(|line| [line.get(1..).unwrap_or_default(), "\n"].concat()).collect()
        };
        let (before, after) = (side('+'), side('-'));
        let text = fs::read_to_string(self.path(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(
            text.matches(&before).count(),
            1,
            "in {file} this stands not once:\n{before}\n{text}"
        );
        self.write(file, &text.replacen(&before, &after, 1));
    }

    /// Runs lines of a shell and answers what they print, with the exit code.
    fn run(&self, lines: &str) -> (String, i32) {
        let work = self.path("");
        fs::create_dir_all(&work).expect("a folder");
        let binary = Path::new(env!("CARGO_BIN_EXE_pcb"));
        let path = std::env::var("PATH").unwrap_or_default();
        let programs = binary.parent().expect("a folder").display();
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{lines}")])
            .current_dir(work)
            .env_clear()
            .env("PATH", format!("{programs}:{path}"))
            .env("HOME", self.folder.path())
            .env("PCB_STATE_DIR", self.folder.path().join("state"))
            .env("COLUMNS", "100")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        (printed, output.status.code().expect("an end of its own"))
    }
}

/// Whether printed text is as the page shows it.
fn agrees(shown: &str, printed: &str) -> bool {
    let lines = |text: &str| -> Vec<String> { text.trim_end().lines().map(narrow).collect() };
    lines_agree(&lines(shown), &lines(printed))
}

/// A line in which spaces and rules stand alone: the width of a table's columns is no matter of the page.
fn narrow(line: &str) -> String {
    let mut narrow = String::new();
    for letter in line.trim_end().chars() {
        if !([' ', '─'].contains(&letter) && narrow.ends_with(letter)) {
            narrow.push(letter);
        }
    }
    narrow
}

fn lines_agree(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any.trim() == "…" => {
            (0..=printed.len()).any(|skipped| lines_agree(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_agrees(line, first) && lines_agree(rest, others)),
    }
}

fn line_agrees(shown: &str, printed: &str) -> bool {
    let Some((begin, rest)) = shown.split_once('…') else { return shown == printed };
    let Some(mut left) = printed.strip_prefix(begin) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(end)
}

#[test]
fn the_tutorial_works_as_it_is_written() {
    let reader = Reader::new();
    let mut printed: Option<String> = None;
    let (mut run, mut compared) = (0, 0);
    for block in blocks(TUTORIAL) {
        let place = format!("docs/tutorial.md:{}", block.line);
        let previous = printed.take();
        match (block.language, block.file) {
            ("sh", None) => {
                let (text, code) = reader.run(&block.text);
                assert_eq!(code, block.exit, "{place}:\n{}\n{text}", block.text);
                printed = Some(text);
                run += 1;
            }
            ("text", None) => {
                let text = previous.unwrap_or_else(|| panic!("{place} follows no command"));
                assert!(
                    agrees(&block.text, &text),
                    "{place} shows\n{}\nand it prints\n{text}",
                    block.text
                );
                compared += 1;
            }
            ("diff", Some(file)) => reader.change(file, &block.text),
            (_, Some(file)) => reader.write(file, &block.text),
            (language, None) => {
                panic!("{place}: nobody knows what to do with a block `{language}`")
            }
        }
    }
    assert!(run >= 12 && compared >= 8, "{run} blocks run, {compared} compared");
}

#[test]
fn what_differs_is_noticed() {
    let check = |shown: &str, printed: &str, expect: bool| {
        assert_eq!(agrees(shown, printed), expect, "{shown:?} {printed:?}");
    };
    check("a\nb\n", "a  \nb", true);
    check(" a   b\n──\n", " a b  \n─────\n", true);
    check("ab\n", "a b\n", false);
    check("a\nb\n", "a\nc\n", false);
    check("a\n", "a\nb\n", false);
    check("runs/x-…/oracle\n", "runs/x-2026/oracle\n", true);
    check("runs/x-…/oracle\n", "runs/x-2026/eager\n", false);
    check("a…c…e\n", "abcde\n", true);
    check("a…d…c\n", "abcde\n", false);
    check("a\n…\nz\n", "a\nb\nc\nz\n", true);
    check("a\n…\nz\n", "a\nb\nc\n", false);
}
