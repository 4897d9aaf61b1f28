// Gaussian mixtures by expectation-maximisation on data of any size. The door to this room.
#pragma once

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/prediction.hpp>
#include <shoal/gmm/result.hpp>
#include <shoal/gmm/sample.hpp>
#include <shoal/gmm/update.hpp>
