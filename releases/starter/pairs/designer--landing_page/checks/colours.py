#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the colours of /app's page stand in assets/tokens.css alone and the table of hours uses its two, 1 if
not, 3 if unsure. It looks at a fresh build: at every style sheet, and at the page's attributes and elements."""

import base64
import html.parser
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

NAMES = set(
    """aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
    cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray
    darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen
    darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue
    firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
    hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
    lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
    lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue
    mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred
    midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid
    palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple
    rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue
    slateblue slategray slategrey snow springgreen steelblue tan teal thistle tomato turquoise violet wheat white
    whitesmoke yellow yellowgreen canvas canvastext linktext visitedtext buttonface buttontext field fieldtext highlight
    highlighttext graytext accentcolor mark marktext""".split()
)
FUNCTIONS = re.compile(r"\b(rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|device-cmyk|light-dark)\(", re.I)
HEX = re.compile(r"#[0-9a-f]{3,8}\b", re.I)
TINTED = {"bgcolor", "color", "text", "link", "vlink", "alink", "fill", "stroke", "stop-color", "flood-color",
          "lighting-color", "bordercolor"}


def colour(value, quoted=False):
    """The first colour in a value of CSS, or nothing."""
    for data in re.findall(r"data:[^)\"']*", value):
        kind, _, body = data.partition(",")
        body = urllib.parse.unquote(body)
        if "base64" in kind:
            try:
                body = base64.b64decode(body).decode("utf-8", "replace")
            except ValueError:
                return data
        if found := HEX.search(body) or FUNCTIONS.search(body) or re.search(r"fill|stroke|stop-color", body):
            return found.group(0)
    value = re.sub(r"url\([^)]*\)", " ", value)
    if not quoted:
        value = re.sub(r"\"[^\"]*\"|'[^']*'", " ", value)
    if found := HEX.search(value) or FUNCTIONS.search(value):
        return found.group(0)
    value = re.sub(r"--[\w-]+", " ", value)
    for word in re.findall(r"[A-Za-z][\w-]*(?![\w(-])", value):
        if word.lower() in NAMES:
            return word
    return None


def rules(css):
    """Selectors and declarations of each innermost block."""
    css = re.sub(r"/\*.*?\*/", " ", css, flags=re.S)
    for selectors, body in re.findall(r"([^{};]*)\{([^{}]*)\}", css):
        pairs = (one.partition(":") for one in body.split(";") if ":" in one)
        yield " ".join(selectors.split()), [(name.strip().lower(), value.strip()) for name, _, value in pairs]


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.faults, self.sheets, self._script = [], [], False

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        if "style" in attrs or tag == "style":
            self.faults.append(f"<{tag}> with a style of its own")
        for name in TINTED & attrs.keys():
            if colour(attrs[name], quoted=True):
                self.faults.append(f"<{tag} {name}>")
        if tag == "meta" and "color" in attrs.get("name", "") and colour(attrs.get("content", ""), quoted=True):
            self.faults.append("<meta> with a colour")
        if tag == "link" and "stylesheet" in attrs.get("rel", "").lower().split():
            self.sheets.append(attrs.get("href", ""))
        self._script = tag == "script"

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if self._script and (HEX.search(data) or FUNCTIONS.search(data) or ".style" in data):
            self.faults.append("a script that paints")


def luminance(value):
    digits = value.lstrip("#")
    if len(digits) in (3, 4):
        digits = "".join(2 * digit for digit in digits)
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def faults(public):
    page = Page()
    page.feed((public / "index.html").read_text(encoding="utf-8"))
    page.close()
    found = page.faults
    tokens = {}
    if (public / "tokens.css").is_file():
        for selectors, body in rules((public / "tokens.css").read_text(encoding="utf-8")):
            if selectors == ":root":
                tokens |= {name: value for name, value in body if name.startswith("--")}
    if "tokens.css" not in [sheet.removeprefix("./") for sheet in page.sheets]:
        found.append("the page does not use tokens.css")
    for sheet in page.sheets:
        if not (public / sheet).is_file() or not sheet.endswith(".css"):
            found.append(f"style sheet {sheet}")
    ink, row = [], []
    for sheet in sorted(public.rglob("*.css")):
        css = sheet.read_text(encoding="utf-8")
        if sheet == public / "tokens.css":
            continue
        if re.search(r"@import", css):
            found.append(f"{sheet.name} imports")
        for selectors, body in rules(css):
            for name, value in body:
                if shade := colour(value):
                    found.append(f"{sheet.name}: {selectors}: {shade}")
                for used in re.findall(r"var\(\s*(--[\w-]+)", value):
                    if used not in tokens:
                        found.append(f"{sheet.name}: {used} has no home")
                each = [re.sub(r"\(\s*even\s*\)", "(even)", one.strip()) for one in selectors.split(",")]
                if "#hours" in selectors and name == "color":
                    wanted = re.compile(r"#hours$|#hours.*\b(table|tbody|tr|td)$|#hours.*nth-child\(even\)$")
                    ink += [value] * any(wanted.search(one) for one in each)
                    if value.replace(" ", "") not in ("var(--hours-ink)", "inherit") and any(
                        re.search(r"\b(table|tbody|tr|td)\b", one) for one in each
                    ):
                        found.append(f"{selectors} is inked otherwise")
                if "#hours tr:nth-child(even)" in each and name in ("background", "background-color"):
                    row.append(value)
    if "var(--hours-ink)" not in [value.replace(" ", "") for value in ink]:
        found.append("the text of the hours is not in its ink")
    if not row or any(value.replace(" ", "") != "var(--hours-row)" for value in row):
        found.append("the even rows are not in their colour")
    pair = [tokens.get(name, "") for name in ("--hours-ink", "--hours-row")]
    if not all(re.fullmatch(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})", value) for value in pair):
        found.append("the two colours are no hex values")
    else:
        dark, light = sorted(map(luminance, pair))
        if (light + 0.05) / (dark + 0.05) < 4.5:
            found.append("too little contrast")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "app"
        shutil.copytree("/app", copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        built = subprocess.run([sys.executable, "-B", "build.py"], cwd=copy, capture_output=True, timeout=40)
        if built.returncode != 0 or not (copy / "public" / "index.html").is_file():
            print("it does not build")
            return 1
        found = faults(copy / "public")
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
