#include <shoal/execution/device_choice.hpp>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace shoal {
namespace {

constexpr std::string_view cuda_word = "cuda";

[[noreturn]] void refuse_name(std::string_view name) {
  throw bad_argument(
      fmt::format("'{}' is not a device: cpu, cuda, cuda:1, cuda:0,1, cuda:all, cuda:local and auto are", name));
}

int device_number(std::string_view text, std::string_view name) {
  int number = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || status != std::errc() || end != text.data() + text.size() || number < 0) refuse_name(name);
  return number;
}

// "0,1" after "cuda:".
std::vector<int> listed_devices(std::string_view list, std::string_view name) {
  std::vector<int> numbers;
  while (true) {
    const std::size_t comma = list.find(',');
    const int number = device_number(list.substr(0, comma), name);
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      throw bad_argument(fmt::format("'{}' names CUDA device {} twice", name, number));
    }
    numbers.push_back(number);
    if (comma == std::string_view::npos) return numbers;
    list.remove_prefix(comma + 1);
  }
}

std::vector<int> all_numbers(const std::vector<device>& devices) {
  std::vector<int> numbers;
  for (const device& one : devices) numbers.push_back(one.index);
  return numbers;
}

// Whatever keeps this build or this machine from CUDA means the host.
device_choice automatic_choice() {
  try {
    if (!cuda_devices().empty()) return {{0}};
  } catch (const error&) {
  }
  return {};
}

}  // namespace

device_choice choose_device(std::string_view name) {
  if (name == "cpu") return {};
  if (name == "auto") return automatic_choice();
  if (name != cuda_word && !name.starts_with("cuda:")) refuse_name(name);
  const bool first = name == cuda_word || name == "cuda:local";  // a process by itself is the first of its host
  const std::string_view list = first ? std::string_view("0") : name.substr(cuda_word.size() + 1);
  const std::vector<int> wanted = list == "all" ? std::vector<int>() : listed_devices(list, name);
  const std::vector<device> present = cuda_devices();
  if (present.empty()) throw error(fmt::format("'{}' was asked for, and this machine has no CUDA device", name));
  if (list == "all") return {all_numbers(present)};
  for (const int number : wanted) {
    if (static_cast<std::size_t>(number) < present.size()) continue;
    throw bad_argument(
        fmt::format("there is no CUDA device {}: this machine has {}, numbered from 0", number, present.size()));
  }
  return {wanted};
}

std::string_view precision_name(precision precision) {
  switch (precision) {
    case precision::float32:
      return "float32";
    case precision::tf32:
      return "tf32";
    case precision::bf16:
      return "bf16";
  }
  throw bad_argument("a precision that is not float32, tf32 or bf16");
}

void check_precision(const device_choice& choice, bool rows_are_float64) {
  if (choice.precision == precision::float32) return;
  const std::string_view name = precision_name(choice.precision);
  if (choice.on_host()) {
    throw bad_argument(fmt::format(
        "precision {} is one of CUDA devices, and this runs on the cpu: choose a CUDA device or precision float32",
        name));
  }
  if (rows_are_float64) {
    throw bad_argument(fmt::format(
        "precision {} is for float32 rows, and these are float64: choose float32 rows or precision float32", name));
  }
}

std::string device_name(const device_choice& choice) {
  return choice.on_host() ? std::string("cpu") : fmt::format("cuda:{}", fmt::join(choice.cuda, ","));
}

}  // namespace shoal
