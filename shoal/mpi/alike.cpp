#include <shoal/mpi/alike.hpp>

#include <link.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/file.hpp>
#include <shoal/nearest/nearest.hpp>

namespace shoal::mpi {
namespace {

// The program or shared library that an address of code lies in.
struct sought {
  std::uintptr_t address;
  std::string file;
};

int look_in(dl_phdr_info* object, std::size_t, void* wanted) {
  auto& found = *static_cast<sought*>(wanted);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || found.address < start || found.address >= start + segment.p_memsz) continue;
    // The program itself has no name here.
    found.file = object->dlpi_name == nullptr || *object->dlpi_name == '\0' ? "/proc/self/exe" : object->dlpi_name;
    return 1;
  }
  return 0;
}

std::string sum_of_own_code() {
  sought own{reinterpret_cast<std::uintptr_t>(&simd_target), {}};
  dl_iterate_phdr(look_in, &own);
  const file_handle file(::open(own.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor() < 0) throw_io_error(own.file, "cannot open the program's own code", errno);
  constexpr std::size_t piece = std::size_t{1} << 20;
  const auto bytes = std::make_unique<Bytef[]>(piece);
  std::size_t size = 0;
  uLong sum = crc32_z(0, nullptr, 0);
  for (;;) {
    const ssize_t count = ::read(file.descriptor(), bytes.get(), piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error(own.file, "cannot read the program's own code", errno);
    if (count == 0) break;
    sum = crc32_z(sum, bytes.get(), static_cast<std::size_t>(count));
    size += static_cast<std::size_t>(count);
  }
  return fmt::format("{} bytes, {:08x}", size, sum);
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "an unknown host";
}

runner this_runner() { return {host_name(), SHOAL_VERSION, sum_of_own_code(), simd_target()}; }

void check_alike(const std::vector<runner>& ranks) {
  const auto compare = [&](std::string runner::*part, const char* what, const char* advice) {
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      if (ranks[rank].*part == ranks[0].*part) continue;
      throw bad_argument(fmt::format("{} of rank {} on {} is {}, and that of rank 0 on {} is {}: {}", what, rank,
                                     ranks[rank].host, ranks[rank].*part, ranks[0].host, ranks[0].*part, advice));
    }
  };
  compare(&runner::version, "the version of shoal", "run one version on all hosts");
  compare(&runner::instruction_set, "the instruction set", "choose hosts with processors of one kind");
  compare(&runner::build, "the build of shoal (its file)", "run the same file on all hosts");
}

}  // namespace shoal::mpi
