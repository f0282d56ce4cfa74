// SPDX-License-Identifier: Apache-2.0

// One walk over a program's table and all that it points to, field by field in
// the order of abi.h. What is done with a field is the visitor's:
//
//   number(value)                     a number or an enum
//   bytes(array)                      an array of bytes that lies in the struct
//   text(pointer)                     a string, or null
//   list(pointer, count, walkOne)     `count` structs or numbers, or null
//   code(pointer)                     a function
//
// `Program` and the others are const for visitors that only read.

#ifndef WEFT_RT_CORE_TABLE_WALK_H
#define WEFT_RT_CORE_TABLE_WALK_H

#include "weft-rt/abi.h"

namespace weft::rt {

template <typename Visitor, typename AxisRef>
void walkAxisRef(Visitor &visitor, AxisRef &ref) {
  visitor.number(ref.axis);
  visitor.number(ref.pre);
  visitor.number(ref.size);
}

template <typename Visitor, typename Tensor>
void walkTensor(Visitor &visitor, Tensor &tensor) {
  auto number = [&](auto &value) { visitor.number(value); };
  visitor.text(tensor.name);
  visitor.number(tensor.type);
  visitor.number(tensor.rank);
  visitor.list(tensor.shape, tensor.rank, number);
  visitor.list(tensor.local_shape, tensor.rank, number);
  visitor.list(tensor.sharding, tensor.rank, [&](auto &dim) {
    visitor.number(dim.num_axes);
    visitor.list(dim.axes, dim.num_axes,
                 [&](auto &ref) { walkAxisRef(visitor, ref); });
  });
  visitor.number(tensor.alias);
}

template <typename Visitor, typename Program>
void walkTraffic(Visitor &visitor, Program &program) {
  visitor.number(program.num_traffic);
  visitor.list(program.traffic, program.num_traffic, [&](auto &traffic) {
    visitor.number(traffic.kind);
    visitor.text(traffic.channel);
    visitor.number(traffic.count);
    visitor.number(traffic.bytes);
  });
}

template <typename Visitor, typename Program>
void walkProgram(Visitor &visitor, Program &program) {
  auto tensor = [&](auto &one) { walkTensor(visitor, one); };
  visitor.number(program.abi_version);
  visitor.number(program.struct_size);
  visitor.text(program.name);
  visitor.number(program.num_ranks);
  visitor.number(program.num_axes);
  visitor.list(program.axes, program.num_axes, [&](auto &axis) {
    visitor.text(axis.name);
    visitor.number(axis.size);
  });
  visitor.number(program.num_args);
  visitor.list(program.args, program.num_args, tensor);
  visitor.number(program.num_results);
  visitor.list(program.results, program.num_results, tensor);
  visitor.number(program.num_channels);
  visitor.list(program.channels, program.num_channels, [&](auto &channel) {
    visitor.text(channel.name);
    visitor.number(channel.num_axes);
    visitor.list(channel.axes, channel.num_axes,
                 [&](auto &ref) { walkAxisRef(visitor, ref); });
  });
  walkTraffic(visitor, program);
  visitor.number(program.num_ops);
  visitor.list(program.ops, program.num_ops,
               [&](auto &op) { visitor.text(op.name); });
  visitor.number(program.max_operands);
  visitor.number(program.arena_bytes);
  visitor.bytes(program.plan_hash);
  visitor.text(program.certificate);
  visitor.text(program.cpu);
  visitor.text(program.features);
  visitor.bytes(program.checksum);
  visitor.code(program.entry);
}

} // namespace weft::rt

#endif // WEFT_RT_CORE_TABLE_WALK_H
