#include <shoal/io/checkpoint.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/io/json_file.hpp>
#include <shoal/io/output_file.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/whole_file.hpp>

namespace shoal {
namespace {

using nlohmann::json;

constexpr std::uint64_t version = 2;
constexpr std::string_view program = "shoal " SHOAL_VERSION;
constexpr std::size_t largest_file = std::size_t{8} << 30;
constexpr std::size_t digits = 16;  // hexadecimal digits of one 64-bit word

// What is wrong with the contents, still without the name of the file.
struct unusable : bad_data {
  using bad_data::bad_data;
};

// Numbers go in as the hexadecimal of their bits: exact for every value, not-a-numbers and packed integers included.
std::string encode(const std::vector<double>& values) {
  std::string text;
  text.reserve(values.size() * digits);
  for (const double value : values)
    fmt::format_to(std::back_inserter(text), "{:016x}", std::bit_cast<std::uint64_t>(value));
  return text;
}

std::vector<double> decode(const std::string& text) {
  if (text.size() % digits != 0) throw unusable("a list of numbers is cut short");
  std::vector<double> values;
  values.reserve(text.size() / digits);
  for (std::size_t at = 0; at < text.size(); at += digits) {
    std::uint64_t word = 0;
    const auto [end, failure] = std::from_chars(text.data() + at, text.data() + at + digits, word, 16);
    if (failure != std::errc() || end != text.data() + at + digits)
      throw unusable("a list of numbers holds other characters");
    values.push_back(std::bit_cast<double>(word));
  }
  return values;
}

std::uint32_t checksum(std::string_view text) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

// One object, written and read without nlohmann's values: to destroy these takes memory, which may have run out.
std::string pack(const fit_identity& identity, const checkpoint& point) {
  json_writer names;
  for (const auto& [name, value] : identity) names.text(name, value);
  std::string best;
  if (point.best) {
    best = fmt::format(R"(,"best":{{"score":"{}","converged":{},"history":"{}","state":"{}"}})",
                       encode({point.best->score}), point.best->converged, encode(point.best->history),
                       encode(point.best->state));
  }
  return fmt::format(
      R"({{"identity":{},"fit":{{"restart":{},"finished":{},"objectives":"{}","changes":"{}","state":"{}"{}}}}})",
      names.finish(), point.restart, point.finished, encode(point.objectives), encode(point.changes),
      encode(point.state), best);
}

// What an object and the objects in it say, by the names that lead there: "fit/best/score".
class members final : public nlohmann::json_sax<json> {
 public:
  explicit members(std::string_view text) {
    if (!json::sax_parse(text.begin(), text.end(), this)) throw unusable("its JSON is damaged");
  }

  bool has(std::string_view path) const { return find(path) != nullptr; }
  const std::string& text(std::string_view path) const { return get<std::string>(path); }
  bool truth(std::string_view path) const { return get<bool>(path); }
  std::uint64_t count(std::string_view path) const { return get<std::uint64_t>(path); }

  // Name and text of each member of the object `path`.
  fit_identity texts_in(const std::string& path) const {
    fit_identity found;
    for (const auto& [name, value] : values_) {
      const auto* const words = std::get_if<std::string>(&value);
      if (words != nullptr && name.starts_with(path + "/")) found.emplace_back(name.substr(path.size() + 1), *words);
    }
    return found;
  }

