// How well clusterings agree, and how well they keep their rows apart. The door to this room.
#pragma once

#include <shoal/metrics/agreement.hpp>
#include <shoal/metrics/modelling_error.hpp>
#include <shoal/metrics/separation.hpp>
