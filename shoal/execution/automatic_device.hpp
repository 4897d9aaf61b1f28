// Whether a GPU pays: what a computation will do, what that takes on the host and on a GPU, and the choice between
// them.
#pragma once

#include <cstddef>
#include <string>

#include <shoal/execution/device_choice.hpp>

namespace shoal {

/// What a computation does, roughly: enough to tell a second from a millisecond.
struct estimated_work {
  double multiply_adds = 0;  ///< of all passes, counted as float32's; one in float64 counts twice
  double bytes = 0;          ///< of the rows and their weights
  double passes = 0;         ///< over the rows

  estimated_work& operator+=(const estimated_work& more);
};

/// Passes that a fit is taken to need when it may stop earlier than after its most iterations.
inline constexpr std::size_t usual_iterations = 20;

/// Seconds on the host: what the multiply-adds take, or what reading the rows takes where that is more.
double estimated_host_seconds(const estimated_work& work, std::size_t threads);

/// Seconds on one GPU whose memory holds `memory` bytes of rows: starting CUDA, bringing the rows there (once, or in
/// every pass when they are more than that), and computing.
double estimated_device_seconds(const estimated_work& work, double memory);

struct automatic_device {
  device_choice choice;
  std::string reason;       ///< a phrase, such as "about 0.02 s with 2 threads; a GPU takes 0.12 s to start"
  bool had_choice = false;  ///< a GPU was there, or should have been: the reason is worth telling
};

/// The first CUDA device when it is expected to be done before `threads` threads of the host are, else the host. Work
/// that the host does sooner than CUDA starts never asks for devices. `device_memory` as in device_choice. Whatever
/// keeps this build or this machine from CUDA means the host, and is the reason given.
automatic_device choose_automatically(const estimated_work& work, std::size_t threads, std::size_t device_memory = 0);

}  // namespace shoal
