// PNG (ISO/IEC 15948), with a palette or in full colour.
#include "report/png.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <shoal/core/error.hpp>

namespace shoal::report {
namespace {

void append_number(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xffu);
}

void append_chunk(std::string& out, std::string_view name, std::string_view contents) {
  append_number(out, static_cast<std::uint32_t>(contents.size()));
  const std::string body = std::string(name) + std::string(contents);
  out += body;
  append_number(out, static_cast<std::uint32_t>(
                         crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

std::string deflated(const std::string& bytes, int level) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                             static_cast<uLong>(bytes.size()), level);
  if (code != Z_OK) throw out_of_memory("zlib could not compress a picture");
  out.resize(size);
  return out;
}

// The signature and the header: 8 bits a part, a colour type, the only methods there are, no interlacing.
std::string beginning(std::size_t width, std::size_t height, char colour_type) {
  std::string out = "\x89PNG\r\n\x1a\n";
  std::string header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(height));
  header += {'\x08', colour_type, '\0', '\0', '\0'};
  append_chunk(out, "IHDR", header);
  return out;
}

// A line as differences: from the pixel to the left (filter 1) or above (filter 2). Returns how large they are
// together.
std::uint64_t difference(std::span<const std::uint8_t> line, std::span<const std::uint8_t> above, int filter,
                         std::string& out) {
  std::uint64_t sum = 0;
  out.resize(line.size() + 1);
  out[0] = static_cast<char>(filter);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::uint8_t before = filter == 1 ? (i < 3 ? 0 : line[i - 3]) : above.empty() ? 0 : above[i];
    const auto change = static_cast<std::uint8_t>(line[i] - before);
    sum += change < 128 ? change : 256u - change;
    out[i + 1] = static_cast<char>(change);
  }
  return sum;
}

}  // namespace

std::string rgb_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height) {
  if (pixels.size() != 3 * width * height) {
    throw bad_argument(
        fmt::format("{} bytes are no picture of {} × {} in red, green and blue", pixels.size(), width, height));
  }
  std::string out = beginning(width, height, 2);
  std::string lines, left, up;
  lines.reserve(height * (3 * width + 1));
  for (std::size_t y = 0; y < height; ++y) {
    const auto line = pixels.subspan(3 * width * y, 3 * width);
    const auto above = y == 0 ? std::span<const std::uint8_t>() : pixels.subspan(3 * width * (y - 1), 3 * width);
    const std::uint64_t by_left = difference(line, above, 1, left), by_up = difference(line, above, 2, up);
    lines += by_left < by_up ? left : up;
  }
  append_chunk(out, "IDAT", deflated(lines, Z_DEFAULT_COMPRESSION));
  append_chunk(out, "IEND", {});
  return out;
}

std::string indexed_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height,
                        const std::vector<rgb>& palette) {
  if (palette.size() > 255 || pixels.size() != width * height) {
    throw bad_argument(fmt::format("{} pixels in {} colours are no indexed picture of {} × {}", pixels.size(),
                                   palette.size(), width, height));
  }
  std::string out = beginning(width, height, 3);
  std::string colours(3, '\0');
  for (const rgb colour : palette) {
    for (const std::uint8_t part : {colour.red, colour.green, colour.blue}) colours += static_cast<char>(part);
  }
  append_chunk(out, "PLTE", colours);
  append_chunk(out, "tRNS", std::string(1, '\0'));
  std::string lines;
  lines.reserve(height * (width + 1));
  for (std::size_t y = 0; y < height; ++y) {
    lines += '\0';  // no filter: rows of cells repeat as they are
    lines.append(reinterpret_cast<const char*>(pixels.data()) + y * width, width);
  }
  append_chunk(out, "IDAT", deflated(lines, Z_BEST_COMPRESSION));
  append_chunk(out, "IEND", {});
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += at + i > bytes.size() ? '=' : digits[group >> (18 - 6 * i) & 63u];
    }
  }
  return out;
}

}  // namespace shoal::report
