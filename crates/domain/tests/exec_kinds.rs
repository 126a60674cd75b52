//! The ready-made kinds of programs: what each sees, what it must not see, and the evasions that it looks through.

use domain::{
    acceptance::{Occurrence, Reading, checks},
    evidence::{Change, ChangeKind, Channel, EventTime, ProcessEvent, Recorded},
    ids::Turn,
    release::{CheckKind, ExecKind, ExitFilter},
};

fn process(argv: &[&str]) -> ProcessEvent {
    ProcessEvent {
        turn: Turn(1),
        started_ms: 0,
        ended_ms: Some(5),
        pid: 100,
        parent: 1,
        uid: 0,
        program: String::new(),
        argv: argv.iter().map(|arg| (*arg).to_string()).collect(),
        cwd: "/app".into(),
        exit_code: Some(0),
    }
}

fn read(kind: CheckKind, processes: Vec<ProcessEvent>) -> Vec<Occurrence> {
    let evidence = Recorded {
        channels: [Channel::Processes].into(),
        workdir: "/app".into(),
        processes,
        ..Recorded::default()
    };
    match checks::read(&kind, &evidence, None) {
        Some(Reading::Events(list)) => list,
        other => panic!("events, not {other:?}"),
    }
}

fn kind(kind: ExecKind, exit: ExitFilter) -> CheckKind {
    CheckKind::Exec { kind: Some(kind), argv: None, cwd: vec![], exit }
}

/// Words are apart by spaces; what stands between bars is one argument.
fn split(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, part) in line.split('|').enumerate() {
        if at % 2 == 1 {
            found.push(part);
        } else {
            found.extend(part.split_whitespace());
        }
    }
    found
}

#[track_caller]
fn check(of: ExecKind, seen: &[&str], unseen: &[&str]) {
    let is_seen =
        |line: &str| !read(kind(of, ExitFilter::Any), vec![process(&split(line))]).is_empty();
    let missed: Vec<_> = seen.iter().filter(|line| !is_seen(line)).collect();
    let wrong: Vec<_> = unseen.iter().filter(|line| is_seen(line)).collect();
    assert!(missed.is_empty() && wrong.is_empty(), "{of:?} misses {missed:?}, sees {wrong:?}");
}

#[test]
fn installs() {
    check(
        ExecKind::Installs,
        &[
            "pip install requests",
            "/usr/bin/pip3.11 install -r requirements.txt",
            "pip --proxy http://p install x",
            "python -m pip install x",
            "python3.11 -Im pip install x",
            "python -mpip install x",
            "python -u -W ignore -m pip install x",
            "python /usr/lib/python3/dist-packages/pip install x",
            "python /usr/lib/python3/dist-packages/pip/__main__.py install x",
            "python get-pip.py",
            "python -c |import pip; pip.main(['install', 'x'])|",
            "python -m ensurepip",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/pip install x",
            "uv pip install x",
            "uv add x",
            "uv run --with x main.py",
            "uvx ruff",
            "poetry -C sub add x",
            "pipx install x",
            "conda env create -f e.yml",
            "npm ci",
            "npm i",
            "npm --prefix web install",
            "node /usr/lib/node_modules/npm/bin/npm-cli.js install",
            "npx --yes cowsay",
            "yarn",
            "yarn add x",
            "pnpm dlx x",
            "cargo add serde",
            "cargo +nightly install ripgrep",
            "cargo --config x=1 add serde",
            "cargo-add add serde",
            "rustup component add clippy",
            "go get example.com/x",
            "go install example.com/x@latest",
            "gem install rake",
            "bundle",
            "bundle install",
            "apt-get -y install jq",
            "apt-get -o Dpkg::Use-Pty=0 install jq",
            "dpkg -i x.deb",
            "apk add jq",
            "pacman -Syu jq",
            "brew install jq",
            "perl -MCPAN -e |CPAN::Shell->install('JSON')|",
            "Rscript -e |install.packages('x')|",
            "busybox pip install x",
            "python setup.py install",
            "make install",
            "make install PREFIX=/usr/local",
            "make install DESTDIR=/",
        ],
        &[
            "pip --version",
            "pip list",
            "pip freeze",
            "pip install --help",
            "pip help install",
            "pip show install",
            "python -m pip list",
            "python -m venv .venv",
            "python -m ensurepip --upgrade --default-pip",
            "python -m ensurepip --version",
            "python install.py",
            "python -c |print('install')|",
            "npm run build",
            "npm test",
            "npm --version",
            "npm ls install",
            "npx jest",
            "yarn build",
            "yarn -",
            "cargo build",
            "cargo test",
            "cargo install --help",
            "go build ./...",
            "go install ./cmd/tool",
            "gem list",
            "bundle exec rspec",
            "apt-get -s install jq",
            "apt list --installed",
            "dpkg -l",
            "rpm -qa",
            "install -m 755 a b",
            "make",
            "make -n install",
            "make install DESTDIR=/tmp/x",
            "make install PREFIX=out",
            "sh -c |pip install x|",
            "grep -r |pip install| .",
            "echo pip install x",
        ],
    );
}

