//! A real browser without a screen ([`Browser`]), driven over its debugging pipe: a page is opened with scripts
//! switched off and no name that resolves, and what it asked for and complained of is kept.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::is_root;

/// No answer and no event of a browser takes longer on a machine that is up to anything.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// The pipe is file descriptors 3 and 4 of the browser; a shell puts them there, and knows the names that it has.
const START: &str = "
exec 3<&0 4>&1 </dev/null >/dev/null
for name in chromium google-chrome-stable google-chrome chromium-browser; do
    command -v $name && exec $name \"$@\"
done";

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    calls: u64,
    session: Option<String>,
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it, with scripts of pages switched off.
    ///
    /// # Panics
    /// There is no `chromium`: a page that no browser has seen is not proved.
    pub fn start() -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", START, "chromium"]);
        command.args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]);
        if is_root() {
            command.arg("--no-sandbox");
        }
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.env("HOME", profile.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().expect("a shell");
        let to = child.stdin.take().expect("a pipe");
        let from = listen(child.stdout.take().expect("a pipe"));
        let (session, events) = (None, Vec::new());
        let mut browser = Self { child, to, from, calls: 0, session, events, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.scripts(false);
        browser
    }

    /// Whether scripts of pages run; [`Browser::ask`] works in any case.
    pub fn scripts(&mut self, run: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !run}));
    }

    /// Size of the window and the colours that its user prefers, `light` or `dark`.
    pub fn looks(&mut self, width: u32, colours: &str) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}),
        );
        let feature = json!({"name": "prefers-color-scheme", "value": colours});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Opens a file, which has to load; what was kept of the page before is dropped.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        let url = format!("file://{}", file.display());
        let opened = self.call("Page.navigate", json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
        self.await_event("Page.loadEventFired");
    }

    /// The value of an expression in the page.
    pub fn ask(&mut self, expression: &str) -> Value {
        let answer =
            self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Clicks the first element that a selector finds and that is seen.
    pub fn click(&mut self, selector: &str) {
        let place = self.ask(&format!(
            "(() => {{ const e = [...document.querySelectorAll({selector:?})].find(e => e.checkVisibility());
               if (!e) return null;
               e.scrollIntoView({{block: 'center', inline: 'center'}});
               const box = e.getBoundingClientRect();
               return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        assert!(place.is_array(), "nothing that is seen fits {selector}");
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}),
            );
        }
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "char", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            if kind != "char" || !text.is_empty() {
                self.call(
                    "Input.dispatchKeyEvent",
                    json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code}),
                );
            }
        }
    }

    /// Asks until the answer is this one; the page needs a moment after a click.
    pub fn awaits(&mut self, expression: &str, expect: &Value) {
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            let found = self.ask(expression);
            if found == *expect {
                return;
            }
            assert!(Instant::now() < deadline, "{expression}: {found}, expected {expect}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Addresses that the page asked for.
    pub fn requests(&self) -> Vec<String> {
        let sent =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = sent.filter_map(|event| event.pointer("/params/request/url")?.as_str());
        urls.map(str::to_owned).collect()
    }

    /// Errors and messages of the console.
    pub fn complaints(&self) -> Vec<&Value> {
        let loud = ["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"];
        self.events
            .iter()
            .filter(|event| event["method"].as_str().is_some_and(|name| loud.contains(&name)))
            .collect()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let sent = self.to.write_all(&bytes);
        assert!(sent.is_ok(), "{}", missing(&sent.unwrap_err()));
        loop {
            let answer = self.receive();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn await_event(&mut self, method: &str) {
        while !self.events.iter().any(|event| event["method"] == method) {
            let event = self.receive();
            self.events.push(event);
        }
    }

    fn receive(&mut self) -> Value {
        self.from.recv_timeout(ANSWER_MAX).unwrap_or_else(|error| panic!("{}", missing(&error)))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser that has ended by itself has no group any more.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn missing(error: &dyn std::error::Error) -> String {
    format!("no browser answers ({error}): install it with `setup/host-packages chromium=chromium`")
}

/// Messages end with a zero byte. The end of the pipe ends the channel.
fn listen(from: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for message in BufReader::new(from).split(0) {
            let Ok(message) = message else { return };
            let message = serde_json::from_slice(&message).expect("a message of JSON");
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}
