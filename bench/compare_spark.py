#!/usr/bin/env python3
"""A full mixture by Spark's MLlib beside the same by shoal: on a Dask cluster, and in one process, on the same two processors.

    build/python/bin/python bench/compare_spark.py --output bench/results/spark-NAME.json

Needs the package with shoal[dask], PySpark and a Java of version 17. An iteration is the difference between a long and a short fit, in
seconds and in processor time of all processes, which a busy machine changes less: medians of --repeats. Spark in local mode is one process
of as many threads as there are processors; so is one Dask worker of that many threads, and workers of one thread each are what several
machines would be. Each runs alone: the clusters are gone before Spark's Java begins, whose threads go on between its fits. Spark's rows are
cached in as many partitions as it has threads, and counted, before any fit.

There are two kinds of rows. Of a mixture: most rows are near one component, and shoal leaves out what is zero in the data's precision. Of one
normal distribution: every row is near all components, and nothing is left out. Spark computes every term of both. Each begins by a rule of
its own, so the models are not compared with Spark's; those of the clusters must be equal to that of the process.
"""

import argparse
import contextlib
import datetime
import functools
import json
import platform
import statistics
import time
import warnings

import dask.array as da
import distributed
import numpy as np
import pandas as pd
import psutil
import pyspark
from pyspark.ml.clustering import GaussianMixture
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

import shoal
import shoal.dask


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--rows", type=int, default=2**20)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--short", type=int, default=1, help="iterations of a short fit")
    parser.add_argument("--long", type=int, default=4, help="iterations of a long fit of Spark's; shoal's has ten times as many")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", default="4g", help="of Spark's Java")
    return parser.parse_args()


def processor_seconds():
    """Of this process and all that it has started, which still run."""
    here = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (here, *here.children(recursive=True)))


def iteration(fit, short, long):
    """Seconds and processor time of an iteration."""
    taken = []
    for iterations in (short, long):
        begun = time.perf_counter(), processor_seconds()
        fit(iterations)
        taken.append((time.perf_counter() - begun[0], processor_seconds() - begun[1]))
    return [(more - less) / (long - short) for less, more in zip(*taken)]


def measured(wanted, fits, long):
    """An iteration of each of `fits`, which take turns."""
    found = {name: [] for name in fits}
    for fit in fits.values():
        fit(wanted.short)
    for _ in range(wanted.repeats):
        for name, fit in fits.items():
            found[name].append(iteration(fit, wanted.short, long))
    names = "seconds", "processor_seconds"
    return {name: dict(zip(names, map(statistics.median, zip(*each)))) for name, each in found.items()}


def rows_of(wanted):
    """By what they are drawn from."""
    mixture, _ = shoal.make_mixture(wanted.rows, wanted.columns, wanted.groups, random_state=0)
    return {"a mixture": mixture, "one normal distribution": np.random.default_rng(0).normal(size=mixture.shape)}


def spark_session(wanted):
    builder = SparkSession.builder.master(f"local[{wanted.threads}]").config("spark.driver.memory", wanted.memory)
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").config("spark.driver.host", "127.0.0.1")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def spark_fit(wanted, session, rows):
    """What fits so many iterations of Spark's."""
    names = [f"c{j}" for j in range(wanted.columns)]
    frame = session.createDataFrame(pd.DataFrame(rows, columns=names))
    frame = VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features")
    frame = frame.repartition(wanted.threads).cache()
    if frame.count() != wanted.rows:
        raise SystemExit("Spark has other rows")

    def fit(iterations):
        model = GaussianMixture(k=wanted.groups, maxIter=iterations, tol=0.0, seed=1).fit(frame)
        if model.summary.numIter != iterations:
            raise SystemExit(f"Spark stopped after {model.summary.numIter} iterations of {iterations}")

    return fit


def shoal_fit(wanted, make, rows, models):
    """The same of shoal's. `models` keeps the means that a number of iterations gives, which are the same of all."""

    def fit(iterations):
        how = {"max_iter": iterations, "tol": 0, "init_params": "random_from_data", "random_state": 0}
        made = make(wanted.groups, **how).fit(rows)
        if made.n_iter_ != iterations:
            raise SystemExit(f"shoal stopped after {made.n_iter_} iterations of {iterations}")
        if models.setdefault(iterations, made.means_.tobytes()) != made.means_.tobytes():
            raise SystemExit("the model of a cluster differs from that of one process")

    return fit


def shoal_iterations(wanted, kinds):
    """Of each way to run shoal, by the kind of rows."""
    long, models = 10 * wanted.long, {kind: {} for kind in kinds}
    alone = functools.partial(shoal.GaussianMixture, threads=wanted.threads)
    fits = {kind: shoal_fit(wanted, alone, rows, models[kind]) for kind, rows in kinds.items()}
    found = {f"shoal, {threads_of(1, wanted.threads)}": measured(wanted, fits, long)}
    for workers in (1, wanted.threads):
        threads = wanted.threads // workers
        with contextlib.ExitStack() as stack:
            cluster = stack.enter_context(
                distributed.LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=":0")
            )
            client = stack.enter_context(distributed.Client(cluster))
            chunks = (-(-wanted.rows // (4 * wanted.threads)), wanted.columns)
            lazy = {kind: client.persist(da.from_array(rows, chunks=chunks)) for kind, rows in kinds.items()}
            distributed.wait(list(lazy.values()))
            fits = {k: shoal_fit(wanted, shoal.dask.GaussianMixture, rows, models[k]) for k, rows in lazy.items()}
            found[f"shoal.dask, {threads_of(workers, threads)}"] = measured(wanted, fits, long)
    return found


def threads_of(processes, threads):
    return f"{processes} process{'es' if processes > 1 else ''} of {threads} thread{'s' if threads > 1 else ''}"


def main():
    wanted = arguments()
    warnings.simplefilter("ignore")  # fits that are to end before they have converged
    kinds = rows_of(wanted)
    found = shoal_iterations(wanted, kinds)
    session = spark_session(wanted)
    spark = f"Spark, {threads_of(1, wanted.threads)}"
    fits = {kind: spark_fit(wanted, session, rows) for kind, rows in kinds.items()}
    found[spark] = measured(wanted, fits, wanted.long)
    session.stop()
    ways = [way for way in found if way != spark]
    ratios = {
        kind: {
            way: {unit: found[spark][kind][unit] / found[way][kind][unit] for unit in found[spark][kind]} for way in ways
        }
        for kind in kinds
    }
    result = {
        "made": datetime.date.today().isoformat(),
        "machine": {"processor": platform.processor() or platform.machine(), "threads": wanted.threads},
        "versions": {"shoal": shoal.__version__, "spark": pyspark.__version__, "distributed": distributed.__version__},
        "rows": wanted.rows,
        "columns": wanted.columns,
        "groups": wanted.groups,
        "repeats": wanted.repeats,
        "mixture, full, of an iteration, by what the rows are drawn from": {
            kind: {way: each[kind] for way, each in found.items()} | {"Spark over": ratios[kind]} for kind in kinds
        },
    }
    with open(wanted.output, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
