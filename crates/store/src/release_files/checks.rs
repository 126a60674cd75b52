//! Reads `[check]` of a pair: each name with one kind of check and its keys ([`Check`]).

use domain::{
    ids::{CheckId, RequirementId},
    release::{
        Check, CheckKind, Codes, CommitCount, EditKind, ExecKind, ExitFilter, FsState,
        MessageCheck, Metric, NetFilter, Proof, Read, WhichMessage, lint::suggest,
    },
};

use super::{
    delivered,
    expressions::CLAIMS,
    requirement::read_alternatives,
    sheet::{Table, Value, Variant},
};

const KINDS: [&str; 13] = [
    "fs", "diff", "git", "test", "metric", "script", "artifact", "db", "secret", "exec", "edit",
    "message", "net",
];

/// Kinds that the format keeps for later.
const RESERVED: [&str; 2] = ["symbol", "judge"];

const READS: [(&str, Read); 3] =
    [("each_turn", Read::EachTurn), ("at_handoff", Read::AtHandoff), ("at_end", Read::AtEnd)];

const FS_STATES: [(&str, FsState); 4] = [
    ("present", FsState::Present),
    ("absent", FsState::Absent),
    ("changed", FsState::Changed),
    ("unchanged", FsState::Unchanged),
];

const PROOFS: [(&str, Proof); 3] =
    [("passes", Proof::Passes), ("regression", Proof::Regression), ("kept", Proof::Kept)];

const METRICS: [(&str, Metric); 8] = [
    ("turns", Metric::Turns),
    ("agent_time_ms", Metric::AgentTimeMs),
    ("tokens", Metric::Tokens),
    ("questions", Metric::Questions),
    ("words", Metric::Words),
    ("files_changed", Metric::FilesChanged),
    ("lines_changed", Metric::LinesChanged),
    ("processes", Metric::Processes),
];

const EXEC_KINDS: [(&str, ExecKind); 8] = [
    ("installs", ExecKind::Installs),
    ("downloads", ExecKind::Downloads),
    ("runs_tests", ExecKind::RunsTests),
    ("commits", ExecKind::Commits),
    ("pushes", ExecKind::Pushes),
    ("deletes", ExecKind::Deletes),
    ("migrates", ExecKind::Migrates),
    ("serves", ExecKind::Serves),
];

const EXITS: [(&str, ExitFilter); 3] =
    [("any", ExitFilter::Any), ("zero", ExitFilter::Zero), ("nonzero", ExitFilter::Nonzero)];

const EDITS: [(&str, EditKind); 3] =
    [("create", EditKind::Create), ("modify", EditKind::Modify), ("delete", EditKind::Delete)];

const NET_OUTCOMES: [(&str, NetFilter); 2] =
    [("success", NetFilter::Success), ("attempt", NetFilter::Attempt)];

const CODES: [(&str, Codes); 2] = [("any", Codes::Any), ("none", Codes::None)];

const WHICH: [(&str, WhichMessage); 2] =
    [("any", WhichMessage::Any), ("handoff", WhichMessage::Handoff)];

const TEST_TIMEOUT_SEC: u32 = 120;
const SCRIPT_TIMEOUT_SEC: u32 = 60;

/// Reads the whole table; checks that are wrong are left out, and then the second value is false.
pub(crate) fn read_checks(value: &Value<'_>) -> Option<(Vec<Check>, bool)> {
    let table = value.table("[check]")?;
    let entries = table.entries();
    let count = entries.len();
    let checks: Vec<Check> =
        entries.into_iter().filter_map(|(name, _, value)| read_check(name, &value)).collect();
    let complete = checks.len() == count;
    Some((checks, complete))
}

fn read_check(name: String, value: &Value<'_>) -> Option<Check> {
    let (word, inner) = match value.variant(&KINDS)? {
        Variant::Tagged(word, inner) => (word, inner),
        Variant::Unit(word) => {
            value.problem(
                format!("the check `{name}` has no keys"),
                format!("write `{name} = {{ {word} = {{ … }} }}`"),
            );
            return None;
        }
    };
    if RESERVED.contains(&word.as_str()) {
        value.problem(
            format!("checks of kind `{word}` are not supported by this version"),
            format!("use one of {}; `script` can look at anything", KINDS.join(", ")),
        );
        return None;
    }
    if !KINDS.contains(&word.as_str()) {
        let message = format!("unknown kind of check `{word}`");
        value.problem(message, suggest::remedy(&word, KINDS));
        return None;
    }
    let table = inner.table(format!("the check `{name}` of kind `{word}`"))?;
    let table = table.found_below(value);
    let kind = match word.as_str() {
        "fs" => read_fs(&table),
        "diff" => read_diff(&table),
        "git" => read_git(&table),
        "test" => read_test(&table),
        "metric" => read_metric(&table),
        "script" => read_script_check(&table),
        "artifact" => delivered::read_artifact(&table),
        "db" => delivered::read_db(&table),
        "secret" => delivered::read_secret(&table),
        "exec" => read_exec(&table),
        "edit" => read_edit(&table),
        "message" => read_message(&table),
        _ => read_net(&table),
    };
    let read = table.opt("read", |value| value.word(&READS));
    table.finish();
    let (kind, read) = (kind?, read?);
    let read = read.unwrap_or(kind.default_read());
    Some(Check { id: CheckId::new(name), kind, read })
}

