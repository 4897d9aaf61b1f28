// The rows that greedy k-means++ chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::kmeans {

struct choice_options {
  std::size_t clusters = 8;
  std::uint64_t seed = 0;
  std::size_t trials = 0;        ///< rows drawn in each step, of which the best is kept; 0: 2 + floor(ln K)
  std::size_t threads = 0;       ///< 0: default_threads()
  std::size_t memory_limit = 0;  ///< bytes for row buffers of sources that are not resident; 0: no limit
  device_choice device;          ///< where the rows are measured
};

/// The rows that seeding::plus_plus starts the first fit with this seed from, as [clusters] indices from 0 in the order
/// in which they were chosen; rows of weight zero are never among them. Throws bad_argument when `clusters` is 0 or
/// more than there are rows, and bad_data, interrupted, io_error.
std::vector<std::size_t> choose_rows(const row_source<float>& rows, const choice_options& options,
                                     row_weights weights = {}, const control& control = {});
std::vector<std::size_t> choose_rows(const row_source<double>& rows, const choice_options& options,
                                     row_weights weights = {}, const control& control = {});

}  // namespace shoal::kmeans
