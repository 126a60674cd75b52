#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Adds the section with the opening hours, and puts texts into the page as they are.
set -eu
cd /app
if grep -q 'def hours' build.py; then exit 0; fi
python3 -B - <<'PY'
from pathlib import Path


def replace(path, old, new):
    text = Path(path).read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    Path(path).write_text(text.replace(old, new), encoding="utf-8")


replace("build.py", "import json\nimport shutil\n", "import datetime\nimport html\nimport itertools\nimport json\nimport re\nimport shutil\n")
replace(
    "build.py",
    '"".join(PLANT.format(**plant) for plant in content("plants")["plants"])\n',
    '''"".join(PLANT.format(**escaped(plant)) for plant in content("plants")["plants"])


def escaped(texts):
    return {name: html.escape(str(value)) for name, value in texts.items()}


def hours():
    given = content("hours")
    rows = []
    days = ((day, spans(given["week"][day.lower()])) for day in DAYS)
    for times, run in itertools.groupby(days, key=lambda day: day[1]):
        names = [day for day, _ in run]
        name = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        rows.append(f'      <tr><th scope="row">{name}</th><td>{html.escape(times)}</td></tr>\\n')
    table = "    <table>\\n" + "".join(rows) + "    </table>\\n"
    closed = sorted(given["closed_on"], key=lambda one: one["date"])
    items = [f"      <li>{long(one['date'])}: {html.escape(one['why'])}</li>\\n" for one in closed]
    return table + ("    <ul>\\n" + "".join(items) + "    </ul>\\n" if items else "")


def spans(times):
    return ", ".join(f"{start}\\u2013{end}" for start, end in times) or "closed"


def long(date):
    day = datetime.date.fromisoformat(date)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
''',
)
replace(
    "build.py",
    "def content(name)",
    '''DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
]


def content(name)''',
)
replace(
    "build.py",
    '''    text = text.replace("{{plants}}", plants())
    for name, value in content("site").items():
        text = text.replace("{{" + name + "}}", value)
    return text
''',
    '''    parts = escaped(content("site")) | {"plants": plants(), "hours": hours()}
    return re.sub(r"\\{\\{(\\w+)\\}\\}", lambda found: parts[found.group(1)], text)
''',
)
replace(
    "templates/page.html",
    '      <a href="#visit">Visit</a>\n',
    '      <a href="#visit">Visit</a>\n      <a href="#hours">Opening hours</a>\n',
)
replace(
    "templates/page.html",
    '  </section>\n  <footer>',
    '''  </section>
  <section id="hours">
    <h2>Opening hours</h2>
    <img src="clock.svg" width="60">
{{hours}}  </section>
  <footer>''',
)
css = Path("assets/site.css")
css.write_text(
    css.read_text(encoding="utf-8")
    + """
#hours th, #hours td {
  padding: 0.2rem 1rem;
  color: #2c3a2b;
  font-weight: normal;
  text-align: left;
}

#hours tr:nth-child(even) {
  background: #e6efe2;
}
""",
    encoding="utf-8",
)
PY
python3 -B build.py
