// A deterministic subsample: one row from each stretch, at a hashed place.
#include "report/subsample.hpp"

#include <cstdint>

namespace shoal::report {
namespace {

// The finaliser of SplitMix64 (Steele, Lea & Flood 2014): each bit of the index changes each bit of the result.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

template <class Scalar>
row_sample read(const row_source<Scalar>& source, std::size_t at_most) {
  row_sample sample;
  sample.indices = subsample(source.rows(), at_most);
  sample.columns = source.columns();
  sample.rows_in_all = source.rows();
  sample.values.reserve(sample.indices.size() * sample.columns);
  aligned_buffer<Scalar> buffer;
  for (const std::size_t index : sample.indices) {
    const matrix_view<const Scalar> row = source.read(index, 1, buffer);
    for (std::size_t j = 0; j < sample.columns; ++j) sample.values.push_back(static_cast<double>(row(0, j)));
  }
  return sample;
}

}  // namespace

std::vector<std::size_t> subsample(std::size_t rows, std::size_t at_most) {
  const std::size_t count = rows < at_most ? rows : at_most;
  std::vector<std::size_t> indices(count);
  if (count == 0) return indices;
  // Stretch i starts at floor(i · rows / count), written so that no product overflows.
  const auto start = [&](std::size_t i) { return i * (rows / count) + i * (rows % count) / count; };
  for (std::size_t i = 0; i < count; ++i)
    indices[i] = start(i) + static_cast<std::size_t>(mix(i) % (start(i + 1) - start(i)));
  return indices;
}

row_sample sample_rows(const row_source<float>& source, std::size_t at_most) { return read(source, at_most); }
row_sample sample_rows(const row_source<double>& source, std::size_t at_most) { return read(source, at_most); }

}  // namespace shoal::report
