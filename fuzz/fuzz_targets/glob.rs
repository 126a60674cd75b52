//! Patterns of paths: a pattern without special characters means itself alone, `**` means everything.
#![no_main]

use domain::acceptance::glob::Glob;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&str, &str)| {
    let (pattern, path) = parts;
    let glob = Glob::new(pattern);
    let matches = glob.matches(path);
    let _ = glob.matches_tail(path);
    let _ = Glob::below("/app", pattern).matches(path);
    if !pattern.contains(['*', '?', '[', ']', '{', '}', '\\', '/']) && !path.contains('/') {
        assert_eq!(matches, pattern == path, "{pattern:?} over {path:?}");
    }
    assert!(Glob::new("**").matches(path) || path.is_empty(), "** over {path:?}");
});
