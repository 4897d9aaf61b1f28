// Marks functions that are compiled for the host and for CUDA devices.
#pragma once

#ifdef __CUDACC__
#define SHOAL_HD __host__ __device__
#else
#define SHOAL_HD
#endif
