//! The turn decided a second time, naively: everything is worked out anew from the whole past, on
//! words and rows of bits.

use std::collections::{BTreeMap, BTreeSet};

/// What the naive user knows of the setting.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub needs: Vec<Need>,
    pub tells: usize,
    pub refusals: usize,
    pub silent: usize,
    pub turns: usize,
    pub generic_tells: bool,
    pub facts: Vec<&'static str>,
    /// Class and whether a request is granted.
    pub classes: Vec<(&'static str, bool)>,
}

/// A requirement; `holds` is an operator and a check.
#[derive(Clone, Debug)]
pub struct Need {
    pub name: &'static str,
    pub when: String,
    pub latest: Option<usize>,
    pub topic: Option<&'static str>,
    pub class: Option<&'static str>,
    pub holds: (&'static str, String),
    pub repeats: usize,
    pub optional: bool,
    pub praise: bool,
}

/// One turn of the past.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Acts of the message that opened it.
    pub said: Vec<String>,
    pub asks: Vec<Ask>,
    pub done: bool,
    pub busy: bool,
    pub changed: bool,
    pub message: String,
    /// States that are true at its end.
    pub states: BTreeSet<String>,
    /// Events in it.
    pub events: BTreeSet<String>,
    /// Classes asked for by requests inside it.
    pub requests: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Topic(&'static str),
    May(&'static str),
    Anything,
    Unknown,
}

/// The acts of the next message, or `ends: NAME`.
pub fn next(spec: &Spec, past: &[Past]) -> String {
    Model { spec, past }.next()
}

struct Model<'a> {
    spec: &'a Spec,
    past: &'a [Past],
}

impl Model<'_> {
    fn next(&self) -> String {
        let now = self.past.len();
        if now == 0 {
            let opening = self.spec.needs.iter().filter(|need| self.is_due(need));
            let tells = opening.map(|need| format!(" tell({})", need.name));
            return format!("open{}", tells.collect::<String>());
        }
        let last = &self.past[now - 1];
        let idle_row = (1..=now).rev().take_while(|turn| self.is_idle(*turn)).count();
        if idle_row >= self.spec.silent {
            return "ends: silent".into();
        }
        if self.repeats() >= 3 {
            return "ends: repeats".into();
        }
        let said = if idle_row > 0 { Ok("nudge".to_string()) } else { self.reply(last) };
        match said {
            Ok(_) if now >= self.spec.turns => "ends: turn_cap".into(),
            Ok(said) => said,
            Err(ending) => format!("ends: {ending}"),
        }
    }

