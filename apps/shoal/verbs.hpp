// Every verb of the program; each is declared in a file of its own name.
#pragma once

#include "options.hpp"

namespace shoal::app {

void add_gmm_fit(CLI::App& noun, verb& selected);
void add_gmm_predict(CLI::App& noun, verb& selected);
void add_gmm_score(CLI::App& noun, verb& selected);
void add_gmm_sample(CLI::App& noun, verb& selected);
void add_gmm_select(CLI::App& noun, verb& selected);
void add_gmm_study(CLI::App& noun, verb& selected);

void add_kmeans_fit(CLI::App& noun, verb& selected);
void add_kmeans_predict(CLI::App& noun, verb& selected);
void add_kmeans_select(CLI::App& noun, verb& selected);

void add_som_fit(CLI::App& noun, verb& selected);
void add_som_predict(CLI::App& noun, verb& selected);
void add_som_score(CLI::App& noun, verb& selected);

void add_data_generate(CLI::App& noun, verb& selected);
void add_data_info(CLI::App& noun, verb& selected);
void add_data_convert(CLI::App& noun, verb& selected);

void add_devices(CLI::App& program, verb& selected);

}  // namespace shoal::app
