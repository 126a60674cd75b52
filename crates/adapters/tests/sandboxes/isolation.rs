//! What a program inside can see and reach: not the harness, not secrets, not the network, not the host's processes.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use engine::ports::sandbox::{Ended, Sandboxes};

use super::stage::{Stage, command, file, is_root, limits, run, sh, supervisor};

const CANARY: &str = "canary-7c1e94d2";

fn plant(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, CANARY).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

/// Secrets in the environment of the harness, in homes, in the release, the run and the state directory, and next to
/// what is shown of `/etc`.
#[tokio::test]
async fn no_canary_is_visible() {
    // A process of its own, so that the environment holds the canary from its first instant.
    if std::env::var("PCB_TEST_SECRET").is_err() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "isolation::no_canary_is_visible"]);
        let home = make_home();
        again.env("PCB_TEST_SECRET", CANARY).env("HOME", home.path());
        assert!(again.status().unwrap().success());
        return;
    }
    let stage = Stage::new();
    let places = tempfile::tempdir().unwrap();
    plant(&places.path().join("release/pairs/pair.toml"));
    plant(&places.path().join("runs/run/log.jsonl"));
    plant(&stage.state.path().join("canary"));
    plant(&stage.state.path().join("sandboxes/canary"));
    plant(&stage.state.path().join("bases/canary"));
    let home = std::env::var("HOME").unwrap();
    assert_eq!(fs::read_to_string(Path::new(&home).join(".token")).unwrap(), CANARY);
    let name = format!("{CANARY}-{}", std::process::id());
    let mut of_host = vec![Path::new("/var/tmp").join(&name)];
    if is_root() {
        for directory in ["/root", "/home", "/opt", "/srv", "/mnt", "/run", "/etc/ssl/private"] {
            of_host.push(Path::new(directory).join(&name));
        }
    }
    let removed = Planted::new(of_host);
    // A file of the harness that is open while the sandbox is made.
    let open = fs::File::open(places.path().join("runs/run/log.jsonl")).unwrap();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mut look = command(&["sh", "-c", LOOK]);
    look.stdin = CANARY.as_bytes().to_vec();
    let finished = sandbox.exec(&look).await.unwrap();
    let (stdout, stderr) = super::stage::texts(&finished);
    assert_eq!(stdout.lines().last(), Some("looked everywhere"), "{stdout}{stderr}");
    let hits: Vec<&str> = stdout.lines().filter(|line| line.contains("found")).collect();
    assert!(hits.is_empty(), "{hits:?}");
    let paths = [places.path(), stage.state.path(), Path::new(&home), &supervisor()]
        .map(|path| path.display().to_string());
    let told =
        sh(&*sandbox, "cat /proc/*/mountinfo /proc/*/cmdline /proc/*/maps 2>/dev/null; true").await;
    for path in paths {
        assert!(!told.contains(&path), "{path} shows inside");
    }
    drop((removed, open));
}

