//! SQLite files: what counts as a change of their catalogue, what queries answer, and what looks like a database.

use domain::{
    acceptance::Truth::{self, False, True},
    release::{Catalogue, Cell, CheckKind, DbCheck, DbQuery, QueryAnswer, SchemaObject},
};

use crate::{
    UNKNOWN,
    stage::{Stage, simulated_with_files},
};

fn keys(path: &str) -> DbCheck {
    DbCheck { path: path.into(), catalogue: None, adds_none: vec![], query: None }
}

fn kept() -> CheckKind {
    CheckKind::Db(DbCheck { catalogue: Some(Catalogue::Kept), ..keys("/data/till.db") })
}

fn untouched() -> CheckKind {
    CheckKind::Db(DbCheck { catalogue: Some(Catalogue::Untouched), ..keys("/data/till.db") })
}

fn adds_none(kind: SchemaObject) -> CheckKind {
    CheckKind::Db(DbCheck { adds_none: vec![kind], ..keys("/data/till.db") })
}

pub fn answers(path: &str, sql: &str, answer: QueryAnswer) -> CheckKind {
    CheckKind::Db(DbCheck { query: Some(DbQuery { sql: sql.into(), answer }), ..keys(path) })
}

pub fn is(sql: &str, rows: &[&[Cell]]) -> CheckKind {
    let rows = rows.iter().map(|row| row.to_vec()).collect();
    answers("/data/till.db", sql, QueryAnswer::Is(rows))
}

pub fn same_as_base(sql: &str) -> CheckKind {
    answers("/data/till.db", sql, QueryAnswer::SameAsBase)
}

/// Statements of the agent's on the base's database.
fn sql(statements: &str) -> String {
    format!(
        "python3 -c 'import sqlite3; till = sqlite3.connect(\"/data/till.db\", isolation_level=None); \
         till.executescript(\"\"\"{statements}\"\"\")'"
    )
}

#[tokio::test]
async fn catalogues() {
    use SchemaObject::{Index, Table, Trigger, View};
    let stage = Stage::new().await;
    // A turn, then: the catalogue is kept, untouched, and no table, index, view, trigger was added.
    let cases: [(String, [Truth; 6]); 17] = [
        ("true".into(), [True; 6]),
        (sql("INSERT INTO items VALUES (\"cake\", 5); DELETE FROM items"), [True; 6]),
        (sql("REINDEX"), [True; 6]),
        (sql("PRAGMA user_version = 7"), [True; 6]),
        (sql("CREATE TEMP TABLE t (a); CREATE INDEX temp.ti ON t (a)"), [True; 6]),
        (sql("CREATE INDEX i ON items (name)"), [False, False, True, False, True, True]),
        (
            sql("CREATE INDEX i ON items (name); DROP INDEX i"),
            [True, False, True, True, True, True],
        ),
        (sql("VACUUM"), [True, False, True, True, True, True]),
        (sql("ANALYZE"), [False, False, False, True, True, True]),
        (sql("CREATE TABLE t (a UNIQUE)"), [False, False, False, False, True, True]),
        (sql("CREATE VIEW v AS SELECT 1"), [False, False, True, True, False, True]),
        (
            sql("CREATE TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END"),
            [False, False, True, True, True, False],
        ),
        (sql("ALTER TABLE items ADD COLUMN x"), [False, False, True, True, True, True]),
        (sql("DROP INDEX by_cents"), [False, False, True, True, True, True]),
        (
            sql("DROP INDEX by_cents; CREATE INDEX by_cents ON items (cents, name)"),
            [False, False, True, False, True, True],
        ),
        // What only stands in the write-ahead log.
        (
            "python3 -c 'import sqlite3, os; t = sqlite3.connect(\"/data/till.db\", isolation_level=None); \
             t.executescript(\"PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; \
             CREATE INDEX i ON items (name)\"); os._exit(0)'; test -s /data/till.db-wal"
                .into(),
            [False, False, True, False, True, True],
        ),
        ("rm /data/till.db".into(), [False; 6]),
    ];
    for (turn, expect) in cases {
        let staged = stage.after(&[&turn]).await;
        let kinds = [
            kept(),
            untouched(),
            adds_none(Table),
            adds_none(Index),
            adds_none(View),
            adds_none(Trigger),
        ];
        for (at, (kind, expect)) in kinds.iter().zip(expect).enumerate() {
            let (found, witness) = staged.read(kind, None).await;
            assert_eq!(found, expect, "{at} after {turn}: {witness}");
        }
    }
}

#[tokio::test]
async fn what_is_no_database_is_false_and_what_the_base_lacks_is_unknown() {
    let stage = Stage::new().await;
    for turn in [
        "echo note > /data/till.db",
        ": > /data/till.db",
        "mv /data/till.db /data/real.db; ln -s real.db /data/till.db",
        "rm /data/till.db; mkdir /data/till.db",
        "head -c 3000 /data/till.db > /data/t; mv /data/t /data/till.db",
        // A transaction that nobody ended; its journal may name a path of the host.
        "printf '\\331\\325\\005\\371\\040\\241\\143\\327' > /data/till.db-journal",
        "python3 -c 'import sqlite3; t = sqlite3.connect(\"/data/till.db\"); \
         t.executescript(\"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 1\")'",
    ] {
        let staged = stage.after(&[turn]).await;
        for kind in [kept(), same_as_base("SELECT 1 FROM items"), is("SELECT 1", &[])] {
            let (found, witness) = staged.read(&kind, None).await;
            assert_eq!(found, False, "{turn}: {witness}");
        }
    }
    // A journal that was ended is nobody's harm.
    let ended = stage.after(&["printf '\\0\\0\\0\\0\\0\\0\\0\\0x' > /data/till.db-journal"]).await;
    ended.check(kept(), True).await;

    let copied = stage.after(&["cp /data/till.db new.db; cp /data/till.db /data/note.db"]).await;
    for path in ["new.db", "/data/note.db"] {
        let one = [Cell::Text("tea".into())];
        let sql = "SELECT name FROM items WHERE cents = 120";
        copied.check(answers(path, sql, QueryAnswer::Is(vec![one.to_vec()])), True).await;
        copied.check(answers(path, sql, QueryAnswer::SameAsBase), UNKNOWN).await;
        let all = DbCheck { catalogue: Some(Catalogue::Kept), ..keys(path) };
        copied.check(CheckKind::Db(all), UNKNOWN).await;
        let none = DbCheck { adds_none: vec![SchemaObject::Index], ..keys(path) };
        copied.check(CheckKind::Db(none), UNKNOWN).await;
    }
}

