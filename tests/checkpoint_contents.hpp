// What a checkpoint says, word by word, and how it is written with the checksum that belongs to it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include <zlib.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <shoal/io/whole_file.hpp>

namespace mutated_checkpoint {

using nlohmann::json;

/// A checkpoint in memory.
class contents {
 public:
  explicit contents(const std::string& path) {
    const std::string text = shoal::read_whole_file(path, std::size_t{1} << 24);
    const std::size_t first = text.find('\n'), last = text.rfind("\n}\n");
    head = json::parse(text.substr(0, first) + "null}");
    body = json::parse(text.substr(first + 1, last - first - 1));
  }

  json& fit() { return body.at("fit"); }

  void write(const std::string& path) const {
    const std::string text = body.dump();
    json written = head;
    written["crc32"] = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << fmt::format(
        "{{\"format\":{},\"version\":{},\"program\":{},\"crc32\":{},\"body\":\n{}\n}}\n", written.at("format").dump(),
        written.at("version").dump(), written.at("program").dump(), written.at("crc32").dump(), text);
  }

  json head, body;
};

inline std::size_t words_of(const json& list) { return list.get_ref<const std::string&>().size() / 16; }
inline std::string word(double value) { return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value)); }
inline json with_word(const json& list, std::size_t index, double value) {
  return std::string(list.get_ref<const std::string&>()).replace(16 * index, 16, word(value));
}
inline json of_words(const json& list, std::size_t count) {
  std::string words = list.get<std::string>().substr(0, 16 * count);
  while (words.size() < 16 * count) words += word(0.5);
  return words;
}

}  // namespace mutated_checkpoint
