"""A real standalone cluster on loopback, from the jars that come with pyspark: a master and two workers."""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
# Short-lived processes: what the JVM would win by compiling for long, it never gets back.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1"}
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@contextmanager
def standalone(folder, n_workers=2, memory="1g"):
    """Start the cluster and give its address; end its processes."""
    folder = Path(folder)
    started = []
    try:
        master_log = folder / "master.log"
        started.append(_start(master_log, _MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"))
        address = _wait_for(master_log, r"Starting Spark master at (spark://\S+)")
        for k in range(n_workers):
            log = folder / f"worker-{k}.log"
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", memory, "--webui-port", "0")
            started.append(_start(log, _WORKER, *options, "--work-dir", str(folder / f"work-{k}"), address))
        for k in range(n_workers):
            _wait_for(folder / f"worker-{k}.log", r"(Successfully registered) with master")
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


def session(address, **config):
    """Return a session with small executors, one on each worker."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # what workers run; Spark reads nothing else here
    builder = SparkSession.builder.master(address).appName("pairsift tests")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **config,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def executors(folder):
    """Return the process numbers of the executors whose work folders lie in this folder."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                command = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
                place = os.readlink(path / "cwd")
            except OSError:  # it has ended meanwhile
                continue
            if any("CoarseGrainedExecutorBackend" in part for part in command) and place.startswith(str(folder)):
                found.append(int(path.name))
    return found


def _start(log, main_class, *arguments):
    environment = {**os.environ, **LOOPBACK, "SPARK_HOME": str(HOME), "SPARK_DAEMON_MEMORY": "256m"}
    environment["PYSPARK_PYTHON"] = sys.executable
    # Without it the worker looks for the folders of a build of Spark, which pip does not install.
    environment["SPARK_SCALA_VERSION"] = "2.13"
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    command = [str(java), *QUICK.split(), "-Xmx256m", "-cp", f"{HOME / 'jars'}/*", main_class, *arguments]
    with open(log, "wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)


def _wait_for(log, pattern, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"{log}: no {pattern!r} after {seconds} s:\n{log.read_text(errors='replace')[-3000:]}")
