// A library to preload: it counts what a program asks of the system, and lets one request fail, or that one and all
// after it. Counting begins with main(), because nobody could tell of a failure before. Allocates nothing itself.
//
// SHOAL_FAULT is "KIND NUMBER [stay]", where the first request is number 1; SHOAL_FAULT_COUNTS names a file that gets
// the numbers of requests of all kinds when the program ends.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

// Half of the time of a process that does little: Highway measures the timer for its own benchmarks whenever its
// library is loaded.
namespace hwy::platform {
double TimerResolution();
double TimerResolution() { return 1e-9; }
}  // namespace hwy::platform

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

// Allocations before the first file is opened are counted apart: a program that reads its words makes thousands.
constexpr const char* names[] = {"early-allocation", "allocation", "open", "read", "write", "sync", "rename", "thread"};
enum kind { early_allocation, allocation, opening, reading, writing, syncing, renaming, threading, kinds };

std::atomic<bool> counting{false};
std::atomic<long> counts[kinds];
long failing[kinds];  // 0: none
bool stays = false;

bool fails(kind what, int reason) {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const long number = ++counts[what];
  const long wanted = failing[what];
  if (wanted == 0 || (stays ? number < wanted : number != wanted)) return false;
  errno = reason;
  return true;
}

bool allocation_fails() { return fails(counts[opening] == 0 ? early_allocation : allocation, ENOMEM); }

// The program's standard streams are not what is tested.
bool is_file(int descriptor) { return descriptor > 2; }

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void read_wishes() {
  const char* const wish = std::getenv("SHOAL_FAULT");
  if (wish == nullptr) return;
  for (int i = 0; i < kinds; ++i) {
    const std::size_t length = std::strlen(names[i]);
    if (std::strncmp(wish, names[i], length) != 0 || wish[length] != ' ') continue;
    char* end = nullptr;
    failing[i] = std::strtol(wish + length + 1, &end, 10);
    stays = std::strcmp(end, " stay") == 0;
  }
}

using main_function = int(int, char**, char**);
main_function* real_main = nullptr;

int counted_main(int count, char** words, char** environment) {
  read_wishes();
  counting = true;
  return real_main(count, words, environment);
}

struct reporter {
  ~reporter() {
    counting = false;
    const char* const path = std::getenv("SHOAL_FAULT_COUNTS");
    if (path == nullptr) return;
    char text[512];
    int length = 0;
    for (int i = 0; i < kinds; ++i) {
      length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "%s %ld\n", names[i],
                              counts[i].load());
    }
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    syscall(SYS_write, file, text, length);
    syscall(SYS_close, file);
  }
} at_the_end;

}  // namespace

extern "C" {

int __libc_start_main(main_function* program, int count, char** words, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack) {
  real_main = program;
  return next<int(main_function*, int, char**, void (*)(), void (*)(), void (*)(), void*)>("__libc_start_main")(
      counted_main, count, words, init, fini, rtld_fini, stack);
}

void* malloc(std::size_t size) noexcept { return allocation_fails() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) noexcept {
  return allocation_fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  return allocation_fails() ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return allocation_fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (allocation_fails()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

int open(const char* path, int flags, ...) {
  if (fails(opening, EMFILE)) return -1;
  int mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, int);
    va_end(more);
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t read(int descriptor, void* into, std::size_t size) {
  if (is_file(descriptor) && fails(reading, EIO)) return -1;
  return next<ssize_t(int, void*, std::size_t)>("read")(descriptor, into, size);
}
ssize_t pread(int descriptor, void* into, std::size_t size, off_t offset) {
  if (is_file(descriptor) && fails(reading, EIO)) return -1;
  return next<ssize_t(int, void*, std::size_t, off_t)>("pread")(descriptor, into, size, offset);
}
ssize_t write(int descriptor, const void* from, std::size_t size) {
  if (is_file(descriptor) && fails(writing, ENOSPC)) return -1;
  return next<ssize_t(int, const void*, std::size_t)>("write")(descriptor, from, size);
}
ssize_t pwrite(int descriptor, const void* from, std::size_t size, off_t offset) {
  if (is_file(descriptor) && fails(writing, ENOSPC)) return -1;
  return next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(descriptor, from, size, offset);
}
int fsync(int descriptor) { return fails(syncing, EIO) ? -1 : next<int(int)>("fsync")(descriptor); }
int fdatasync(int descriptor) { return fails(syncing, EIO) ? -1 : next<int(int)>("fdatasync")(descriptor); }
int rename(const char* from, const char* to) noexcept {
  return fails(renaming, EACCES) ? -1 : next<int(const char*, const char*)>("rename")(from, to);
}
int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) noexcept {
  if (fails(threading, EAGAIN)) return EAGAIN;
  return next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(made, attributes, work,
                                                                                                 argument);
}

// What a program calls instead when it is compiled with _FORTIFY_SOURCE.
int __open_2(const char* path, int flags) { return open(path, flags); }
ssize_t __read_chk(int descriptor, void* into, std::size_t size, std::size_t) { return read(descriptor, into, size); }
ssize_t __pread_chk(int descriptor, void* into, std::size_t size, off_t offset, std::size_t) {
  return pread(descriptor, into, size, offset);
}
}