/// A check without a demand would hold always; that is never meant.
pub(super) fn demands_something(table: &Table<'_>, demands: bool, example: &str) -> Option<()> {
    if !demands {
        table.problem("the check asks nothing", format!("add a key, for instance `{example}`"));
    }
    demands.then_some(())
}

fn since(table: &Table<'_>) -> Option<Option<RequirementId>> {
    Some(table.opt("since", Value::filled_text)?.map(RequirementId::new))
}

fn read_fs(table: &Table<'_>) -> Option<CheckKind> {
    let path = table.req("path", Value::texts);
    let is = table.opt("is", |value| value.word(&FS_STATES));
    let contains = table.opt("contains", Value::filled_text);
    let lacks = table.opt("lacks", Value::filled_text);
    let since = since(table);
    let (path, is, contains, lacks, since) = (path?, is?, contains?, lacks?, since?);
    let demands = is.is_some() || contains.is_some() || lacks.is_some();
    demands_something(table, demands, "is = \"present\"")?;
    Some(CheckKind::Fs { path, is, contains, lacks, since })
}

fn read_diff(table: &Table<'_>) -> Option<CheckKind> {
    let under = table.or("under", Vec::new(), Value::texts);
    let except = table.or("except", Vec::new(), Value::texts);
    let files_max = table.opt("files_max", Value::u32);
    let lines_max = table.opt("lines_max", Value::u32);
    let only_under = table.or("only_under", Vec::new(), Value::texts);
    let adds = table.opt("adds", Value::filled_text);
    let adds_none = table.opt("adds_none", Value::filled_text);
    let removes_none = table.opt("removes_none", Value::filled_text);
    let since = since(table);
    let (files_max, lines_max, only_under) = (files_max?, lines_max?, only_under?);
    let (adds, adds_none, removes_none) = (adds?, adds_none?, removes_none?);
    let demands = files_max.is_some()
        || lines_max.is_some()
        || !only_under.is_empty()
        || adds.is_some()
        || adds_none.is_some()
        || removes_none.is_some();
    demands_something(table, demands, "files_max = 3")?;
    Some(CheckKind::Diff {
        under: under?,
        except: except?,
        files_max,
        lines_max,
        only_under,
        adds,
        adds_none,
        removes_none,
        since: since?,
    })
}

fn read_git(table: &Table<'_>) -> Option<CheckKind> {
    let repo = table.opt("repo", Value::filled_text);
    let branch = table.opt("branch", Value::filled_text);
    let commits = table.opt("commits", read_commit_count);
    let message = table.opt("message", Value::filled_text);
    let author = table.opt("author", Value::filled_text);
    let clean = table.opt("clean", Value::bool);
    let history_kept = table.opt("history_kept", Value::bool);
    let merges = table.opt("merges", Value::bool);
    let (branch, commits, message, author) = (branch?, commits?, message?, author?);
    let (clean, history_kept, merges) = (clean?, history_kept?, merges?);
    let demands = branch.is_some()
        || commits.is_some()
        || message.is_some()
        || author.is_some()
        || clean.is_some()
        || history_kept.is_some()
        || merges.is_some();
    demands_something(table, demands, "clean = true")?;
    Some(CheckKind::Git {
        repo: repo?,
        branch,
        commits,
        message,
        author,
        clean,
        history_kept,
        merges,
    })
}

fn read_commit_count(value: &Value<'_>) -> Option<CommitCount> {
    let table = value.table("`commits`")?;
    let min = table.opt("min", Value::u32);
    let max = table.opt("max", Value::u32);
    let (min, max) = (min?, max?);
    let bounded = demands_something(&table, min.is_some() || max.is_some(), "max = 1");
    table.finish();
    bounded?;
    Some(CommitCount { min, max })
}

