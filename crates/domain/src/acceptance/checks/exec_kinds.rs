//! The one table of ready-made kinds of programs, kept by the tool because authors' own patterns are evadable.

use alloc::{string::String, vec::Vec};

use Act::{Any, Bare, Flag, Target, Verb};

use super::invocation::Invocation;
use crate::release::ExecKind;

/// Whether a started program is of the kind. What only shows help, a version or a list is not.
pub(super) fn is_of_kind(invocation: &Invocation<'_>, kind: ExecKind) -> bool {
    if let Some(code) = invocation.code {
        if is_sql_of_kind(code, kind) {
            return true;
        }
        return CODE
            .iter()
            .any(|(of, words)| *of == kind && words.iter().all(|w| code.contains(w)))
            && (kind != ExecKind::Downloads || names_remote(code));
    }
    let rules = match kind {
        ExecKind::Installs => INSTALLS,
        ExecKind::Downloads => DOWNLOADS,
        ExecKind::RunsTests => RUNS_TESTS,
        ExecKind::Commits => COMMITS,
        ExecKind::Pushes => PUSHES,
        ExecKind::Deletes => DELETES,
        ExecKind::Migrates => MIGRATES,
        ExecKind::Serves => SERVES,
    };
    let fits = rules.iter().any(|rule| {
        invocation
            .names
            .iter()
            .any(|name| lists(rule.programs, name) && rule.act.fits(name, invocation.args))
    });
    let by_script = match kind {
        ExecKind::RunsTests => invocation.script.is_some_and(is_test_script),
        ExecKind::Serves => invocation.script.is_some_and(is_server_script),
        _ => false,
    };
    let by_sql = invocation.names.iter().any(|name| SQL_CLIENTS.contains(&name.as_str()))
        && invocation.args.iter().any(|arg| is_sql_of_kind(arg, kind));
    (fits || by_script || by_sql)
        && !only_informs(invocation.args)
        && !is_exempt(kind, &invocation.names, invocation.args)
}

/// Whether the program only starts others whose failure it may hide: a build tool or somebody's script.
pub(super) fn only_starts_others(invocation: &Invocation<'_>) -> bool {
    const STARTERS: &str = "make gmake ninja just task rake invoke inv npm npx pnpm yarn bun composer \
                            tox nox coverage";
    invocation.names.iter().any(|name| lists(STARTERS, name))
        || invocation.script.is_some_and(is_test_script)
}

/// What an act names: packages, addresses, paths. None if it names nothing, or if nobody knows how to read it.
///
/// The subject is a path, or a command line whose words are apart by spaces.
pub(in crate::acceptance) fn operands(subject: &str) -> Vec<String> {
    let argv: Vec<String> = subject.split_whitespace().map(String::from).collect();
    let Some(invocation) = Invocation::of_words(&argv) else { return Vec::new() };
    let is_act = |rule: &Rule, name: &str| {
        words(rule.programs).any(|program| program == name) && rule.act.fits(name, invocation.args)
    };
    let rules = || [INSTALLS, DOWNLOADS, DELETES, MIGRATES].into_iter().flatten();
    let found = invocation
        .names
        .iter()
        .find_map(|name| rules().find(|rule| is_act(rule, name)).map(|rule| (name.as_str(), rule)));
    let Some((program, rule)) = found else {
        return if argv.len() == 1 { argv } else { Vec::new() };
    };
    let own = VALUED_OF_ACTS.iter().find(|(of, _)| words(of).any(|name| name == program));
    let given = named(program, own.map_or("", |(_, options)| options), invocation.args);
    rule.act.operands(program, given).into_iter().map(String::from).collect()
}

/// Programs, by their plain names apart by spaces, and what they must be told to do.
struct Rule {
    programs: &'static str,
    act: Act,
}

