#include <shoal/som/accumulate.hpp>

#include <algorithm>

#include <shoal/nearest/nearest.hpp>
#include <shoal/som/row_sums.hpp>
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

namespace {

// The same for few units, of which the best alone is found.
template <class Scalar>
void search_few(const codebook_index<Scalar>& index, const row_block<Scalar>& piece, const team_member& member,
                piece_search<Scalar>& memory) {
  const std::size_t rows = piece.rows.rows();
  if (member.rank() == 0) {
    memory.best.grow(rows);
    memory.distances.grow(rows);
    memory.members.resize(std::max(memory.members.size(), member.size()));
  }
  member.wait();
  const std::size_t begin = member.rank() * rows / member.size(), end = (member.rank() + 1) * rows / member.size();
  const auto share = piece.rows.middle_rows(begin, end - begin);
  find_nearest(*index.few(), share, memory.best.data() + begin, memory.members[member.rank()].nearest);
  measure_rows(share, memory.best.data() + begin, index.exact(0), memory.distances.data() + begin);
  member.wait();
}

}  // namespace

template <class Scalar>
void accumulate_body<Scalar>::operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                                         statistics& into) const {
  // One thread adds rows while they are in its cache.
  const std::size_t slab = index->few() != nullptr && member.size() == 1 ? few_slab_rows : piece.rows.rows();
  for (std::size_t start = 0; start < piece.rows.rows(); start += slab) {
    const std::size_t rows = std::min(slab, piece.rows.rows() - start);
    const row_block<Scalar> block{piece.rows.middle_rows(start, rows),
                                  piece.weights == nullptr ? nullptr : piece.weights + start, piece.first + start};
    if (index->few() != nullptr) {
      search_few(*index, block, member, memory);
    } else {
      memory(*index, block, member, false);
    }
    add_rows(block, memory.best.data(), centre, member.rank(), member.size(), into);
    if (member.rank() != 0) continue;
    for (std::size_t i = 0; i < rows; ++i) {
      const double weight = block.weights == nullptr ? 1.0 : static_cast<double>(block.weights[i]);
      into.error += weight * memory.distances[i];
    }
    if (units != nullptr) std::copy_n(memory.best.data(), rows, units + block.first);
  }
}

template struct piece_search<float>;
template struct piece_search<double>;
template struct accumulate_body<float>;
template struct accumulate_body<double>;

}  // namespace shoal::som
