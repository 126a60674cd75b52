//! What must be so of an SQLite file against the base ([`DbCheck`]): its catalogue, and what a query answers.

use alloc::{string::String, vec::Vec};

/// A demand on an SQLite file (E1); all keys given must hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct DbCheck {
    /// The file.
    pub path: String,
    /// How far the catalogue must be the base's.
    pub catalogue: Option<Catalogue>,
    /// Kinds of catalogue entries of which none may be new.
    pub adds_none: Vec<SchemaObject>,
    /// A query with what it must answer.
    pub query: Option<DbQuery>,
}

/// How far a catalogue must be the base's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catalogue {
    /// Tables, indexes, views and triggers are the base's at the look.
    Kept,
    /// Besides, SQLite's own count of catalogue changes says that nobody changed it meanwhile.
    Untouched,
}

/// A kind of catalogue entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaObject {
    /// A table, virtual or not.
    Table,
    /// An index, those that a constraint makes included.
    Index,
    /// A view.
    View,
    /// A trigger.
    Trigger,
}

impl SchemaObject {
    /// All kinds with the words that name them, in files as in SQLite's catalogue.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("table", Self::Table),
        ("index", Self::Index),
        ("view", Self::View),
        ("trigger", Self::Trigger),
    ];
}

/// A query with what it must answer.
#[derive(Clone, Debug, PartialEq)]
pub struct DbQuery {
    /// One statement that reads.
    pub sql: String,
    /// What it must answer.
    pub answer: QueryAnswer,
}

/// What a query must answer.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryAnswer {
    /// Exactly these rows in this order.
    Is(Vec<Vec<Cell>>),
    /// The rows that it answers at the base.
    SameAsBase,
}

/// A value of a row; whole and real numbers compare as numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A text.
    Text(String),
}