enum Act {
    /// Whatever the arguments.
    Any,
    /// No argument that is not an option.
    Bare,
    /// The arguments that are no options start with one of these; words of one verb are joined by `+`,
    /// a `*` at the end of a word stands for anything.
    Verb(&'static str),
    /// Any of the arguments that are no options is one of these (build tools take several targets).
    Target(&'static str),
    /// One of these options is given; single letters also within a cluster such as `-Syu`.
    Flag(&'static str),
}

const fn rule(programs: &'static str, act: Act) -> Rule {
    Rule { programs, act }
}

const INSTALLS: &[Rule] = &[
    rule("pip", Verb("install")),
    rule("pipx", Verb("install install-all inject upgrade upgrade-all reinstall run runpip")),
    rule(
        "uv",
        Verb("pip+install pip+sync add sync tool+install tool+run tool+upgrade python+install"),
    ),
    rule("uv", Flag("--with --with-requirements --with-editable")),
    rule("uvx easy_install get-pip cpanm cpm emerge xbps-install", Any),
    rule("poetry", Verb("install add update sync self+add")),
    rule("pdm", Verb("install add update sync self+add")),
    rule("pipenv", Verb("install sync update upgrade")),
    rule("pip-sync", Any),
    rule("conda mamba micromamba", Verb("install create update upgrade env+create env+update")),
    rule("ensurepip", Any),
    rule("setup", Verb("install develop easy_install")),
    rule(
        "npm",
        Verb(
            "install i in ins inst isntall add ci clean-install ic install-clean update up upgrade \
             install-test it install-ci-test cit audit+fix create init+* link ln",
        ),
    ),
    rule("npx", Flag("-y --yes -p --package")),
    rule("yarn", Bare),
    rule("yarn", Verb("install add up upgrade upgrade-interactive global+add dlx create")),
    rule("pnpm", Verb("install i add update up upgrade dlx create import fetch")),
    rule("pnpx bunx", Any),
    rule("bun", Verb("install i add a update x create")),
    rule("corepack", Verb("install prepare up use enable")),
    rule("deno", Verb("add install cache")),
    rule("cargo", Verb("add install binstall")),
    rule("cargo-add cargo-install cargo-binstall", Any),
    rule("rustup", Verb("install update toolchain+install component+add target+add default")),
    rule("rustup-init", Any),
    rule("go", Verb("get install")),
    rule("gem", Verb("install i update")),
    rule("bundle bundler", Bare),
    rule("bundle bundler", Verb("install add update")),
    rule(
        "apt apt-get aptitude",
        Verb("install reinstall upgrade dist-upgrade full-upgrade safe-upgrade build-dep satisfy"),
    ),
    rule("dpkg", Flag("-i --install --unpack")),
    rule("rpm", Flag("-i -U -F --install --upgrade --freshen")),
    rule(
        "dnf yum microdnf zypper tdnf",
        Verb("install in update up upgrade reinstall localinstall groupinstall group+install"),
    ),
    rule("apk", Verb("add upgrade fix")),
    rule("pacman yay paru", Flag("-S -U --sync --upgrade")),
    rule("brew", Verb("install reinstall upgrade tap bundle")),
    rule("snap flatpak", Verb("install refresh update")),
    rule("nix-env", Flag("-i --install -u --upgrade")),
    rule("nix", Verb("profile+install profile+add shell run develop")),
    rule("guix port opkg opam luarocks vcpkg conan nuget cabal stack", Verb("install")),
    rule("choco winget scoop", Verb("install add upgrade")),
    rule("composer", Verb("install require update create-project global+require")),
    rule("pecl pear pod", Verb("install upgrade update")),
    rule("cpan", Target("*")),
    rule("mix", Verb("deps.get archive.install local.hex local.rebar")),
    rule("dotnet", Verb("add+package tool+install tool+update workload+install")),
    rule("dotnet", Target("package")),
    rule("r", Verb("CMD+INSTALL")),
    rule("pyenv rbenv nodenv asdf mise sdk volta fnm", Verb("install use add")),
    rule("playwright", Verb("install install-deps")),
    rule("make gmake", Target("install")),
];

const DOWNLOADS: &[Rule] = &[
    rule("curl wget aria2c axel http https httpie xh fetch ftp lftp sftp yt-dlp youtube-dl", Any),
    rule("scp rsync rclone", Any),
    rule("git", Verb("clone fetch pull ls-remote submodule+update submodule+add remote+update")),
    rule("git-clone git-fetch git-pull git-remote-http git-remote-https", Any),
    rule("gh", Verb("repo+clone release+download run+download gist+clone")),
    rule("hg", Verb("clone pull")),
    rule("svn", Verb("checkout co export update up")),
    rule("pip", Verb("download wheel")),
    rule("npm", Verb("pack")),
    rule("cargo", Verb("fetch update vendor")),
    rule("go", Verb("mod+download")),
    rule("gem", Verb("fetch")),
    rule("apt apt-get", Verb("update download source")),
    rule("dotnet", Verb("restore")),
    rule("mvn mvnw", Target("dependency:*")),
    rule("docker podman nerdctl", Verb("pull image+pull compose+pull")),
    rule("skopeo", Verb("copy sync")),
    rule("aws", Verb("s3+cp s3+sync")),
    rule("gsutil", Verb("cp rsync")),
    rule("huggingface hf", Verb("download")),
    rule("kaggle", Verb("datasets+download competitions+download")),
];

const RUNS_TESTS: &[Rule] = &[
    rule(
        "pytest py.test unittest nose nosetests tox nox trial green ward doctest zope-testrunner",
        Any,
    ),
    rule("manage django-admin django", Verb("test")),
    rule("setup", Verb("test pytest")),
    rule("coverage", Verb("run")),
    rule("cargo", Verb("test t nextest+run nextest+r llvm-cov tarpaulin miri+test")),
    rule("cargo-nextest", Verb("run r nextest+run nextest+r")),
    rule("go", Verb("test")),
    rule("gotestsum ginkgo", Any),
    rule(
        "npm pnpm yarn bun",
        Verb("test t tst run+test* run-script+test* run+check run+unit* run+e2e*"),
    ),
    rule("yarn", Verb("jest vitest mocha")),
    rule("node nodejs", Flag("--test")),
    rule("jest vitest mocha ava tap tape jasmine karma qunit phpunit pest rspec minitest", Any),
    rule("prove bats shunit busted ctest testem", Any),
    rule("cypress", Verb("run")),
    rule(
        "playwright ng react-scripts vue-cli-service deno dotnet mix swift dart flutter zig",
        Verb("test"),
    ),
    rule("zig", Verb("build+test")),
    rule("rails", Verb("test spec test:*")),
    rule("stack cabal lein bazel bazelisk buck meson composer crystal nimble gleam", Verb("test")),
    rule(
        "make gmake ninja just task rake invoke inv ant sbt gradle gradlew mvn mvnw",
        Target(
            "test tests check checks unittest unittests spec verify test-* test_* *-test *_test *:test test:*",
        ),
    ),
    rule("r", Verb("CMD+check")),
];

const COMMITS: &[Rule] = &[
    rule("git", Verb("commit commit-tree citool am cherry-pick revert merge rebase fast-import")),
    rule("git-commit git-commit-tree git-am git-cherry-pick git-revert git-merge git-rebase", Any),
    rule("git-fast-import", Any),
    rule("hg svn", Verb("commit ci")),
    rule("jj", Verb("commit ci describe desc squash")),
];

const PUSHES: &[Rule] = &[
    rule("git", Verb("push send-pack http-push svn+dcommit lfs+push subtree+push")),
    rule("git-push git-send-pack git-http-push", Any),
    rule("gh", Verb("pr+create repo+sync release+create release+upload repo+create")),
    rule("hg", Verb("push")),
    rule("jj", Verb("git+push")),
    rule("svn", Verb("commit ci")),
];

const DELETES: &[Rule] = &[
    rule("rm rmdir unlink shred srm trash trash-put wipe", Any),
    rule("find", Flag("-delete")),
    rule(
        "rsync",
        Flag("--delete --delete-after --delete-before --delete-during --delete-excluded"),
    ),
    rule("git", Verb("rm clean")),
    rule("git", Verb("stash+drop stash+clear worktree+remove")),
    rule("git-rm git-clean", Any),
    rule("hg svn", Verb("rm remove delete purge")),
    rule("docker podman", Verb("rm rmi volume+rm image+rm system+prune volume+prune container+rm")),
    rule("kubectl", Verb("delete")),
    rule("dropdb dropuser", Any),
    rule("redis", Target("flushall flushdb del FLUSHALL FLUSHDB DEL")),
];

const MIGRATES: &[Rule] = &[
    rule("alembic", Verb("upgrade downgrade stamp")),
    rule("manage django-admin django", Verb("migrate")),
    rule("flask", Verb("db+upgrade db+downgrade db+migrate")),
    rule(
        "rails rake",
        Target("db:migrate* db:rollback db:schema:load db:setup db:reset db:create"),
    ),
    rule("flyway", Target("migrate clean undo repair")),
    rule("liquibase", Target("update rollback update-* drop-all")),
    rule("prisma", Verb("migrate+deploy migrate+dev migrate+reset db+push")),
    rule("knex", Verb("migrate:*")),
    rule("sequelize", Verb("db:migrate* db:create db:drop")),
    rule("typeorm", Verb("migration:run migration:revert schema:sync")),
    rule("diesel", Verb("migration+run migration+redo migration+revert setup database+*")),
    rule("sqlx", Verb("migrate+run migrate+revert database+*")),
    rule("sea-orm", Verb("migrate")),
    rule("goose dbmate", Target("up down redo reset migrate up-*")),
    rule("migrate", Target("up down goto drop force")),
    rule("atlas", Verb("migrate+apply schema+apply")),
    rule("artisan", Verb("migrate migrate:*")),
    rule("mix", Verb("ecto.migrate ecto.rollback ecto.reset ecto.setup")),
    rule("dotnet", Verb("ef+database+update")),
    rule("yoyo", Verb("apply rollback")),
];

const SERVES: &[Rule] = &[
    rule(
        "http.server uvicorn gunicorn hypercorn daphne waitress-serve granian puma unicorn thin",
        Any,
    ),
    rule(
        "nginx httpd apache lighttpd caddy traefik redis-server postgres mysqld mariadbd mongod",
        Any,
    ),
    rule("http-server live-server json-server serve webpack-dev-server nodemon", Any),
    rule("flask fastapi", Verb("run dev")),
    rule("manage django-admin", Verb("runserver testserver")),
    rule("npm yarn pnpm bun", Verb("start run+start run+dev run+serve dev serve run+preview")),
    rule("vite", Bare),
    rule("vite", Verb("dev serve preview")),
    rule("next nuxt astro gatsby remix", Verb("dev start develop serve preview")),
    rule("webpack ng hugo jekyll mkdocs vue-cli-service", Verb("serve server s")),
    rule("php", Flag("-S")),
    rule("artisan", Verb("serve")),
    rule("rails", Verb("server s")),
    rule("jupyter", Verb("notebook lab server")),
    rule("jupyter-lab jupyter-notebook", Any),
    rule("streamlit", Verb("run")),
    rule("celery", Target("worker beat")),
    rule("docker docker-compose podman", Verb("compose+up up")),
    rule("systemctl", Verb("start restart reload enable")),
    rule("service", Target("start restart reload")),
];

/// Code on an interpreter's command line: all words of a row must stand in it.
const CODE: &[(ExecKind, &[&str])] = &[
    (ExecKind::Installs, &["pip", "install"]),
    (ExecKind::Installs, &["ensurepip"]),
    (ExecKind::Installs, &["install.packages"]),
    (ExecKind::Installs, &["Pkg.add"]),
    (ExecKind::Installs, &["CPAN", "install"]),
    (ExecKind::Downloads, &["urllib"]),
    (ExecKind::Downloads, &["urlopen"]),
    (ExecKind::Downloads, &["urlretrieve"]),
    (ExecKind::Downloads, &["requests."]),
    (ExecKind::Downloads, &["httpx"]),
    (ExecKind::Downloads, &["http.client"]),
    (ExecKind::Downloads, &["fetch("]),
    (ExecKind::Downloads, &["Net::HTTP"]),
    (ExecKind::Downloads, &["LWP"]),
    (ExecKind::Downloads, &["file_get_contents"]),
    (ExecKind::Downloads, &["download.file"]),
    (ExecKind::RunsTests, &["unittest", "main("]),
    (ExecKind::RunsTests, &["pytest", "main("]),
    (ExecKind::RunsTests, &["Pkg.test"]),
    (ExecKind::Deletes, &["rmtree"]),
    (ExecKind::Deletes, &["os.remove"]),
    (ExecKind::Deletes, &["unlink"]),
    (ExecKind::Deletes, &["rmSync"]),
    (ExecKind::Deletes, &["fs.rm"]),
    (ExecKind::Deletes, &["FileUtils.rm"]),
    (ExecKind::Serves, &["serve_forever"]),
    (ExecKind::Serves, &[".listen("]),
];

const SQL_CLIENTS: [&str; 9] =
    ["psql", "sqlite", "mysql", "mariadb", "duckdb", "sqlcmd", "clickhouse", "cockroach", "pgcli"];

/// Statements that change a schema or throw data away.
const SQL: &[(ExecKind, &[&str])] = &[
    (
        ExecKind::Migrates,
        &[
            "create table",
            "create index",
            "create unique index",
            "create view",
            "create trigger",
            "create materialized view",
            "create schema",
            "create temp table",
            "alter table",
            "drop table",
            "drop index",
            "drop view",
            "drop column",
            "reindex",
        ],
    ),
    (
        ExecKind::Deletes,
        &["delete from", "drop table", "drop database", "drop schema", "truncate "],
    ),
];

fn is_sql_of_kind(code: &str, kind: ExecKind) -> bool {
    let code = code.to_lowercase();
    let mut plain = String::with_capacity(code.len());
    for word in code.split_whitespace() {
        plain.push_str(word);
        plain.push(' ');
    }
    SQL.iter().any(|(of, statements)| {
        *of == kind && statements.iter().any(|statement| plain.contains(statement))
    })
}

/// Options whose value is the next argument and may stand before the verb.
const VALUED: &[(&str, &str)] = &[
    ("git", "-C -c --git-dir --work-tree --namespace --super-prefix --config-env"),
    ("npm", "--prefix -C -w --workspace --registry --cache --userconfig --loglevel"),
    ("pnpm", "-C --dir --filter -F --prefix"),
    ("yarn", "--cwd --registry"),
    ("bun", "--cwd"),
    (
        "pip",
        "--proxy --log --cache-dir --python --timeout --retries --cert --client-cert --trusted-host",
    ),
    ("cargo", "--manifest-path --config -Z --color -C"),
    ("uv", "--directory --project --python -p --cache-dir --config-file --index-url"),
    ("poetry", "-C -P --directory --project"),
    ("pdm", "-p --project"),
    ("apt", "-o -c -t --option --config-file --target-release"),
    ("apt-get", "-o -c -t --option --config-file --target-release"),
    ("dnf", "-c --config --setopt --repo"),
    ("docker", "-H --host --context -c -l --log-level --config -f --file -p"),
    ("docker-compose", "-f --file -p --project-name"),
    ("kubectl", "-n --namespace --context --kubeconfig"),
    ("make", "-C -f -I -o -W --directory --file --makefile"),
    ("gmake", "-C -f -I -o -W --directory --file --makefile"),
    ("go", "-C"),
    ("gradle", "-p -b -c"),
    ("mvn", "-f -pl -s -P"),
    ("bundle", "--gemfile"),
    ("flask", "--app -A --env-file -e"),
    ("alembic", "-c --config -n --name -x"),
    ("dotnet", "--project"),
    ("brew", "--config"),
    ("conda", "--name -n --prefix -p"),
    ("nix", "--option --extra-experimental-features"),
    ("hg", "-R --repository --cwd --config"),
    ("jj", "-R --repository --config"),
];

/// Options of acts whose value says how or where to and not what.
const VALUED_OF_ACTS: &[(&str, &str)] = &[
    (
        "pip uv",
        "-t --target --prefix --root --src -i --index-url --extra-index-url -f --find-links -c --constraint \
         --platform --python-version --implementation --abi --upgrade-strategy --progress-bar",
    ),
    (
        "curl",
        "-o --output -H --header -X --request -d --data -u --user -A --user-agent -m --max-time",
    ),
    ("wget", "-O --output-document -P --directory-prefix -o --output-file -U --user-agent"),
    ("cargo", "--version --vers --features -F --root --target --index --registry --profile -j"),
    ("gem", "-v --version -i --install-dir -n --bindir --source -s"),
    ("git", "-b --branch -o --origin --depth -j --jobs --filter"),
    ("apk", "-p --root -X --repository -t --virtual"),
    ("conda mamba micromamba", "-c --channel -n --name -p --prefix"),
];

impl Act {
    /// What follows the verb.
    fn operands<'a>(&self, program: &str, given: Vec<&'a str>) -> Vec<&'a str> {
        // `find` looks below its first words for what its filters name, which is what it acts on.
        if program == "find" {
            let is_filter = |word: &&str| {
                word.contains(['*', '?'])
                    || word.contains('.') && !word.trim_matches('.').is_empty()
            };
            let filtered: Vec<&str> = given.iter().copied().skip(1).filter(is_filter).collect();
            return if filtered.is_empty() { given } else { filtered };
        }
        // Of what is fetched only the address is named by others; a file that it goes to is not.
        let addresses: Vec<&str> =
            given.iter().copied().filter(|word| word.contains("://")).collect();
        if !addresses.is_empty() && matches!(program, "git" | "curl" | "wget") {
            return addresses;
        }
        let verb = match self {
            Act::Verb(verbs) => words(verbs)
                .filter(|verb| {
                    let mut given = given.iter();
                    verb.split('+').all(|word| given.next().is_some_and(|arg| fits_word(word, arg)))
                })
                .map(|verb| verb.split('+').count())
                .max()
                .unwrap_or(0),
            Act::Any | Act::Bare | Act::Flag(_) => 0,
            // A target stands anywhere and is what is done.
            Act::Target(_) => return Vec::new(),
        };
        given.into_iter().skip(verb).collect()
    }

    fn fits(&self, program: &str, args: &[String]) -> bool {
        match self {
            Act::Any => true,
            Act::Bare => positionals(program, args).next().is_none(),
            Act::Verb(verbs) => words(verbs).any(|verb| {
                let mut given = positionals(program, args);
                verb.split('+').all(|word| given.next().is_some_and(|arg| fits_word(word, arg)))
            }),
            Act::Target(targets) => positionals(program, args)
                .any(|arg| words(targets).any(|target| fits_word(target, arg))),
            Act::Flag(flags) => args
                .iter()
                .take_while(|arg| *arg != "--")
                .any(|arg| words(flags).any(|flag| fits_flag(flag, arg))),
        }
    }
}

/// Whether a name is one of the words of a list.
fn lists(list: &'static str, name: &str) -> bool {
    let mut rest = list.as_bytes();
    let name = name.as_bytes();
    loop {
        let behind = rest.strip_prefix(name);
        if behind.is_some_and(|behind| behind.first().is_none_or(|byte| *byte == b' ')) {
            return !name.is_empty() && !name.contains(&b' ');
        }
        let Some(space) = rest.iter().position(|byte| *byte == b' ') else { return false };
        rest = &rest[space + 1..];
    }
}

fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split_ascii_whitespace()
}

