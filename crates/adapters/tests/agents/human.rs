//! A person who plays the agent, at a terminal of the test's own.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use adapters::agents::HumanAgent;
use domain::session::TurnStop;
use engine::ports::agent::AgentFault;
use nix::pty::openpty;

use crate::{opened::Opened, stage::Stage};

/// A person's end of a terminal, with everything that was shown.
struct Person {
    hands: File,
    shown: Arc<Mutex<String>>,
    /// Keeps the terminal there while nobody has it open.
    _terminal: std::os::fd::OwnedFd,
    path: PathBuf,
}

impl Person {
    fn sits_down() -> Self {
        let pair = openpty(None, None).expect("this host has terminals");
        let path = nix::unistd::ttyname(&pair.slave).expect("it has a name");
        let hands = File::from(pair.master);
        let mut eyes = hands.try_clone().expect("a second handle");
        let shown = Arc::new(Mutex::new(String::new()));
        let sees = shown.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(read @ 1..) = eyes.read(&mut piece) {
                sees.lock().expect("held").push_str(&String::from_utf8_lossy(&piece[..read]));
            }
        });
        Self { hands, shown, _terminal: pair.slave, path }
    }

    fn types(&mut self, text: &str) {
        self.hands.write_all(text.as_bytes()).expect("the terminal takes it");
    }

    async fn sees(&self, text: &str) {
        for _ in 0..200 {
            if self.shown.lock().expect("held").contains(text) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{text:?} is not shown: {}", self.shown.lock().expect("held"));
    }
}

async fn check(opened: &Opened, message: &str, stop: TurnStop, expect: &[&str]) {
    let (stopped, told) = opened.turn(message).await;
    assert_eq!(told, expect);
    assert_eq!(stopped, stop);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_runs_commands_and_ends_a_turn_with_words() {
    let mut person = Person::sits_down();
    let stage = Arc::new(Stage::with(&[]).await);
    let opened = Opened::of(&HumanAgent::at(&person.path), stage).await.expect("it opens");
    person.types("mkdir sub\ncd sub\npwd\nfalse\n\n/help\ncd nowhere\n/say \n.\n/say I am done.\n");
    let expect = [
        "delivered",
        "called mkdir sub (execute)",
        "completed  ->  Some(0)",
        "called pwd (execute)",
        "completed  -> /app/sub Some(0)",
        "called false (execute)",
        "failed  ->  Some(1)",
        "said I am done.",
    ];
    check(&opened, "Please make a folder.", TurnStop::Finished, &expect).await;
    for shown in [
        "turn 1: the user says",
        "Please make a folder.",
        "/app/sub$",
        "exit code 1",
        "no directory nowhere",
        "nothing to say yet",
    ] {
        person.sees(shown).await;
    }
    person.types("printf 'a\\033[2Jb'\n/say\nTwo lines\nof words.\n.\n");
    let (stop, told) = opened.turn("And more?").await;
    assert_eq!(
        (stop, told.last().map(String::as_str)),
        (TurnStop::Finished, Some("said Two lines\nof words."))
    );
    person.sees("a·[2Jb").await;
    person.types("/leave\n");
    let expect = ["delivered", "noted the person left the terminal"];
    check(&opened, "Still there?", TurnStop::Crashed, &expect).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_stopped_takes_no_key_of_the_next() {
    let mut person = Person::sits_down();
    let stage = Arc::new(Stage::with(&[]).await);
    let opened = Opened::of(&HumanAgent::at(&person.path), stage).await.expect("it opens");
    let (observer, _seen) = opened.observer();
    let prompt = opened.conversation.prompt("Please work.", &observer);
    let interrupted = async {
        person.sees("/app$ ").await;
        opened.conversation.interrupt().await.expect("it can be interrupted");
    };
    let (stop, ()) = tokio::join!(prompt, interrupted);
    assert_eq!(stop, Ok(TurnStop::Interrupted));
    person.sees("its time is up").await;
    person.types("/say Here.\n");
    check(&opened, "Again?", TurnStop::Finished, &["delivered", "said Here."]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_nobody_plays() {
    let stage = Arc::new(Stage::with(&[]).await);
    let refused = Opened::of(&HumanAgent::at(Path::new("/nowhere/tty")), stage).await.err();
    let refused = refused.expect("it does not open");
    assert!(matches!(&refused, AgentFault::NotOpened(why) if why.contains("needs a terminal")));
}
