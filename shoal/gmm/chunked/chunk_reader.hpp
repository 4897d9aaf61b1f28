// The statistics of one chunk of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/chunked/chunk_plan.hpp>

namespace shoal::gmm {

/// Reads chunks for one thread at a time, with the memory that this takes.
template <class Scalar>
class chunk_reader {
 public:
  /// `piece_rows` are read at a time: a multiple of block_rows.
  chunk_reader(const fold_context& context, const weighted_rows<Scalar>& data, std::size_t piece_rows)
      : stop_(context.stop), reader_(data), piece_rows_(piece_rows) {}

  /// Calls visit(block, workspace) for the chunk's pieces in order. How they are cut changes no bit of a sum. Throws
  /// interrupted, and what reading throws.
  template <class Visit>
  void for_each_piece(const chunk_plan& plan, std::size_t chunk, const Visit& visit) {
    const std::size_t end = plan.first_row(chunk) + plan.rows_of(chunk);
    for (std::size_t first = plan.first_row(chunk); first < end; first += piece_rows_) {
      if (stop_.stop_requested()) throw interrupted("stopped on request");
      visit(reader_.read(first, std::min(piece_rows_, end - first)), memory_);
    }
  }

  /// Sets `into` to the statistics of the chunk.
  void sum(const chunk_plan& plan, std::size_t chunk, const accumulation<Scalar>& body, statistics& into) {
    std::fill(into.values().begin(), into.values().end(), 0.0);
    for_each_piece(plan, chunk, [&](const row_block<Scalar>& block, workspace<Scalar>& memory) {
      body(block, team_member(0, 0, 1, nullptr), memory, into);
    });
  }

 private:
  std::stop_token stop_;
  row_reader<Scalar> reader_;
  std::size_t piece_rows_;
  workspace<Scalar> memory_;
};

/// One for each thread of the context. Throws bad_argument when the memory limit is too small for their buffers.
template <class Scalar>
std::vector<chunk_reader<Scalar>> make_chunk_readers(const fold_context& context, const weighted_rows<Scalar>& data,
                                                     const chunk_plan& plan) {
  const std::size_t threads = context.workers->threads();
  const fold_shape shape{plan.rows, data.rows->columns(), sizeof(Scalar), 0};
  fold_plan pieces = make_fold_plan(shape);
  pieces.chunk_rows = (plan.chunk_rows + block_rows - 1) / block_rows * block_rows;
  const bool resident = data.rows->resident() && (data.weights == nullptr || data.weights->resident());
  const std::size_t rows = piece_rows(pieces, shape, threads, resident ? 0 : context.memory_limit);
  std::vector<chunk_reader<Scalar>> readers;
  for (std::size_t i = 0; i < threads; ++i) readers.emplace_back(context, data, rows);
  return readers;
}

}  // namespace shoal::gmm
