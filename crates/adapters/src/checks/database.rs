//! State of an SQLite file (E1): its catalogue and a query's answer, read by the library from a copy ([`read`]).
//!
//! The copy holds the file and its write-ahead log and nothing else. A rollback journal is never handed to the
//! library: such a file may name any path of the host to be removed.

use std::collections::BTreeSet;

use domain::release::{Catalogue, Cell, DbCheck, DbQuery, QueryAnswer, SchemaObject};
use engine::ports::{
    evidence::{Evidence, StateAt},
    sandbox::{FileNode, SandboxFault},
};
use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit, types::ValueRef};

use super::Known;

/// Reads what a check demands of a database.
pub(super) async fn read(demand: &DbCheck, evidence: &dyn Evidence) -> Result<Known, SandboxFault> {
    let workdir = evidence.recorded().workdir.trim_end_matches('/');
    let path = match demand.path.strip_prefix('/') {
        Some(_) => demand.path.clone(),
        None => format!("{workdir}/{}", demand.path),
    };
    let base = Content::read(StateAt::Base, &path, evidence).await?;
    let now = Content::read(StateAt::Look, &path, evidence).await?;
    let demand = demand.clone();
    Ok(super::guarded(move || judge(&demand, &path, base, now)).await)
}

/// A sound database that can be opened without anything beside it; why not, otherwise.
pub(super) fn unsound(bytes: Vec<u8>) -> Result<Option<String>, NoRoom> {
    let content = Content { file: bytes, log: None, is_unfinished: false };
    let opened = match Opened::of(&content) {
        Ok(opened) => opened,
        Err(Unopened::NoDatabase(why)) => return Ok(Some(why)),
        Err(Unopened::NoRoom(why)) => return Err(NoRoom(why)),
    };
    Ok(match pages_and_check(&opened.connection) {
        // Pages that are not there read as empty ones.
        Ok((bytes, _)) if bytes > content.file.len() => Some("a part of it is missing".into()),
        Ok((_, answer)) if answer == "ok" => None,
        Ok((_, answer)) => Some(answer),
        Err(error) => Some(error.to_string()),
    })
}

/// How many bytes a database says that it has, and what a quick check says of it.
fn pages_and_check(connection: &Connection) -> rusqlite::Result<(usize, String)> {
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let size: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let answer = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((usize::try_from(pages.saturating_mul(size)).unwrap_or(usize::MAX), answer))
}

/// The bytes of a database at a state.
struct Content {
    file: Vec<u8>,
    /// The write-ahead log, if one lies beside it.
    log: Option<Vec<u8>>,
    /// Whether a journal says that a transaction was neither ended nor taken back.
    is_unfinished: bool,
}

impl Content {
    async fn read(
        at: StateAt,
        path: &str,
        evidence: &dyn Evidence,
    ) -> Result<Option<Self>, SandboxFault> {
        let file = |suffix: &'static str| async move {
            let found = evidence.read(at, &format!("{path}{suffix}")).await?;
            Ok::<_, SandboxFault>(found.and_then(|(node, _)| match node {
                FileNode::File(bytes) => Some(bytes),
                _ => None,
            }))
        };
        let Some(bytes) = file("").await? else { return Ok(None) };
        let journal = file("-journal").await?.unwrap_or_default();
        Ok(Some(Self {
            file: bytes,
            log: file("-wal").await?,
            is_unfinished: journal.iter().take(JOURNAL_MARK_BYTES).any(|byte| *byte != 0),
        }))
    }
}

/// SQLite takes a journal back whose first bytes are not zero.
const JOURNAL_MARK_BYTES: usize = 8;

/// A file above this size is no database that a person hands over.
const FILE_BYTES_MAX: usize = 256 << 20;

/// Steps of SQLite's machine after which a query is given up; the same on every host.
const STEPS_MAX: u32 = 50_000_000;
const STEPS_BETWEEN: u32 = 10_000;

const ROWS_MAX: usize = 10_000;
const CELL_BYTES_MAX: i32 = 1 << 20;
const PATTERN_BYTES_MAX: i32 = 100;
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A connection to a copy, with the folder that holds it.
struct Opened {
    connection: Connection,
    _folder: tempfile::TempDir,
}

/// This host could not hold a copy; in words.
#[derive(Debug)]
pub(super) struct NoRoom(pub(super) String);

enum Unopened {
    /// The bytes are no database; in words.
    NoDatabase(String),
    /// This host could not hold a copy; in words.
    NoRoom(String),
}

