# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Makes public/ out of content/, templates/ and assets/: python3 build.py"""

import json
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent

PLANT = """    <article class="plant">
      <img src="{picture}">
      <h4>{name}</h4>
      <p class="latin">{latin}</p>
      <p>{text}</p>
    </article>
"""


def content(name):
    return json.loads((HERE / "content" / f"{name}.json").read_text(encoding="utf-8"))


def plants():
    return "".join(PLANT.format(**plant) for plant in content("plants")["plants"])


def page():
    text = (HERE / "templates" / "page.html").read_text(encoding="utf-8")
    text = text.replace("{{plants}}", plants())
    for name, value in content("site").items():
        text = text.replace("{{" + name + "}}", value)
    return text


def main():
    public = HERE / "public"
    shutil.rmtree(public, ignore_errors=True)
    shutil.copytree(HERE / "assets", public)
    (public / "index.html").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
