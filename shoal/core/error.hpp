// The exceptions that shoal throws. Every message says what was wrong, where, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace shoal {

/// Base of every exception that shoal throws on purpose.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument or option that no data could make valid.
class bad_argument : public error {
 public:
  using error::error;
};

/// Data that were read in full but cannot be used: not finite, too few rows, ragged, wrong type.
class bad_data : public error {
 public:
  using error::error;
};

/// Arithmetic that failed on valid data, with the component that failed.
class numerical_error : public error {
 public:
  using error::error;
};

/// A backend that this build does not hold.
class not_built : public error {
 public:
  using error::error;
};

/// The operating system refused to read, write or map a file.
class io_error : public error {
 public:
  using error::error;
};

/// Host or device memory ran out; the message says how much was needed.
class out_of_memory : public error {
 public:
  using error::error;
};

/// The caller asked a running computation to stop.
class interrupted : public error {
 public:
  using error::error;
};

}  // namespace shoal
