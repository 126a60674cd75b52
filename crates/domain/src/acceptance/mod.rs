//! From readings to verdicts: operators, windows and Kleene logic, and the checks that are pure over evidence.

pub mod checks;
pub mod glob;

mod covering;
mod evaluate;
mod history;
mod kleene;
mod order;
mod reading;
mod violations;
mod window;

pub(crate) use checks::command_is_of_kind;
pub(crate) use covering::covers;
pub use evaluate::{evaluate, verdict};
pub use history::{ReadingHistory, Readings, first_turn_true};
pub use reading::{Look, Occurrence, Reading, Truth};
pub use violations::violations;
pub use window::Window;