impl Opened {
    fn of(content: &Content) -> Result<Self, Unopened> {
        let not_one =
            |why: &dyn std::fmt::Display| Unopened::NoDatabase(format!("no database: {why}"));
        if content.is_unfinished {
            return Err(not_one(&"a transaction was left unfinished"));
        }
        if !content.file.starts_with(b"SQLite format 3\0") {
            return Err(not_one(&"it does not begin as one"));
        }
        let total = content.file.len() + content.log.as_ref().map_or(0, Vec::len);
        if total > FILE_BYTES_MAX {
            return Err(not_one(&"it is larger than 256 MiB"));
        }
        let no_room = |error: std::io::Error| Unopened::NoRoom(format!("no copy: {error}"));
        let folder = tempfile::tempdir().map_err(no_room)?;
        let file = folder.path().join("copy");
        std::fs::write(&file, &content.file).map_err(no_room)?;
        if let Some(log) = &content.log {
            std::fs::write(folder.path().join("copy-wal"), log).map_err(no_room)?;
        }
        let connection = connect(&file).map_err(|error| not_one(&error))?;
        Ok(Self { connection, _folder: folder })
    }
}

/// Opens a copy so that nothing of what it holds can do anything but be read.
fn connect(file: &std::path::Path) -> rusqlite::Result<Connection> {
    // A log is only read by whoever may write beside it.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, CELL_BYTES_MAX)?;
    // One step of the machine can take as long as a pattern makes it.
    connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES_MAX)?;
    connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, 100)?;
    connection.set_limit(Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50)?;
    let mut rounds_left = STEPS_MAX / STEPS_BETWEEN;
    let give_up = move || {
        rounds_left = rounds_left.saturating_sub(1);
        rounds_left == 0
    };
    connection.progress_handler(STEPS_BETWEEN as i32, Some(give_up))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // A broken catalogue shows here, and not only where it is asked for.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn judge(demand: &DbCheck, path: &str, base: Option<Content>, now: Option<Content>) -> Known {
    let Some(now) = now else { return Known::holds(false, format!("no file at {path}")) };
    let now = match Opened::of(&now) {
        Ok(opened) => opened,
        Err(Unopened::NoDatabase(why)) => return Known::holds(false, format!("{path}: {why}")),
        Err(Unopened::NoRoom(why)) => return Known::unknown(why),
    };
    let is_compared = demand.catalogue.is_some()
        || !demand.adds_none.is_empty()
        || demand.query.as_ref().is_some_and(|query| query.answer == QueryAnswer::SameAsBase);
    let base = match base.as_ref().map(Opened::of) {
        Some(Ok(opened)) => Some(opened),
        Some(Err(Unopened::NoDatabase(why) | Unopened::NoRoom(why))) if is_compared => {
            return Known::unknown(format!("{path} of the base: {why}"));
        }
        None if is_compared => return Known::unknown(format!("the base has no file at {path}")),
        Some(Err(_)) | None => None,
    };
    let base = base.as_ref().map(|opened| &opened.connection);
    let fault = catalogue_fault(demand, base, &now.connection).transpose().or_else(|| {
        demand
            .query
            .as_ref()
            .and_then(|query| query_fault(query, base, &now.connection).transpose())
    });
    match fault {
        None => Known::holds(true, ""),
        Some(Ok(fault)) => Known::holds(false, fault),
        Some(Err(Unanswered::Now(why))) => Known::holds(false, why),
        Some(Err(Unanswered::Base(why))) => Known::unknown(format!("the base: {why}")),
    }
}

/// Which of the two could not answer, and why.
enum Unanswered {
    Base(String),
    Now(String),
}

fn of_base(error: rusqlite::Error) -> Unanswered {
    Unanswered::Base(error.to_string())
}

fn of_now(error: rusqlite::Error) -> Unanswered {
    Unanswered::Now(error.to_string())
}

/// One entry of a catalogue; where its pages lie is nobody's matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    kind: String,
    name: String,
    table: String,
    /// None for an index that a constraint makes.
    sql: Option<String>,
}

impl Entry {
    /// A view or a virtual table; the catalogue keeps the words of a virtual one in capitals.
    fn works_when_read(&self) -> bool {
        self.kind == "view"
            || self.sql.as_ref().is_some_and(|sql| sql.starts_with("CREATE VIRTUAL"))
    }
}

fn catalogue_fault(
    demand: &DbCheck,
    base: Option<&Connection>,
    now: &Connection,
) -> Result<Option<String>, Unanswered> {
    let Some(base) = base.filter(|_| demand.catalogue.is_some() || !demand.adds_none.is_empty())
    else {
        return Ok(None);
    };
    let before = entries(base).map_err(of_base)?;
    let after = entries(now).map_err(of_now)?;
    if demand.catalogue.is_some() {
        if let Some(entry) = after.difference(&before).next() {
            return Ok(Some(format!("{} {} is new or changed", entry.kind, entry.name)));
        }
        if let Some(entry) = before.difference(&after).next() {
            return Ok(Some(format!("{} {} is gone", entry.kind, entry.name)));
        }
    }
    if demand.catalogue == Some(Catalogue::Untouched) {
        let (was, is) = (changes(base).map_err(of_base)?, changes(now).map_err(of_now)?);
        if was != is {
            return Ok(Some(format!("the catalogue was changed meanwhile ({was}, then {is})")));
        }
    }
    let added = after.iter().find(|entry| {
        demand.adds_none.iter().any(|kind| is_of(entry, *kind)) && !is_known(entry, &before)
    });
    Ok(added.map(|entry| format!("{} {} is new", entry.kind, entry.name)))
}

