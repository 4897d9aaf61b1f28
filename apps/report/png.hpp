// Pictures as PNG files: of few colours, for drawings of too many cells to be shapes, or of red, green and blue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/colour_scale.hpp"

namespace shoal::report {

/// `pixels` are [height][width] numbers of colours; 0 is transparent and i stands for palette[i − 1]. At most 255
/// colours. Throws bad_argument when sizes do not fit.
std::string indexed_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height,
                        const std::vector<rgb>& palette);

/// `pixels` are [height][width][3] bytes: red, green and blue. Throws bad_argument when sizes do not fit.
std::string rgb_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height);

/// Bytes in base64 (RFC 4648).
std::string base64(std::string_view bytes);

}  // namespace shoal::report
