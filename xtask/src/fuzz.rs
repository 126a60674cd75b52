//! Runs every fuzz target of `fuzz/` for a while, seeded with files of ours, two at once on each
//! processor ([`Fuzz`]); a crash fails.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
};

use adapters::agents::SHIPPED;
use report::published::TableName;
use store::{layout::RunLayout, reader::RunReader};

/// What is asked for.
pub(crate) struct Fuzz {
    seconds: u32,
    targets: Vec<String>,
}

/// Something of each format that can be handed over, in the order in which the target counts them.
const ARTIFACTS: [&str; 6] = [
    "<!doctype html><title>a</title><main><h1>b</h1><img src=\"data:,\" alt=\"c\"></main><style>a{b:url(#c)}</style>",
    "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>a</title><use href=\"#b\"/></svg>",
    "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"c\">]><a d=\"e\">&b;</a>",
    "a,b\n1,\"2 \"\"3\"\"\"\n4,5\n",
    "{\"a\": [1, 2.5e3, null, \"\\u00e9\"]}",
    "a text\n",
];

/// Requests, answers and streams as providers write them.
const PROVIDER: [&str; 9] = [
    "{\"tools\":[{\"type\":\"web_search_20250305\"},{\"googleSearch\":{}}],\"tool_choice\":{\"type\":\"mcp\"},\
     \"mcp_servers\":[1],\"previous_response_id\":\"r\",\"input\":[{\"image_url\":\"https://a\"}]}",
    "{\"choices\":[{\"message\":{\"content\":\"a\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\",\
     \"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
    "{\"object\":\"response\",\"output\":[{\"content\":[{\"text\":\"a\"}]}],\"usage\":{\"input_tokens\":1}}",
    "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"usage\":{\"input_tokens\":1,\
     \"cache_read_input_tokens\":18446744073709551615}}",
    "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}],\
     \"usageMetadata\":{\"promptTokenCount\":1,\"thoughtsTokenCount\":2}}]",
    "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\",\"code\":529,\"details\":[{\"retryDelay\":\"3s\"}]}}",
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n\
     event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":4}}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n: ping\r\n\r\ndata: [DONE]\r\n\r\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"output_tokens\":4}}}\n\n",
];

/// One input may take so long; a parser that needs more is one that an agent can stop us with.
const INPUT_MAX_SEC: u32 = 10;

impl Fuzz {
    /// Reads `[--seconds N] [TARGET]…`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self { seconds: 60, targets: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--seconds" {
                let text = rest.next().ok_or("--seconds needs a number")?;
                asked.seconds = text.parse().map_err(|_| format!("`{text}` is no number"))?;
            } else {
                asked.targets.push(argument.clone());
            }
        }
        Ok(asked)
    }
}

/// Builds the targets, makes seeds and runs them.
pub(crate) fn run(asked: &Fuzz) -> ExitCode {
    match fuzz(asked) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn fuzz(asked: &Fuzz) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let home = root.join("fuzz");
    let known = targets(&home).map_err(|error| format!("fuzz/fuzz_targets: {error}"))?;
    if let Some(unknown) = asked.targets.iter().find(|name| !known.contains(name)) {
        return Err(format!("no target `{unknown}`; there are {}", known.join(", ")));
    }
    let chosen = if asked.targets.is_empty() { &known } else { &asked.targets };
    build(&root)?;
    let work = root.join("target/fuzz");
    let run = sample_run(&root, &work)?;
    let seeds = work.join("seeds");
    make_seeds(&root, &run, &seeds).map_err(|error| format!("seeds: {error}"))?;
    // Twice as many as processors: what counts is that each has its time, and CI has an end.
    let jobs = 2 * thread::available_parallelism().map_or(1, usize::from);
    let mut is_clean = true;
    for group in chosen.chunks(jobs) {
        let started: Vec<(&String, io::Result<Child>)> = group
            .iter()
            .map(|name| (name, start(&home, &work, &run, name, asked.seconds)))
            .collect();
        for (name, child) in started {
            let child = child.map_err(|error| format!("{name}: {error}"))?;
            let output = child.wait_with_output().map_err(|error| format!("{name}: {error}"))?;
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.success() {
                println!("{name:14} {}", figures(&said));
            } else {
                is_clean = false;
                let tail: Vec<&str> = said.lines().rev().take(40).collect();
                for line in tail.into_iter().rev() {
                    println!("{name:14} | {line}");
                }
                println!("{name:14} FAILED: the input stands in target/fuzz/found/{name}-…");
            }
        }
    }
    Ok(is_clean)
}

