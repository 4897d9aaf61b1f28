// Work of all GPUs of a group, recorded once and launched as one graph.
#pragma once

#include <utility>

#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/graph.hpp>

namespace shoal::cuda {

/// Whether it can be recorded: copies that go through the host cannot.
inline bool recordable(const device_group& group) { return group.size() == 1 || group.direct(); }

/// Records what `enqueue` puts into the compute streams of a group, by fork() and join(). What is launched begins and
/// ends in the first one's.
template <class Enqueue>
graph record(device_group& group, const Enqueue& enqueue) {
  const device_scope scope(group[0].device);
  group.join();  // what was enqueued before is no part of it
  return graph::record(group[0].compute, [&] {
    group.fork();
    enqueue();
    group.join();
  });
}

/// Calls launch(), which launches graphs of a group: they come after what was enqueued in any compute stream before,
/// and what is enqueued in any afterwards comes after them.
template <class Launch>
void launch_in_order(device_group& group, const Launch& launch) {
  group.join();
  launch();
  group.fork();
}

}  // namespace shoal::cuda
