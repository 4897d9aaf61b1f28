#!/usr/bin/env python3
"""A full mixture by Spark's MLlib beside the same by shoal on a Dask cluster, on the same two processors.

    build/python/bin/python bench/compare_spark.py --output bench/results/spark-NAME.json

Needs the package with shoal[dask], PySpark and a Java of version 17. An iteration is the difference between a long and a short fit
(in seconds, and in processor time of all processes, which a busy machine changes less); both take turns: medians of --repeats. Spark's rows are cached in as many partitions as it has threads, and counted, before any fit.
Each begins by a rule of its own, so the models are not compared: an iteration costs the same from any start.
"""

import argparse
import datetime
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
    """Seconds and processor time of an iteration: the difference between a long and a short fit."""
    taken = []
    for iterations in (short, long):
        begun = time.perf_counter(), processor_seconds()
        fit(iterations)
        taken.append((time.perf_counter() - begun[0], processor_seconds() - begun[1]))
    return [(more - less) / (long - short) for less, more in zip(*taken)]


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


def shoal_fit(wanted, client, rows):
    """The same of shoal's."""
    lazy = client.persist(da.from_array(rows, chunks=(-(-wanted.rows // (4 * wanted.threads)), wanted.columns)))
    distributed.wait(lazy)

    def fit(iterations):
        how = {"max_iter": iterations, "tol": 0, "init_params": "random_from_data", "random_state": 0}
        shoal.dask.GaussianMixture(wanted.groups, **how).fit(lazy)

    return fit


def main():
    wanted = arguments()
    warnings.simplefilter("ignore")  # fits that are to end before they have converged
    rows = np.random.default_rng(0).normal(size=(wanted.rows, wanted.columns))
    ours, theirs = [], []
    session = spark_session(wanted)
    with (
        distributed.LocalCluster(n_workers=wanted.threads, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        fits = [(spark_fit(wanted, session, rows), wanted.long, theirs)]
        fits.append((shoal_fit(wanted, client, rows), 10 * wanted.long, ours))
        for fit, _, _ in fits:
            fit(wanted.short)
        for _ in range(wanted.repeats):
            for fit, long, found in fits:
                found.append(iteration(fit, wanted.short, long))
    session.stop()
    ours, theirs = ([statistics.median(each) for each in zip(*found)] for found in (ours, theirs))
    result = {
        "made": datetime.date.today().isoformat(),
        "machine": {"processor": platform.processor() or platform.machine(), "threads": wanted.threads},
        "versions": {"shoal": shoal.__version__, "spark": pyspark.__version__, "distributed": distributed.__version__},
        "rows": wanted.rows,
        "columns": wanted.columns,
        "groups": wanted.groups,
        "repeats": wanted.repeats,
        "mixture, full, of an iteration": {
            "shoal.dask": {"seconds": ours[0], "processor_seconds": ours[1]},
            "Spark": {"seconds": theirs[0], "processor_seconds": theirs[1]},
            "Spark over shoal.dask": {"seconds": theirs[0] / ours[0], "processor_seconds": theirs[1] / ours[1]},
        },
    }
    with open(wanted.output, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
