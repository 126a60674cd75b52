//! What a started program really is ([`Invocation`]): interpreters, multi-call programs and version suffixes
//! are looked through, so that `python3.11 -Im pip install` is `pip install`.

use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};

use crate::evidence::ProcessEvent;

/// A started program as the ready-made kinds see it.
pub(super) struct Invocation<'a> {
    /// Its plain names: by `argv[0]` and by the file that was started, which need not agree.
    pub names: Vec<String>,
    /// What follows the program, or follows the script or module of an interpreter.
    pub args: &'a [String],
    /// The script file if one was named by its path.
    pub script: Option<&'a str>,
    /// Code given on the command line of an interpreter that is no shell; a shell starts what it names.
    pub code: Option<&'a str>,
}

impl<'a> Invocation<'a> {
    /// By everything that it is called: for what offends, where a false name must hide nothing.
    pub(super) fn of(process: &'a ProcessEvent) -> Option<Self> {
        let by_name = plain_name(process.argv.first()?);
        let by_file = plain_name(&process.program);
        let mut names = vec![by_name];
        if !by_file.is_empty() && by_file != names[0] {
            names.push(by_file);
        }
        Self::read(&process.argv, names)
    }

    /// For what satisfies: a program of the system is what its file says, whatever it calls itself
    /// (`exec -a python3 true`).
    pub(super) fn by_file(process: &'a ProcessEvent) -> Option<Self> {
        let by_file = plain_name(&process.program);
        if !is_of_system(&process.program) || is_passing_on(&by_file) {
            return Self::of(process);
        }
        Self::read(&process.argv, vec![by_file])
    }

    /// By the argument vector alone.
    pub(super) fn of_words(argv: &'a [String]) -> Option<Self> {
        Self::read(argv, vec![plain_name(argv.first()?)])
    }

    fn read(argv: &'a [String], mut names: Vec<String>) -> Option<Self> {
        let (first, mut args) = argv.split_first()?;
        let mut script = is_script_path(first).then_some(first.as_str());
        // A multi-call program or the loader starts what its first argument names.
        while names.iter().any(|name| is_passing_on(name)) {
            let (next, rest) = args.split_first()?;
            names = vec![plain_name(next)];
            script = is_script_path(next).then_some(next.as_str());
            args = rest;
        }
        let interpreter = names.iter().find_map(|name| Interpreter::named(name));
        let Some(interpreter) = interpreter else {
            return Some(Self { names, args, script, code: None });
        };
        let inner = interpreter.read(args);
        if let Some(module) = inner.module {
            let root = module.split('.').next().unwrap_or(module);
            let names = vec![module.to_string(), plain_name(root)];
            return Some(Self { names, args: inner.rest, script: None, code: None });
        }
        if let Some(path) = inner.script {
            names.push(script_name(path));
            let is_runner = interpreter.keeps_flags && args.iter().any(|arg| arg == "--test");
            let args = if is_runner { args } else { inner.rest };
            return Some(Self { names, args, script: Some(path), code: None });
        }
        let code = inner.code.filter(|_| !interpreter.is_shell);
        Some(Self { names, args, script, code })
    }
}

/// A program's name without folder, version and ending: `/usr/bin/pip3.11` is `pip`.
fn plain_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let bare = bare.strip_suffix('-').filter(|_| bare.len() < name.len()).unwrap_or(bare);
    let bare = bare.strip_suffix("-cli").unwrap_or(bare);
    if bare.is_empty() { name.to_string() } else { bare.to_string() }
}

/// A package that is started by its folder or its `__main__` is named by the folder.
fn script_name(path: &str) -> String {
    let path = path.trim_end_matches('/');
    let path = ["/__main__.py", "/__main__.pyc"]
        .iter()
        .find_map(|main| path.strip_suffix(main))
        .unwrap_or(path);
    plain_name(path)
}

const ENDINGS: [&str; 14] = [
    ".py", ".pyc", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".php", ".phar",
    ".exe", ".cmd",
];

fn is_script_path(text: &str) -> bool {
    let has_ending = ENDINGS.iter().any(|ending| text.ends_with(ending));
    // What lies in a folder of programs is a program; any other path is somebody's script.
    let folder = text.rsplit_once('/').map(|(folder, _)| folder);
    let is_installed = folder.is_some_and(|folder| folder.ends_with("bin"));
    has_ending || (folder.is_some() && !is_installed)
}

/// Whether the file lies where the system has its programs.
fn is_of_system(program: &str) -> bool {
    const FOLDERS: [&str; 6] =
        ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    program.rsplit_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder))
}

