"""An agent that is started anew for each turn: tells its arguments, then prints what its transcript says of the turn.

Called as the agent whose transcript lies beside it as NAME.json. Turns are counted in a file outside the workspace.
"""
import json
import os
import signal
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
name = os.path.basename(sys.argv[0])
if sys.argv[1:] == ["--version"]:
    print(f"\n{name} 9.9")
    sys.exit(0)
count = os.path.join("/var/tmp", name + ".turns")
turn = len(open(count).read()) if os.path.exists(count) else 0
open(count, "a").write("x")
with open(os.path.join("/var/tmp", f"{name}.argv.{turn}"), "w") as told:
    json.dump(sys.argv[1:], told)
with open(os.path.join(here, name + ".json")) as transcript:
    lines = json.load(transcript)["turns"][turn]
for line in lines:
    if isinstance(line, dict):
        line = json.dumps(line)
    word, _, rest = line.partition(" ")
    if word == "!exit":
        sys.stderr.write("something went wrong in here\n")
        sys.exit(int(rest))
    elif word == "!stdin":
        print(json.dumps({"type": "text", "text": "heard " + sys.stdin.read()}), flush=True)
    elif word == "!file":
        print(json.dumps({"type": "text", "text": "read " + open(sys.argv[1]).read()}), flush=True)
    elif word == "!env":
        print(json.dumps({"type": "text", "text": os.environ.get(rest, "unset")}), flush=True)
    elif word == "!leave":
        subprocess.Popen(["sleep", rest])
    elif word == "!deaf":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(600)
    elif word == "!sleep":
        time.sleep(float(rest))
    elif word == "!flood":
        for _ in range(int(rest)):
            sys.stdout.write('{"type": "text", "text": ""}\n')
    else:
        print(line, flush=True)
