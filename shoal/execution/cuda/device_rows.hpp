// Rows on their way through the GPUs: each GPU has its shards, kept there or streamed through two buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/fold.hpp>

namespace shoal::cuda {

/// The rows of a fit, cut into shards (shard_plan.hpp) of which each GPU of a group has its share, whole ones in a row.
/// What is summed in an order of its own for each shard, and then in the order of the shards, does not depend on the
/// number of GPUs. Nor does it on that of ranks: each has one GPU and the shards that this GPU would have in a group,
/// and calls that exchange what they have found. Ranks beyond the number of shards do those of the last one again. A
/// share that fits into the memory given is copied once and stays; otherwise pieces of it are copied, pass after pass,
/// while kernels work on the piece before. Rows in page-locked memory are copied from there, others through page-locked
/// buffers that all of the host's threads fill. Rows that lie on a device already (device_source) are used there where
/// they are when they are contiguous and aligned, else copied from there. Borrows the group, the sources and the
/// context's workers.
template <class Scalar>
class device_rows {
 public:
  /// `device_memory` bytes on each GPU may hold rows; 0 means four fifths of what is free. Copies resident shares now.
  /// Rows on a device must be readable too (readable_rows). Throws out_of_memory when not even two buffers of
  /// piece_unit rows fit, interrupted, and what reading throws.
  device_rows(device_group& group, const fold_context& context, const weighted_rows<Scalar>& data,
              std::size_t device_memory = 0, const shard_rule& rule = {});

  device_group& group() const { return *group_; }
  const weighted_rows<Scalar>& data() const { return data_; }
  std::size_t rows() const { return data_.rows->rows(); }
  std::size_t columns() const { return data_.rows->columns(); }
  bool weighted() const { return data_.weights != nullptr; }
  bool resident() const { return resident_; }
  const shard_plan& shards() const { return shards_; }
  /// Of the first shard, which no other one has more than.
  std::size_t most_shard_rows() const { return shards_.rows_of(0); }
  /// The first shard of a GPU, and how many it has.
  std::size_t first_shard(std::size_t gpu) const { return shards_.first_shard(before_ + gpu, owners_); }
  std::size_t shards_of(std::size_t gpu) const { return first_shard(gpu + 1) - first_shard(gpu); }
  std::size_t gpu_of(std::size_t shard) const {
    std::size_t g = 0;
    while (shard >= first_shard(g + 1)) ++g;
    return g;
  }
  /// GPUs do their shards in so many turns: in turn t the first_shard() + t of each, of which the last GPUs may have
  /// none. The first one has the most.
  std::size_t turns() const { return shards_of(0); }
  /// Shards of this process's GPUs, which follow first_shard(0).
  std::size_t own_shards() const { return first_shard(shares_.size()) - first_shard(0); }
  /// Whether no other rank speaks for the same shards.
  bool owns_shards() const { return owns_; }
  /// What all ranks have found in their shards, one after another in the order of the shards. All ranks call it.
  template <class Element>
  std::vector<Element> gathered(std::vector<Element> own) const {
    if (ranks_ != nullptr && !owns_) own.clear();
    return shoal::gathered(ranks_, std::move(own));
  }
  /// group().sum_on_first() of the parts of all ranks, each with all of its own; the sum is on the first GPU of each.
  template <class Element>
  void sum_on_first(const std::vector<group_part<Element>>& parts, Element* into, std::size_t count);
  /// A row of the whole data, read by the rank that has it on its GPU. All ranks call it.
  std::vector<Scalar> fetched(std::size_t row) const;
  /// The rank that speaks for a shard; 0 where there is one.
  std::size_t rank_of_shard(std::size_t shard) const {
    std::size_t rank = 0;
    while (ranks_ != nullptr && shard >= shards_.first_shard(rank + 1, owners_)) ++rank;
    return rank;
  }
  std::size_t share_first(std::size_t gpu) const { return shares_[gpu].first; }
  std::size_t share_rows(std::size_t gpu) const { return shares_[gpu].count; }
  /// Most rows of a piece on any GPU.
  std::size_t most_piece_rows() const { return std::max<std::size_t>(1, resident_ ? largest_share() : piece_rows_); }

  /// Goes on with other weights: those of `scaled`, which are the present ones times 2^exponent.
  void scale_weights(const weighted_rows<Scalar>& scaled, int exponent);

