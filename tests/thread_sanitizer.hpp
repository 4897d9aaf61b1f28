// Tests do less under the thread sanitizer, where they take up to forty times as long: once for each way that threads
// can meet.
#pragma once

#ifdef __SANITIZE_THREAD__
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif
