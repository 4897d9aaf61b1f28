// Ranks that speak through Python, whatever carries their words there, and what a rank runs on.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/device_ranks.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/mpi/alike.hpp>
#include <shoal/mpi/launch.hpp>

#include "module.hpp"
#include "running.hpp"

namespace shoal::python {
namespace {

// `words` has send(to, bytes) and receive(from) -> bytes, which raises when that rank has failed.
class python_ranks final : public communicator {
 public:
  python_ranks(std::size_t rank, std::size_t size, bool led, nb::object words)
      : rank_(rank), size_(size), led_(led), words_(std::move(words)) {
    if (rank >= size || (led && size < 2)) {
      throw bad_argument("a rank must be below their number, and who leads needs another");
    }
  }
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  bool led() const override { return led_; }

  void send(std::size_t to, std::span<const std::byte> bytes) override {
    const nb::gil_scoped_acquire locked(checked());
    words_.attr("send")(to, nb::bytes(bytes.data(), bytes.size()));
  }

  std::vector<std::byte> receive(std::size_t from) override {
    const nb::gil_scoped_acquire locked(checked());
    const auto heard = nb::cast<nb::bytes>(words_.attr("receive")(from));
    std::vector<std::byte> bytes(heard.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), heard.data(), bytes.size());
    return bytes;
  }

  void broadcast(std::size_t from, std::vector<std::byte>& bytes) override {
    if (from != rank_) {
      bytes = receive(from);
      return;
    }
    const nb::gil_scoped_acquire locked(checked());
    const nb::bytes said(bytes.data(), bytes.size());
    for (std::size_t to = 0; to < size_; ++to) {
      if (to != rank_) words_.attr("send")(to, said);
    }
  }

 private:
  // A thread must not ask for the lock of an interpreter that is ending.
  static nb::gil_scoped_acquire checked() {
    if (interpreter_is_ending()) throw interrupted("the interpreter is ending");
    return {};
  }

  std::size_t rank_, size_;
  bool led_;
  nb::object words_;
};

// Rows [first, end) that a rank may be asked for by folds of the usual numbers of lanes, and those of their weights:
// more lanes are cut elsewhere by less than the rows of one.
row_range rows_for(const communicator& ranks, std::size_t rank, std::size_t rows, std::size_t columns,
                   std::size_t scalar_bytes) {
  row_range all{rows, 0};
  fold_plan plan = make_fold_plan({rows, columns, scalar_bytes, 1});
  for (;; plan.lanes /= 2) {
    const lane_range lanes = lanes_of_rank(ranks, rank, plan.lanes);
    if (lanes.count() > 0) {
      all.first = std::min(all.first, plan.first_row(lanes.first));
      all.end = std::max(all.end, plan.end_row(lanes.end - 1));
    }
    if (plan.lanes <= usual_lanes) break;
  }
  return all.end == 0 ? row_range{} : all;
}

using runner_words = std::tuple<std::string, std::string, std::string, std::string>;

}  // namespace

communicator* communicator_of(const nb::object& ranks) { return &nb::cast<python_ranks&>(ranks); }

void bind_ranks(nb::module_& module) {
  nb::class_<python_ranks>(module, "Ranks")
      .def(nb::init<std::size_t, std::size_t, bool, nb::object>(), nb::arg("rank"), nb::arg("size"), nb::arg("led"),
           nb::arg("words"))
      .def(
          "rows_for",
          [](const python_ranks& ranks, std::size_t rank, std::size_t rows, std::size_t columns,
             std::size_t scalar_bytes) {
            const row_range found = rows_for(ranks, rank, rows, columns, scalar_bytes);
            return std::make_tuple(found.first, found.end);
          },
          nb::arg("rank"), nb::kw_only(), nb::arg("rows"), nb::arg("columns"), nb::arg("scalar_bytes"),
          "The rows that a rank is asked for by folds of the usual numbers of lanes.")
      .def(
          "device_rows",
          [](const python_ranks& ranks, std::size_t rows, std::size_t row_bytes) {
            const row_range found = device_rows_of_rank(&ranks, rows, row_bytes);
            return std::make_tuple(found.first, found.end);
          },
          nb::kw_only(), nb::arg("rows"), nb::arg("row_bytes"), "The rows that this rank has on its GPU.");
  module.def(
      "runner",
      [] {
        const mpi::runner own = mpi::this_runner();
        return runner_words{own.host, own.version, own.build, own.instruction_set};
      },
      "Host, version, sum of the code and instruction set of this process.");
  module.def(
      "local_device",
      [](std::size_t local_rank, std::size_t devices) {
        mpi::launch started;
        started.local_rank = local_rank;
        return mpi::local_device(started, devices);
      },
      nb::arg("local_rank"), nb::arg("devices"),
      "The GPU of a process by its number on its host, of so many that it sees; ValueError where there is none.");
  module.def(
      "check_alike",
      [](const std::vector<runner_words>& ranks) {
        std::vector<mpi::runner> all;
        for (const auto& [host, version, build, set] : ranks) all.push_back({host, version, build, set});
        mpi::check_alike(all);
      },
      nb::arg("ranks"), "ValueError that names the first rank which runs other code than rank 0, and its host.");
}

}  // namespace shoal::python
