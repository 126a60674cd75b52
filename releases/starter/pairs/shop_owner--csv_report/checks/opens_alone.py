#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the page in /app/out shows its content from nothing but itself, 1 if not, 3 if unsure.

It looks at every way in which a page can reach for something else: attributes that load, style
sheets, scripts. Links that a reader may click are not loads.
"""

import base64
import html.parser
import re
import sys
import urllib.parse
from pathlib import Path

PAGE = Path("/app/out/report.html")
LOADING = {"src", "srcset", "data", "poster", "background", "manifest", "archive", "codebase",
           "imagesrcset", "classid", "profile", "srcdoc"}
HREF_LOADS = {"link", "base", "image", "use", "feimage", "script", "lineargradient", "pattern"}
CALLS = re.compile(
    r"\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|importScripts|sendBeacon|"
    r"\bimport\s*\(|\bimport\s+[\w{*'\"]|\bfrom\s+['\"]|serviceWorker|new\s+Worker|"
    r"\.(src|href)\s*=\s*(?!['\"]data:)|setAttribute\s*\(\s*['\"](src|href)|\beval\s*\(|\batob\s*\(|new\s+Function"
)
ADDRESS = re.compile(r"(?:https?|wss?|ftp|file):\s*(?:\\?/){2}|['\"(]\s*(?:\\?/){2}\w", re.I)
NAMESPACES = re.compile(r"http://www\.w3\.org/[\w/.]*")


class Page(html.parser.HTMLParser):
    """Collects what the page reaches for in `outside`, and the text of its table cells."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.outside, self.cells = [], []
        self._inside = None

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        for name, value in attrs.items():
            name = name.rpartition(":")[2]
            if name in LOADING or (name == "href" and tag in HREF_LOADS):
                self.load(f"<{tag} {name}>", value)
            if name == "style" or name in ("fill", "filter", "mask", "clip-path", "stroke"):
                self.style(value)
            if name.startswith("on"):
                self.script(value)
        if tag in ("iframe", "frame", "object", "embed", "applet"):
            self.outside.append(f"<{tag}>")
        if tag == "meta" and attrs.get("http-equiv", "").lower() == "refresh":
            self.outside.append("<meta refresh>")
        if tag in ("style", "script", "td"):
            self._inside = tag
            if tag == "td":
                self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data):
        if self._inside == "style":
            self.style(data)
        elif self._inside == "script":
            self.script(data)
        elif self._inside == "td":
            self.cells[-1] += data

    def load(self, where, value):
        """Something is fetched from `value`: that is alone only if it is the page's own data."""
        value = value.strip()
        if value.lower().startswith("data:"):
            self.own_data(where, value)
        elif value and not value.startswith("#"):
            self.outside.append(f"{where} {value[:80]}")

    def own_data(self, where, value):
        """Styles and scripts may travel as data; they are read like any other."""
        kind, _, body = value.partition(",")
        try:
            body = urllib.parse.unquote_to_bytes(body)
            text = (base64.b64decode(body) if "base64" in kind else body).decode("utf-8", "replace")
        except ValueError:
            self.outside.append(f"{where} data that cannot be read")
            return
        if "script" in where:
            self.script(text)
        elif "text/" in kind or "svg" in kind:
            self.style(text)
            if ADDRESS.search(NAMESPACES.sub("", text)):
                self.outside.append(f"{where} data that reaches out")

    def style(self, text):
        for address in re.findall(r"url\(\s*['\"]?([^'\")]*)", text, re.I):
            self.load("style", address)
        if re.search(r"@import", text, re.I):
            self.outside.append("@import")

    def script(self, text):
        found = CALLS.search(text) or ADDRESS.search(NAMESPACES.sub("", text))
        if found:
            self.outside.append(f"script: {found.group(0)[:80]}")


def main():
    try:
        raw = PAGE.read_bytes()
    except OSError:
        print("there is no page")
        return 1
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    page = Page()
    page.feed(text)
    page.close()
    if "<html" not in text.lower() and "<table" not in text.lower():
        print("not a page that a browser shows")
        return 1
    if not any(re.search(r"\d", cell) for cell in page.cells):
        print("no figures without running something")
        return 1
    for what in page.outside:
        print("reaches for", what)
    return 1 if page.outside else 0


if __name__ == "__main__":
    sys.exit(main())
