// Writes files of rows, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <shoal/io/row_source.hpp>

namespace shoal {

/// A `.npy` file that is mapped for writing, created next to its name and moved there by commit(), so that a name never
/// shows half a file. Element is float, double or std::int32_t. Throws io_error (and says how much space was needed).
template <class Element>
class npy_output {
 public:
  /// `columns` 0 makes a one-dimensional array.
  npy_output(std::string path, std::size_t rows, std::size_t columns);
  ~npy_output();
  npy_output(npy_output&&) noexcept;
  npy_output& operator=(npy_output&&) noexcept;
  Element* data();
  void commit();

 private:
  struct state;
  std::unique_ptr<state> state_;
};
extern template class npy_output<float>;
extern template class npy_output<double>;
extern template class npy_output<std::int32_t>;

/// Writes rows as a C-order `.npy` of Scalar, piece by piece, whole or not at all.
template <class Scalar>
void write_npy(const std::string& path, const row_source<Scalar>& rows);
extern template void write_npy<float>(const std::string&, const row_source<float>&);
extern template void write_npy<double>(const std::string&, const row_source<double>&);

/// Writes rows as comma-separated text, piece by piece, whole or not at all; each number with the fewest digits that
/// read back as the same Scalar. `column_names` (empty, or one for each column) become the header.
template <class Scalar>
void write_csv(const std::string& path, const row_source<Scalar>& rows, const std::vector<std::string>& column_names);
extern template void write_csv<float>(const std::string&, const row_source<float>&, const std::vector<std::string>&);
extern template void write_csv<double>(const std::string&, const row_source<double>&, const std::vector<std::string>&);

}  // namespace shoal
