// Any bytes as a mixture. What is read must also be written and read again, bit for bit.
#include "../fuzz/model_readers.hpp"

#include <shoal/gmm/model_text.hpp>

namespace {

const fuzzing::add_model_reader added([](std::string_view text, const std::string&) {
  fuzzing::succeeds("fuzz.json", [&] {
    const shoal::gmm::model first = shoal::gmm::parse_model("fuzz.json", text);
    const shoal::gmm::model second = shoal::gmm::parse_model("again", shoal::gmm::format_model(first));
    fuzzing::require(first.weights == second.weights && first.means == second.means &&
                         first.covariances == second.covariances && first.column_names == second.column_names &&
                         first.covariance_type == second.covariance_type,
                     "a mixture survives its file");
  });
});

}  // namespace
