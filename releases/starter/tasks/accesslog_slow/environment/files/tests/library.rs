//! Tests of the library, as the nightly jobs use it.

use accesslog::{count_by_path, count_by_status, parse_line, Record};

const LINE: &str = r#"10.0.0.7 - - [12/Mar/2026:10:15:03 +0000] "GET /cart?id=3 HTTP/1.1" 200 512 0.183"#;

fn record(path: &str, status: u16) -> Record {
    Record { method: "GET".to_string(), path: path.to_string(), status, bytes: 0 }
}

#[test]
fn a_line_of_a_new_server() {
    let expected = Record { bytes: 512, ..record("/cart", 200) };
    assert_eq!(parse_line(LINE), Some(expected));
}

#[test]
fn a_line_of_an_old_server_without_an_answer() {
    let line = r#"::1 - ada [12/Mar/2026:10:15:03 +0000] "GET /a\"b HTTP/1.0" 304 -"#;
    assert_eq!(parse_line(line), Some(record("/a\"b", 304)));
}

#[test]
fn other_lines_are_nothing() {
    for line in ["", "hello", "x [y] \"GET", r#"x [y] "GET /" ok 3"#, r#"x [y] "GET" 200 3"#] {
        assert_eq!(parse_line(line), None, "{line}");
    }
}

#[test]
fn counts() {
    let records = [record("/b", 200), record("/a", 404), record("/c", 200), record("/c", 200)];
    let by_path = count_by_path(&records);
    let expected = [("/c", 2), ("/a", 1), ("/b", 1)];
    assert_eq!(by_path, expected.map(|(path, count)| (path.to_string(), count)));
    assert_eq!(count_by_status(&records).into_iter().collect::<Vec<_>>(), [(200, 3), (404, 1)]);
}

// canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
