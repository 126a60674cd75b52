//! The supervisor of local sandboxes as a program of its own, for tests of this crate.

fn main() {
    let is_supervisor = std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == adapters::sandboxes::local::SUPERVISOR_ARGUMENT);
    if is_supervisor {
        adapters::sandboxes::local::supervisor_main();
    }
    eprintln!("this program is started by the tests of the local sandbox");
    std::process::exit(2);
}
