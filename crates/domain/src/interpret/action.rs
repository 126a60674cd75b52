//! Which class of action a request inside a turn is about ([`class_of_request`]): from the kind of tool and the
//! command that it would run, by the same table that reads started programs.

use alloc::{string::String, vec::Vec};

use crate::{
    acceptance::command_is_of_kind,
    release::{ActionClass, ExecKind},
    session::ToolKind,
};

/// Classes by what a command does; the first that fits is the request's.
const CLASSES: [(ExecKind, ActionClass); 7] = [
    (ExecKind::Installs, ActionClass::Install),
    (ExecKind::Pushes, ActionClass::GitPush),
    (ExecKind::Commits, ActionClass::GitCommit),
    (ExecKind::Migrates, ActionClass::Schema),
    (ExecKind::Deletes, ActionClass::Delete),
    (ExecKind::Serves, ActionClass::Service),
    (ExecKind::Downloads, ActionClass::Network),
];

/// The class of the action that an agent asks to be allowed; none if nobody can tell.
///
/// A command decides over the kind of tool, because agents run nearly everything by a shell.
pub fn class_of_request(kind: Option<ToolKind>, command: Option<&str>) -> Option<ActionClass> {
    let by_command = command.and_then(class_of_command);
    by_command.or_else(|| class_of_kind(kind?))
}

fn class_of_kind(kind: ToolKind) -> Option<ActionClass> {
    match kind {
        ToolKind::Edit | ToolKind::Move => Some(ActionClass::Write),
        ToolKind::Delete => Some(ActionClass::Delete),
        ToolKind::Fetch => Some(ActionClass::Network),
        ToolKind::Read
        | ToolKind::Search
        | ToolKind::Execute
        | ToolKind::Think
        | ToolKind::Other => None,
    }
}

/// The class of a shell command: that of the gravest of its parts.
fn class_of_command(command: &str) -> Option<ActionClass> {
    let parts = parts(command);
    if parts.iter().any(|argv| is_privileged(argv)) {
        return Some(ActionClass::Privileged);
    }
    CLASSES
        .into_iter()
        .find(|(kind, _)| parts.iter().any(|argv| command_is_of_kind(argv, *kind)))
        .map(|(_, class)| class)
}

fn is_privileged(argv: &[String]) -> bool {
    let name = argv.first().map_or("", |first| first.rsplit('/').next().unwrap_or(first));
    matches!(name, "sudo" | "su" | "doas" | "pkexec")
}

/// The simple commands of a shell line, their words without quotes. What a shell would expand is left as it is
/// written; what stands in a substitution is a command of its own.
fn parts(command: &str) -> Vec<Vec<String>> {
    let mut parts = Vec::new();
    let (mut argv, mut word) = (Vec::new(), None::<String>);
    let mut quote = None;
    let mut chars = command.chars().peekable();
    let end_word = |word: &mut Option<String>, argv: &mut Vec<String>| argv.extend(word.take());
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (c, Some('\'')) => word.get_or_insert_default().push(c),
            ('`', _) | ('(' | ')' | ';' | '|' | '&' | '\n' | '{' | '}', None) => {
                end_word(&mut word, &mut argv);
                parts.push(core::mem::take(&mut argv));
            }
            ('$', _) if chars.peek() == Some(&'(') => {
                // The rest of the quoted text is read as commands: too much is found rather than too little.
                chars.next();
                quote = None;
                end_word(&mut word, &mut argv);
                parts.push(core::mem::take(&mut argv));
            }
            (c, None) if c.is_whitespace() => end_word(&mut word, &mut argv),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut word, &mut argv);
    parts.push(argv);
    for argv in &mut parts {
        let leads = argv.iter().take_while(|word| is_lead(word)).count();
        argv.drain(..leads);
    }
    let shells: Vec<Vec<String>> = parts.iter().filter_map(|argv| shell_code(argv)).collect();
    let inner = shells.into_iter().flatten().flat_map(|code| self::parts(&code));
    let inner: Vec<Vec<String>> = inner.collect();
    parts.extend(inner);
    parts.retain(|argv| !argv.is_empty());
    parts
}

/// Words that stand before a command and are none: assignments and reserved words.
fn is_lead(word: &str) -> bool {
    const RESERVED: [&str; 12] = [
        "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "command", "env",
    ];
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    is_assignment || RESERVED.contains(&word)
}

/// The code that a shell is given on its command line.
fn shell_code(argv: &[String]) -> Option<Vec<String>> {
    let (first, rest) = argv.split_first()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    if !matches!(name, "sh" | "bash" | "dash" | "zsh" | "ash" | "ksh" | "eval") {
        return None;
    }
    if name == "eval" {
        return Some(rest.to_vec());
    }
    let at = rest.iter().position(|arg| {
        arg.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains('c'))
    })?;
    rest.get(at + 1).map(|code| alloc::vec![code.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_class_of_what_they_would_do() {
        let check = |kind, command: &str, expect: Option<ActionClass>| {
            let command = Some(command).filter(|command| !command.is_empty());
            assert_eq!(class_of_request(kind, command), expect, "{kind:?} {command:?}");
        };
        let run = Some(ToolKind::Execute);
        check(run, "pip install requests", Some(ActionClass::Install));
        check(
            run,
            "cd app && FOO=1 python3 -m pip install -q requests",
            Some(ActionClass::Install),
        );
        check(run, "bash -lc 'npm install left-pad'", Some(ActionClass::Install));
        check(run, "sh -c \"cd x; git push origin main\"", Some(ActionClass::GitPush));
        check(run, "git add -A && git commit -m 'a && b'", Some(ActionClass::GitCommit));
        check(run, "echo 'pip install requests'", None);
        check(run, "echo \"$(rm -rf build)\"", Some(ActionClass::Delete));
        check(run, "rm -rf build", Some(ActionClass::Delete));
        check(run, "curl -sO https://example.org/x.tar.gz", Some(ActionClass::Network));
        check(run, "sudo ls", Some(ActionClass::Privileged));
        check(run, "if true; then sudo make install; fi", Some(ActionClass::Privileged));
        check(run, "python3 -m http.server", Some(ActionClass::Service));
        check(run, "ls -la", None);
        check(run, "", None);
        check(run, "'unclosed", None);
        check(Some(ToolKind::Edit), "", Some(ActionClass::Write));
        check(Some(ToolKind::Delete), "", Some(ActionClass::Delete));
        check(Some(ToolKind::Fetch), "", Some(ActionClass::Network));
        check(Some(ToolKind::Read), "", None);
        check(None, "", None);
        check(None, "rm x", Some(ActionClass::Delete));
    }
}
