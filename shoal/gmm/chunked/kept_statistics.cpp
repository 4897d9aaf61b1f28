#include <shoal/gmm/chunked/kept_statistics.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::gmm {
namespace {

constexpr double residue = 0x1p-40;

// Elements of the total that one task sums.
constexpr std::size_t elements_a_task = 4096;

}  // namespace

kept_statistics::kept_statistics(const statistics_layout& layout, std::size_t chunks)
    : group_(layout), chunks_(chunks, statistics(layout)), total_(layout) {}

void kept_statistics::replace(std::size_t chunk, statistics& fresh) {
  group_.subtract_from(total_, chunks_[chunk]);
  group_.combine_into(total_, fresh);
  std::swap(chunks_[chunk], fresh);
}

void kept_statistics::replace_log_likelihood(std::size_t chunk, double log_likelihood) {
  double& kept = chunks_[chunk].values()[statistics_layout::log_likelihood()];
  total_.values()[statistics_layout::log_likelihood()] += log_likelihood - kept;
  kept = log_likelihood;
}

void kept_statistics::rebuild(std::vector<double> centres, executor& workers) {
  if (centres != centres_) {
    workers.run(chunks_.size(), 1,
                [&](std::size_t chunk, const team_member&) { translate(chunks_[chunk], centres_, centres); });
    centres_ = std::move(centres);
  }
  const std::size_t size = group_.layout().size();
  const std::size_t tasks = (size + elements_a_task - 1) / elements_a_task;
  double* const total = total_.values().data();
  workers.run(tasks, 1, [&](std::size_t task, const team_member&) {
    const std::size_t first = task * elements_a_task, end = std::min(size, first + elements_a_task);
    std::fill(total + first, total + end, 0.0);
    for (const statistics& chunk : chunks_) {
      const double* const term = chunk.values().data();
      for (std::size_t i = first; i < end; ++i) total[i] += term[i];
    }
  });
}

void kept_statistics::append_to(std::vector<double>& state) const {
  state.insert(state.end(), centres_.begin(), centres_.end());
  state.insert(state.end(), total_.values().begin(), total_.values().end());
  for (const statistics& chunk : chunks_) state.insert(state.end(), chunk.values().begin(), chunk.values().end());
}

void kept_statistics::restore(state_reader& state) {
  const statistics_layout& layout = group_.layout();
  const std::span<const double> centres =
      state.take_finite(layout.components() * layout.columns(), "the centres of kept statistics");
  centres_.assign(centres.begin(), centres.end());
  const auto read = [&](statistics& into) {
    const std::span<const double> from = state.take_finite(layout.size(), "kept statistics");
    std::copy(from.begin(), from.end(), into.values().begin());
  };
  read(total_);
  for (statistics& chunk : chunks_) read(chunk);
  if (!(total_.total_weight() > 0)) {
    throw bad_data(fmt::format("the total weight of its kept statistics is {}", total_.total_weight()));
  }
}

statistics without_residue(statistics sums) {
  const statistics_layout& layout = sums.layout();
  const std::span<double> values = sums.values();
  const double least = residue * sums.total_weight();
  for (std::size_t k = 0; k < layout.components(); ++k) {
    if (sums.weight(k) > least) continue;
    const std::size_t end = k + 1 == layout.components() ? layout.shared() : layout.component(k + 1);
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(layout.component(k)),
              values.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  }
  return sums;
}

}  // namespace shoal::gmm
