#include <shoal/gmm/chunked/incremental.hpp>

#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {

template <class Scalar>
void incremental_fit<Scalar>::seed(std::size_t restart) {
  keeping_fit<Scalar>::seed(restart);
  position_ = 0;
}

template <class Scalar>
bool incremental_fit<Scalar>::step() {
  if (position_ == this->plan_.superchunks()) return false;
  if (!this->kept_valid()) {
    step_on_all();
    return true;
  }
  executor* const workers = this->rows_.context.workers;
  const parameters<Scalar> prepared = prepare_about<Scalar>(this->model_, this->kept_.centres(), workers);
  const std::span<const std::size_t> chunks = this->chunks_of(position_);
  const std::span<statistics> fresh = this->sum_chunks(chunks, {&prepared});
  for (std::size_t i = 0; i < chunks.size(); ++i) this->kept_.replace(chunks[i], fresh[i]);
  ++position_;
  if (!this->maximise_once(this->kept_.total(), this->model_, workers)) step_on_all();
  return true;
}

template <class Scalar>
void incremental_fit<Scalar>::step_on_all() {
  this->full_pass([this](chunk_reader<Scalar>& reader, std::size_t chunk, const parameters<Scalar>& components,
                         const parameters<Scalar>& about, statistics& into) {
    reader.sum(this->plan_, chunk, {&components, nullptr, &about}, into);
  });
  position_ = this->plan_.superchunks();
}

template <class Scalar>
double incremental_fit<Scalar>::finish() {
  const double objective = this->finish_pass();
  position_ = 0;
  return objective;
}

template <class Scalar>
std::vector<step_record> incremental_fit<Scalar>::advance(std::size_t) {
  while (step()) {
  }
  return {{finish(), 0.0, false}};
}

template <class Scalar>
std::vector<double> incremental_fit<Scalar>::save() const {
  std::vector<double> state = this->save_model();
  state.push_back(static_cast<double>(position_));
  if (this->kept_valid()) this->kept_.append_to(state);
  return state;
}

template <class Scalar>
void incremental_fit<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  this->restore_model(words);
  position_ = words.take_count("the superchunks done", this->plan_.superchunks());
  this->valid_ = words.left() > 0;
  if (this->valid_) this->kept_.restore(words);
  words.end();
}

template class incremental_fit<float>;
template class incremental_fit<double>;

}  // namespace shoal::gmm