fn read_test(table: &Table<'_>) -> Option<CheckKind> {
    let run = table.req("run", read_argv);
    let proves = table.req("proves", |value| value.word(&PROOFS));
    let tests = table.or("tests", Vec::new(), Value::texts);
    let timeout_sec = table.or("timeout_sec", TEST_TIMEOUT_SEC, Value::count);
    let (proves, tests) = (proves?, tests?);
    if proves != Proof::Passes && tests.is_empty() {
        let remedy = "add `tests = [\"tests/**\"]`: globs of what counts as tests";
        table.problem("such a proof must know which files are tests", remedy);
        return None;
    }
    Some(CheckKind::Test { run: run?, proves, tests, timeout_sec: timeout_sec? })
}

pub(super) fn read_argv(value: &Value<'_>) -> Option<Vec<String>> {
    let argv = value.texts()?;
    if argv.is_empty() {
        value.problem("no program is named", "write `run = [\"PROGRAM\", \"ARGUMENT\"]`");
        return None;
    }
    Some(argv)
}

fn read_metric(table: &Table<'_>) -> Option<CheckKind> {
    let of = table.req("of", |value| value.word(&METRICS));
    let at_most = table.opt("at_most", Value::u64);
    let at_least = table.opt("at_least", Value::u64);
    let (at_most, at_least) = (at_most?, at_least?);
    demands_something(table, at_most.is_some() || at_least.is_some(), "at_most = 3")?;
    Some(CheckKind::Metric { of: of?, at_most, at_least })
}

fn read_script_check(table: &Table<'_>) -> Option<CheckKind> {
    let file = table.req("file", read_script_path);
    let timeout_sec = table.or("timeout_sec", SCRIPT_TIMEOUT_SEC, Value::count);
    Some(CheckKind::Script { file: file?, timeout_sec: timeout_sec? })
}

fn read_script_path(value: &Value<'_>) -> Option<String> {
    let file = value.filled_text()?;
    if !file.starts_with("checks/") || file.split('/').any(|part| part == ".." || part.is_empty()) {
        let remedy = "put it in the pair's `checks/` and write `file = \"checks/NAME\"`";
        value.problem("a script must lie in the pair's folder `checks/`", remedy);
        return None;
    }
    Some(file)
}

fn read_exec(table: &Table<'_>) -> Option<CheckKind> {
    let kind = table.opt("kind", |value| value.word(&EXEC_KINDS));
    let argv = table.opt("argv", Value::filled_text);
    let cwd = table.or("cwd", Vec::new(), Value::texts);
    let exit = table.or("exit", ExitFilter::default(), |value| value.word(&EXITS));
    Some(CheckKind::Exec { kind: kind?, argv: argv?, cwd: cwd?, exit: exit? })
}

fn read_edit(table: &Table<'_>) -> Option<CheckKind> {
    let under = table.or("under", Vec::new(), Value::texts);
    let except = table.or("except", Vec::new(), Value::texts);
    let what = table.or("what", Vec::new(), |value| value.words(&EDITS));
    Some(CheckKind::Edit { under: under?, except: except?, what: what? })
}

fn read_message(table: &Table<'_>) -> Option<CheckKind> {
    let mentions = table.or("mentions", Vec::new(), read_alternatives);
    let matches = table.opt("matches", Value::filled_text);
    let lacks = table.opt("lacks", Value::filled_text);
    let words_max = table.opt("words_max", Value::u32);
    let words_min = table.opt("words_min", Value::u32);
    let questions_max = table.opt("questions_max", Value::u32);
    let code = table.or("code", Codes::default(), |value| value.word(&CODES));
    let list_min = table.opt("list_min", Value::u32);
    let claims = table.opt("claims", |value| value.word(&CLAIMS));
    let cites = table.opt("cites", |value| value.word(&[("changed_files", ())]));
    let which = table.or("which", WhichMessage::default(), |value| value.word(&WHICH));
    Some(CheckKind::Message(MessageCheck {
        mentions: mentions?,
        matches: matches?,
        lacks: lacks?,
        words_max: words_max?,
        words_min: words_min?,
        questions_max: questions_max?,
        code: code?,
        list_min: list_min?,
        claims: claims?,
        cites_changed_files: cites?.is_some(),
        which: which?,
    }))
}

fn read_net(table: &Table<'_>) -> Option<CheckKind> {
    let hosts = table.or("hosts", Vec::new(), Value::texts);
    let except = table.or("except", Vec::new(), Value::texts);
    let outcome = table.or("outcome", NetFilter::default(), |value| value.word(&NET_OUTCOMES));
    Some(CheckKind::Net { hosts: hosts?, except: except?, outcome: outcome? })
}