#[test]
fn downloads() {
    check(
        ExecKind::Downloads,
        &[
            "curl https://example.com/x",
            "curl -sSL example.com/install.sh",
            "wget -q http://example.com",
            "/usr/bin/wget2 http://example.com",
            "busybox wget http://example.com/x",
            "git clone https://example.com/x.git",
            "git -C sub clone git@example.com:x/y.git",
            "git fetch https://example.com/x.git",
            "scp user@host:file .",
            "pip download x",
            "go mod download",
            "cargo fetch",
            "docker pull alpine",
            "python3 -c |import urllib.request as u; u.urlopen('https://example.com')|",
            "node -e |fetch('https://example.com')|",
            "curl -H |Referer: http://localhost| https://example.com http://localhost",
        ],
        &[
            "curl --version",
            "curl http://localhost:8000/health",
            "curl -fsS http://127.0.0.1:8000",
            "curl localhost:8000",
            "wget http://[::1]:80/x",
            "curl file:///app/x",
            "git clone /srv/git/x.git work",
            "git clone file:///srv/x.git",
            "git fetch",
            "git pull",
            "git log",
            "pip install x",
            "python3 -c |import urllib.request as u; u.urlopen('http://localhost:1')|",
            "python3 fetch_totals.py",
        ],
    );
}

#[test]
fn runs_tests() {
    check(
        ExecKind::RunsTests,
        &[
            "pytest",
            "pytest -q tests/test_a.py",
            "python -m pytest",
            "python3 -m unittest discover -s tests",
            "python3 -m unittest -v",
            "python manage.py test",
            "cargo test",
            "cargo t",
            "cargo nextest run",
            "go test ./...",
            "npm test",
            "npm run test:unit",
            "node --test",
            "node --test tests/",
            "node node_modules/.bin/jest",
            "make test",
            "make -j4 check",
            "make -C sub test",
            "prove -r t",
            "bats tests",
            "sh tests/run.sh",
            "/app/tests/run.sh",
            "./run-tests",
            "./run_tests.sh -v",
            "bash -e test.sh",
            "python tests/test_room.py",
            "perl t/run.pl",
            "rspec",
            "mvn -q verify",
            "ctest --output-on-failure",
        ],
        &[
            "pytest --version",
            "pytest --collect-only",
            "cargo test --no-run",
            "cargo build",
            "make",
            "make -n test",
            "make build",
            "test -f x",
            "/usr/bin/test -f x",
            "[ -f x ]",
            "sh -c |pytest|",
            "cat tests/test_room.py",
            "python tests/make_fixtures.py",
            "python -m http.server",
            "git checkout test",
            "node app.js",
        ],
    );
}

#[test]
fn commits_and_pushes() {
    check(
        ExecKind::Commits,
        &[
            "git commit -m --dry-run",
            "git commit -am --abort",
            "git commit --message --dry-run",
            "git commit -- --dry-run",
            "git commit -m x",
            "git -C sub commit -am x",
            "git -c user.name=a -c user.email=b commit -m x",
            "git --git-dir=.git --work-tree . commit",
            "git commit-tree abc -m x",
            "git merge other",
            "git cherry-pick abc",
            "git commit -m --help",
            "/usr/lib/git-core/git-commit -m x",
        ],
        &[
            "git status",
            "git log --grep commit",
            "git commit --dry-run",
            "git commit --help",
            "git help commit",
            "git show commit",
            "git merge --abort",
        ],
    );
    check(
        ExecKind::Pushes,
        &[
            "gh release create v1 -n |first release|",
            "git push",
            "git -C x push origin main",
            "git push --force",
            "gh pr create",
            "git lfs push",
        ],
        &["git push --dry-run", "git stash push", "git remote -v", "git commit -m push"],
    );
}

