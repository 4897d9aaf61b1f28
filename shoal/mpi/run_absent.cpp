// This build is without MPI, and says so to whoever starts several processes of it.
#include <exception>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/mpi/launch.hpp>
#include <shoal/mpi/run.hpp>
#include <shoal/mpi/traffic.hpp>

namespace shoal::mpi {
namespace {

[[noreturn]] void refuse() {
  throw not_built("MPI support was not built; configure with -DSHOAL_MPI=ON (script/build mpi)");
}

}  // namespace

bool built() { return false; }
void run_ranks(const std::function<void(communicator&)>&) { refuse(); }
void run_ranks(int, const std::function<void(communicator&)>&) { refuse(); }
traffic sent_by(const communicator&) { refuse(); }

// Nobody can be told of anything, so the first process alone speaks, and the others leave it to it.
int run_program(const std::function<int(communicator*)>& work, const std::function<int(std::exception_ptr)>& explain,
                std::stop_token, double) {
  try {
    const launch started = launched();
    if (started.size == 1) return work(nullptr);
    if (started.rank != 0) return 0;
    throw not_built(
        fmt::format("{} processes were started ({}), and MPI support was not built; configure with -DSHOAL_MPI=ON "
                    "(script/build mpi)",
                    started.size, started.variable));
  } catch (...) {
    return explain(std::current_exception());
  }
}

}  // namespace shoal::mpi
