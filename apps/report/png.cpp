// PNG (ISO/IEC 15948) with a palette.
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

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                             static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  if (code != Z_OK) throw out_of_memory("zlib could not compress a picture of the report");
  out.resize(size);
  return out;
}

}  // namespace

std::string indexed_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height,
                        const std::vector<rgb>& palette) {
  if (palette.size() > 255 || pixels.size() != width * height) {
    throw bad_argument(fmt::format("{} pixels in {} colours are no indexed picture of {} × {}", pixels.size(),
                                   palette.size(), width, height));
  }
  std::string out = "\x89PNG\r\n\x1a\n";
  std::string header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(height));
  header += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits a pixel, palette, the only methods there are
  append_chunk(out, "IHDR", header);
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
  append_chunk(out, "IDAT", deflated(lines));
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
