// Any bytes as a mixture's model file. What is read must also be written and read again, bit for bit.
#include <shoal/gmm/model_file.hpp>

#include "refusal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzzing::succeeds("fuzz.json", [&] {
    const shoal::gmm::model first = shoal::gmm::parse_model("fuzz.json", text);
    const shoal::gmm::model second = shoal::gmm::parse_model("again", shoal::gmm::format_model(first));
    fuzzing::require(first.weights == second.weights && first.means == second.means &&
                         first.covariances == second.covariances && first.column_names == second.column_names &&
                         first.covariance_type == second.covariance_type,
                     "a model survives its file");
  });
  return 0;
}
