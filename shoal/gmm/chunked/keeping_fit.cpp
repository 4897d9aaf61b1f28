#include <shoal/gmm/chunked/keeping_fit.hpp>

#include <utility>

#include <shoal/gmm/jump.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {

template <class Scalar>
keeping_fit<Scalar>::keeping_fit(const host_rows<Scalar>& rows)
    : chunked_fit<Scalar>(rows), kept_(this->layout_, this->plan_.chunks) {}

template <class Scalar>
void keeping_fit<Scalar>::seed(std::size_t restart) {
  chunked_fit<Scalar>::seed(restart);
  valid_ = false;
}

template <class Scalar>
void keeping_fit<Scalar>::full_pass(const visit_function& visit) {
  executor& workers = *this->rows_.context.workers;
  const parameters<Scalar> prepared = prepare<Scalar>(this->model_, &workers);
  valid_ = false;
  statistics total;
  const auto sums_about = [&](const parameters<Scalar>& about) -> const statistics& {
    kept_.begin(about.centres);
    workers.run(this->plan_.chunks, 1, [&](std::size_t chunk, const team_member& member) {
      visit(this->readers_[member.team()], chunk, prepared, about, kept_.filled(chunk));
    });
    kept_.rebuild(about.centres, workers);
    return total = without_residue(kept_.total());
  };
  model next = this->model_;
  maximise_closely<Scalar>(sums_about(prepared), prepared.centres, this->rows_.options.regularization, next, &workers,
                           sums_about);
  this->model_ = std::move(next);
  valid_ = true;
}

template <class Scalar>
bool keeping_fit<Scalar>::maximise_once(const statistics& total, model& into, executor* workers) const {
  const double regularization = this->rows_.options.regularization;
  const statistics sums = without_residue(total);
  model next = into;
  maximise(sums, kept_.centres(), regularization, next, workers);
  if (find_jump(sums, kept_.centres(), regularization, next, jump_limit_of(sizeof(Scalar)))) return false;
  into = std::move(next);
  return true;
}

template <class Scalar>
double keeping_fit<Scalar>::finish_pass() {
  const bool reseeded = this->reseed_empty();
  if (!reseeded) kept_.rebuild(this->rounded_means(), *this->rows_.context.workers);
  valid_ = !reseeded;
  this->end_pass();
  return kept_.total().log_likelihood() / kept_.total().total_weight();
}

template class keeping_fit<float>;
template class keeping_fit<double>;

}  // namespace shoal::gmm
