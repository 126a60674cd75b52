"""Reads exported jobs with Harbor's own models and, where they run, through its viewer.

Usage: read_jobs.py JOBS_FOLDER. Prints one JSON object with what Harbor made of each job, and `viewer`: whether its
viewer was asked. Ends with an error at the first thing that Harbor refuses.
"""

import json
import logging
import os
import socket
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

os.environ["HARBOR_TELEMETRY"] = "off"
HAS_VIEWER = sys.version_info >= (3, 12)

if not HAS_VIEWER:
    # What Harbor's models take from a newer standard library; its viewer is written in the newer language.
    import typing

    import typing_extensions

    typing.override = typing_extensions.override
    typing.TypedDict = typing_extensions.TypedDict

from harbor.models.job.config import JobConfig
from harbor.models.job.result import JobResult, JobStats
from harbor.models.trajectories import Trajectory
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.utils.pass_at_k import compute_pass_at_k_by_evals
from harbor.utils.trajectory_validator import TrajectoryValidator


def refuse(place, why):
    sys.exit(f"{place}: {why}")


def plain(model):
    return model.model_dump(mode="json")


def read_trial(folder):
    """What Harbor's models make of a trial's folder."""
    config = TrialConfig.model_validate_json((folder / "config.json").read_text())
    if config.trial_name != folder.name:
        refuse(folder, f"its configuration names it {config.trial_name}")
    if not (folder / "result.json").exists():
        return {"result": None}
    result = TrialResult.model_validate_json((folder / "result.json").read_text())
    if plain(result.config) != plain(config):
        refuse(folder, "its result was asked for otherwise than its configuration says")
    names = [step.step_name for step in result.step_results or []]
    return {
        "result": result,
        "trajectory": read_trajectory(folder / "agent" / "trajectory.json"),
        "steps": {
            name: read_trajectory(folder / "steps" / name / "agent" / "trajectory.json") for name in names
        },
    }


def read_trajectory(path):
    """What Harbor's models make of a conversation; nothing of it may be lost on a reader that keeps what the format has."""
    validator = TrajectoryValidator()
    if not validator.validate(path):
        refuse(path, validator.get_errors())
    trajectory = Trajectory.model_validate_json(path.read_text())
    read = without_none(trajectory.to_json_dict())
    if read != without_none(json.loads(path.read_text())):
        refuse(path, "Harbor reads it otherwise than it is written")
    if trajectory.final_metrics.total_steps != len(trajectory.steps):
        refuse(path, "it counts its steps wrongly")
    return read


def without_none(value):
    if isinstance(value, dict):
        return {key: without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_none(inner) for inner in value]
    return value


def mean(results, rewards_of):
    """Harbor's aggregate of one reward key."""
    return sum(rewards_of(result) for result in results) / len(results)


def read_job(folder):
    """What Harbor's models make of a job's folder, its figures added up again."""
    JobConfig.model_validate_json((folder / "config.json").read_text())
    job = JobResult.model_validate_json((folder / "result.json").read_text())
    trials = {path.parent.name: read_trial(path.parent) for path in sorted(folder.glob("*/config.json"))}
    marker = json.loads((folder / "pcb.json").read_text())["job"]
    scored = [
        trials[trial["trial"]]["result"]
        for repeat in marker["repeats"]
        for trial in repeat["trials"]
        if trial["scored"]
    ]
    again = JobStats.from_trial_results(scored)
    for key, stats in again.evals.items():
        of_key = [result for result in scored if key.startswith(result.agent_info.name)]
        reward = lambda result: (
            next(iter(result.verifier_result.rewards.values()), 0) if result.verifier_result else 0
        )
        stats.metrics = [{"mean": mean(of_key, reward)}]
    for key, ks in compute_pass_at_k_by_evals(scored).items():
        again.evals[key].pass_at_k = ks
    for name in ("n_running_trials", "n_pending_trials", "n_retries"):
        setattr(again, name, getattr(job.stats, name))
    if plain(again) != plain(job.stats):
        refuse(folder, f"Harbor adds up\n{plain(again)}\nand not\n{plain(job.stats)}")
    return {
        "job": plain(job),
        "trials": {
            name: {
                "result": plain(trial["result"]) if trial["result"] else None,
                "trajectory": trial.get("trajectory"),
                "steps": trial.get("steps", {}),
            }
            for name, trial in trials.items()
        },
    }


def serve(folder):
    """Starts the viewer on a port of its own and answers how to ask it."""
    import uvicorn
    from harbor.viewer.server import create_app

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(folder), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        if time.monotonic() > deadline or not thread.is_alive():
            refuse("viewer", "it does not start")
        time.sleep(0.02)
    port = listener.getsockname()[1]

    def ask(*parts, **query):
        path = "/".join(urllib.parse.quote(part, safe="") for part in parts)
        path = f"{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=60) as answer:
            return json.load(answer)

    return ask


def view(folder, jobs):
    """Asks the viewer for everything that its pages show of a job."""
    # The viewer skips what it cannot parse and only logs it.
    complaints = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: complaints.append(record.getMessage())
    logging.getLogger("harbor").addHandler(handler)
    ask = serve(folder)
    listed = {job["name"]: job for job in ask("jobs")["items"]}
    for name, known in jobs.items():
        if listed.get(name, {}).get("n_total_trials") != known["job"]["n_total_trials"]:
            refuse(name, f"the viewer lists {listed.get(name)}")
        if ask("jobs", name)["stats"] != known["job"]["stats"]:
            refuse(name, "the viewer shows other figures")
        ask("jobs", name, "config")
        known["tasks"] = ask("jobs", name, "tasks")["items"]
        trials = {trial["name"]: trial for trial in ask("jobs", name, "trials")["items"]}
        if set(trials) != set(known["trials"]):
            refuse(name, f"the viewer lists the trials {sorted(trials)}")
        for trial, read in known["trials"].items():
            place = ("jobs", name, "trials", trial)
            shown = ask(*place)
            if read["result"] and shown != read["result"]:
                refuse(trial, "the viewer shows another result")
            told = ask(*place, "trajectory")
            if (told and without_none(told)) != read["trajectory"]:
                refuse(trial, "the viewer shows another conversation")
            for step, known_step in read["steps"].items():
                if without_none(ask(*place, "trajectory", step=step)) != known_step:
                    refuse(trial, f"the viewer shows another conversation of step {step}")
            read["listed"] = trials[trial]
            read["verifier"] = ask(*place, "verifier-output")
            read["step_verifiers"] = {
                step: ask(*place, "verifier-output", step=step) for step in read["steps"]
            }
    if complaints:
        refuse("viewer", complaints)


def main():
    folder = Path(sys.argv[1])
    jobs = {path.parent.name: read_job(path.parent) for path in sorted(folder.glob("*/pcb.json"))}
    if not jobs:
        refuse(folder, "there is no job")
    if HAS_VIEWER:
        view(folder, jobs)
    json.dump({"viewer": HAS_VIEWER, "jobs": jobs}, sys.stdout)


main()