fn is_passing_on(name: &str) -> bool {
    ["busybox", "toybox", "coreutils"].contains(&name)
        || name.starts_with("ld-linux")
        || name.starts_with("ld-musl")
}

struct Interpreter {
    names: &'static [&'static str],
    /// Options whose value is the next argument.
    valued: &'static [&'static str],
    /// Letters after which code follows.
    code: &'static [char],
    /// Long options after which code follows.
    long_code: &'static [&'static str],
    /// Whether `-m` names a module.
    has_modules: bool,
    is_shell: bool,
    /// Whether options before the script matter to the kinds (`node --test`).
    keeps_flags: bool,
}

const INTERPRETERS: [Interpreter; 6] = [
    Interpreter {
        names: &["python", "pypy", "pythonw", "ipython"],
        valued: &["-W", "-X", "--check-hash-based-pycs"],
        code: &['c'],
        long_code: &[],
        has_modules: true,
        is_shell: false,
        keeps_flags: false,
    },
    Interpreter {
        names: &["node", "nodejs", "tsx", "ts-node"],
        valued: &["-r", "--require", "--import", "--loader", "-C", "--conditions"],
        code: &['e', 'p'],
        long_code: &["--eval", "--print"],
        has_modules: false,
        is_shell: false,
        keeps_flags: true,
    },
    Interpreter {
        names: &["ruby"],
        valued: &["-I", "-r", "-C"],
        code: &['e'],
        long_code: &[],
        has_modules: false,
        is_shell: false,
        keeps_flags: false,
    },
    Interpreter {
        names: &["perl"],
        valued: &["-I"],
        code: &['e', 'E'],
        long_code: &[],
        has_modules: false,
        is_shell: false,
        keeps_flags: false,
    },
    Interpreter {
        names: &["php", "rscript", "julia", "lua"],
        valued: &["-d", "-c", "-S", "-t"],
        code: &['r', 'e', 'E'],
        long_code: &["--eval"],
        has_modules: false,
        is_shell: false,
        keeps_flags: false,
    },
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"],
        valued: &["-o", "-O", "+o", "+O", "--rcfile", "--init-file"],
        code: &['c'],
        long_code: &[],
        has_modules: false,
        is_shell: true,
        keeps_flags: false,
    },
];

#[derive(Default)]
struct Inner<'a> {
    module: Option<&'a str>,
    script: Option<&'a str>,
    code: Option<&'a str>,
    rest: &'a [String],
}

impl Interpreter {
    fn named(name: &str) -> Option<&'static Interpreter> {
        INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))
    }

    /// Reads an interpreter's own arguments up to what it runs.
    fn read<'a>(&self, args: &'a [String]) -> Inner<'a> {
        let mut at = 0;
        while at < args.len() {
            let arg = args[at].as_str();
            let next = || args.get(at + 1).map(String::as_str);
            let rest = |skip: usize| args.get(at + skip..).unwrap_or(&[]);
            if self.valued.contains(&arg) {
                at += 2;
            } else if self.long_code.contains(&arg) {
                return Inner { code: next(), rest: rest(2), ..Inner::default() };
            } else if arg == "--" || !arg.starts_with(['-', '+']) || arg == "-" {
                let skip = usize::from(arg == "--");
                let script = args.get(at + skip).map(String::as_str).filter(|path| *path != "-");
                return Inner { script, rest: rest(skip + 1), ..Inner::default() };
            } else if let Some(letters) = arg.strip_prefix('-').filter(|l| !l.starts_with('-')) {
                if let Some(inner) = self.read_cluster(letters, &args[at + 1..]) {
                    return inner;
                }
                at += 1;
            } else {
                at += 1;
            }
        }
        Inner::default()
    }

    /// `-c`, `-Ic`, `-um module`, `-mpip`: after the deciding letter comes the value, joined or next.
    fn read_cluster<'a>(&self, letters: &'a str, following: &'a [String]) -> Option<Inner<'a>> {
        for (place, letter) in letters.char_indices() {
            let is_module = self.has_modules && letter == 'm';
            if !is_module && !self.code.contains(&letter) {
                continue;
            }
            let joined = &letters[place + letter.len_utf8()..];
            // A shell's further letters are options of their own (`-ce`).
            let (value, rest) = if joined.is_empty() || self.is_shell {
                (following.first().map(String::as_str), following.get(1..).unwrap_or(&[]))
            } else {
                (Some(joined), following)
            };
            return Some(if is_module {
                Inner { module: value, rest, ..Inner::default() }
            } else {
                Inner { code: value, rest, ..Inner::default() }
            });
        }
        None
    }
}
