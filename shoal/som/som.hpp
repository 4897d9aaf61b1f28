// Self-organizing maps (Kohonen 1982) of data of any size. The door to this room.
#pragma once

#include <shoal/som/distances.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/label_units.hpp>
#include <shoal/som/lattice.hpp>
#include <shoal/som/metric.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/model_file.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/quality.hpp>
#include <shoal/som/result.hpp>
#include <shoal/som/u_matrix.hpp>
#include <shoal/som/update.hpp>
