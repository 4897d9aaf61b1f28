// What a program without windows says.
#include <shoal/core/error.hpp>

#include "viewer/window/window.hpp"

namespace shoal::viewer {

struct window::inside {};

bool has_window() { return false; }

window::window(const scene&, const view_settings&, int, int, bool) {
  throw not_built(
      "this shoal was built without windows; configure it with -DSHOAL_WINDOW=ON, or write a page with --output");
}
window::~window() = default;
void window::run() {}
bool window::press(std::string_view, bool) { return false; }
window_state window::state() const { return {}; }
std::vector<std::uint8_t> window::pixels() { return {}; }
int window::width() const { return 0; }
int window::height() const { return 0; }

}  // namespace shoal::viewer
