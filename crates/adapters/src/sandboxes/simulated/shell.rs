//! The tiny language of simulated programs ([`parse`]): one command a line, or several joined by `&&`.
//!
//! | Command | What it does |
//! |---|---|
//! | `write PATH WORDS…`, `append PATH WORDS…` | writes or appends a line |
//! | `rm PATH…`, `mkdir PATH…`, `cp FROM TO`, `chmod OCTAL PATH` | as their namesakes |
//! | `has PATH [WORD]` | 0 if the file exists (and holds the word), else 1 |
//! | `install NAME` | a package manager's run that leaves `/usr/lib/packages/NAME` |
//! | `commit WORDS…` | a commit that appends to `.git/log` |
//! | `test` | a test run: 0 unless a file `broken` lies in the working directory |
//! | `reach ADDRESS PORT` | a connection: 0 if the sandbox's edge accepts it, else 1 |
//! | `sleep SECONDS`, `exit N`, `echo WORDS…`, `true`, `false` | as their namesakes |
//! | `set …`, `#…` | nothing |
//!
//! Words may stand in single or double quotes. A line that fails stops its own `&&` chain, not the program;
//! after `set -e` it ends the program too. The exit code is the last command's.

use std::{net::IpAddr, time::Duration};

/// One command with what it leaves in the process log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Chained commands.
    pub(super) commands: Vec<Vec<String>>,
}

/// What a command asks of the sandbox.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    Write { path: String, text: String, appends: bool },
    Remove(Vec<String>),
    MakeDirectories(Vec<String>),
    Copy { from: String, to: String },
    Mode { path: String, mode: u32 },
    Has { path: String, word: Option<String> },
    Install(String),
    Commit(String),
    Test,
    Sleep(Duration),
    Reach(IpAddr, u16),
    Exit(i32),
    Echo(String),
    Succeed,
    Fail,
    StopOnFailure,
    Unknown,
}

/// Lines of a program.
pub(super) fn parse(program: &str) -> Vec<Line> {
    let lines = program.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with('#')).map(|line| Line { commands: split(line) }).collect()
}

/// What the words of a command mean.
pub(super) fn deed(words: &[String]) -> Deed {
    let Some((name, rest)) = words.split_first() else { return Deed::Succeed };
    let rest_text = || rest.get(1..).unwrap_or_default().join(" ");
    match (name.as_str(), rest) {
        ("write", [path, ..]) => {
            Deed::Write { path: path.clone(), text: rest_text() + "\n", appends: false }
        }
        ("append", [path, ..]) => {
            Deed::Write { path: path.clone(), text: rest_text() + "\n", appends: true }
        }
        ("rm", paths) => Deed::Remove(operands(paths)),
        ("mkdir", paths) => Deed::MakeDirectories(operands(paths)),
        ("cp", [from, to]) => Deed::Copy { from: from.clone(), to: to.clone() },
        ("chmod", [mode, path]) => match u32::from_str_radix(mode, 8) {
            Ok(mode) => Deed::Mode { path: path.clone(), mode },
            Err(_) => Deed::Unknown,
        },
        ("has", [path]) => Deed::Has { path: path.clone(), word: None },
        ("has", [path, word]) => Deed::Has { path: path.clone(), word: Some(word.clone()) },
        ("install", [package]) => Deed::Install(package.clone()),
        ("commit", words) => Deed::Commit(words.join(" ")),
        ("test", []) => Deed::Test,
        ("sleep", [seconds]) => match seconds.parse() {
            Ok(seconds) => Deed::Sleep(Duration::from_secs(seconds)),
            Err(_) => Deed::Unknown,
        },
        ("reach", [host, port]) => match (host.parse(), port.parse()) {
            (Ok(host), Ok(port)) => Deed::Reach(host, port),
            _ => Deed::Unknown,
        },
        ("exit", [code]) => code.parse().map_or(Deed::Unknown, Deed::Exit),
        ("echo", words) => Deed::Echo(words.join(" ") + "\n"),
        ("set", [options]) if options.starts_with('-') && options.contains('e') => {
            Deed::StopOnFailure
        }
        ("true" | "set", _) => Deed::Succeed,
        ("false", []) => Deed::Fail,
        _ => Deed::Unknown,
    }
}

/// The argument vector that the process log shows for a command.
pub(super) fn argv(words: &[String]) -> Vec<String> {
    let shown: Vec<&str> = match deed(words) {
        Deed::Install(_) => vec!["pip", "install"],
        Deed::Commit(_) => vec!["git", "commit", "-m"],
        Deed::Test => vec!["pytest"],
        _ => return words.to_vec(),
    };
    let rest = words.get(1..).unwrap_or_default().join(" ");
    let argument = (!rest.is_empty()).then_some(rest);
    shown.into_iter().map(str::to_owned).chain(argument).collect()
}

fn operands(words: &[String]) -> Vec<String> {
    words.iter().filter(|word| !word.starts_with('-')).cloned().collect()
}

/// Splits a line into chained commands of words.
fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => close(&mut commands, word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    close(&mut commands, word);
    commands.retain(|command| !command.is_empty());
    commands
}

fn close(commands: &mut Vec<Vec<String>>, word: Option<String>) {
    match word {
        Some(word) if word == "&&" => commands.push(Vec::new()),
        Some(word) => {
            if let Some(command) = commands.last_mut() {
                command.push(word);
            }
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_chained() {
        let check = |line: &str, expect: &[&[&str]]| {
            let got = parse(line).into_iter().flat_map(|line| line.commands).collect::<Vec<_>>();
            assert_eq!(got, expect, "{line:?}");
        };
        check("write a.txt one 'two three'", &[&["write", "a.txt", "one", "two three"]]);
        check("has a && write b ''", &[&["has", "a"], &["write", "b", ""]]);
        check("# nothing\n\n  true  ", &[&["true"]]);
        check("write a '&& x'", &[&["write", "a", "&& x"]]);
    }

    #[test]
    fn the_process_log_shows_real_tools() {
        let check = |line: &str, expect: &str| {
            let words = &parse(line)[0].commands[0];
            assert_eq!(argv(words).join(" "), expect);
        };
        check("install left-pad", "pip install left-pad");
        check("commit first step", "git commit -m first step");
        check("test", "pytest");
        check("sleep 1", "sleep 1");
        check("fly away", "fly away");
    }
}
