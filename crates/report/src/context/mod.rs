//! View data: what a table or a story shows, before any markup. Every renderer reads these and nothing else.

mod calibration;
mod group;
mod story;
mod table;

pub use calibration::{
    BreachLine, CalibratedAgent, CalibratedCell, CalibratedPair, CalibrationContext, ExcludedPair,
    RereadingContext, calibration, rereading,
};
pub(crate) use calibration::{counted, matrix_table};
pub use group::{
    AreaContext, CensusContext, GroupContext, HeaderContext, NamedCount, RateContext, RowContext,
    RunView, SessionLine, StratumContext, group,
};
pub use story::{Lane, RanProgram, StoryContext, StorySources, TurnStory, story};
pub use table::{Table, tables};
