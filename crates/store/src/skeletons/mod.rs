//! Commented files to begin a release with: what each kind consists of ([`Skeleton`]), and requirements added to pairs.

mod added;
mod kinds;
mod place;

pub use added::{AddError, RequirementAdded, add_requirement};
pub(crate) use kinds::neutral_persona;
pub use kinds::{Skeleton, SkeletonFile};
pub use place::{PlaceError, place};
