// k-means by Lloyd's algorithm on data of any size. The door to this room.
#pragma once

#include <shoal/kmeans/choose_rows.hpp>
#include <shoal/kmeans/distances.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/model_file.hpp>
#include <shoal/kmeans/options.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/kmeans/result.hpp>
#include <shoal/kmeans/update.hpp>
