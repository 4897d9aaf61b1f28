// Opening, writing and describing data files. The door to this room.
#pragma once

#include <shoal/io/open_rows.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/io/rows_file.hpp>
#include <shoal/io/whole_file.hpp>
#include <shoal/io/write_rows.hpp>
