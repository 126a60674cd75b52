//! Runs the program on logs made here and compares all that it prints with a reckoning of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, process};

struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        let folder = env::temp_dir().join(format!("verify-{}-{name}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        Files(folder)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let file = self.0.join(name);
        fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_accesslog")).args(arguments).output().unwrap();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn line(target: &str, tail: &str) -> String {
    format!("10.1.2.3 - - [20/Mar/2026:08:00:00 +0000] \"GET {target} HTTP/1.1\" 200 77{tail}\n")
}

fn printed(text: &str) -> (i32, String, String) {
    (0, text.to_string(), String::new())
}

#[test]
fn times() {
    let usable = [
        ("12", 12_000), ("0.183", 183), ("1.50", 1_500), ("183ms", 183), ("0ms", 0), ("0", 0),
        ("0.0005", 1), ("0.000499", 0), ("0.0015", 2), ("2.999500", 3_000), ("0.1", 100),
        ("007.250", 7_250), ("1234567ms", 1_234_567), ("18446744073709551615ms", u64::MAX),
        ("18446744073709551.615", u64::MAX), ("4.035", 4_035), ("1.005", 1_005),
    ];
    let not = [
        "-", "1e3", "+1", "-1", "NaN", "inf", ".5", "5.", "1.2.3", "0.5s", "0.5ms", "ms", "1 ms",
        "0x10", "1_000", "1,5", "0.1234567", "18446744073709551616ms", "18446744073709551616",
        "18446744073709551.6155", "99999999999999999999999", "\u{0663}", "183 ms", "183MS",
    ];
    let files = Files::new("times");
    for (text, expected) in usable {
        let log = files.write("a.log", line("/x", &format!(" {text}")));
        let row = format!("/x\t1\t{expected}\t{expected}\t{expected}\n");
        assert_eq!(run(&["slow", &log]), printed(&row), "{text}");
    }
    for text in not {
        // "1 ms" and "183 ms" are a time in seconds and a field behind it.
        let seconds: Option<u64> = text.strip_suffix(" ms").map(|whole| whole.parse().unwrap());
        let row = seconds.map_or(String::new(), |s| format!("/x\t1\t{0}\t{0}\t{0}\n", s * 1000));
        let log = files.write("b.log", line("/x", &format!(" {text}")));
        assert_eq!(run(&["slow", &log]), printed(&row), "{text}");
        assert_eq!(run(&["top", &log]), printed("1\t/x\n"), "{text}");
    }
    let log = files.write("c.log", line("/x", ""));
    assert_eq!(run(&["slow", &log]), printed(""));
    assert_eq!(run(&["top", &log]), printed("1\t/x\n"));
}

#[test]
fn percentiles_and_order() {
    let files = Files::new("order");
    let mut log = String::new();
    for ms in (1..=20).rev() {
        log += &line("/twenty?page=2", &format!(" {ms}ms"));
    }
    for ms in 1..=21 {
        log += &line("/twenty-one", &format!(" {ms}ms"));
    }
    for (path, ms) in [("/b", 19), ("/a", 19), ("/B", 19), ("/z", 500), ("/two", 3), ("/two", 8)] {
        log += &line(path, &format!(" {ms}ms extra"));
    }
    let log = files.write("a.log", log);
    let all = "/z\t1\t500\t500\t500\n/twenty-one\t21\t11\t20\t21\n/B\t1\t19\t19\t19\n\
               /a\t1\t19\t19\t19\n/b\t1\t19\t19\t19\n/twenty\t20\t10\t19\t20\n/two\t2\t3\t8\t8\n";
    assert_eq!(run(&["slow", &log]), printed(all));
    assert_eq!(run(&["slow", "--min", "1", &log]), printed(all));
    let some = "/twenty-one\t21\t11\t20\t21\n/twenty\t20\t10\t19\t20\n/two\t2\t3\t8\t8\n";
    assert_eq!(run(&["slow", "--min", "2", &log]), printed(some));
    assert_eq!(run(&["slow", "--min", "22", &log]), printed(""));
}

#[test]
fn usage_errors() {
    let files = Files::new("usage");
    let log = files.write("a.log", line("/x", " 1"));
    for arguments in [
        vec![], vec!["fast", &log], vec!["slow"], vec!["top"], vec!["slow", "--min"],
        vec!["slow", "--min", "some", &log], vec!["slow", "--min", "3"], vec!["slow", "--min", &log],
    ] {
        let (code, out, err) = run(&arguments);
        assert_eq!((code, out.as_str(), err.is_empty()), (2, "", false), "{arguments:?}");
    }
    let missing = files.0.join("missing.log");
    let (code, _, err) = run(&["slow", &log, missing.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(err.starts_with("accesslog: ") && err.contains("missing.log"), "{err}");
}

#[test]
fn several_files_and_bad_bytes() {
    let files = Files::new("bytes");
    let first = files.write("a.log", line("/x", " 5ms") + "noise\n\n");
    let mut bytes = line("/x", " 9ms").into_bytes();
    bytes.extend(b"1.2.3.4 - - [t] \"GET /caf\xe9 HTTP/1.1\" 404 - 7ms\r\n");
    bytes.extend(b"\xff\xfe nothing\n   \n");
    bytes.extend(line("/y", " 1").trim_end().as_bytes());
    let second = files.write("b.log", bytes);
    let skipped = "accesslog: skipped 2 lines\n".to_string();
    let slow = "/y\t1\t1000\t1000\t1000\n/x\t2\t5\t9\t9\n/caf\u{fffd}\t1\t7\t7\t7\n".to_string();
    assert_eq!(run(&["slow", &first, &second]), (0, slow, skipped.clone()));
    let top = "2\t/x\n1\t/caf\u{fffd}\n1\t/y\n".to_string();
    assert_eq!(run(&["top", &first, &second]), (0, top, skipped.clone()));
    assert_eq!(run(&["status", &second, &first]), (0, "3\t200\n1\t404\n".to_string(), skipped));
}

#[test]
fn random_logs() {
    let files = Files::new("random");
    let mut state = 0x2026_0320_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for round in 0..20 {
        let mut times: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut log = String::new();
        for _ in 0..draw(400) {
            let path = format!("/{}", ["a", "b/c", "d", "e-f", "g"][draw(5) as usize]);
            let ms = draw(4000);
            let field = match draw(3) {
                0 => format!("{ms}ms"),
                1 => format!("{}.{:03}", ms / 1000, ms % 1000),
                _ => "-".to_string(),
            };
            log += &line(&format!("{path}?q={ms}"), &format!(" {field}"));
            if field != "-" {
                times.entry(path).or_default().push(ms);
            }
        }
        let mut rows: Vec<(u64, String, String)> = Vec::new();
        for (path, mut all) in times {
            all.sort_unstable();
            // Position by counting: the first value that at least p percent do not exceed.
            let at = |p: usize| *all.iter().enumerate().find(|(i, _)| (i + 1) * 100 >= p * all.len()).unwrap().1;
            let row = format!("{path}\t{}\t{}\t{}\t{}\n", all.len(), at(50), at(95), at(100));
            rows.push((u64::MAX - at(95), path.clone(), row));
        }
        rows.sort();
        let expected: String = rows.into_iter().map(|row| row.2).collect();
        let file = files.write("r.log", log);
        assert_eq!(run(&["slow", &file]), printed(&expected), "round {round}");
    }
}

// canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
