// How the rows are cut into chunks and superchunks, and the order in which a pass goes through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/gmm/options.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// The cut; neither the number of threads nor a limit of row buffers is in it.
struct chunk_plan {
  std::size_t rows = 0;
  std::size_t chunk_rows = 0;
  std::size_t chunks = 0;
  std::size_t superchunk = 0;  ///< chunks between two maximisations

  std::size_t superchunks() const { return (chunks + superchunk - 1) / superchunk; }
  std::size_t first_row(std::size_t chunk) const { return chunk * chunk_rows; }
  std::size_t rows_of(std::size_t chunk) const { return chunk + 1 == chunks ? rows - first_row(chunk) : chunk_rows; }
};

/// The cut of `rows` rows for a fit with these statistics. Throws bad_argument when what was asked for would keep more
/// bytes than options.chunks.memory, and says how many rows a chunk needs.
chunk_plan make_chunk_plan(std::size_t rows, const statistics_layout& layout, std::size_t scalar_bytes,
                           const options& options);

/// An order of the chunks for restart `restart`; another one for each `turn`.
std::vector<std::size_t> chunk_order(const chunk_plan& plan, std::uint64_t seed, std::size_t restart, std::size_t turn);

}  // namespace shoal::gmm