/// Reads the canary from its input (an argument would be found in `/proc`), then looks at everything that can be read.
const LOOK: &str = r#"
canary=$(cat)
patterns=$(mktemp -p /dev/shm); echo "$canary" > $patterns
hide() { grep -v -e "$patterns" -e "^/proc/$$/"; }
for directory in /*; do
  case $directory in
    /proc|/usr|/sys) ;;
    *) grep -rlF -D skip -f $patterns $directory 2>/dev/null | hide | sed 's/^/found in /' ;;
  esac
done
find / -xdev -name "*canary-7c1*" 2>/dev/null | sed 's/^/found name /'
for process in /proc/[0-9]*; do
  for part in environ cmdline maps; do
    grep -qF -f $patterns $process/$part 2>/dev/null && echo "found in $process/$part"
  done
  for fd in $process/fd/*; do
    case $(readlink $fd 2>/dev/null) in *run/log.jsonl*|*/sandboxes/*|*/bases/*) echo "found open $fd" ;; esac
  done
done
unset canary
env | grep -F -f $patterns && echo "found in env"
rm $patterns
echo looked everywhere
"#;

fn make_home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    plant(&home.path().join(".token"));
    home
}

/// Files that are taken away again.
struct Planted {
    paths: Vec<std::path::PathBuf>,
}

impl Planted {
    fn new(paths: Vec<std::path::PathBuf>) -> Self {
        let paths: Vec<_> =
            paths.into_iter().filter(|path| path.parent().is_some_and(Path::is_dir)).collect();
        paths.iter().for_each(|path| plant(path));
        Self { paths }
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        for path in &self.paths {
            // Already gone is as good.
            let _ = fs::remove_file(path);
        }
    }
}

#[tokio::test]
async fn the_environment_is_made_not_inherited() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let env = sh(&*sandbox, "env | sort").await;
    let expect = "GREETING=hello\nHOME=/root\nLANG=C.UTF-8\n\
                  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/app\n";
    assert_eq!(env, expect);
    assert_eq!(sh(&*sandbox, "id -u; id -g; hostname; umask").await, "0\n0\nsandbox\n0022\n");
    let told = sh(&*sandbox, "cat /proc/1/cmdline | tr '\\0' ' '").await;
    assert_eq!(told, "sandbox __sandbox ");
    let limits = sh(&*sandbox, "ulimit -c; grep NoNewPrivs /proc/self/status").await;
    assert_eq!(limits, "0\nNoNewPrivs:\t1\n");
}

#[tokio::test]
async fn deleting_everything_is_harmless() {
    let stage = Stage::new();
    let before = (fs::read("/etc/passwd").unwrap(), fs::read_dir("/usr/bin").unwrap().count());
    let sandbox = stage.sandbox("true", &limits()).await;
    let mut remove =
        command(&["sh", "-c", "rm -rf /usr/bin/* /usr/sbin /etc /root /app /var /tmp/*"]);
    remove.cwd = Some("/".to_owned());
    let finished = sandbox.exec(&remove).await.unwrap();
    assert!(matches!(finished.ended, Ended::Exited(_)), "{finished:?}");
    let after = (fs::read("/etc/passwd").unwrap(), fs::read_dir("/usr/bin").unwrap().count());
    assert!(before == after);
    drop(sandbox);
    let neighbour = stage.sandbox("true", &limits()).await;
    assert_eq!(sh(&*neighbour, "cat /etc/hostname").await, "sandbox\n");
}

#[tokio::test]
async fn the_kernel_is_out_of_reach() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let check = async |script: &str| {
        let finished = run(&*sandbox, &["sh", "-c", script]).await;
        assert!(!finished.is_success(), "{script} succeeded: {finished:?}");
    };
    // What is written would change nothing even if a protection were broken: this runs on somebody's machine.
    check(
        "read old < /proc/sys/kernel/core_pattern && echo \"$old\" > /proc/sys/kernel/core_pattern",
    )
    .await;
    check("echo h > /proc/sysrq-trigger").await;
    check("mount -t tmpfs none /mnt").await;
    check("umount /proc").await;
    check("umount /usr").await;
    check("unshare --user --map-root-user true").await;
    check("mknod /disk b 8 0 && cat /disk").await;
    check("cat /proc/1/environ").await;
    check("cat /proc/1/mem").await;
    check("ls /proc/1/fd/0").await;
    check("ls /proc/1/root/").await;
    check("strace -p 1").await;
}

#[tokio::test]
async fn killing_everybody_spares_the_host() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mut outside = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let finished = run(&*sandbox, &["sh", "-c", "kill -9 -1; kill -9 1; echo still here"]).await;
    assert_eq!(finished.ended, Ended::Exited(0), "{finished:?}");
    assert!(outside.try_wait().unwrap().is_none());
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert_eq!(sh(&*sandbox, "ls /proc | grep -c '^[0-9]'").await.trim().len(), 1);
}

#[tokio::test]
async fn there_is_no_network_but_loopback() {
    let stage = Stage::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sandbox = stage.sandbox("true", &limits()).await;
    sandbox.put("/app", &[file("net.py", NETWORK, 0o644)]).await.unwrap();
    let told = sh(&*sandbox, &format!("/usr/bin/python3 net.py {port}")).await;
    assert_eq!(
        told,
        "v4 loopback ok\nv6 loopback ok\nlocalhost ok\nhost refused\nunreachable\nno name\nno vsock\nlo\n"
    );
}

const NETWORK: &str = r#"
import errno, os, socket, sys, time
def echo(family, address):
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2])
    client.sendall(b"x"); assert server.accept()[0].recv(1) == b"x"
echo(socket.AF_INET, "127.0.0.1"); print("v4 loopback ok")
echo(socket.AF_INET6, "::1"); print("v6 loopback ok")
socket.getaddrinfo("localhost", 80); print("localhost ok")
try: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2); print("HOST REACHED")
except ConnectionRefusedError: print("host refused")
try: socket.create_connection(("1.1.1.1", 80), 2); print("NETWORK REACHED")
except OSError as error: assert error.errno == errno.ENETUNREACH, error; print("unreachable")
begun = time.monotonic()
try: socket.getaddrinfo("example.com", 80); print("NAME RESOLVED")
except OSError: assert time.monotonic() - begun < 1; print("no name")
try: socket.socket(40, socket.SOCK_STREAM); print("VSOCK OPEN")
except OSError as error: assert error.errno == errno.EAFNOSUPPORT, error; print("no vsock")
print(" ".join(name for _, name in socket.if_nameindex()))
"#;

#[tokio::test]
async fn toolchains_are_shown_read_only() {
    let stage = Stage::new();
    let mut spec = super::stage::spec("true");
    spec.toolchains = ["rustc", "sh", "python3"].map(str::to_owned).to_vec();
    let base = stage.sandboxes.materialise(&spec).await;
    if !is_root() {
        // Another user's toolchain cannot be seen by this one: then it is said by name.
        let text = base.unwrap_err().to_string();
        assert!(text.contains("`rustc` is needed"), "{text}");
        return;
    }
    let base = base.unwrap();
    assert!(base.toolchain_versions["rustc"].starts_with("rustc 1."), "{base:?}");
    assert!(base.toolchain_versions["python3"].starts_with("Python 3."), "{base:?}");
    let sandbox = stage.provision(&base, &limits()).await;
    let program = "fn main() { println!(\"built inside\"); }";
    sandbox.put("/app", &[file("main.rs", program, 0o644)]).await.unwrap();
    assert_eq!(sh(&*sandbox, "rustc main.rs && ./main").await, "built inside\n");
    let write = run(&*sandbox, &["touch", "/opt/toolchains/rust/bin/rustc"]).await;
    assert!(!write.is_success());
}

#[tokio::test]
async fn a_missing_toolchain_is_named() {
    let stage = Stage::new();
    let mut spec = super::stage::spec("true");
    spec.toolchains = vec!["no-such-compiler".to_owned(), "sh".to_owned()];
    let made = stage.sandboxes.materialise(&spec).await;
    let text = made.unwrap_err().to_string();
    assert!(text.contains("`no-such-compiler` is needed") && !text.contains("`sh`"), "{text}");
}
