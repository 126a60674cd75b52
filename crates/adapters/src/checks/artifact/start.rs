//! Starts what was handed over where there is little but a shell: no network, no compiler, no package manager
//! and nothing else that the agent left ([`read`]).

use domain::release::ArtifactCheck;
use engine::ports::{
    evidence::{Evidence, ForkOf},
    sandbox::{Ended, Finished, SandboxFault},
};
use regex::Regex;

use super::super::{Known, describe, fork};

/// Leaves the bare programs and the one that is started, then starts it with nothing in its environment.
///
/// Exit 125 says that this host does not let the others be taken away.
const BARE: &str = r#"
folders="/usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin"
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
bare="sh dash bash env test [ true false echo printf cat cp mv rm mkdir rmdir ls ln pwd dirname basename
 readlink realpath head tail cut tr sort uniq wc grep egrep fgrep sed awk gawk mawk date sleep seq expr id
 uname touch chmod find xargs tee mktemp stat diff cmp less more which"
real() { readlink -f "$1" 2>/dev/null || echo "$1"; }
keep=" "
for name in $bare "$1"; do
  case $name in */*) continue;; esac
  for folder in $folders; do
    if [ -e "$folder/$name" ]; then
      target=$(real "$folder/$name")
      keep="$keep$name ${target##*/} "
    fi
  done
done
doomed=
for folder in $folders; do
  [ -L "$folder" ] && continue
  for path in "$folder"/*; do
    case "$keep" in *" ${path##*/} "*) ;; *) doomed="$doomed $path";; esac
  done
done
rm -rf $doomed 2>/dev/null || exit 125
[ -n "$1" ] || exit 0
exec env -i PATH="$PATH" HOME=/nonexistent LANG=C.UTF-8 "$@"
"#;

/// What the programs of the base cannot be taken away is told by this exit.
const NOT_BARE: i32 = 125;

/// Whether the program ends well, and prints what it should.
pub(super) async fn read(
    demand: &ArtifactCheck,
    handed_over: Vec<String>,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let Ok(prints) = demand.prints.as_deref().map(Regex::new).transpose() else {
        return Ok(Known::unknown("no regular expression"));
    };
    let finished = start(&demand.runs, demand.timeout_sec, &handed_over, evidence).await?;
    let witness = describe(&finished);
    match finished.ended {
        Ended::Exited(0) => {}
        // The program may say the same, so ask again without it.
        Ended::Exited(NOT_BARE) => {
            let alone = start(&[String::new()], demand.timeout_sec, &[], evidence).await?;
            return Ok(match alone.is_success() {
                true => Known::holds(false, witness),
                false => Known::unknown("this host does not let programs be taken away"),
            });
        }
        // What needs a program that is not there, breaks or does not end is not what a person can open.
        Ended::Exited(_)
        | Ended::Signalled(_)
        | Ended::OutOfMemory
        | Ended::TimedOut
        | Ended::NotStarted => return Ok(Known::holds(false, witness)),
    }
    let output = String::from_utf8_lossy(&finished.stdout);
    Ok(match prints.filter(|wanted| !wanted.is_match(output.trim_end())) {
        Some(wanted) => Known::holds(false, format!("what it prints does not match `{wanted}`")),
        None => Known::holds(true, witness),
    })
}

async fn start(
    argv: &[String],
    timeout_sec: u32,
    handed_over: &[String],
    evidence: &dyn Evidence,
) -> Result<Finished, SandboxFault> {
    let wrapped = ["/bin/sh", "-c", BARE, "sh"].map(String::from);
    let argv: Vec<String> = wrapped.into_iter().chain(argv.iter().cloned()).collect();
    let of = ForkOf::BaseWith(handed_over.to_vec());
    evidence.run(&fork::run(of, Vec::new(), &argv, timeout_sec)).await
}
