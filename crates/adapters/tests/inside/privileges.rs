//! What programs in a container may do and may not: as in a container without any special right.

use std::{os::unix::fs::PermissionsExt, process::Command};

use domain::ids::Turn;

use crate::stage::{Stage, text};

/// Builds a program from C.
fn build(stage: &Stage, name: &str, source: &str) -> String {
    let (program, file) = (stage.path(name), stage.path(&format!("{name}.c")));
    std::fs::write(&file, source).unwrap();
    assert!(Command::new("cc").arg(&file).arg("-o").arg(&program).status().unwrap().success());
    text(&program).to_owned()
}

#[tokio::test]
async fn users_are_who_they_should_be() {
    let stage = Stage::new().await;
    let check = async |user: &str, expect: &str| {
        let script = "echo $(id -u):$(id -g):$(id -G):$HOME; grep CapEff /proc/self/status";
        assert_eq!(stage.sh_as(user, script).await, expect, "{user}");
    };
    let (all, none) = ("CapEff:\t00000000a80425fb\n", "CapEff:\t0000000000000000\n");
    check("root", &format!("0:0:0:/root\n{all}")).await;
    check("0:55", &format!("0:55:55:/root\n{all}")).await;
    check("4711:4712", &format!("4711:4712:4712:/\n{none}")).await;
    check("nobody", &format!("65534:65534:65534:/nonexistent\n{none}")).await;
}

#[tokio::test]
async fn set_user_programs_work_and_are_written_down() {
    let stage = Stage::new().await;
    let source = "#include <unistd.h>\nint main(void) { setuid(0); execl(\"/usr/bin/id\", \"id\", \"-u\", 0); }";
    let program = build(&stage, "raise", source);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    assert_eq!(stage.sh_as("nobody", &program).await, "0\n");
    let taken = stage.link.taken(Turn(1)).await.unwrap().processes;
    let users = |name: &str| -> Vec<u32> {
        let ends = |event: &&domain::evidence::ProcessEvent| event.program.ends_with(name);
        taken.iter().filter(ends).map(|event| event.uid).collect()
    };
    assert_eq!((users("/raise"), users("/id")), (vec![65534], vec![0]));
}

#[tokio::test]
async fn programs_can_be_traced() {
    let stage = Stage::new().await;
    for user in ["root", "nobody"] {
        let traced = stage.sh_as(user, "strace -f -e trace=execve sh -c '/bin/true; :' 2>&1").await;
        assert!(traced.contains("execve(\"/bin/true\""), "{traced}");
    }
    let taken = stage.link.taken(Turn(1)).await.unwrap().processes;
    let traced = taken.iter().filter(|event| event.program.ends_with("/true")).count();
    assert_eq!(traced, 2);
}

#[tokio::test]
async fn rights_of_what_watches_are_not_lent() {
    let stage = Stage::new().await;
    let source = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#define TRY(name, call) do { errno = 0; long r = (call); printf("%s %ld %d\n", name, r < 0 ? r : 0, errno); } while (0)
int main(void) {
    char clone3[88] = {0};
    TRY("mount", mount("none", "/mnt", "tmpfs", 0, 0));
    TRY("umount2", umount2("/proc", MNT_DETACH));
    TRY("unshare", unshare(CLONE_NEWUSER));
    TRY("setns", setns(0, 0));
    TRY("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    TRY("clone3", syscall(SYS_clone3, clone3, sizeof clone3));
    TRY("bpf", syscall(SYS_bpf, 0, 0, 0));
    TRY("fsopen", syscall(430, "tmpfs", 0));
    TRY("perf_event_open", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
    TRY("sethostname", sethostname("other", 5));
    TRY("syslog", syscall(SYS_syslog, 10, 0, 0));
    TRY("io_uring_setup", syscall(425, 1, 0));
    TRY("vsock", socket(40, SOCK_STREAM, 0));
    TRY("fork", fork() == 0 ? (_exit(0), 0) : 0);
}
"#;
    let program = build(&stage, "try", source);
    let expect = "mount -1 1\numount2 -1 1\nunshare -1 1\nsetns -1 1\nclone -1 1\nclone3 -1 38\nbpf -1 1\n\
                  fsopen -1 1\nperf_event_open -1 1\nsethostname -1 1\nsyslog -1 1\nio_uring_setup -1 38\n\
                  vsock -1 97\nfork 0 0\n";
    for user in ["root", "nobody"] {
        assert_eq!(stage.sh_as(user, &program).await, expect, "{user}");
    }
}

#[tokio::test]
async fn what_watches_cannot_be_looked_into() {
    let stage = Stage::new().await;
    let script = "l=$PPID; s=$(echo $(ps -o ppid= -p $l))\n\
                  for p in $l $s; do cat /proc/$p/environ /proc/$p/maps; cat /proc/$p/fd/0; \
                  strace -p $p; done 2>&1 | grep -v -e denied -e 'not permitted' || :";
    assert_eq!(stage.sh(script).await, "");
}