  /// Calls visit(gpu index, piece) for every piece, a GPU's in order, with that GPU current; what visit enqueues in
  /// the GPU's compute stream finds the piece there. A share without rows has no piece. Returns before the work is
  /// done. Throws interrupted when asked to stop between pieces, and what reading and visiting throw.
  template <class Visit>
  void for_each_piece(const Visit& visit) {
    const std::size_t step = most_piece_rows();
    for (std::size_t begin = 0; begin < largest_share(); begin += step) {
      for (std::size_t g = 0; g < shares_.size(); ++g) {
        if (begin >= shares_[g].count) continue;
        const device_scope scope((*group_)[g].device);
        const device_piece<Scalar> piece = present(g, begin, std::min(step, shares_[g].count - begin));
        visit(g, piece);
        release(g);
      }
    }
  }
  /// The same for some rows of every GPU's shard of that turn, as far as it has them, as visit(gpu index, shard, piece)
  /// with share_first counted from the shard's first row; `some.first` is a multiple of piece_unit. While kernels work
  /// on the last piece of one call, the first of the next is copied.
  template <class Visit>
  void for_each_piece_of(std::size_t turn, const shard_range& some, const Visit& visit) {
    const std::size_t step = most_piece_rows();
    const std::size_t last = std::min(shards_.shard_rows(), some.first + some.count);
    for (std::size_t begin = some.first; begin < last; begin += step) {
      for (std::size_t g = 0; g < shares_.size(); ++g) {
        if (turn >= shards_of(g)) continue;
        const std::size_t shard = first_shard(g) + turn;
        const std::size_t end = std::min(last, shards_.rows_of(shard));
        if (begin >= end) continue;
        const device_scope scope((*group_)[g].device);
        const std::size_t before = shards_.first_row(shard) - shares_[g].first;
        device_piece<Scalar> piece = present(g, before + begin, std::min(step, end - begin));
        piece.share_first = begin;
        visit(g, shard, piece);
        release(g);
      }
    }
  }
  /// Calls visit(shard, part) for the shards that a piece of for_each_piece() has rows of, in order, with share_first
  /// counted from the shard's first row.
  template <class Visit>
  void for_each_shard_of(const device_piece<Scalar>& piece, const Visit& visit) const {
    for (std::size_t begin = 0; begin < piece.count;) {
      const std::size_t shard = shards_.shard_of(piece.first + begin);
      const std::size_t before = piece.first + begin - shards_.first_row(shard);
      const std::size_t some = std::min(piece.count - begin, shards_.rows_of(shard) - before);
      visit(shard, device_piece<Scalar>{piece.rows + begin * columns(),
                                        piece.weights == nullptr ? nullptr : piece.weights + begin, piece.first + begin,
                                        before, some});
      begin += some;
    }
  }

 private:
  // One of the two places of a streamed piece: on the host, on the device, and what must end before it is used again.
  struct slot {
    pinned_buffer<Scalar> host;
    device_buffer<Scalar> rows;
    device_buffer<Scalar> weights;
    event copied;
    event consumed;
  };
  struct share {
    std::size_t first = 0;
    std::size_t count = 0;
    const Scalar* in_place = nullptr;  // the caller's rows, when they are used where they are
    slot slots[2];
    std::size_t turn = 0;
  };

  std::size_t largest_share() const { return shares_.front().count; }
  const Scalar* rows_in_place(const share& mine, int device) const;
  std::size_t resident_bytes(const share& mine) const;
  device_piece<Scalar> present(std::size_t gpu, std::size_t begin, std::size_t count);
  void release(std::size_t gpu);
  void copy_in(std::size_t gpu, slot& through, std::size_t first, std::size_t count, Scalar* rows, Scalar* weights);
  void copy_from_host(slot& through, std::size_t first, std::size_t count, Scalar* rows, Scalar* weights,
                      const stream& copy);
  const Scalar* page_locked(std::size_t first, std::size_t count);
  void fill(std::size_t first, std::size_t count, Scalar* rows, Scalar* weights);

  device_group* group_;
  fold_context context_;
  weighted_rows<Scalar> data_;
  shard_plan shards_;
  communicator* ranks_;  // that share the shards; null: they are all here
  std::size_t owners_;   // GPUs of all ranks that own shards
  std::size_t before_;   // of them, in ranks before this one
  bool owns_;
  std::vector<share> shares_;
  std::size_t piece_rows_ = 0;
  device_buffer<unsigned char> received_;  // sums of all ranks
  std::size_t staged_rows_ = 0;            // that a slot's host memory holds
  bool resident_ = false;
};
extern template class device_rows<float>;
extern template class device_rows<double>;

}  // namespace shoal::cuda
