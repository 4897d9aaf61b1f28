#include <shoal/execution/executor.hpp>

namespace shoal {
namespace {

class sequential final : public executor {
 public:
  std::size_t threads() const override { return 1; }
  void run(std::size_t tasks, std::size_t, const task_function& task) override {
    const team_member alone(0, 0, 1, nullptr);
    for (std::size_t t = 0; t < tasks; ++t) task(t, alone);
  }
};

}  // namespace

std::unique_ptr<executor> make_sequential() { return std::make_unique<sequential>(); }

}  // namespace shoal