    fn reply(&self, last: &Past) -> Result<String, &'static str> {
        let now = self.past.len();
        let mut tells: Vec<&Need> = vec![];
        let (front, generic) = self.questions(last, &mut tells);
        let permits = self.permits(last, &mut tells);
        for need in &self.spec.needs {
            let overdue = need.latest.is_some_and(|latest| latest <= now);
            if overdue && self.is_hidden(need, &tells) && tells.len() < self.spec.tells {
                tells.push(need);
            }
        }
        let may_refuse = self.refused() < self.spec.refusals;
        let mut corrects: Vec<&Need> = vec![];
        if self.is_handoff(now) {
            corrects = self.spec.needs.iter().filter(|n| may_refuse && self.to_mend(n)).collect();
            for need in self.spec.needs.iter().filter(|need| self.is_due(need)) {
                if self.is_hidden(need, &tells) && tells.len() < self.spec.tells {
                    tells.push(need);
                }
            }
            if tells.is_empty() && corrects.is_empty() {
                match self.spec.needs.iter().find(|need| self.is_hidden(need, &tells)) {
                    Some(need) => tells.push(need),
                    None => return Err(self.acceptance()),
                }
            }
        }
        if may_refuse {
            corrects.extend(self.spec.needs.iter().find(|need| self.to_complain(need)));
        }
        let mut acts = permits;
        acts.extend(front);
        if generic && tells.is_empty() && !acts.iter().any(|act| act == "defer") {
            acts.push("defer".into());
        }
        acts.extend(corrects.iter().map(|need| format!("correct({} restate)", need.name)));
        let praised = |need: &&&Need| need.praise && self.verdict_since(need, 1, now) == "met";
        acts.extend(tells.iter().filter(|n| !praised(n)).map(|n| format!("tell({})", n.name)));
        acts.extend(tells.iter().filter(praised).map(|n| format!("praise({})", n.name)));
        Ok(if acts.is_empty() { "continue".into() } else { acts.join(" ") })
    }

    fn questions<'a>(&'a self, last: &Past, tells: &mut Vec<&'a Need>) -> (Vec<String>, bool) {
        let mut answers = vec![];
        let (mut defers, mut unknown, mut generic) = (false, false, false);
        for ask in &last.asks {
            match ask {
                Ask::Topic(topic) => {
                    let about = |need: &&Need| need.topic == Some(*topic);
                    let hidden: Vec<&Need> = self
                        .spec
                        .needs
                        .iter()
                        .filter(about)
                        .filter(|need| self.is_hidden(need, tells))
                        .collect();
                    let due = hidden.iter().find(|need| self.is_due(need));
                    match due {
                        Some(need) if tells.len() < self.spec.tells => tells.push(need),
                        _ if self.spec.facts.contains(topic) => {
                            answers.push(format!("answer({topic})"));
                        }
                        _ if !hidden.is_empty() => defers = true,
                        _ if self
                            .spec
                            .needs
                            .iter()
                            .filter(about)
                            .any(|n| self.told(n.name) > 0) =>
                        {
                            answers.push(format!("answer({topic})"));
                        }
                        _ if tells.iter().any(|need| need.topic == Some(*topic)) => {}
                        _ => unknown = true,
                    }
                }
                Ask::Anything => {
                    let hidden = self.spec.needs.iter().find(|need| self.is_hidden(need, tells));
                    match hidden {
                        Some(need) if self.spec.generic_tells && tells.len() < self.spec.tells => {
                            tells.push(need);
                        }
                        Some(_) => generic = true,
                        None => {}
                    }
                }
                Ask::Unknown => unknown = true,
                Ask::May(_) => {}
            }
        }
        answers.extend(defers.then(|| "defer".to_string()));
        answers.extend(unknown.then(|| "dont_know".to_string()));
        (answers, generic)
    }

    fn permits<'a>(&'a self, last: &Past, tells: &mut Vec<&'a Need>) -> Vec<String> {
        let mut acts = vec![];
        for ask in &last.asks {
            let Ask::May(class) = ask else { continue };
            let granted = self.spec.classes.iter().any(|(name, grants)| name == class && *grants);
            let word = if granted { "grant" } else { "refuse" };
            acts.push(format!("{word}({class})"));
            for need in &self.spec.needs {
                if need.class == Some(*class) && self.is_hidden(need, tells) {
                    tells.push(need);
                }
            }
        }
        acts
    }

    fn acceptance(&self) -> &'static str {
        let now = self.past.len();
        let wrong = self.spec.needs.iter().any(|need| {
            !need.optional && self.verdict_since(need, self.told(need.name), now) != "met"
        });
        if wrong { "accepted_with_reservations" } else { "accepted" }
    }

    fn is_hidden(&self, need: &Need, tells: &[&Need]) -> bool {
        self.told(need.name) == 0 && !tells.iter().any(|told| told.name == need.name)
    }

    /// The turn that the telling opened, 0 if there was none.
    fn told(&self, name: &str) -> usize {
        let tells = [format!("tell({name})"), format!("praise({name})")];
        let place = self.past.iter().position(|turn| turn.said.iter().any(|a| tells.contains(a)));
        place.map_or(0, |place| place + 1)
    }

    /// Turns that corrections opened.
    fn raised(&self, name: &str) -> Vec<usize> {
        let act = format!("correct({name} restate)");
        (1..=self.past.len()).filter(|turn| self.past[turn - 1].said.contains(&act)).collect()
    }

    fn refused(&self) -> usize {
        let refusals = (2..=self.past.len()).filter(|turn| {
            let said = &self.past[turn - 1].said;
            let has = |word: &str| said.iter().any(|act| act.starts_with(word));
            self.is_handoff(turn - 1) && has("correct(") && !has("tell(") && !has("praise(")
        });
        refusals.count()
    }

    fn to_mend(&self, need: &Need) -> bool {
        let told = self.told(need.name);
        told > 0
            && !need.optional
            && self.verdict_since(need, told, self.past.len()) == "unmet"
            && self.raised(need.name).len() < need.repeats
    }

    fn to_complain(&self, need: &Need) -> bool {
        let (told, now) = (self.told(need.name), self.past.len());
        if told == 0 || need.optional || self.verdict_since(need, told, now) != "violated" {
            return false;
        }
        let broken = (told..=now).find(|turn| self.verdict_since(need, told, *turn) == "violated");
        let raised = self.raised(need.name);
        raised.len() < need.repeats && !raised.iter().any(|turn| Some(*turn) > broken)
    }

    fn verdict_since(&self, need: &Need, from: usize, now: usize) -> &'static str {
        let (operator, check) = (need.holds.0, &need.holds.1);
        let happened = |from: usize| (from..=now).any(|t| self.past[t - 1].events.contains(check));
        match operator {
            "at_end" if self.past[now - 1].states.contains(check) => "met",
            "at_end" => "unmet",
            "never" if happened(from) => "violated",
            "eventually" if !happened(1) => "unmet",
            _ => "met",
        }
    }

    fn leaves_open(&self, turn: usize) -> bool {
        self.past[turn - 1].asks.iter().any(|ask| *ask != Ask::Anything)
    }

    fn is_idle(&self, turn: usize) -> bool {
        let now = &self.past[turn - 1];
        let checks = self.checks();
        let news = now.events.iter().any(|event| checks.contains(event))
            || (turn > 1
                && checks.iter().any(|check| {
                    now.states.contains(check) != self.past[turn - 2].states.contains(check)
                }));
        !now.busy && !now.changed && !self.leaves_open(turn) && !news
    }

    fn is_handoff(&self, turn: usize) -> bool {
        !self.is_idle(turn) && (!self.leaves_open(turn) || self.past[turn - 1].done)
    }

    fn checks(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> =
            self.spec.needs.iter().map(|need| need.holds.1.clone()).collect();
        for need in &self.spec.needs {
            let parts = need.when.split(|c: char| "(),".contains(c));
            names.extend(parts.filter_map(|part| part.strip_prefix("holds:")).map(String::from));
        }
        names
    }

    fn repeats(&self) -> usize {
        let mut row = 1;
        for turn in 2..=self.past.len() {
            let (before, now) = (&self.past[turn - 2], &self.past[turn - 1]);
            let same = !now.message.is_empty() && now.message == before.message && !now.changed;
            row = if same { row + 1 } else { 1 };
        }
        row
    }

    fn is_due(&self, need: &Need) -> bool {
        need.when == "opening"
            || need.latest.is_some_and(|latest| latest <= self.past.len())
            || self.row(&need.when, need, 0).contains(&true)
    }

    /// For each turn from 0 whether the condition has happened by its end, counting only what is
    /// after `floor - 1`.
    fn row(&self, when: &str, need: &Need, floor: usize) -> Vec<bool> {
        let turns = self.past.len() + 1;
        if let Some((head, inner)) = when.strip_suffix(')').and_then(|text| text.split_once('(')) {
            let parts = parts(inner);
            let rows: Vec<Vec<bool>> =
                parts.iter().map(|part| self.row(part, need, floor)).collect();
            let column = |at: usize| rows.iter().map(move |row| row[at]);
            return match head {
                "all" => (0..turns).map(|at| column(at).all(|x| x)).collect(),
                "any" => (0..turns).map(|at| column(at).any(|x| x)).collect(),
                "not" => (0..turns).map(|at| at > 0 && !rows[0][at]).collect(),
                then => {
                    let within = then.strip_prefix("then").and_then(|n| n.parse::<usize>().ok());
                    let start = (floor..turns).find(|at| rows[0][*at]);
                    let end = start.and_then(|start| {
                        let later = self.row(&parts[1], need, start + 1);
                        (start + 1..turns)
                            .find(|at| later[*at])
                            .filter(|end| within.is_none_or(|within| end - start <= within))
                    });
                    (0..turns).map(|at| end.is_some_and(|end| end <= at)).collect()
                }
            };
        }
        let mut seen = false;
        let happening = |at: usize| at >= floor && self.happens(when, need, at);
        (0..turns)
            .map(|at| {
                seen |= happening(at);
                seen
            })
            .collect()
    }

    fn happens(&self, leaf: &str, need: &Need, at: usize) -> bool {
        let word: Vec<&str> = leaf.split(':').collect();
        if word[0] == "opening" {
            return at == 0;
        }
        if at == 0 {
            return false;
        }
        let turn = &self.past[at - 1];
        let other =
            |name: &str| self.spec.needs.iter().find(|need| need.name == name).expect("a need");
        let fate = |name: &str, is: &str| {
            let told = self.told(name);
            told > 0 && told <= at && self.verdict_since(other(name), told, at) == is
        };
        match word[0] {
            "after" => at == word[1].parse::<usize>().expect("a number"),
            "asked" => {
                let topic = need.topic.is_some_and(|topic| turn.asks.contains(&Ask::Topic(topic)));
                let class = need.class.is_some_and(|class| {
                    turn.asks.contains(&Ask::May(class)) || turn.requests.contains(&class)
                });
                topic || class
            }
            "holds" => turn.states.contains(word[1]) || turn.events.contains(word[1]),
            "told" => self.told(word[1]) == at,
            "met" => fate(word[1], "met"),
            "broken" => fate(word[1], "violated"),
            "claims" => turn.done,
            "handoff" => self.is_handoff(at),
            "silent" => {
                let row = (1..=at).rev().take_while(|turn| self.is_idle(*turn)).count();
                row >= word[1].parse().expect("a number")
            }
            "feedback" => {
                let so_far = self.raised(word[1]).into_iter().filter(|turn| *turn <= at);
                self.raised(word[1]).contains(&at)
                    && so_far.count() >= word[2].parse().expect("a number")
            }
            "granted" => turn.said.contains(&format!("grant({})", word[1])),
            "violated" => {
                let times: usize = word[2].parse().expect("a number");
                let (operator, check) = (other(word[1]).holds.0, &other(word[1]).holds.1);
                let events = |upto: usize| {
                    self.past[..upto].iter().filter(|turn| turn.events.contains(check)).count()
                };
                operator == "never" && events(at) >= times && events(at) > events(at - 1)
            }
            other => panic!("no leaf {other}"),
        }
    }
}

