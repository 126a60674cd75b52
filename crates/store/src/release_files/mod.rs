//! A release's folder read whole: [`open_release`] gives a [`LoadedRelease`] or every problem of every file at once.

mod assemble;
mod checks;
mod delivered;
mod expressions;
mod file_notes;
mod locations;
mod pair;
mod persona;
mod problem;
mod requirement;
mod schema;
mod script;
pub(crate) mod sheet;
mod tasks;
mod tree;

pub use assemble::{
    LoadedRelease, LockUse, PairFiles, StepFiles, TaskFiles, open_release, open_release_with,
    open_tree,
};
pub use file_notes::{FileNote, HiddenText};
pub use locations::Location;
pub use problem::{Problem, Problems, Spot};
pub use script::read_script;
pub use tree::{ReleaseTree, TreeFile};

pub(crate) use pair::read_pair;
pub(crate) use schema::formats;
pub(crate) use tree::SourceFile;
