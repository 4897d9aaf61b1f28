// Work that all ranks do, their start and their common end.
#pragma once

#include <exception>
#include <functional>
#include <stop_token>

#include <shoal/execution/communicator.hpp>

namespace shoal::mpi {

/// Whether this build speaks MPI (-DSHOAL_MPI=ON).
bool built();

/// Runs `work` on every process of MPI_COMM_WORLD, and returns when it has ended on all of them. When it throws on one,
/// the others' calls of the communicator throw rank_failed with its number, host and message (or interrupted, where it
/// was interrupted), and what was thrown here is thrown again; where nothing was, rank 0 throws for another rank.
/// Starts MPI where the program has not, and ends it then. Only the calling thread speaks with other ranks.
///
/// Throws bad_argument on every rank, before any work, where their programs or instruction sets differ: the same bits
/// need the same. Throws not_built in a build without MPI.
void run_ranks(const std::function<void(communicator&)>& work);

/// The same on the ranks of another communicator, by the number that MPI_Comm_c2f() gives it. The program has started
/// MPI, and goes on to use the communicator; shoal speaks on a duplicate.
void run_ranks(int fortran_handle, const std::function<void(communicator&)>& work);

/// The whole program on however many processes a launcher started: calls `work` with their communicator, or null for
/// one process, and gives its exit status. What is thrown goes to `explain` as soon as all ranks have ended, on rank 0
/// alone, which says it and returns the exit status of all. A rank that hangs for `seconds` after another has failed is
/// ended; when `stop` was requested here, so is one that does not answer, in less time.
///
/// Hands `explain` not_built when several processes were started and this build is without MPI, and error when MPI sees
/// fewer processes than the launcher has started.
int run_program(const std::function<int(communicator*)>& work, const std::function<int(std::exception_ptr)>& explain,
                std::stop_token stop = {}, double seconds = 8);

}  // namespace shoal::mpi