fn fits_word(pattern: &str, word: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('*') {
        word.starts_with(start)
    } else if let Some(end) = pattern.strip_prefix('*') {
        word.ends_with(end)
    } else {
        pattern == word
    }
}

fn fits_flag(flag: &str, arg: &str) -> bool {
    if let Some(long) = flag.strip_prefix("--") {
        return arg.strip_prefix("--").is_some_and(|given| {
            given.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        });
    }
    let Some(letters) = flag.strip_prefix('-') else { return false };
    if letters.len() > 1 {
        return arg == flag;
    }
    arg.strip_prefix('-')
        .is_some_and(|cluster| !cluster.starts_with('-') && cluster.contains(letters))
}

/// The same without the values of further options.
fn named<'a>(program: &str, valued: &str, args: &'a [String]) -> Vec<&'a str> {
    let is_value =
        |at: usize| at > 0 && valued.split_ascii_whitespace().any(|option| option == args[at - 1]);
    let own: Vec<&str> = positionals(program, args).collect();
    let mut named = own.into_iter().peekable();
    let mut kept = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let Some(word) = named.next_if(|word| core::ptr::eq(*word, arg.as_str())) else { continue };
        if !is_value(at) {
            kept.push(word);
        }
    }
    kept
}

/// Arguments that are neither options nor values of options that stand apart from them.
fn positionals<'a>(program: &str, args: &'a [String]) -> impl Iterator<Item = &'a str> {
    let valued = VALUED.iter().find(|(of, _)| *of == program).map_or("", |(_, options)| options);
    let mut skips_next = false;
    args.iter().map(String::as_str).filter(move |arg| {
        if core::mem::take(&mut skips_next) {
            return false;
        }
        if arg.starts_with('-') && arg.len() > 1 {
            skips_next = words(valued).any(|option| option == *arg);
            return false;
        }
        // `cargo +nightly` chooses a toolchain; `make CFLAGS=…` sets a variable.
        let sets_variable = matches!(program, "make" | "gmake") && arg.contains('=');
        !arg.starts_with('+') && !sets_variable
    })
}

