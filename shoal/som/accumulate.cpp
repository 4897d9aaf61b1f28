#include <shoal/som/accumulate.hpp>

#include <algorithm>

#include <shoal/som/tuning.hpp>

namespace shoal::som {

template <class Scalar>
void piece_search<Scalar>::operator()(const codebook_index<Scalar>& index, const row_block<Scalar>& piece,
                                      const team_member& member, bool with_second) {
  const std::size_t rows = piece.rows.rows();
  if (member.rank() == 0) {
    best.grow(rows);
    distances.grow(rows);
    if (with_second) second.grow(rows);
    members.resize(std::max(members.size(), member.size()));
  }
  member.wait();
  const std::size_t begin = member.rank() * rows / member.size(), end = (member.rank() + 1) * rows / member.size();
  find_units(index, piece.rows.middle_rows(begin, end - begin),
             {best.data() + begin, distances.data() + begin, with_second ? second.data() + begin : nullptr},
             members[member.rank()]);
  member.wait();
}

template <class Scalar>
void accumulate_body<Scalar>::operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                                         statistics& into) const {
  memory(*index, piece, member, false);
  const std::size_t columns = piece.rows.columns();
  for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
    const auto u = static_cast<std::size_t>(memory.best[i]);
    const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[i]);
    if (member.rank() == 0) into.error += weight * memory.distances[i];
    // Members share the units, so that the order within one stays.
    if (u % member.size() != member.rank()) continue;
    const Scalar* const row = piece.rows.row(i);
    double* const sums = into.sums.data() + u * columns;
    for (std::size_t j = 0; j < columns; ++j) sums[j] += weight * (static_cast<double>(row[j]) - centre[j]);
    into.weights[u] += weight;
  }
  if (units != nullptr && member.rank() == 0) std::copy_n(memory.best.data(), piece.rows.rows(), units + piece.first);
}

template struct piece_search<float>;
template struct piece_search<double>;
template struct accumulate_body<float>;
template struct accumulate_body<double>;

}  // namespace shoal::som
