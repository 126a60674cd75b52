//! What becomes of a command whose output cannot be written: a reader that has left (`pcb lint … | head`) ends it quietly,
//! anything else is said in a line.

use crate::{arguments::CommandLine, exit_code::ExitCode};

/// Makes the process end in order when its standard output cannot be written.
///
/// A command that holds sandboxes keeps the signal of a broken pipe ignored, because a pipe into a sandbox that has
/// died is a fault to be recorded; it prints when its sessions are over.
pub fn end_with_its_reader(command: &CommandLine) {
    use nix::sys::signal::{SigHandler, Signal, signal};
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The standard library's print macros have no other way to say it.
        let text = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        let Some(why) = text.strip_prefix("failed printing to stdout: ") else {
            return told(panic);
        };
        if why.contains("Broken pipe") {
            std::process::exit(ExitCode::Done.number().into());
        }
        eprintln!(
            "the output cannot be written: {why}; what was done stands, print it again elsewhere"
        );
        std::process::exit(ExitCode::BadInput.number().into());
    }));
    let holds_sandboxes = matches!(
        command,
        CommandLine::Run(_)
            | CommandLine::Resume(_)
            | CommandLine::Calibrate(_)
            | CommandLine::Doctor(_)
    );
    if !holds_sandboxes {
        // SAFETY: the default action is no handler, and no other thread runs yet.
        let set = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
        // A system that refuses leaves the signal ignored; then a print fails as above.
        let _ = set;
    }
}