fn is_of(entry: &Entry, kind: SchemaObject) -> bool {
    SchemaObject::NAMED.iter().any(|(word, named)| *named == kind && *word == entry.kind)
}

/// A table with a further column is the same table; anything else under an old name is another.
fn is_known(entry: &Entry, before: &BTreeSet<Entry>) -> bool {
    before.iter().any(|known| {
        known.kind == entry.kind
            && known.name == entry.name
            && (entry.kind == "table" || known == entry)
    })
}

fn entries(connection: &Connection) -> rusqlite::Result<BTreeSet<Entry>> {
    let mut statement =
        connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| {
        Ok(Entry { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? })
    })?;
    rows.collect()
}

/// SQLite's own count of catalogue changes.
fn changes(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA schema_version", [], |row| row.get(0))
}

/// A table of the base under whose name something lies now that works while it is read.
fn replaced_table(
    base: Option<&Connection>,
    now: &Connection,
) -> Result<Option<String>, Unanswered> {
    let Some(base) = base else { return Ok(None) };
    let before = entries(base).map_err(of_base)?;
    let after = entries(now).map_err(of_now)?;
    let replaced = after.iter().filter(|entry| entry.works_when_read()).find(|entry| {
        before.iter().any(|known| {
            known.kind == "table"
                && !known.works_when_read()
                && known.name.eq_ignore_ascii_case(&entry.name)
        })
    });
    Ok(replaced.map(|entry| format!("{} is no plain table any more", entry.name)))
}

fn query_fault(
    query: &DbQuery,
    base: Option<&Connection>,
    now: &Connection,
) -> Result<Option<String>, Unanswered> {
    if let Some(fault) = replaced_table(base, now)? {
        return Ok(Some(fault));
    }
    let wanted = match (&query.answer, base) {
        (QueryAnswer::Is(rows), _) => {
            rows.iter().map(|row| row.iter().map(Answered::from).collect()).collect()
        }
        (QueryAnswer::SameAsBase, Some(base)) => answer(query, base).map_err(Unanswered::Base)?,
        (QueryAnswer::SameAsBase, None) => return Ok(None),
    };
    let found: Vec<Vec<Answered>> = answer(query, now).map_err(Unanswered::Now)?;
    if found.len() != wanted.len() {
        return Ok(Some(format!("the query answers {} rows, not {}", found.len(), wanted.len())));
    }
    let differs = |(found, wanted): (&Vec<Answered>, &Vec<Answered>)| {
        found.len() != wanted.len() || !found.iter().zip(wanted).all(|(a, b)| a.is_as(b))
    };
    let first = found.iter().zip(&wanted).position(differs);
    Ok(first.map(|at| format!("row {} is {:?}", at + 1, found[at])))
}

/// A value that a query answered.
#[derive(Clone, Debug, PartialEq)]
enum Answered {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Cell> for Answered {
    fn from(cell: &Cell) -> Self {
        match cell {
            Cell::Integer(value) => Self::Integer(*value),
            Cell::Real(value) => Self::Real(*value),
            Cell::Text(text) => Self::Text(text.clone()),
        }
    }
}

impl Answered {
    /// Numbers compare as numbers; sums of real ones depend on the order of their parts.
    fn is_as(&self, other: &Self) -> bool {
        const RELATIVE: f64 = 1e-9;
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Integer(a), Self::Real(b)) | (Self::Real(b), Self::Integer(a)) => {
                (*a as f64 - b).abs() <= RELATIVE * b.abs()
            }
            (Self::Real(a), Self::Real(b)) => (a - b).abs() <= RELATIVE * a.abs().max(b.abs()),
            (a, b) => a == b,
        }
    }
}

fn answer(query: &DbQuery, connection: &Connection) -> Result<Vec<Vec<Answered>>, String> {
    let in_words = |error: rusqlite::Error| error.to_string();
    let mut statement = connection.prepare(&query.sql).map_err(in_words)?;
    if !statement.readonly() {
        return Err("the query does not only read".into());
    }
    let width = statement.column_count();
    let mut rows = statement.query([]).map_err(in_words)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next().map_err(in_words)? {
        let mut cells = Vec::with_capacity(width);
        for column in 0..width {
            cells.push(match row.get_ref(column).map_err(in_words)? {
                ValueRef::Null => Answered::Null,
                ValueRef::Integer(value) => Answered::Integer(value),
                ValueRef::Real(value) => Answered::Real(value),
                ValueRef::Text(text) => {
                    bytes += text.len();
                    Answered::Text(String::from_utf8_lossy(text).into_owned())
                }
                ValueRef::Blob(blob) => {
                    bytes += blob.len();
                    Answered::Bytes(blob.to_vec())
                }
            });
        }
        found.push(cells);
        if found.len() > ROWS_MAX || bytes > ANSWER_BYTES_MAX {
            return Err(format!("the query answers more than {ROWS_MAX} rows or 16 MiB"));
        }
    }
    Ok(found)
}
