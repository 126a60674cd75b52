//! The edge of a sandbox's empty network namespace: inside it every address of the world is made local ([`opening`]), so
//! that whatever a program tries is accepted, answered or refused by the namespace itself, and seen ([`FdDoorway`]).

mod arrivals;
mod entering;
mod opening;
mod packets;
mod routes;

pub(crate) use arrivals::FdDoorway;
pub(crate) use entering::enter;
pub use entering::{DOORWAY_ARGUMENT, doorway_main};
pub(crate) use opening::open;
