// Reads rows through an installed shoal.
#include <shoal/gmm/gmm.hpp>

#include <vector>

int main() {
  const std::vector<double> values = {1, 2, 3, 4};
  const shoal::view_source<double> rows({values.data(), 2, 2});
  shoal::aligned_buffer<double> buffer;
  return rows.read(1, 1, buffer)(0, 1) == 4 ? 0 : 1;
}
