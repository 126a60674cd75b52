//! What was handed over (E10): each file that fits opens as its format says, and holds what is asked ([`read`]).
//!
//! The bytes are anybody's, so every parser is bounded, and what is beyond the bounds counts as not opening:
//! an agent gains nothing by a file that nobody can read.

mod outside;
mod page;
mod start;
mod table;
mod xml;

use std::io::Read;

use domain::{
    acceptance::{Truth, checks::Reach},
    release::{ArtifactCheck, ArtifactFormat},
};
use engine::ports::{
    evidence::{Evidence, StateAt},
    sandbox::{FileNode, SandboxFault},
};
use regex::Regex;

use self::page::Page;
use super::{Known, database};

/// A larger file is not opened.
const FILE_BYTES_MAX: usize = 32 << 20;

/// A text that is parsed as a tree is given up above this.
const TREE_BYTES_MAX: usize = 8 << 20;

/// What an archive may hold in all when it is unpacked.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;

/// An archive of more members is not unpacked.
const MEMBERS_MAX: usize = 20_000;

/// Elements, attributes and texts of one document.
const NODES_MAX: u32 = 1_000_000;

/// Reads what a check demands of the files that fit.
pub(super) async fn read(
    demand: &ArtifactCheck,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let reach = Reach::new(&evidence.recorded().workdir, &demand.path, &[]);
    let mut paths = evidence.list(StateAt::Look, reach.under()).await?;
    paths.retain(|path| reach.counts(path));
    if paths.is_empty() {
        return Ok(Known::holds(false, "no file fits"));
    }
    for path in &paths {
        let bytes = match evidence.read(StateAt::Look, path).await? {
            Some((FileNode::File(bytes), _)) => bytes,
            // A link leads somewhere else, and what is there is not handed over.
            _ => return Ok(Known::holds(false, format!("{path} is no file"))),
        };
        let asked = demand.clone();
        let known = super::guarded(move || judge(&asked, bytes)).await;
        if known.truth != Truth::True {
            return Ok(Known { witness: format!("{path}: {}", known.witness), ..known });
        }
    }
    if demand.runs.is_empty() {
        return Ok(Known::holds(true, ""));
    }
    start::read(demand, paths, evidence).await
}

/// Whether a file of these bytes opens and holds all that is asked of its content.
pub fn content_holds(demand: &ArtifactCheck, bytes: Vec<u8>) -> Truth {
    judge(demand, bytes).truth
}

/// Whether one file holds all that is asked of its content, and what breaks it.
fn judge(demand: &ArtifactCheck, bytes: Vec<u8>) -> Known {
    let Some(format) = demand.format else { return Known::holds(true, "") };
    let patterns: Result<Vec<Regex>, _> = demand.text.iter().map(|text| Regex::new(text)).collect();
    let Ok(patterns) = patterns else { return Known::unknown("no regular expression") };
    match content_fault(format, demand, bytes, &patterns) {
        Ok(None) => Known::holds(true, ""),
        Ok(Some(fault)) => Known::holds(false, fault),
        Err(Unread::NoSelector(selector)) => Known::unknown(format!("`{selector}` is no selector")),
        Err(Unread::NoRoom(database::NoRoom(why))) => Known::unknown(why),
    }
}

/// Why a file was not looked at, through no fault of its maker.
#[derive(Debug)]
enum Unread {
    /// A selector that is none.
    NoSelector(String),
    /// This host could not hold a copy.
    NoRoom(database::NoRoom),
}

/// What breaks a demand, if anything does.
type Fault = Option<String>;

fn content_fault(
    format: ArtifactFormat,
    demand: &ArtifactCheck,
    bytes: Vec<u8>,
    patterns: &[Regex],
) -> Result<Fault, Unread> {
    if bytes.len() > FILE_BYTES_MAX {
        return Ok(Some("the file is larger than 32 MiB".into()));
    }
    match format {
        ArtifactFormat::Sqlite => return database::unsound(bytes).map_err(Unread::NoRoom),
        ArtifactFormat::Zip => return Ok(archive_fault(bytes)),
        _ => {}
    }
    let text = match plain(&bytes) {
        Ok(text) => text,
        Err(fault) => return Ok(Some(fault)),
    };
    let faults = match format {
        ArtifactFormat::Html | ArtifactFormat::Svg => {
            let opened = match format {
                ArtifactFormat::Html => Page::of_html(text),
                _ => xml_fault(text, Some("svg")).map_or_else(|| Page::of_svg(text), Err),
            };
            return match opened {
                Ok(page) => page.fault(demand, patterns),
                Err(fault) => Ok(Some(fault)),
            };
        }
        ArtifactFormat::Xml => xml_fault(text, None),
        ArtifactFormat::Json => json_fault(text),
        ArtifactFormat::Csv => table::fault(text, demand),
        ArtifactFormat::Text | ArtifactFormat::Sqlite | ArtifactFormat::Zip => None,
    };
    Ok(faults.or_else(|| unmatched(text, patterns)))
}

/// The first pattern that the text does not match.
fn unmatched(text: &str, patterns: &[Regex]) -> Fault {
    let missing = patterns.iter().find(|pattern| !pattern.is_match(text));
    missing.map(|pattern| format!("the text does not match `{pattern}`"))
}

/// The bytes as text: UTF-8, something in it, no control characters.
fn plain(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Err("it is empty".into());
    }
    let is_control = |letter: char| letter.is_control() && !"\t\n\r\u{c}".contains(letter);
    match text.contains(is_control) {
        true => Err("it holds control characters".into()),
        false => Ok(text),
    }
}

/// Why it is no XML document, or not one with such a root.
fn xml_fault(text: &str, root: Option<&str>) -> Fault {
    if text.len() > TREE_BYTES_MAX {
        return Some("the document is larger than 8 MiB".into());
    }
    if let Some(fault) = xml::excess(text) {
        return Some(fault);
    }
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        nodes_limit: NODES_MAX,
        ..roxmltree::ParsingOptions::default()
    };
    match roxmltree::Document::parse_with_options(text.trim_start(), options) {
        Ok(document) => {
            let found = document.root_element().tag_name().name();
            let is_meant = root.is_none_or(|wanted| wanted == found);
            (!is_meant).then(|| format!("its root is `{found}`"))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Why it is no JSON document; a bare word or number is none that anybody hands over.
fn json_fault(text: &str) -> Fault {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) if value.is_object() || value.is_array() => None,
        Ok(_) => Some("it is neither an object nor a list".into()),
        Err(error) => Some(error.to_string()),
    }
}

/// Why it is no archive whose members can all be unpacked.
fn archive_fault(bytes: Vec<u8>) -> Fault {
    let mut archive = match zip::ZipArchive::new(std::io::Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return Some(error.to_string()),
    };
    if archive.is_empty() {
        return Some("the archive is empty".into());
    }
    if archive.len() > MEMBERS_MAX {
        return Some(format!("the archive has more than {MEMBERS_MAX} members"));
    }
    let mut left = UNPACKED_BYTES_MAX;
    for at in 0..archive.len() {
        let member = match archive.by_index(at) {
            Ok(member) => member,
            Err(error) => return Some(error.to_string()),
        };
        let name = member.name().map_or_else(|_| "a member".into(), |name| name.into_owned());
        match std::io::copy(&mut member.take(left + 1), &mut std::io::sink()) {
            Ok(size) if size <= left => left -= size,
            Ok(_) => return Some("it holds more than 256 MiB".into()),
            Err(error) => return Some(format!("{name}: {error}")),
        }
    }
    None
}
