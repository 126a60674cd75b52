//! Building images: [`Building`] is handed to the engine with its context, and what a failed one said last is told.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    time::{Duration, SystemTime},
};

use bollard::{
    body_full,
    errors::Error,
    query_parameters::{BuildImageOptions, RemoveImageOptions},
};
use engine::ports::sandbox::{FileEntry, FileNode, SandboxFault};
use futures_util::StreamExt;

use super::engine::{Engine, LABEL_BASE, fault, is_host_limit};

/// Lines of a failed build that are told.
const LINES_TOLD: usize = 50;

/// What is built.
pub(super) struct Building<'a> {
    /// Everything that the build can copy, the Dockerfile among it.
    pub(super) context: &'a [FileEntry],
    /// The Dockerfile's path in the context.
    pub(super) dockerfile: &'a str,
    pub(super) args: &'a BTreeMap<String, String>,
    /// The stage that is wanted; none is the last.
    pub(super) target: Option<&'a str>,
    /// The digest that the image is labelled with.
    pub(super) digest: &'a str,
    pub(super) timeout: Duration,
}

/// Builds an image under a name.
pub(super) async fn build(
    engine: &Engine,
    building: &Building<'_>,
    tag: &str,
) -> Result<(), SandboxFault> {
    let lost = |error: io::Error| SandboxFault::Lost(error.to_string());
    let context = archive(building.context).map_err(lost)?;
    let args: HashMap<String, String> = building.args.clone().into_iter().collect();
    let options = BuildImageOptions {
        dockerfile: building.dockerfile.to_owned(),
        buildargs: (!args.is_empty()).then_some(args),
        target: building.target.unwrap_or_default().to_owned(),
        t: Some(tag.to_owned()),
        rm: true,
        forcerm: true,
        labels: Some(engine.labels([(LABEL_BASE, building.digest)])),
        ..Default::default()
    };
    let mut steps =
        Box::pin(engine.docker.build_image(options, None, Some(body_full(context.into()))));
    let mut said = Said::default();
    let mut layers = Layers::default();
    let steps_taken = async {
        while let Some(step) = steps.next().await {
            let step = step?;
            if let Some(text) = &step.stream {
                layers.note(text);
            }
            let told = [step.stream, step.error_detail.and_then(|detail| detail.message)];
            for text in told.into_iter().flatten() {
                said.add(&text);
            }
        }
        Ok::<(), Error>(())
    };
    let ended = tokio::time::timeout(building.timeout, steps_taken).await;
    if !matches!(ended, Ok(Ok(()))) {
        layers.remove(engine).await;
    }
    let told = |why: String| said.last_lines(&why);
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let text = told(error.to_string());
            match error {
                _ if is_host_limit(&text) => Err(SandboxFault::HostLimit(text)),
                Error::DockerStreamError { .. } | Error::DockerResponseServerError { .. } => {
                    Err(SandboxFault::Setup(format!("the image cannot be built:\n{text}")))
                }
                _ => Err(fault("build an image", &error)),
            }
        }
        Err(_) => {
            let seconds = building.timeout.as_secs();
            let text = told(format!("the build did not end within {seconds} s"));
            Err(SandboxFault::Setup(format!("the image cannot be built:\n{text}")))
        }
    }
}

/// Layers that a build has made; of one that fails nothing else would ever take them away.
#[derive(Debug, Default)]
struct Layers {
    made: Vec<String>,
    is_own: bool,
}

impl Layers {
    /// Hears what the builder says of its steps.
    fn note(&mut self, text: &str) {
        for line in text.lines() {
            if let Some((_, instruction)) =
                line.strip_prefix("Step ").and_then(|step| step.split_once(" : "))
            {
                // What a stage begins with was there before.
                self.is_own = !instruction.to_uppercase().starts_with("FROM ");
            }
            match line.strip_prefix(" ---> ") {
                Some("Using cache") => self.is_own = false,
                Some(id) if self.is_own && id.chars().all(|c| c.is_ascii_hexdigit()) => {
                    self.made.push(id.to_owned());
                }
                _ => {}
            }
        }
    }

    /// Removes them, the last first. One that another build stands on by now stays, and so does what the engine cannot
    /// remove: the fault that is told is the build's own.
    async fn remove(self, engine: &Engine) {
        for id in self.made.iter().rev() {
            let options = RemoveImageOptions { noprune: true, ..Default::default() };
            if engine.docker.remove_image(id, Some(options), None).await.is_err() {
                return;
            }
        }
    }
}

/// What a build has said. The engine passes its two streams on in no fixed order, so what came on the error stream is
/// kept apart: the reason would be lost behind a long output.
#[derive(Default)]
struct Said {
    output: Vec<String>,
    errors: Vec<String>,
}

