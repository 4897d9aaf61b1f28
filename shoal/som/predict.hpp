// The best-matching unit of each row, and how well a map stands for rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/progress.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/quality.hpp>

namespace shoal::som {

/// The best-matching unit of each row (lowest index on a tie), as units[rows]. Returns the quantization error. On CUDA
/// devices `units` may point to memory of the host or of any CUDA device; it has been written when predict() returns.
/// Throws bad_argument, bad_data (not finite, no rows, a column of rows and units that spans more than 1e150),
/// interrupted.
double predict(const model& model, const row_source<float>& rows, std::int32_t* units, std::size_t threads = 0,
               std::size_t memory_limit = 0, row_weights weights = {}, const control& control = {},
               const device_choice& device = {});
double predict(const model& model, const row_source<double>& rows, std::int32_t* units, std::size_t threads = 0,
               std::size_t memory_limit = 0, row_weights weights = {}, const control& control = {},
               const device_choice& device = {});

/// How well the map stands for the rows.
quality score(const model& model, const row_source<float>& rows, std::size_t threads = 0, std::size_t memory_limit = 0,
              row_weights weights = {}, const control& control = {}, const device_choice& device = {});
quality score(const model& model, const row_source<double>& rows, std::size_t threads = 0, std::size_t memory_limit = 0,
              row_weights weights = {}, const control& control = {}, const device_choice& device = {});

/// Rows [first, end) that predict() writes on this rank of several, each of which writes its own; `rows` are all.
row_range predicted_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, communicator* ranks,
                         const device_choice& device = {});

}  // namespace shoal::som
