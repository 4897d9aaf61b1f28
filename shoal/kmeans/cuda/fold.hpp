// One pass of Lloyd's algorithm over rows on GPUs: centroids in, statistics out.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/sum_sorted.hpp>
#include <shoal/kmeans/statistics.hpp>
#include <shoal/nearest/cuda/byte_operands.hpp>
#include <shoal/nearest/cuda/float16_memory.hpp>

namespace shoal::kmeans {

/// Steps between two looks of the host.
inline constexpr std::size_t most_batch = 1024;

/// The mean [columns] of centroids [clusters][columns].
std::vector<double> mean_of_centroids(const std::vector<double>& centroids, std::size_t clusters);

/// Centroids and everything derived from them on every GPU of a group, and the sums of the rows about them. Borrows the
/// rows. The same bits for resident and for streamed rows, and for any number of GPUs.
template <class Scalar>
class device_fold {
 public:
  /// Called, with the piece's GPU current, when its labels are enqueued in that GPU's compute stream.
  using labels_visitor =
      std::function<void(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels, cudaStream_t stream)>;

  /// `extent`: where rows lie about the origin that upload() is given; not known: they are not searched by products of
  /// bytes, nor summed in the pass that searches them on tensor cores. Throws out_of_memory.
  device_fold(cuda::device_rows<Scalar>& rows, std::size_t clusters, const rows_extent& extent = {});

  /// Gives every GPU new centroids [clusters][columns], and the search this origin (set_origin()), or else their mean.
  /// Throws numerical_error when one is not finite.
  void upload(const std::vector<double>& centroids, const std::vector<double>& origin);
  void upload(const std::vector<double>& centroids);
  std::vector<double> download() const;
  /// Moves the origin of the search to this point [columns]. No exact
  /// label depends on it, but the farther it is from the present centroids, the more rows are doubtful. Of rough
  /// products, rows between two centroids take either by where it is.
  void set_origin(const std::vector<double>& point);
  /// Whether labels are found by products of fewer digits.
  bool rough() const { return sizeof(Scalar) == 4 && rows_->group().precision() != precision::float32; }
  /// Writes the loop's state on the first GPU, zeros on the others, and forgets half-summed steps.
  void begin(const loop_state& state);
  /// Waits for the steps since begin(), of which there were at most so many: their loop's state, and what they
  /// recorded.
  struct finished_steps {
    loop_state state;
    std::vector<device_record> records;
  };
  finished_steps finish(std::size_t most_steps) const;
  /// Between those steps: whether the loop is known to have stopped, after expect_to_be_told(). Does not wait.
  void expect_to_be_told();
  bool known_to_have_stopped() const;

  /// Enqueues a pass: afterwards the statistics lie on the first GPU, and its loop's state holds the fingerprint.
  void enqueue(const labels_visitor& visit = {});
  /// Enqueues a whole step: a pass, its end (move_centroids), and the new centroids' way to the other GPUs. Of at most
  /// most_batch between begin() and finish().
  void enqueue_step(const stop_limits& limits);
  /// Waits for the pass.
  kmeans::statistics read_statistics() const;

  /// Whether rows are kept as the search wants them, about the origin: to move it costs a pass over the rows.
  bool keeps_operands() const { return keeps_operands_; }

  /// Whether rows are summed in the pass that searches them on tensor cores.
  bool sums_while_searching() const { return by_tensor_; }

  /// Of the rows of the first GPU's last piece the share that products of bytes left open, by 16; 1 where they have no
  /// part in the search.
  double share_left() const;

  cuda::device_rows<Scalar>& rows() const { return *rows_; }
  cudaStream_t stream() const { return rows_->group()[0].compute; }
  /// [clusters][columns] on GPU g of the group.
  const double* centroids_on(std::size_t g) const { return places_[g].values.data(); }
  int first_device() const { return rows_->group()[0].device; }

 private:
  // What is derived from centroids for a search of rows in `Of`.
  template <class Of>
  struct centroid_buffers {
    cuda::device_buffer<double> turned;
    cuda::device_buffer<Of> rounded, origin, negated, half_norms;
    device_centroids<Of> centroids;
  };
  // One after the other, so that one copy brings the host all of it: each would take as long as both.
  struct loop_memory {
    loop_state state;
    device_record records[most_batch];  // of the first GPU
  };
  // On one GPU.
  struct place {
    sum_plan plan;
    device_centroids<Scalar> summed;  // at least what sums by label need
    doubtful_rows doubtful;
    cuda::device_buffer<double> values, lanes, statistics, partial;  // statistics: [shards] of this GPU
    centroid_buffers<Scalar> own;
    centroid_buffers<float> narrow;  // instead of `own`, where rows of either scalar are searched in float16
    cuda::device_buffer<unsigned char> tensor;
    cuda::device_buffer<search_bounds> bounds;
    float16_memory float16;
    byte_memory bytes;
    sort_memory sorted;
    cuda::device_buffer<std::int32_t> labels;
    cuda::device_buffer<unsigned> counts;
    cuda::device_buffer<int2> list;
    cuda::device_buffer<loop_memory> loop;
    loop_state* state() { return &loop.data()->state; }
    const int* stopped() const { return &loop.data()->state.stopped; }
  };

  summed_rows summed_on(std::size_t g) const;
  sum_plan tensor_plan(std::size_t g) const;
  void set_centroids(place& here, const cuda::gpu& gpu);
  void enqueue_rows(const labels_visitor& visit);
  void enqueue_merge();
  bool in_one_pass() const { return fused_ || wide_ || few_; }
  void fold_in_one_pass(const cuda::device_piece<Scalar>& piece, place& here, cudaStream_t stream, bool labels);
  bool one_shard() const { return rows_->shards().count() == 1; }
  const cuda::device_buffer<double>& statistics() const { return one_shard() ? places_[0].statistics : total_; }
  cuda::device_buffer<double>& statistics() { return one_shard() ? places_[0].statistics : total_; }
  void search(const cuda::device_piece<Scalar>& piece, place& here, const cuda::gpu& gpu);
  void convert_all_rows();
  void convert_some_rows(const cuda::device_piece<Scalar>& piece, std::size_t begin, std::size_t count, place& here,
                         const cuda::gpu& gpu);
  void search_in_float16(const cuda::device_piece<Scalar>& piece, place& here, const cuda::gpu& gpu);

  cuda::device_rows<Scalar>* rows_;
  std::size_t clusters_;
  statistics_layout layout_;
  bool few_columns_ = false;      // rows are searched by search_few_columns
  bool fused_ = false;            // rows are labelled and summed in one pass, a thread a row
  bool wide_ = false;             // in one pass, a warp a row
  bool sorted_ = false;           // rows are summed by sum_sorted
  bool few_ = false;              // in one pass, with a warp's sums in shared memory
  bool on_tensor_cores_ = false;  // rows are searched by search_tensor
  bool by_tensor_ = false;        // and summed in the same pass, by fold_tensor
  bool in_float16_ = false;       // by search_float16
  bool in_bytes_ = false;         // by search_bytes before, of rows that lie so
  rows_extent extent_;
  // Operands of rows that stay on the GPU stay there too where they take at most half of what is free, until the origin
  // moves.
  bool keeps_operands_ = false;
  bool converted_ = false;
  std::vector<place> places_;
  cuda::device_buffer<double> total_;  // statistics of several shards, on the first GPU
  cuda::pinned_buffer<int> told_;      // what the GPU says of the loop
};
extern template class device_fold<float>;
extern template class device_fold<double>;

}  // namespace shoal::kmeans
