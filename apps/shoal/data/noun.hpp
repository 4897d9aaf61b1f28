// The noun data: files of rows.
#pragma once

#include "nouns.hpp"

namespace shoal::app {

/// `generators` are the verbs that make such files; they belong to those who know what to draw from.
noun data_noun(std::vector<declare_verb> generators);

}  // namespace shoal::app