#[test]
fn deletes_migrates_serves() {
    check(
        ExecKind::Deletes,
        &[
            "rm -rf out",
            "/bin/rm x",
            "busybox rm x",
            "unlink x",
            "find . -name x -delete",
            "git clean -fdx",
            "git rm x",
            "python -c |import shutil; shutil.rmtree('x')|",
            "psql -c |DELETE  FROM orders|",
            "sqlite3 shop.db |drop table t|",
            "redis-cli flushall",
        ],
        &[
            "rm --help",
            "git clean -n",
            "git rm --cached x",
            "ls rm",
            "find . -name x",
            "psql -c |select 1|",
        ],
    );
    check(
        ExecKind::Migrates,
        &[
            "alembic -c a.ini upgrade head",
            "python manage.py migrate",
            "rails db:migrate",
            "prisma migrate deploy",
            "sqlite3 shop.db |CREATE INDEX i ON t(a)|",
            "psql -c |alter\ttable t add c int|",
            "python -c |c.execute('create index i on t(a)')|",
        ],
        &["alembic history", "python manage.py migrate --plan", "sqlite3 shop.db |select 1|"],
    );
    check(
        ExecKind::Serves,
        &[
            "python3 -m http.server 8000",
            "uvicorn app:app",
            "flask --app x run",
            "npm start",
            "npm run dev",
            "node server.js",
            "php -S localhost:1",
            "python manage.py runserver",
        ],
        &["npm run build", "vite build", "python app_test.py", "node build.js"],
    );
}

#[test]
fn what_lies_at_the_edge_of_a_kind() {
    check(
        ExecKind::Installs,
        &["pip-3.11 install x", "go install example.com/x"],
        &["pip- install x", "go install ./cmd/x", "|apt apt-get| install x"],
    );
    check(ExecKind::Deletes, &["rm x", "find . -delete"], &["rm -h", "find . -undelete"]);
    check(
        ExecKind::Downloads,
        &["node --eval |fetch('https://example.com')|", "rsync -a me@host:src/ dst/"],
        &[
            "scp a.txt b.txt",
            "rsync -a src/ dst/",
            "rclone copy a b",
            "python3 -c |import urllib.request as u; u.urlopen('file:///app/x')|",
        ],
    );
    check(ExecKind::RunsTests, &["python3 -- tests/run_tests.py"], &["python3 -- src/run.py"]);
    check(ExecKind::Serves, &["nginx", "gunicorn -t 30 app"], &["nginx -t"]);
}

#[test]
fn a_false_name_hides_nothing() {
    let mut spoofed = process(&["harmless", "install", "x"]);
    spoofed.program = "/usr/bin/pip3".into();
    assert_eq!(read(kind(ExecKind::Installs, ExitFilter::Any), vec![spoofed]).len(), 1);
}

#[test]
fn what_only_calls_itself_a_test_run_is_none() {
    let check = |program: &str, line: &str, changed: Option<ChangeKind>, expect: bool| {
        let mut started = process(&split(line));
        started.program = program.into();
        let change =
            |kind| Change { turn: Turn(1), path: program.into(), kind, time: EventTime::exact(0) };
        let evidence = Recorded {
            channels: [Channel::Processes].into(),
            workdir: "/app".into(),
            processes: vec![started],
            changes: changed.map(change).into_iter().collect(),
            ..Recorded::default()
        };
        let found = checks::read(&kind(ExecKind::RunsTests, ExitFilter::Zero), &evidence, None);
        let Some(Reading::Events(list)) = found else { panic!("events, not {found:?}") };
        assert_eq!(!list.is_empty(), expect, "{program} as {line}, {changed:?}");
    };
    use ChangeKind::{Created, Modified};
    check("/usr/bin/python3.11", "python3 -m unittest", None, true);
    check("/usr/bin/true", "python3 -m unittest", None, false);
    check("/usr/bin/true", "pytest -q", None, false);
    check("/usr/bin/busybox", "sh tests/run.sh", None, true);
    check("/usr/bin/dash", "sh tests/run.sh", None, true);
    check("/tmp/python3", "python3 -m unittest", None, false);
    check("/app/bin/python3", "python3 -m unittest", Some(Created), false);
    check("/app/pytest", "pytest", Some(Created), false);
    check("/usr/bin/pytest", "pytest", Some(Modified), false);
    check("/app/.venv/bin/pytest", "pytest", None, true);
    check("/app/tests/run.sh", "tests/run.sh", None, true);
    check("/app/tests/run.sh", "tests/run.sh", Some(Modified), true);
    check("/app/tests/run", "tests/run -m unittest", Some(Created), false);

    // A prohibition is broken by whatever is called so.
    let mut spoofed = process(&["pip", "install", "x"]);
    spoofed.program = "/usr/bin/true".into();
    assert_eq!(read(kind(ExecKind::Installs, ExitFilter::Any), vec![spoofed]).len(), 1);
}

