// Scripts by which shells complete the program's words.
#pragma once

#include <string>

#include "common/description.hpp"

namespace shoal::app {

std::string bash_completion(const described_command& program);
std::string zsh_completion(const described_command& program);
std::string fish_completion(const described_command& program);

}  // namespace shoal::app
