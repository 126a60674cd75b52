//! Tests of the program.

use std::process::{Command, Output};
use std::{env, fs, process};

const LOG: &str = r#"10.0.0.7 - - [12/Mar/2026:10:15:03 +0000] "GET /cart?id=3 HTTP/1.1" 200 512 0.183
10.0.0.8 - - [12/Mar/2026:10:15:04 +0000] "GET /cart HTTP/1.1" 500 0 2.003

noise
10.0.0.7 - - [12/Mar/2026:10:15:05 +0000] "POST /pay HTTP/1.1" 200 17 0.090
"#;

fn run(command: &str, log: &str) -> Output {
    let file = env::temp_dir().join(format!("accesslog-{}-{command}.log", process::id()));
    fs::write(&file, log).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_accesslog")).arg(command).arg(&file).output().unwrap();
    fs::remove_file(file).unwrap();
    output
}

#[test]
fn top_and_status() {
    for (command, expected) in [("top", "2\t/cart\n1\t/pay\n"), ("status", "2\t200\n1\t500\n")] {
        let output = run(command, LOG);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "accesslog: skipped 1 lines\n");
        assert!(output.status.success());
    }
}

#[test]
fn usage() {
    let output = run("fast", LOG);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

// canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
