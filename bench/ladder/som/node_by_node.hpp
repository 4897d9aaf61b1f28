// The first rungs: best-matching units found row after row.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

enum class first_distance { euclidean, taxicab };

// The least distances of a row to the units of each block, and those units.
struct block_minima {
  float* distances;
  std::int32_t* units;
};

// Rung 1: a row after the other, a unit after the other, on the host.
void search_in_turn(first_distance metric, const float* rows, std::size_t count, const float* units,
                    std::size_t unit_count, std::size_t columns, std::int32_t* labels);

// Rungs 2 and 3: a launch for each row, a thread for each coordinate of each unit, a block for as many units as 256
// threads hold. One thread of a block adds up all its units' coordinates (rung 2), or one of each unit (rung 3). Then
// the least of each row's blocks is found. Columns: at most 256.
std::size_t blocks_of_units(std::size_t unit_count, std::size_t columns);
void search_node_by_node(first_distance metric, bool a_thread_a_unit, const float* rows, std::size_t count,
                         const float* units, std::size_t unit_count, std::size_t columns, const block_minima& minima,
                         std::int32_t* labels, cudaStream_t stream);