/// Whether the program is asked to tell something instead of doing it. A value of an option
/// (`git commit -m --help`) asks for nothing.
fn only_informs(args: &[String]) -> bool {
    const ASKS: [&str; 2] = ["--help", "--version"];
    const ASKS_ALONE: [&str; 3] = ["-h", "-V", "help"];
    let own = args.iter().take_while(|arg| *arg != "--");
    let mut previous = "";
    for arg in own {
        if ASKS.contains(&arg.as_str()) && !previous.starts_with('-') {
            return true;
        }
        previous = arg;
    }
    args.first().is_some_and(|first| {
        (args.len() == 1 && ASKS_ALONE.contains(&first.as_str())) || first == "help"
    })
}

/// Options by which a test runner only lists or builds.
const LISTS_TESTS: [&str; 10] = [
    "--collect-only",
    "--co",
    "--no-run",
    "-list",
    "--list",
    "--listTests",
    "--markers",
    "--fixtures",
    "--setup-plan",
    "--list-tests",
];

/// Arguments before `--`, those aside that are the text or the value of the option before them
/// (`git commit -m --dry-run` is a commit with a strange message).
fn own_options(args: &[String]) -> impl Iterator<Item = &str> {
    const TEXTS: [&str; 12] = [
        "--message",
        "--file",
        "--author",
        "--date",
        "--template",
        "--trailer",
        "--notes",
        "--title",
        "--body",
        "-F",
        "-C",
        "-c",
    ];
    let takes_text = |arg: &str| {
        let is_message = arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('m');
        is_message || TEXTS.contains(&arg)
    };
    let own = args.iter().map(String::as_str).take_while(|arg| *arg != "--");
    let mut is_value = false;
    own.filter(move |arg| {
        let is_free = !is_value;
        is_value = is_free && takes_text(arg);
        is_free
    })
}

