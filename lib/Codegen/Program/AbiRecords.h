// SPDX-License-Identifier: Apache-2.0

// The structs of weft-rt/abi.def as the compiler fills them in: fields by name,
// whatever their order and width in memory.
//
//   record::weft_rt_axis axis;
//   axis.name = data.text("dp");
//   axis.size = 2;
//   Datum datum = toDatum(axis);

#ifndef WEFT_LIB_CODEGEN_PROGRAM_ABIRECORDS_H
#define WEFT_LIB_CODEGEN_PROGRAM_ABIRECORDS_H

#include "ConstantData.h"

#include "weft-rt/abi.h"

namespace mlir::weft::record {

#define WEFT_RT_STRUCT(name) struct name {
#define WEFT_RT_NUMBER(type, field) int64_t field = 0;
#define WEFT_RT_TEXT(field) Datum field = Datum::pointer("");
#define WEFT_RT_LIST(type, field, count) Datum field = Datum::pointer("");
#define WEFT_RT_POINTER(type, field) Datum field = Datum::pointer("");
#define WEFT_RT_ARRAY(type, field, length) std::vector<type> field;
#define WEFT_RT_BYTES(field, length) std::vector<uint8_t> field;
#define WEFT_RT_CODE(type, field) Datum field = Datum::pointer("");
#define WEFT_RT_END(name)                                                      \
  }                                                                            \
  ;
#include "weft-rt/abi.def"

// What an array in a struct has too few of is zero.
#define WEFT_RT_STRUCT(name)                                                   \
  inline Datum toDatum(const name &record) {                                   \
    std::vector<Datum> fields;
#define WEFT_RT_NUMBER(type, field)                                            \
  fields.push_back(Datum::integer(record.field, sizeof(type)));
#define WEFT_RT_TEXT(field) fields.push_back(record.field);
#define WEFT_RT_LIST(type, field, count) fields.push_back(record.field);
#define WEFT_RT_POINTER(type, field) fields.push_back(record.field);
#define WEFT_RT_ARRAY(type, field, length)                                     \
  {                                                                            \
    std::vector<Datum> elements;                                               \
    for (size_t i = 0; i < (length); ++i)                                      \
      elements.push_back(                                                      \
          toDatum(i < record.field.size() ? record.field[i] : type()));        \
    fields.push_back(Datum::array(std::move(elements)));                       \
  }
#define WEFT_RT_BYTES(field, length)                                           \
  {                                                                            \
    std::vector<Datum> bytes;                                                  \
    for (size_t i = 0; i < (length); ++i)                                      \
      bytes.push_back(Datum::integer(                                          \
          i < record.field.size() ? static_cast<int8_t>(record.field[i]) : 0,  \
          1));                                                                 \
    fields.push_back(Datum::array(std::move(bytes)));                          \
  }
#define WEFT_RT_CODE(type, field) fields.push_back(record.field);
#define WEFT_RT_END(name)                                                      \
  return Datum::record(std::move(fields));                                     \
  }
#include "weft-rt/abi.def"

} // namespace mlir::weft::record

#endif // WEFT_LIB_CODEGEN_PROGRAM_ABIRECORDS_H
