// A .npy file that several processes write together, each its own rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace shoal {

/// The name of a file that is not whole yet.
struct npy_part {
  std::string name;
};

/// One process makes the file next to its name, tells the others what its part is called, and commits it when all have
/// written. Rows are kept in memory, as far as they are touched, until they are written: a map of the file that several
/// machines share would have pages of two writers. Element is float, double or std::int32_t.
template <class Element>
class npy_slices {
 public:
  /// Makes the file. `columns` 0 makes a one-dimensional array. Throws io_error.
  npy_slices(const std::string& path, std::size_t rows, std::size_t columns);
  /// Joins the process that has made it. Throws io_error, also where its part is not to be seen.
  npy_slices(const npy_part& part, const std::string& path, std::size_t rows, std::size_t columns);
  ~npy_slices();
  npy_slices(npy_slices&&) noexcept;
  npy_slices& operator=(npy_slices&&) noexcept;

  const std::string& part() const;
  /// All rows, which are zero until they are set.
  Element* data();
  /// Writes rows [first, end), to disk.
  void write(std::size_t first, std::size_t end);
  /// Gives the file its name; for the process that made it.
  void commit();

 private:
  struct state;
  std::unique_ptr<state> state_;
};
extern template class npy_slices<float>;
extern template class npy_slices<double>;
extern template class npy_slices<std::int32_t>;

}  // namespace shoal
