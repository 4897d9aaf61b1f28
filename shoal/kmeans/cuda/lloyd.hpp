// Lloyd's algorithm on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/kmeans/cuda/fold.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/stepper.hpp>

namespace shoal::kmeans {

/// The first centroids [clusters][columns] of a restart.
using first_centroids_function = std::function<std::vector<double>(std::size_t restart)>;

/// A fit of k-means in progress, with the semantics of lloyd (lloyd.hpp): the same labels for the same centroids, the
/// same rule for empty clusters, the same reasons to be settled. Rows that stay on one GPU are stepped through many
/// times between two looks of the host; `limits` are the fit's stop rules, which must then hold on the device.
/// `rows_mean` [columns] is the origin of searches by TF32 or bf16 products, so that fits by these repeat their bits,
/// however their steps are cut into batches; with the rows' `extent` about it bf16 may search by products of bytes.
/// Borrows all else.
template <class Scalar>
std::unique_ptr<clustering_stepper> make_device_lloyd(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                      std::size_t clusters, first_centroids_function seed,
                                                      const stop_limits& limits, std::vector<double> rows_mean,
                                                      const rows_extent& extent = {});
extern template std::unique_ptr<clustering_stepper> make_device_lloyd(cuda::device_rows<float>&, const fold_context&,
                                                                      std::size_t, first_centroids_function,
                                                                      const stop_limits&, std::vector<double>,
                                                                      const rows_extent&);
extern template std::unique_ptr<clustering_stepper> make_device_lloyd(cuda::device_rows<double>&, const fold_context&,
                                                                      std::size_t, first_centroids_function,
                                                                      const stop_limits&, std::vector<double>,
                                                                      const rows_extent&);

/// Calls visit(piece, labels, stream) for every piece, with its GPU current: `labels` are the nearest centroids of the
/// piece's rows in the memory of that GPU, ready in the order of its compute stream, which is `stream`.
template <class Scalar>
void label_on_device(cuda::device_rows<Scalar>& rows, const model& model,
                     const typename device_fold<Scalar>::labels_visitor& visit);
extern template void label_on_device(cuda::device_rows<float>&, const model&,
                                     const device_fold<float>::labels_visitor&);
extern template void label_on_device(cuda::device_rows<double>&, const model&,
                                     const device_fold<double>::labels_visitor&);

/// The nearest centroid of each row (lowest index on a tie), as labels[rows]; null: none are wanted. Returns what the
/// rows sum up to about the model's centroids, in the caller's weights.
template <class Scalar>
statistics predict_on_device(cuda::device_rows<Scalar>& rows, const model& model, std::int32_t* labels);
extern template statistics predict_on_device(cuda::device_rows<float>&, const model&, std::int32_t*);
extern template statistics predict_on_device(cuda::device_rows<double>&, const model&, std::int32_t*);

}  // namespace shoal::kmeans
