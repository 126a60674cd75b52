#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Exit 0 if a program that was written against the library as it was still compiles and sees the same
# answers, 1 if not, 3 if that can't be found out.
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
command -v cargo > /dev/null || exit 3
[ -f /app/src/lib.rs ] || exit 1

mkdir -p "$work/library" "$work/job/src" || exit 3
cp -R /app/src "$work/library/src" || exit 3
cat > "$work/library/Cargo.toml" <<'TOML'
[package]
name = "accesslog"
version = "0.4.0"
edition = "2021"
autobins = false

[lib]
path = "src/lib.rs"
TOML
cat > "$work/job/Cargo.toml" <<'TOML'
[package]
name = "job"
version = "0.0.1"
edition = "2021"

[dependencies]
accesslog = { path = "../library" }
TOML
cat > "$work/job/src/main.rs" <<'RS'
use accesslog::{count_by_path, count_by_status, parse_line, Record};
use std::collections::BTreeMap;

fn main() {
    // The exact types, and a record taken apart and put together without knowing of other fields.
    let parse: fn(&str) -> Option<Record> = parse_line;
    let paths: fn(&[Record]) -> Vec<(String, usize)> = count_by_path;
    let codes: fn(&[Record]) -> BTreeMap<u16, usize> = count_by_status;
    let parsed = parse(r#"::1 - - [t] "PUT /a\\b?c HTTP/1.1" 201 7 0.250"#).expect("a record");
    let Record { method, path, status, bytes } = parsed.clone();
    let (method, path): (String, String) = (method, path);
    let (status, bytes): (u16, u64) = (status, bytes);
    assert_eq!((method.as_str(), path.as_str(), status, bytes), ("PUT", "/a\\b", 201, 7));
    let again = Record { method, path, status, bytes };
    assert_eq!(again, parsed);
    assert!(parse("no log").is_none() && parse(r#"x [t] "GET / HTTP/1.1" 200"#).is_none());
    assert_eq!(format!("{:?}", parse(r#"x [t] "A /" 200 -"#)),
        r#"Some(Record { method: "A", path: "/", status: 200, bytes: 0 })"#);
    let other = Record { path: "/A".to_string(), status: 200, ..again.clone() };
    let all = [again.clone(), other, again];
    assert_eq!(paths(&all), [("/a\\b".to_string(), 2), ("/A".to_string(), 1)]);
    assert_eq!(codes(&all), BTreeMap::from([(200, 1), (201, 2)]));
    fn is_eq<T: Eq + Clone + std::fmt::Debug + Send + Sync + 'static>(_: &T) {}
    is_eq(&all[0]);
}
RS
unset RUSTFLAGS RUSTC_WRAPPER CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
cd "$work/job" && CARGO_TARGET_DIR="$work/target" cargo run --quiet --offline
case $? in
    0) exit 0 ;;
    *) exit 1 ;;
esac