  // What the parser says.
  bool null() override { return false; }
  bool boolean(bool truth) override { return take(truth); }
  bool number_integer(number_integer_t) override { return false; }
  bool number_unsigned(number_unsigned_t number) override { return take(static_cast<std::uint64_t>(number)); }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool string(string_t& text) override { return take(std::move(text)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    objects_.push_back(path_.size());
    return objects_.size() <= deepest;
  }
  bool key(string_t& name) override {
    path_.resize(objects_.back());
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return true;
  }
  bool end_object() override {
    path_.resize(objects_.back());
    objects_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  using entry = std::variant<std::string, bool, std::uint64_t>;
  static constexpr std::size_t deepest = 4;

  const entry* find(std::string_view path) const {
    for (const auto& [name, one] : values_) {
      if (name == path) return &one;
    }
    return nullptr;
  }
  template <class Type>
  const Type& get(std::string_view path) const {
    const entry* const found = find(path);
    const Type* const typed = found == nullptr ? nullptr : std::get_if<Type>(found);
    if (typed == nullptr) throw unusable(fmt::format("its member {} is missing or of another type", path));
    return *typed;
  }
  bool take(entry taken) {
    if (objects_.empty()) return false;
    values_.emplace_back(path_, std::move(taken));
    return true;
  }

  std::string path_;                  // of the member that is being read
  std::vector<std::size_t> objects_;  // the lengths of the paths of the objects around it
  std::vector<std::pair<std::string, entry>> values_;
};

checkpoint unpack(const members& packed) {
  checkpoint point;
  point.restart = packed.count("fit/restart");
  point.finished = packed.truth("fit/finished");
  point.objectives = decode(packed.text("fit/objectives"));
  point.changes = decode(packed.text("fit/changes"));
  point.state = decode(packed.text("fit/state"));
  if (point.changes.size() != point.objectives.size()) throw unusable("its step lists differ in length");
  if (packed.has("fit/best/score")) {
    finished_restart restart;
    const std::vector<double> score = decode(packed.text("fit/best/score"));
    if (score.size() != 1) throw unusable("its best restart has no score");
    restart.score = score[0];
    restart.converged = packed.truth("fit/best/converged");
    restart.history = decode(packed.text("fit/best/history"));
    restart.state = decode(packed.text("fit/best/state"));
    point.best = std::move(restart);
  }
  if (point.finished && !point.best) throw unusable("it is finished but holds no result");
  return point;
}

constexpr std::size_t longest_value = 80;  // of an identity in a message

void compare(const std::string& path, const fit_identity& theirs, const fit_identity& ours) {
  std::string differences;
  for (const auto& [name, value] : ours) {
    std::string_view there = "absent";
    for (const auto& [other, text] : theirs) {
      if (other == name) there = text;
    }
    if (there != value)
      differences += fmt::format("{}{} is {} there and {} here", differences.empty() ? "" : "; ", name,
                                 printable(there, longest_value), printable(value, longest_value));
  }
  if (differences.empty()) return;
  throw bad_argument(fmt::format(
      "{}: this checkpoint belongs to another fit: {}. Use the same data and options, or remove the file to start anew",
      printable_path(path), differences));
}

[[noreturn]] void fail(const std::string& path, std::string_view why) {
  throw bad_data(
      fmt::format("{}: not a usable checkpoint: {}. Remove the file to start anew", printable_path(path), why));
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// For writing where that is allowed, because some network file systems lock no other descriptor.
file_handle open_or_create(const std::string& path) {
  constexpr int always = O_CLOEXEC | O_NONBLOCK;
  file_handle opened(::open(path.c_str(), O_RDWR | O_CREAT | always, 0666));
  if (opened.descriptor() < 0 && (errno == EACCES || errno == EROFS)) {
    opened = file_handle(::open(path.c_str(), O_RDONLY | always));
    if (opened.descriptor() < 0) errno = EACCES;
  }
  if (opened.descriptor() < 0) throw_io_error(path, "cannot open the checkpoint for writing", errno);
  return opened;
}

// False when another fit has it.
bool lock(const file_handle& file, const std::string& path) {
  while (::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw_io_error(path, "cannot lock the checkpoint; choose one on another file system", errno);
  }
  return true;
}

// A fit that writes puts a new file in the place of the old one, so a lock may be of a file that is no longer there.
file_handle open_locked(const std::string& path) {
  for (;;) {
    file_handle opened = open_or_create(path);
    struct stat status = {}, there = {};
    if (::fstat(opened.descriptor(), &status) != 0) throw_io_error(path, "cannot examine the checkpoint", errno);
    if (!S_ISREG(status.st_mode)) {
      throw bad_argument(
          fmt::format("{}: a checkpoint must be a file, not a folder, pipe or device", printable_path(path)));
    }
    if (!lock(opened, path)) {
      throw io_error(fmt::format("{}: another fit is using this checkpoint; wait for its end, or choose another file",
                                 printable_path(path)));
    }
    if (::stat(path.c_str(), &there) == 0 && same_file(status, there)) return opened;
  }
}

}  // namespace

std::string format_checkpoint(const fit_identity& identity, const checkpoint& point) {
  // The body stands in lines of its own, so that the sum of its bytes can be checked before it is parsed.
  const std::string body = pack(identity, point);
  return fmt::format(
      "{{\"format\":\"shoal/checkpoint\",\"version\":{},\"program\":\"{}\",\"crc32\":{},\"body\":\n{}\n}}\n", version,
      program, checksum(body), body);
}

std::optional<checkpoint> parse_checkpoint(const std::string& path, std::string_view text,
                                           const fit_identity& identity) {
  if (text.empty()) return std::nullopt;
  const std::size_t first = text.find('\n');
  const std::size_t last = text.rfind("\n}\n");
  if (first == std::string_view::npos || last == std::string_view::npos || last <= first) fail(path, "it is cut short");
  const std::string_view body = text.substr(first + 1, last - first - 1);
  try {
    const members head(std::string(text.substr(0, first)) + "0}");
    if (head.text("format") != "shoal/checkpoint") fail(path, "it is not a checkpoint of shoal");
    if (head.count("version") != version) {
      fail(path, fmt::format("its version is {}, and this program reads version {}", head.count("version"), version));
    }
    // What a fit saves is of its own making, and may change with every version of the program.
    if (head.text("program") != program) {
      fail(path, fmt::format("{} wrote it, and this is {}", printable(head.text("program")), program));
    }
    if (head.count("crc32") != checksum(body)) fail(path, "its checksum does not match");
    const members parsed(body);
    compare(path, parsed.texts_in("identity"), identity);
    return unpack(parsed);
  } catch (const unusable& failure) {
    fail(path, failure.what());
  }
}

checkpoint_file::checkpoint_file(std::string path, fit_identity identity)
    : path_(std::move(path)), identity_(std::move(identity)), locked_(open_locked(path_)) {}

checkpoint_file::~checkpoint_file() {
  struct stat ours = {}, there = {};
  if (::fstat(locked_.descriptor(), &ours) == 0 && ours.st_size == 0 && ::stat(path_.c_str(), &there) == 0 &&
      same_file(ours, there)) {
    ::unlink(path_.c_str());
  }
  ::flock(locked_.descriptor(), LOCK_UN);  // at once, even if a child of this process still has the descriptor
}

void checkpoint_file::refuse(std::string_view why) const { fail(path_, why); }

void checkpoint_file::write(const checkpoint& point) {
  const std::string text = format_checkpoint(identity_, point);
  struct stat ours = {}, there = {};
  if (::stat(path_.c_str(), &there) == 0 && (::fstat(locked_.descriptor(), &ours) != 0 || !same_file(ours, there))) {
    throw io_error(
        fmt::format("{}: something else has replaced this checkpoint while the fit was using it; choose another file",
                    printable_path(path_)));
  }
  output_file out(path_);
  out.write(text.data(), text.size());
  // The new file is locked before it has its name, and the old one until then: there is no moment without a lock.
  file_handle fresh(::fcntl(out.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (fresh.descriptor() < 0) throw_io_error(path_, "cannot open the checkpoint again", errno);
  if (!lock(fresh, path_)) throw_io_error(path_, "cannot lock the checkpoint", EWOULDBLOCK);
  out.commit();
  locked_ = std::move(fresh);
}

std::optional<checkpoint> checkpoint_file::read() const {
  return parse_checkpoint(path_, read_whole_file(path_, largest_file), identity_);
}

}  // namespace shoal