#[tokio::test]
async fn queries() {
    use Cell::{Integer, Real, Text};
    let stage = Stage::new().await;
    let staged = stage.after(&[&sql("INSERT INTO items VALUES (\"cake\", 0.1)")]).await;
    for (kind, expect) in [
        (is("SELECT count(*) FROM items", &[&[Integer(3)]]), True),
        (is("SELECT count(*) FROM items", &[&[Integer(2)]]), False),
        (is("SELECT count(*) FROM items", &[&[Text("3".into())]]), False),
        (is("SELECT count(*) FROM items", &[&[Real(3.0)]]), True),
        (is("SELECT count(*), 1 FROM items", &[&[Integer(3)]]), False),
        (is("SELECT count(*) FROM items", &[]), False),
        (is("SELECT name FROM items WHERE cents = 7", &[]), True),
        (is("SELECT 0.1 + 0.2", &[&[Real(0.3)]]), True),
        (is("SELECT 0.1 + 0.2001", &[&[Real(0.3)]]), False),
        (is("SELECT count(*) FROM items", &[&[Real(4.0)]]), False),
        // The larger the numbers, the larger what may lie between them.
        (is("SELECT 1000000000", &[&[Real(1_000_000_000.5)]]), True),
        (is("SELECT 1000000000.5", &[&[Real(1_000_000_000.0)]]), True),
        (is("SELECT 1000000000.5", &[&[Integer(1_000_000_002)]]), False),
        (is("SELECT 9007199254740993", &[&[Integer(9007199254740992)]]), False),
        (is("SELECT NULL", &[&[Text(String::new())]]), False),
        (
            is(
                "SELECT name, cents FROM items WHERE cents > 1 ORDER BY name DESC",
                &[&[Text("tea".into()), Integer(120)], &[Text("bread".into()), Integer(350)]],
            ),
            True,
        ),
        (
            is(
                "SELECT name, cents FROM items WHERE cents > 1 ORDER BY name",
                &[&[Text("tea".into()), Integer(120)], &[Text("bread".into()), Integer(350)]],
            ),
            False,
        ),
        (same_as_base("SELECT * FROM items WHERE cents > 1 ORDER BY name"), True),
        (same_as_base("SELECT count(*) FROM items"), False),
        (same_as_base("SELECT NULL, x'00ff'"), True),
        (same_as_base("SELECT 1 FROM nothing"), UNKNOWN),
        (is("SELECT 1 FROM nothing", &[&[Integer(1)]]), False),
        (is("DELETE FROM items RETURNING 1", &[&[Integer(1)]]), False),
        (is("ATTACH '/data/note.db' AS n", &[]), False),
        // What does not end, or answers without end.
        (
            is(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
                &[],
            ),
            False,
        ),
        (
            is(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
                &[],
            ),
            False,
        ),
    ] {
        staged.check(kind, expect).await;
    }
    // What only looks as if it were a table of the base.
    let lied = sql("DROP TABLE items; CREATE VIEW items AS SELECT \"tea\" AS name, 120 AS cents");
    let staged = stage.after(&[&lied]).await;
    staged.check(is("SELECT name FROM items", &[&[Text("tea".into())]]), False).await;
    staged.check(kept(), False).await;
}

#[tokio::test]
async fn databases_of_simulated_sandboxes() {
    let stage = Stage::new().await;
    let local = stage.after(&["cat /data/till.db > till.db"]).await;
    let path = "/app/till.db";
    let found = local.sandbox.get(path).await.expect("no fault").expect("a file");
    let engine::ports::sandbox::FileNode::File(bytes) = &found[0].node else { panic!("a file") };
    let staged = simulated_with_files(&[("till.db", bytes)]).await;
    let two = QueryAnswer::Is(vec![vec![Cell::Integer(2)]]);
    staged.check(answers("till.db", "SELECT count(*) FROM items", two.clone()), True).await;
    staged.check(answers("no.db", "SELECT count(*) FROM items", two), False).await;
}

#[tokio::test]
async fn what_works_while_it_is_read_answers_nothing() {
    let stage = Stage::new().await;
    let count = is("SELECT count(*) > 0 FROM items", &[&[Cell::Integer(1)]]);
    let cases = [
        (sql("CREATE VIEW other AS SELECT * FROM items"), True),
        // An index is no table, so nothing that was read is replaced.
        (sql("DROP INDEX by_cents; CREATE VIEW by_cents AS SELECT 1"), True),
        (sql("ALTER TABLE items RENAME TO kept; CREATE VIEW Items AS SELECT * FROM kept"), False),
    ];
    for (turn, expect) in cases {
        let staged = stage.after(&[&turn]).await;
        let (found, witness) = staged.read(&count, None).await;
        assert_eq!(found, expect, "{turn}: {witness}");
    }
}
