// A RapidCheck property inside a GoogleTest case.
#pragma once

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

/// Tries `testable` on random arguments and fails the current case with the least counterexample.
template <class Testable>
void expect_property(const std::string& name, Testable&& testable) {
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), rc::detail::TestMetadata{name, name});
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ADD_FAILURE() << name << ": " << text.str();
}
