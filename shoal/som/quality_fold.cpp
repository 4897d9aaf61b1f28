#include <shoal/som/quality_fold.hpp>

namespace shoal::som {

template <class Scalar>
void quality_body<Scalar>::operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                                      quality_statistics& into) const {
  const bool with_second = torn && shape.units() > 1;
  memory(*index, piece, member, with_second);
  if (member.rank() != 0) return;
  const std::size_t rows = piece.rows.rows();
  for (std::size_t i = 0; i < rows; ++i) {
    const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[i]);
    const auto best = static_cast<std::size_t>(memory.best[i]);
    into.hits[best] += weight;
    into.error += weight * memory.distances[i];
    if (with_second && !are_neighbors(shape, best, static_cast<std::size_t>(memory.second[i]))) into.torn += weight;
  }
  if (units != nullptr) std::copy_n(memory.best.data(), rows, units + piece.first);
}

template struct quality_body<float>;
template struct quality_body<double>;

quality quality_of(const quality_statistics& folded, double total_weight, double weight_scale) {
  const double share = weight_scale / total_weight;
  quality found{folded.error * share, folded.torn * share, folded.hits};
  for (double& hit : found.hits) hit *= weight_scale;
  return found;
}

}  // namespace shoal::som
