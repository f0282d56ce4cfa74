// SPDX-License-Identifier: Apache-2.0

// One walk over a program's table and all that it points to, field by field in
// the order of weft-rt/abi.def. What is done with a field is the visitor's:
//
//   number(value)                     a number or an enum
//   bytes(array)                      an array of bytes that lies in the struct
//   text(pointer)                     a string, or null
//   list(pointer, count, walkOne)     `count` structs or numbers, or null
//   code(pointer)                     a function
//
// Structs are const for visitors that only read.

#ifndef WEFT_RT_CORE_TABLE_WALK_H
#define WEFT_RT_CORE_TABLE_WALK_H

#include "weft-rt/abi.h"

#include <type_traits>

namespace weft::rt {

/// An element of a list of numbers.
template <typename Visitor, typename Value,
          std::enable_if_t<!std::is_class_v<Value>, int> = 0>
void walk(Visitor &visitor, Value &value) {
  visitor.number(value);
}

// Pointers and arrays without a count are only in descriptors, to which a
// program's table does not lead.
#define WEFT_RT_STRUCT(name)                                                   \
  template <typename Visitor, typename Record,                                 \
            std::enable_if_t<                                                  \
                std::is_same_v<std::remove_const_t<Record>, name>, int> = 0>   \
  void walk(Visitor &visitor, Record &record) {
#define WEFT_RT_NUMBER(type, field) visitor.number(record.field);
#define WEFT_RT_TEXT(field) visitor.text(record.field);
#define WEFT_RT_LIST(type, field, count)                                       \
  visitor.list(record.field, record.count,                                     \
               [&](auto &one) { walk(visitor, one); });
#define WEFT_RT_BYTES(field, size) visitor.bytes(record.field);
#define WEFT_RT_CODE(type, field) visitor.code(record.field);
#define WEFT_RT_END(name) }
#include "weft-rt/abi.def"

} // namespace weft::rt

#endif // WEFT_RT_CORE_TABLE_WALK_H