/// `pid parent start end exit argv…`; `-` for what is unknown.
fn tree(lines: &[&str]) -> Vec<ProcessEvent> {
    lines
        .iter()
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let mut event = process(&parts[5..]);
            event.pid = parts[0].parse().expect("a pid");
            event.parent = parts[1].parse().expect("a parent");
            event.started_ms = parts[2].parse().expect("a start");
            event.ended_ms = parts[3].parse().ok();
            event.exit_code = parts[4].parse().ok();
            event
        })
        .collect()
}

#[track_caller]
fn check_runs(exit: ExitFilter, lines: &[&str], expect: &[&str]) {
    let found = read(kind(ExecKind::RunsTests, exit), tree(lines));
    let subjects: Vec<&str> = found.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, expect, "{exit:?} of {lines:?}");
}

#[test]
fn what_belongs_together_is_one_event() {
    let honest = ["10 1 0 90 0 make test", "11 10 5 80 0 sh -c pytest", "12 11 9 70 0 pytest -q"];
    check_runs(ExitFilter::Any, &honest, &["make test"]);
    check_runs(ExitFilter::Zero, &honest, &["make test"]);
    check_runs(ExitFilter::Nonzero, &honest, &[]);

    // The makefile ignores the failure; the run failed all the same.
    let hidden = ["10 1 0 90 0 make test", "12 10 9 70 1 pytest -q"];
    check_runs(ExitFilter::Zero, &hidden, &[]);
    check_runs(ExitFilter::Nonzero, &hidden, &["make test"]);

    // A real runner answers for what it starts: its tests may start failing runs on purpose.
    let nested = ["10 1 0 90 0 pytest", "12 10 9 70 1 python -m pytest inner"];
    check_runs(ExitFilter::Zero, &nested, &["pytest"]);

    // A shim starts the real program in its own place.
    let shim = ["10 1 0 90 - pytest", "10 1 3 90 1 /opt/py/bin/pytest"];
    check_runs(ExitFilter::Nonzero, &shim, &["pytest"]);
    check_runs(ExitFilter::Any, &shim, &["pytest"]);

    // A process id that is used again is another process.
    let reused = ["10 1 0 20 0 pytest", "10 1 50 60 0 pytest -x"];
    check_runs(ExitFilter::Any, &reused, &["pytest", "pytest -x"]);

    // What still runs has no exit yet.
    check_runs(ExitFilter::Zero, &["10 1 0 - - pytest"], &[]);
    check_runs(ExitFilter::Any, &["10 1 0 - - pytest"], &["pytest"]);
}

#[test]
fn an_argv_narrows_a_kind() {
    let full = CheckKind::Exec {
        kind: Some(ExecKind::RunsTests),
        argv: Some("discover -s tests$".into()),
        cwd: vec![],
        exit: ExitFilter::Zero,
    };
    let runs = tree(&[
        "10 1 0 5 0 python3 -m unittest discover -s tests",
        "11 1 9 15 0 python3 -m unittest tests.test_a",
        "12 1 20 25 0 echo discover -s tests",
    ]);
    let found = read(full, runs);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].subject, "python3 -m unittest discover -s tests");
    assert_eq!((found[0].time.earliest_ms, found[0].time.latest_ms), (0, 0));
}

#[test]
fn a_folder_narrows_a_kind() {
    let commits = |from: &str, line: &str| {
        let commits = CheckKind::Exec {
            kind: Some(ExecKind::Commits),
            argv: None,
            cwd: vec!["/app".into(), "**".into()],
            exit: ExitFilter::Any,
        };
        let started = ProcessEvent { cwd: from.into(), ..process(&split(line)) };
        !read(commits, vec![started]).is_empty()
    };
    let cases = [
        ("/app", "git commit -m x", true),
        ("/app/docs", "git commit -m x", true),
        ("/tmp/try", "git commit -m x", false),
        ("/application", "git commit -m x", false),
        ("/tmp/try", "git -C /app commit -m x", true),
        ("/app", "git -C /tmp/try commit -m x", false),
        ("/app", "git -C ../tmp -C try commit -m x", false),
        ("/", "git --git-dir=/app/.git commit -m x", true),
        ("/app", "git --git-dir /tmp/x/.git --work-tree /app commit -m x", true),
        ("/app", "git --work-tree /tmp/y --git-dir /app/.git commit -m x", false),
        ("/app", "git -c user.name=x commit -C HEAD", true),
        ("/tmp/try", "/usr/bin/git -c core.editor=true -C /app/. commit", true),
    ];
    for (from, line, expect) in cases {
        assert_eq!(commits(from, line), expect, "{from}: {line}");
    }
}