/// `make install DESTDIR=out` fills a folder of one's own; the system's own folders are no such folder.
fn stages(arg: &str) -> bool {
    const SYSTEM: [&str; 6] = ["/usr", "/opt", "/bin", "/sbin", "/lib", "/etc"];
    let folder = arg.strip_prefix("DESTDIR=").or_else(|| arg.strip_prefix("PREFIX="));
    folder.is_some_and(|folder| {
        let folder = folder.trim_end_matches('/');
        !folder.is_empty()
            && !SYSTEM.iter().any(|own| {
                folder
                    .strip_prefix(own)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    })
}

/// What makes an act of the kind none: rehearsals, lists, and what stays on this machine.
fn is_exempt(kind: ExecKind, names: &[String], args: &[String]) -> bool {
    let is = |name: &str| names.iter().any(|own| own == name);
    let has = |options: &[&str]| own_options(args).any(|arg| options.contains(&arg));
    let is_make = is("make") || is("gmake");
    if is_make && has(&["-n", "--dry-run", "--just-print", "--recon", "-q", "--question"]) {
        return true;
    }
    match kind {
        ExecKind::Installs => {
            (is("ensurepip") && has(&["--default-pip"]))
                || (is("go") && goes_local(args))
                || (is_make && args.iter().any(|arg| stages(arg)))
                || (is("apt-get") || is("apt"))
                    && has(&["-s", "--simulate", "--dry-run", "--just-print", "--no-act"])
        }
        ExecKind::Downloads => {
            let fetches_urls = DOWNLOADS[..2].iter().any(|r| words(r.programs).any(is));
            let is_git = is("git") || names.iter().any(|name| name.starts_with("git-"));
            if is("scp") || is("rsync") || is("rclone") || is_git {
                !args.iter().any(|arg| names_remote(arg))
            } else {
                fetches_urls && stays_local(args)
            }
        }
        // Behind `--` stand the options of the test program itself.
        ExecKind::RunsTests => args.iter().any(|arg| LISTS_TESTS.contains(&arg.as_str())),
        ExecKind::Commits => {
            has(&["--dry-run", "--no-commit", "--abort", "--quit", "--ff-only", "--skip"])
        }
        ExecKind::Pushes => has(&["--dry-run"]) || (!is("gh") && has(&["-n"])),
        ExecKind::Deletes => {
            (is("git") || is("git-clean")) && has(&["-n", "--dry-run", "--cached"])
        }
        ExecKind::Migrates => has(&["--plan", "--check", "--sql", "--show-plan", "--dry-run"]),
        ExecKind::Serves => has(&["-t", "--check", "configtest"]) && is("nginx"),
    }
}

/// `go install ./cmd/x` builds what is there already.
fn goes_local(args: &[String]) -> bool {
    let mut given = positionals("go", args);
    given.next() == Some("install")
        && given.all(|package| package.starts_with('.') && !package.contains('@'))
}

/// Whether a downloader is asked for this machine alone, or for nothing at all.
fn stays_local(args: &[String]) -> bool {
    let mut addresses =
        args.iter().filter(|arg| arg.contains("://") || is_loopback(arg)).peekable();
    if addresses.peek().is_some() {
        return addresses.all(|address| !names_remote(address));
    }
    args.iter().all(|arg| arg.starts_with('-'))
}

/// Whether a text names a place on another machine: a URL that is not of this one, or `user@host:path`.
fn names_remote(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let scheme = rest[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '+').next();
        let place = &rest[at + 3..];
        if scheme != Some("file") && !is_loopback(place) {
            return true;
        }
        rest = place;
    }
    let is_secure_copy = text
        .split_once(':')
        .is_some_and(|(host, _)| host.contains('@') && !host.contains(['/', ' ', '=', '"', '\'']));
    is_secure_copy && !text.contains("://")
}

fn is_loopback(place: &str) -> bool {
    let place = place.split_once("://").map_or(place, |(_, after)| after);
    let host = place.split(['/', '?', '"', '\'', ' ', ')']).next().unwrap_or(place);
    let host = host.rsplit('@').next().unwrap_or(host);
    let name = host.split(':').next().unwrap_or(host);
    name == "localhost"
        || name == "0.0.0.0"
        || name.starts_with("127.")
        || name.ends_with(".localhost")
        || host.starts_with("[::1]")
}

/// `tests/run.sh`, `run_tests`, `test_x.py`, `x.test.js`: a script that a reader would call a test.
pub(super) fn is_test_script(path: &str) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.split('.').next().unwrap_or(file).to_lowercase();
    let folder = folder.rsplit('/').next().unwrap_or(folder);
    let is_named_so = stem.split(['_', '-']).any(|word| {
        ["test", "tests", "runtest", "runtests", "selftest", "unittest", "unittests"]
            .contains(&word)
    }) || file.contains(".test.")
        || file.contains(".spec.")
        || stem == "check";
    let lies_there = ["tests", "test", "t", "spec"].contains(&folder)
        && (["run", "all", "main", "suite", "runner"].contains(&stem.as_str())
            || stem.starts_with("run_")
            || stem.starts_with("run-"));
    is_named_so || lies_there
}

fn is_server_script(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file).to_lowercase();
    ["server", "serve", "runserver", "run_server"].contains(&stem.as_str())
}
