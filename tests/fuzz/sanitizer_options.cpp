// What the address sanitizer does in a fuzzer unless ASAN_OPTIONS says otherwise. Freed memory stays poisoned until 4
// MiB more were freed, which is more than a small input frees: fresh pages for every allocation take most of the time
// otherwise. A file of its own, because the sanitizer's definition is taken for any weak one.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=4:malloc_context_size=8"; }
