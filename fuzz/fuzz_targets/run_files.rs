//! `run.json`, the plan and the lock of a run: the first byte says which of them the rest replaces.
#![no_main]

use std::{fs, path::PathBuf, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use store::{layout::RunLayout, reader::RunReader};

/// A run as `cargo xtask fuzz` makes it.
static RUN: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::var_os("PCB_FUZZ_RUN")
        .expect("PCB_FUZZ_RUN names a run: use `cargo xtask fuzz`")
        .into()
});

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let folder = tempfile::tempdir_in("/dev/shm").expect("a memory file system");
    let (from, to) = (RunLayout::new(RUN.as_path()), RunLayout::new(folder.path()));
    let files = [
        (from.run_file(), to.run_file()),
        (from.plan(), to.plan()),
        (from.release_lock(), to.release_lock()),
    ];
    for (number, (from, to)) in files.iter().enumerate() {
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        if number == usize::from(*which) % files.len() {
            fs::write(to, rest).expect("written");
        } else {
            fs::copy(from, to).expect("copied");
        }
    }
    if let Ok(run) = RunReader::open(folder.path()) {
        let _ = run.attempts();
        let _ = run.release();
    }
});
