// Fits, predictions and scores on several processes, through MPI. The door to this room; link to shoal::mpi.
//
// shoal::mpi::run_ranks([&](shoal::communicator& ranks) {
//   // The same on every rank, and as one process has it; `fit` of any family.
//   const auto result = fit(rows, options, {}, {.ranks = &ranks});
// });
#pragma once

#include <shoal/mpi/launch.hpp>
#include <shoal/mpi/run.hpp>
#include <shoal/mpi/traffic.hpp>
