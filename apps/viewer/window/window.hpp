// A scene in a window of its own, by GLFW and OpenGL 3.3 (option SHOAL_WINDOW).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "viewer/scene.hpp"

namespace shoal::viewer {

/// Whether the program was built with it.
bool has_window();

/// How a window looks at its scene now.
struct window_state {
  view_settings view;
  std::size_t order = 0;   ///< of a sponge
  std::size_t moment = 0;  ///< of a field
  bool open = true;
};

/// The keys and the pointer do what they do on the page; escape closes.
class window {
 public:
  /// Opens a window of that many pixels; a hidden one can be drawn and read, and no one sees it. Throws not_built
  /// without the option, and std::runtime_error where there is no display or no OpenGL 3.3.
  window(const scene& shown, const view_settings& view, int width, int height, bool hidden);
  ~window();
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  /// Draws and takes input until it is closed.
  void run();
  /// As if the key of this name ("w", "+", "ArrowLeft") had been pressed. Whether it is one.
  bool press(std::string_view key, bool shift = false);
  window_state state() const;
  /// Draws, and returns [height][width][3] bytes from the top.
  std::vector<std::uint8_t> pixels();
  int width() const;
  int height() const;

 private:
  struct inside;
  std::unique_ptr<inside> inside_;
};

}  // namespace shoal::viewer
