//! Reads the checks on what was handed over, on databases and on secrets: `artifact`, `db` and `secret`.

use domain::release::{
    ArtifactCheck, ArtifactFormat, Catalogue, Cell, CheckKind, DbCheck, DbQuery, QueryAnswer,
    SchemaObject, SecretCheck, SecretPlace,
};

use super::{
    checks::{demands_something, read_argv},
    sheet::{Table, Value},
};

const CATALOGUES: [(&str, Catalogue); 2] =
    [("kept", Catalogue::Kept), ("untouched", Catalogue::Untouched)];

const RUN_TIMEOUT_SEC: u32 = 30;

pub(super) fn read_artifact(table: &Table<'_>) -> Option<CheckKind> {
    let path = table.req("path", Value::texts);
    let format = table.opt("format", |value| value.word(&ArtifactFormat::NAMED));
    let self_contained = table.or("self_contained", false, Value::bool);
    let has = table.or("has", Vec::new(), Value::texts);
    let lacks = table.or("lacks", Vec::new(), Value::texts);
    let text = table.or("text", Vec::new(), Value::texts);
    let rows_min = table.opt("rows_min", Value::u32);
    let columns = table.or("columns", Vec::new(), Value::texts);
    let delimiter = table.or("delimiter", ',', read_letter);
    let runs = table.or("runs", Vec::new(), read_argv);
    let prints = table.opt("prints", Value::filled_text);
    let timeout_sec = table.or("timeout_sec", RUN_TIMEOUT_SEC, Value::count);
    let (format, runs) = (format?, runs?);
    demands_something(table, format.is_some() || !runs.is_empty(), "format = \"html\"")?;
    Some(CheckKind::Artifact(ArtifactCheck {
        path: path?,
        format,
        self_contained: self_contained?,
        has: has?,
        lacks: lacks?,
        text: text?,
        rows_min: rows_min?,
        columns: columns?,
        delimiter: delimiter?,
        runs,
        prints: prints?,
        timeout_sec: timeout_sec?,
    }))
}

fn read_letter(value: &Value<'_>) -> Option<char> {
    let text = value.text()?;
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => Some(letter),
        _ => {
            value
                .problem("more or less than one character is given", "write one, for instance `;`");
            None
        }
    }
}

pub(super) fn read_db(table: &Table<'_>) -> Option<CheckKind> {
    let path = table.req("path", Value::filled_text);
    let catalogue = table.opt("catalogue", |value| value.word(&CATALOGUES));
    let adds_none = table.or("adds_none", Vec::new(), |value| value.words(&SchemaObject::NAMED));
    let sql = table.opt("query", Value::filled_text);
    let is = table.opt("is", read_rows);
    let same_as_base = table.or("same_as_base", false, Value::bool);
    let (catalogue, adds_none, sql) = (catalogue?, adds_none?, sql?);
    let answer = match (is?, same_as_base?) {
        (Some(rows), false) => Some(QueryAnswer::Is(rows)),
        (None, true) => Some(QueryAnswer::SameAsBase),
        (None, false) => None,
        (Some(_), true) => {
            table.problem("both `is` and `same_as_base` are given", "keep one of them");
            return None;
        }
    };
    let query = match (sql, answer) {
        (Some(sql), Some(answer)) => Some(DbQuery { sql, answer }),
        (None, None) => None,
        (Some(_), None) => {
            let remedy = "add `is = [[…]]` or `same_as_base = true`";
            table.problem("nothing is asked of the query's answer", remedy);
            return None;
        }
        (None, Some(_)) => {
            table.problem("there is no query to answer", "add `query = \"SELECT …\"`");
            return None;
        }
    };
    let demands = catalogue.is_some() || !adds_none.is_empty() || query.is_some();
    demands_something(table, demands, "catalogue = \"kept\"")?;
    Some(CheckKind::Db(DbCheck { path: path?, catalogue, adds_none, query }))
}

fn read_rows(value: &Value<'_>) -> Option<Vec<Vec<Cell>>> {
    let list = value.list()?;
    let rows: Vec<Vec<Cell>> = list.iter().filter_map(read_row).collect();
    (rows.len() == list.len()).then_some(rows)
}

fn read_row(value: &Value<'_>) -> Option<Vec<Cell>> {
    let list = value.list()?;
    let row: Vec<Cell> = list.iter().filter_map(Value::cell).collect();
    (row.len() == list.len()).then_some(row)
}

pub(super) fn read_secret(table: &Table<'_>) -> Option<CheckKind> {
    let value = table.req("value", Value::filled_text);
    let on = table.req("on", |value| value.words(&SecretPlace::NAMED));
    let under = table.or("under", Vec::new(), Value::texts);
    let except = table.or("except", Vec::new(), Value::texts);
    let repo = table.opt("repo", Value::filled_text);
    Some(CheckKind::Secret(SecretCheck {
        value: value?,
        on: on?,
        under: under?,
        except: except?,
        repo: repo?,
    }))
}
