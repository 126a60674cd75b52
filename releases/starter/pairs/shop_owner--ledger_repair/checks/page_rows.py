#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if changes.html has a row for each entry that is wrong, and no other, else 1."""

import html.parser
import re
import sys
from pathlib import Path

# Number, day and what is wrong, of every entry of the book that is not right.
WRONG = """
2 2025-11-01 sign,6 2025-11-03 sign,8 2025-11-04 twice
17 2025-11-07 twice,32 2025-11-13 twice,45 2025-11-17 sign
50 2025-11-19 twice,59 2025-11-22 sign,64 2025-11-24 sign
67 2025-11-25 sign,73 2025-11-28 twice,74 2025-11-28 sign
76 2025-11-29 sign,86 2025-12-02 sign,108 2025-12-12 sign
119 2025-12-16 twice,144 2025-12-26 sign,148 2025-12-28 twice
154 2025-12-30 twice,175 2026-01-06 twice,179 2026-01-08 sign
202 2026-01-16 twice,210 2026-01-19 twice,217 2026-01-22 twice
220 2026-01-23 sign,221 2026-01-24 sign,223 2026-01-25 sign
230 2026-01-27 sign,235 2026-01-28 twice,249 2026-02-03 sign
251 2026-02-03 sign,252 2026-02-03 twice,255 2026-02-04 twice
257 2026-02-04 sign,260 2026-02-05 sign,266 2026-02-08 twice
273 2026-02-10 twice,277 2026-02-12 sign,327 2026-03-04 sign
332 2026-03-05 twice,335 2026-03-06 sign,346 2026-03-11 sign
364 2026-03-18 twice,367 2026-03-19 sign,371 2026-03-20 twice
372 2026-03-21 sign,373 2026-03-21 sign,375 2026-03-22 sign
380 2026-03-24 twice,385 2026-03-26 sign,396 2026-03-31 sign
"""


class Rows(html.parser.HTMLParser):
    """Collects the text of the rows that have cells other than headings."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.rows, self._text, self._has_cells = [], None, False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.end_row()
            self._text, self._has_cells = "", False
        if tag == "td":
            self._has_cells = True
        if self._text is not None:
            self._text += " "

    def handle_endtag(self, tag):
        if tag in ("tr", "table"):
            self.end_row()

    def handle_data(self, data):
        if self._text is not None:
            self._text += data

    def end_row(self):
        if self._text is not None and self._has_cells:
            self.rows.append(self._text)
        self._text = None


def said(row):
    """Number, day and word of a row; none if they are not all there."""
    day = re.findall(r"\b\d{4}-\d\d-\d\d\b", row)
    rest = re.sub(r"\b\d{4}-\d\d-\d\d\b", " ", row)
    words = set(re.findall(r"\b(twice|sign)\b", rest, re.I))
    number = re.search(r"(?<![\d.,-])\d+(?![\d.,]*\d)", rest)
    if len(day) == 1 and len(words) == 1 and number:
        return int(number.group()), day[0], words.pop().lower()
    return None


def main():
    try:
        text = Path("/app/changes.html").read_bytes().decode("utf-8-sig", "replace")
    except OSError as problem:
        print(problem)
        return 1
    page = Rows()
    page.feed(text)
    page.close()
    page.end_row()
    rows = page.rows
    if rows and said(rows[0]) is None:
        # A heading may be made of plain cells.
        rows = rows[1:]
    wanted = sorted(tuple(entry.split()) for entry in re.split(r"[,\n]", WRONG.strip()))
    found = sorted((str(row[0]), row[1], row[2]) for row in map(said, rows) if row)
    print(len(rows), "rows,", len(set(found) & set(wanted)), "of", len(wanted), "as they should be")
    return 0 if found == wanted and len(rows) == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