impl Said {
    fn add(&mut self, text: &str) {
        // The builder shows what came on the error stream in red.
        let lines = if text.contains("\u{1b}[91m") { &mut self.errors } else { &mut self.output };
        lines.extend(plain_lines(text));
        lines.drain(..lines.len().saturating_sub(LINES_TOLD));
    }

    fn last_lines(&self, why: &str) -> String {
        let errors = &self.errors[self.errors.len().saturating_sub(LINES_TOLD / 2)..];
        let mut lines = self.output.clone();
        lines.extend_from_slice(errors);
        let last = self.output.last();
        if last.is_none_or(|last| !why.contains(last.as_str())) {
            lines.extend(plain_lines(why));
        }
        lines.drain(..lines.len().saturating_sub(LINES_TOLD));
        lines.join("\n")
    }
}

/// Lines with something on them, without the colours of terminals.
fn plain_lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain.push_str(rest);
    plain.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// A tar of files as root owns them.
pub(super) fn archive(files: &[FileEntry]) -> io::Result<Vec<u8>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut builder = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_uid(0);
        header.set_gid(0);
        header.set_mode(file.mode);
        header.set_mtime(now.as_secs());
        match &file.node {
            FileNode::File(bytes) => {
                header.set_size(bytes.len() as u64);
                builder.append_data(&mut header, &file.path, bytes.as_slice())?;
            }
            FileNode::Directory => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_size(0);
                builder.append_data(&mut header, &file.path, io::empty())?;
            }
            FileNode::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                builder.append_link(&mut header, &file.path, target)?;
            }
            FileNode::Absent => {}
        }
    }
    builder.into_inner()
}

/// The image that the last stage stands on, through earlier stages of the same file.
pub(super) fn first_image(dockerfile: &str) -> Option<String> {
    let mut stages: BTreeMap<String, String> = BTreeMap::new();
    let mut last = None;
    for line in dockerfile.lines() {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("from")) {
            continue;
        }
        let mut words = words.filter(|word| !word.starts_with("--"));
        let named = words.next()?.to_owned();
        let image = stages.get(&named.to_lowercase()).cloned().unwrap_or(named);
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("as"))
            && let Some(alias) = words.next()
        {
            stages.insert(alias.to_lowercase(), image.clone());
        }
        last = Some(image);
    }
    last.filter(|image| !image.contains('$') && image != "scratch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_layers_are_noted() {
        let check = |said: &[&str], expect: &[&str]| {
            let mut layers = Layers::default();
            said.iter().for_each(|text| layers.note(text));
            assert_eq!(layers.made, expect, "{said:?}");
        };
        let begin = ["Step 1/4 : FROM a:b\n", " ---> 0a\n", "Step 2/4 : RUN true\n"];
        let with = |more: &[&'static str]| [&begin[..], more].concat();
        check(&begin, &[]);
        check(
            &with(&[" ---> Running in 1b\n", "Removing intermediate container 1b\n ---> 2c\n"]),
            &["2c"],
        );
        check(
            &with(&[" ---> Using cache\n", " ---> 2c\n", "Step 3/4 : COPY a b\n", " ---> 3d\n"]),
            &["3d"],
        );
        check(&with(&[" ---> 2c\n", "Step 3/4 : FROM c AS d\n", " ---> 4e\n"]), &["2c"]);
        check(&with(&[" ---> Running in 1b\n", " ---> no id\n"]), &[]);
    }

    #[test]
    fn the_first_image_is_found_through_stages() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(first_image(text).as_deref(), expect, "{text}");
        };
        check("FROM debian:12\nRUN true\n", Some("debian:12"));
        check("from --platform=linux/amd64 a AS Build\nFROM b\nCOPY --from=build /x /x", Some("b"));
        check("FROM a AS one\nFROM one AS two\nFROM two\n", Some("a"));
        check("ARG X=1\nFROM a:$X\n", None);
        check("FROM scratch\n", None);
        check("RUN true\n", None);
    }

    #[test]
    fn a_context_holds_what_it_is_given() {
        let entry = |path: &str, node, mode| FileEntry { path: path.to_owned(), node, mode };
        let files = [
            entry("a/b", FileNode::File(b"text".to_vec()), 0o755),
            entry("c", FileNode::Link("a/b".to_owned()), 0o777),
            entry("d", FileNode::Directory, 0o700),
            entry("e", FileNode::Absent, 0),
        ];
        let bytes = archive(&files).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<(String, u32, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.uid().unwrap())
            })
            .collect();
        let expect = [("a/b", 0o755, 0), ("c", 0o777, 0), ("d", 0o700, 0)];
        let expect: Vec<_> =
            expect.iter().map(|(path, mode, uid)| ((*path).to_owned(), *mode, *uid)).collect();
        assert_eq!(found, expect);
    }
}
