#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if /app's page can be followed by ear, 1 if not: an alt text for every picture that was there or came, and
headings without a gap. It looks at a fresh build."""

import html.parser
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
PICTURES = {"glasshouse.svg", "map.svg", "strelitzia.svg", "fern.svg", "lily.svg", "clock.svg"}


class Page(html.parser.HTMLParser):
    """Collects pictures with what is read out for them, and the levels of headings."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.pictures, self.levels, self._open = [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        silent = (
            attrs.get("aria-hidden", "").lower() == "true"
            or "hidden" in attrs
            or attrs.get("role", "").lower() in ("none", "presentation")
        )
        silent = silent or any(quiet for _, quiet in self._open)
        if tag == "img":
            spoken = "" if silent else attrs.get("aria-label", attrs.get("alt", ""))
            self.pictures.append((Path(attrs.get("src", "")).name, spoken, "alt" in attrs))
        if re.fullmatch(r"h[1-6]", tag) and not silent:
            self.levels.append(int(tag[1]))
        if tag not in VOID:
            self._open.append((tag, silent))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        names = [name for name, _ in self._open]
        if tag in names:
            del self._open[len(names) - 1 - names[::-1].index(tag) :]


def faults(page):
    found = []
    missing = PICTURES - {name for name, _, _ in page.pictures}
    found += [f"{name} is gone" for name in sorted(missing)]
    for name, spoken, has_alt in page.pictures:
        words = {word.casefold() for word in re.findall(r"[^\W\d_]{2,}", spoken)}
        if not has_alt or len(words) < 3:
            found.append(f"{name}: {spoken!r} says too little")
        if re.search(r"\.(svg|png|jpe?g|gif|webp|avif)\b", spoken, re.I):
            found.append(f"{name}: {spoken!r} is a file name")
    spoken = [" ".join(text.casefold().split()) for _, text, _ in page.pictures]
    if len(set(spoken)) < len(spoken):
        found.append("two are alike")
    if page.levels[:1] != [1] or page.levels.count(1) != 1:
        found.append("not a single h1 on top")
    if any(after > before + 1 for before, after in zip(page.levels, page.levels[1:])):
        found.append(f"a gap in {page.levels}")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "app"
        shutil.copytree("/app", copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        built = subprocess.run([sys.executable, "-B", "build.py"], cwd=copy, capture_output=True, timeout=40)
        if built.returncode != 0 or not (copy / "public" / "index.html").is_file():
            print("it does not build")
            return 1
        page = Page()
        page.feed((copy / "public" / "index.html").read_text(encoding="utf-8"))
        page.close()
    found = faults(page)
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
