// How the rows on GPUs are cut into chunks and superchunks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/chunked/chunk_plan.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// The cut of every shard, of which the largest has `shard_rows` rows: chunk c of the fit is chunk c of all `shards`
/// shards. Chunks begin at multiples of cuda::piece_unit, and what is kept is kept of superchunks. Throws bad_argument
/// for chunks that cannot begin there, for more superchunks than a GPU steps through without the host, and when what
/// was asked for would keep more bytes than options.chunks.memory.
chunk_plan make_device_chunk_plan(std::size_t shard_rows, std::size_t shards, const statistics_layout& layout,
                                  const options& options);

/// Those chunks as rows of a shard. Neighbours are one range.
std::vector<cuda::shard_range> ranges_of(const chunk_plan& plan, std::span<const std::size_t> chunks);

}  // namespace shoal::gmm
