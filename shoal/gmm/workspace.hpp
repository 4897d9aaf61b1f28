// The memory that the kernels of one team of threads work in.
#pragma once

#include <memory>

namespace shoal::gmm {

/// Memory of the kernels for one team of threads; grows on first use.
template <class Scalar>
class workspace {
 public:
  workspace();
  workspace(workspace&&) noexcept;
  workspace& operator=(workspace&&) noexcept;
  ~workspace();

  struct memory;
  memory& get() { return *memory_; }

 private:
  std::unique_ptr<memory> memory_;
};
extern template class workspace<float>;
extern template class workspace<double>;

}  // namespace shoal::gmm
