//! The programs of sandboxes as a binary of their own, for tests of this crate.

use adapters::sandboxes::{
    docker::{KEEPER_ARGUMENT, container_main, keeper_main, link::INSIDE_ARGUMENT},
    doorway::{DOORWAY_ARGUMENT, doorway_main},
    local::{SUPERVISOR_ARGUMENT, supervisor_main},
};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(SUPERVISOR_ARGUMENT) => supervisor_main(),
        Some(INSIDE_ARGUMENT) => container_main(),
        Some(DOORWAY_ARGUMENT) => doorway_main(),
        Some(KEEPER_ARGUMENT) => keeper_main(),
        _ => {}
    }
    eprintln!("this program is started by the tests of sandboxes");
    std::process::exit(2);
}
