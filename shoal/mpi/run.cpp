// The start of all ranks, their work, and their common end.
#include <shoal/mpi/run.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/mpi/alike.hpp>
#include <shoal/mpi/launch.hpp>
#include <shoal/mpi/mpi_communicator.hpp>

namespace shoal::mpi {
namespace {

constexpr double patient_seconds = 8;

// MPI, started where nobody has, and ended by whoever started it.
class library {
 public:
  library() {
    int there = 0;
    check(MPI_Initialized(&there), "MPI_Initialized");
    if (there != 0) return;
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    ours_ = true;
    if (provided < MPI_THREAD_FUNNELED) throw error("this MPI library does not allow a program to have threads");
  }
  ~library() {
    if (ours_) MPI_Finalize();
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;

 private:
  bool ours_ = false;
};

void agree(communicator& ranks) {
  const runner own = this_runner();
  std::string text;
  for (const std::string& part : {own.host, own.version, own.build, own.instruction_set}) text += part + '\n';
  const std::vector<char> all = gathered(&ranks, std::vector<char>(text.begin(), text.end()));
  std::vector<runner> runners(ranks.size());
  auto at = all.begin();
  const auto line = [&] {
    std::string read;
    for (; at != all.end() && *at != '\n'; ++at) read += *at;
    if (at != all.end()) ++at;
    return read;
  };
  for (runner& each : runners) {
    each.host = line();
    each.version = line();
    each.build = line();
    each.instruction_set = line();
  }
  check_alike(runners);
}

// What was thrown by the work of this rank, of which the others have been told; null when it has ended well.
template <class Work>
std::exception_ptr ended(mpi_communicator& ranks, const Work& work) {
  try {
    agree(ranks);
    work();
    return nullptr;
  } catch (...) {
    ranks.fail(std::current_exception());
    return std::current_exception();
  }
}

std::exception_ptr thrown_for(const failure& other) {
  try {
    other.raise();
  } catch (...) {
    return std::current_exception();
  }
}

void run_on(MPI_Comm all, const std::function<void(communicator&)>& work) {
  mpi_communicator ranks(all);
  std::exception_ptr thrown = ended(ranks, [&] { work(ranks); });
  ranks.end(patient_seconds, [&](const std::optional<failure>& other) {
    if (!thrown && other) thrown = thrown_for(*other);
    return 0;
  });
  if (thrown) std::rethrow_exception(thrown);
}

// Of as many processes as MPI sees.
int run_all(const launch& started, const std::function<int(communicator*)>& work,
            const std::function<int(std::exception_ptr)>& explain, std::stop_token stop, double seconds) {
  const library mpi;
  mpi_communicator ranks(MPI_COMM_WORLD, std::move(stop));
  if (ranks.size() != started.size) {
    if (started.rank != 0) return 0;
    throw error(
        fmt::format("{} processes were started ({}), but MPI sees {}: start them by the mpirun of the MPI library that "
                    "shoal was built with, or by srun --mpi=pmix",
                    started.size, started.variable, ranks.size()));
  }
  int status = 0;
  const std::exception_ptr thrown = ended(ranks, [&] { status = work(&ranks); });
  const std::optional<int> common = ranks.end(seconds, [&](const std::optional<failure>& other) {
    if (thrown) return explain(thrown);
    return other ? explain(thrown_for(*other)) : status;
  });
  if (common) return *common;
  // Somebody does not answer. All that is left is to end it.
  status =
      explain(thrown ? thrown : std::make_exception_ptr(error("another rank has failed, and one does not answer")));
  MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}

}  // namespace

bool built() { return true; }

void run_ranks(const std::function<void(communicator&)>& work) {
  const library mpi;
  run_on(MPI_COMM_WORLD, work);
}

void run_ranks(int fortran_handle, const std::function<void(communicator&)>& work) {
  run_on(MPI_Comm_f2c(fortran_handle), work);
}

int run_program(const std::function<int(communicator*)>& work, const std::function<int(std::exception_ptr)>& explain,
                std::stop_token stop, double seconds) {
  try {
    const launch started = launched();
    if (started.size > 1) return run_all(started, work, explain, std::move(stop), seconds);
    return work(nullptr);
  } catch (...) {
    return explain(std::current_exception());
  }
}

}  // namespace shoal::mpi