fn targets(home: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(home.join("fuzz_targets"))? {
        names.extend(entry?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Without a sanitizer a stable compiler does: there is no unsafe code in what is fuzzed.
fn build(root: &Path) -> Result<(), String> {
    let built = Command::new("cargo")
        .args(["fuzz", "build", "--sanitizer", "none", "--fuzz-dir", "fuzz"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if built.success() {
        return Ok(());
    }
    Err("the targets do not build; without cargo-fuzz: `cargo install cargo-fuzz --locked`"
        .to_owned())
}

/// A run of the smallest release, so that there are logs to begin with.
fn sample_run(root: &Path, work: &Path) -> Result<PathBuf, String> {
    let out = work.join("runs");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    let ran = Command::new("cargo")
        .args(["run", "--quiet", "--package", "personacodebench", "--", "run", "releases/tiny"])
        .args(["--agent", "oracle", "--out"])
        .arg(&out)
        .current_dir(root)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !ran.success() {
        return Err("pcb run releases/tiny: the run that seeds are taken from failed".to_owned());
    }
    let group = fs::read_dir(&out).map_err(|error| error.to_string())?.flatten().next();
    group.map(|group| group.path().join("oracle")).ok_or_else(|| "no run was made".to_owned())
}

/// Real files as seeds, by the target that reads such.
fn make_seeds(root: &Path, run: &Path, seeds: &Path) -> io::Result<()> {
    if seeds.exists() {
        fs::remove_dir_all(seeds)?;
    }
    let mut add = Seeds { folder: seeds, count: 0 };
    for release in ["starter", "tiny"] {
        for file in files_below(&root.join("releases").join(release))? {
            let text = file.to_string_lossy();
            let target = match file.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
                "pair.toml" => "pair",
                "release.toml" => "release_head",
                "task.toml" => "task_toml",
                "instruction.md" => "instruction",
                _ if text.contains("/personas/") => "persona",
                _ if text.contains("/pairs/") && text.ends_with(".toml") => "script",
                _ => continue,
            };
            let bytes = fs::read(&file)?;
            add.one(target, &bytes)?;
            if matches!(target, "script" | "instruction" | "persona") {
                add.one("message", &bytes)?;
                add.one("program", &bytes)?;
                add.one("wording", &bytes)?;
            }
        }
    }
    let corpus = root.join("crates/store/tests/harbor");
    for file in files_below(&corpus)?.iter().filter(|file| file.ends_with("task.toml")) {
        let dockerfile = file.with_file_name("environment").join("Dockerfile");
        let dockerfile = fs::read(dockerfile).unwrap_or_default();
        add.one("adhoc_task", &[&fs::read(file)?[..], &[0], &dockerfile].concat())?;
    }
    let layout = RunLayout::new(run);
    for (number, file) in
        [layout.run_file(), layout.plan(), layout.release_lock()].iter().enumerate()
    {
        let which = u8::try_from(number).unwrap_or_default();
        add.one("run_files", &[&[which][..], &fs::read(file)?].concat())?;
    }
    for found in
        RunReader::open(run).map_err(io::Error::other)?.attempts().map_err(io::Error::other)?
    {
        add.one("attempt_log", &fs::read(found.layout.log())?)?;
    }
    for blob in files_below(&layout.blobs())? {
        add.one("payload", &fs::read(blob)?)?;
    }
    for (which, name) in (0..).zip(TableName::ALL) {
        add.one("published", &[&[which][..], name.bundled().as_bytes()].concat())?;
    }
    for (number, text) in ARTIFACTS.iter().enumerate() {
        let which = u8::try_from(number).unwrap_or_default();
        add.one("artifact", &[&[which][..], text.as_bytes()].concat())?;
    }
    for (number, text) in PROVIDER.iter().enumerate() {
        // Each text in each form: half of the forms read what is another's.
        for form in 0..4 {
            let which = u8::try_from(4 * number + form).unwrap_or_default();
            add.one("provider", &[&[which][..], text.as_bytes()].concat())?;
        }
    }
    for (_, description) in SHIPPED {
        add.one("agent_description", description.as_bytes())?;
    }
    for words in FIRST_WORDS {
        add.one("wire", words)?;
    }
    add.one("secret", b"key = 'sk_test_' + '7Qm2'")?;
    for text in ["{\"reward\": 1.0, \"speed\": 0.5}", "1", "0.25\n"] {
        add.one("reward", text.as_bytes())?;
    }
    for text in ["src/**/*.rs", "**", "[a-z]?.txt", "/app/out/**"] {
        add.one("glob", text.as_bytes())?;
    }
    Ok(())
}

/// First words of programs, one of each kind.
const FIRST_WORDS: [&[u8]; 5] = [
    b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x01\0\x01",
    b"\x16\x03\x01\0\x43\x01\0\0\x3f\x03\x03................................\0\0\x02\x13\x01\x01\0\0\x14\0\0\0\x10\0\x0e\0\0\x0bexample.org",
    b"POST http://a.org:80/x HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"CONNECT [::1]:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /x HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\nUpgrade: b\r\nContent-Length: 1\r\n\r\nc",
];

struct Seeds<'a> {
    folder: &'a Path,
    count: u32,
}

impl Seeds<'_> {
    fn one(&mut self, target: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder.join(target);
        fs::create_dir_all(&folder)?;
        self.count += 1;
        fs::write(folder.join(self.count.to_string()), bytes)
    }
}

fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

fn start(home: &Path, work: &Path, run: &Path, name: &str, seconds: u32) -> io::Result<Child> {
    let (corpus, seeds, found) =
        (work.join("corpus").join(name), work.join("seeds").join(name), work.join("found"));
    for folder in [&corpus, &seeds, &found] {
        fs::create_dir_all(folder)?;
    }
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    Command::new(home.join("target").join(host).join("release").join(name))
        .args([corpus, seeds])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_MAX_SEC}"))
        .args(["-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"])
        .arg(format!("-artifact_prefix={}/{name}-", found.display()))
        .env("PCB_FUZZ_RUN", run)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

/// What libFuzzer counted.
fn figures(said: &str) -> String {
    let of = |key: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(key));
        line.map_or("?", str::trim).to_owned()
    };
    format!(
        "{:>10} inputs, {:>7} a second, {:>5} new, at most {} MiB",
        of("stat::number_of_executed_units:"),
        of("stat::average_exec_per_sec:"),
        of("stat::new_units_added:"),
        of("stat::peak_rss_mb:")
    )
}
