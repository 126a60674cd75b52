//! Services beside a task's container: a `docker-compose.yaml` is normalised by Compose itself, read into a [`Project`],
//! and run over the engine's API like every other container.
//!
//! All services of a session live in the network of its container, so a session takes no network of its own.

mod compose;
mod health;
mod order;
mod outside;
mod place;
mod project;
mod reading;
mod running;

pub use compose::{Compose, ComposeError};
pub(super) use health::health_test;
pub(super) use place::{mounts, place, ulimits};
pub(super) use project::{COMPOSE_FILE, Dockerfile, Project, Recipe, Service, Source};
pub(super) use running::{Plan, Services, Volumes};