fn parts(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == ',' && depth == 0 {
            found.push(String::new());
        } else {
            found.last_mut().expect("one at least").push(c);
        }
    }
    found
}

/// The setting of a spec in the words of `setting`.
pub fn words(spec: &Spec) -> String {
    let mut lines = vec![
        format!("tells {}", spec.tells),
        format!("refusals {}", spec.refusals),
        format!("silent {}", spec.silent),
        format!("turns {}", spec.turns),
    ];
    lines.extend(spec.generic_tells.then(|| "generic".to_string()));
    lines.extend(spec.facts.iter().map(|fact| format!("fact {fact}")));
    lines.extend(
        spec.classes.iter().map(|(class, grants)| {
            format!("{} {class}", if *grants { "grants" } else { "refuses" })
        }),
    );
    let options: Vec<BTreeMap<&str, String>> = spec
        .needs
        .iter()
        .map(|need| {
            let mut fields = BTreeMap::new();
            fields.insert("when", need.when.clone());
            fields.insert("pass", format!("{}:{}", need.holds.0, need.holds.1));
            fields.insert("repeats", need.repeats.to_string());
            fields.extend(need.latest.map(|latest| ("latest", latest.to_string())));
            fields.extend(need.topic.map(|topic| ("topic", topic.to_string())));
            fields.extend(need.class.map(|class| ("class", class.to_string())));
            fields.extend(need.optional.then(|| ("optional", String::new())));
            fields.extend(need.praise.then(|| ("praise", String::new())));
            fields
        })
        .collect();
    for (need, fields) in spec.needs.iter().zip(options) {
        let fields: Vec<String> =
            fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.push(format!("need {} {}", need.name, fields.join(" ")));
    }
    lines.join("\n")
}
