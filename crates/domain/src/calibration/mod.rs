//! What calibration must show of a release: who passes, who fails what, and what is not as it must be ([`Matrix`]).

mod admission;
mod agent;
mod breach;
mod completion;
mod matrix;
mod parts;
mod rules;
mod shown;

pub use admission::{BaseSeen, RepositorySeen, admission};
pub use agent::{CalibrationAgent, agents};
pub use breach::{Breach, Subject};
pub use matrix::{Calibration, Cell, CellState, Matrix, PairRows, Row};
pub use rules::{ORACLE_TIME_PERCENT_MAX, ORACLE_TURNS_PERCENT_MAX};
pub use shown::{Part, Shown};
