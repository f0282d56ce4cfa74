// SPDX-License-Identifier: Apache-2.0

// The checks go from the outside in: version, mesh, then each tensor and
// channel against the mesh, then aliases between tensors that are already
// known to be sound.

#include "core/manifest.h"

#include "core/certificate.h"
#include "core/processor.h"
#include "core/sha256.h"
#include "core/topology.h"
#include "core/types.h"

#include <cstring>
#include <set>

namespace weft::rt {
namespace {

constexpr int32_t maxTensorRank = 64;

Status checkTable(const char *what, int32_t count, const void *table) {
  if (count < 0 || (count > 0 && !table))
    return invalid(format("program has a table of %d %s at address %p", count,
                          what, table));
  return Status();
}

Status checkTables(const weft_rt_program &program) {
  WEFT_RT_RETURN_IF_ERROR(checkTable("axes", program.num_axes, program.axes));
  WEFT_RT_RETURN_IF_ERROR(
      checkTable("arguments", program.num_args, program.args));
  WEFT_RT_RETURN_IF_ERROR(
      checkTable("results", program.num_results, program.results));
  WEFT_RT_RETURN_IF_ERROR(
      checkTable("channels", program.num_channels, program.channels));
  WEFT_RT_RETURN_IF_ERROR(
      checkTable("traffic entries", program.num_traffic, program.traffic));
  WEFT_RT_RETURN_IF_ERROR(checkTable("ops", program.num_ops, program.ops));
  WEFT_RT_RETURN_IF_ERROR(
      checkTable("kernels", program.num_kernels, program.kernels));
  WEFT_RT_RETURN_IF_ERROR(
      checkTable("images", program.num_images, program.images));
  for (int32_t i = 0; i < program.num_ops; ++i)
    if (!program.ops[i].name)
      return invalid(format("op %d of the program has no name", i));
  if (program.max_operands < 0)
    return invalid(format("program has collectives of at most %d operands",
                          program.max_operands));
  constexpr int32_t mostEvents = 65536;
  if (program.num_events < 0 || program.num_events > mostEvents)
    return invalid(format("program has %d events, expected 0 to %d",
                          program.num_events, mostEvents));
  if (!program.name || !program.entry)
    return invalid("program has no name or no entry point");
  if (!program.backend || !*program.backend)
    return invalid("program does not say which backend it is for");
  if (program.arena_bytes < 0)
    return invalid(format("program has an arena of %lld bytes",
                          (long long)program.arena_bytes));
  if (program.host_bytes < 0)
    return invalid(format("program has %lld bytes of the host's memory",
                          (long long)program.host_bytes));
  return Status();
}

Status checkMesh(const weft_rt_program &program) {
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < program.num_axes; ++i) {
    const weft_rt_axis &axis = program.axes[i];
    if (!axis.name || axis.size < 1)
      return invalid(format("mesh axis %d (%s) has size %lld", i,
                            axis.name ? quote(axis.name).c_str() : "no name",
                            (long long)axis.size));
    sizes.push_back(axis.size);
  }
  std::optional<int64_t> ranks = elementCount(sizes.data(), sizes.size());
  if (!ranks || *ranks != program.num_ranks)
    return invalid(format("program is for %d ranks but its mesh has %lld",
                          program.num_ranks, ranks ? (long long)*ranks : -1));
  return Status();
}

Status checkDim(const weft_rt_program &program, const weft_rt_tensor &tensor,
                int32_t dim, const std::string &what) {
  const weft_rt_dim_sharding &cut = tensor.sharding[dim];
  WEFT_RT_RETURN_IF_ERROR(checkTable("sharding axes", cut.num_axes, cut.axes));
  std::vector<weft_rt_axis_ref> refs(cut.axes, cut.axes + cut.num_axes);
  WEFT_RT_RETURN_IF_ERROR(checkAxisRefs(program, refs, what));
  int64_t shards = shardCount(cut.axes, cut.num_axes);
  int64_t chunk = (tensor.shape[dim] + shards - 1) / shards;
  if (tensor.local_shape[dim] != chunk)
    return invalid(format("%s has local size %lld in dimension %d, expected "
                          "%lld: %lld elements over %lld shards",
                          what.c_str(), (long long)tensor.local_shape[dim], dim,
                          (long long)chunk, (long long)tensor.shape[dim],
                          (long long)shards));
  return Status();
}

Status checkTensor(const weft_rt_program &program, const weft_rt_tensor &tensor,
                   const std::string &what) {
  if (tensor.on_host != 0 && tensor.on_host != 1)
    return invalid(format("%s has on_host %d, expected 0 or 1", what.c_str(),
                          tensor.on_host));
  if (!isKnownType(tensor.type))
    return invalid(format("%s has unknown type %d", what.c_str(), tensor.type));
  if (tensor.rank < 0 || tensor.rank > maxTensorRank ||
      (tensor.rank > 0 &&
       !(tensor.shape && tensor.local_shape && tensor.sharding)))
    return invalid(
        format("%s of rank %d has no usable shape", what.c_str(), tensor.rank));
  if (!elementCount(tensor.shape, tensor.rank))
    return invalid(
        format("%s has shape %s, which is negative or too large", what.c_str(),
               tensorTypeName(tensor.type, tensor.shape, tensor.rank).c_str()));
  std::vector<weft_rt_axis_ref> all;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    WEFT_RT_RETURN_IF_ERROR(checkDim(program, tensor, d, what));
    const weft_rt_dim_sharding &cut = tensor.sharding[d];
    all.insert(all.end(), cut.axes, cut.axes + cut.num_axes);
  }
  return checkAxisRefs(program, all, what);
}

Status checkTensors(const weft_rt_program &program, const char *role,
                    const weft_rt_tensor *tensors, int32_t count) {
  std::set<std::string> names;
  for (int32_t i = 0; i < count; ++i) {
    std::string what = format("%s %d", role, i);
    if (!tensors[i].name)
      return invalid(what + " has no name");
    what += " " + quote(tensors[i].name);
    if (!names.insert(tensors[i].name).second)
      return invalid(what + " has the name of another one");
    WEFT_RT_RETURN_IF_ERROR(checkTensor(program, tensors[i], what));
  }
  return Status();
}

Status checkAlias(const weft_rt_program &program, int32_t result) {
  const weft_rt_tensor &out = program.results[result];
  if (out.alias < 0)
    return Status();
  if (out.alias >= program.num_args)
    return invalid(format("result %s aliases argument %d of %d",
                          quote(out.name).c_str(), out.alias,
                          program.num_args));
  const weft_rt_tensor &in = program.args[out.alias];
  std::string pair = format("result %s and argument %s",
                            quote(out.name).c_str(), quote(in.name).c_str());
  if (in.alias != result)
    return invalid(format("%s: the argument's alias is %d, expected %d",
                          pair.c_str(), in.alias, result));
  std::string outType = tensorTypeName(out.type, out.shape, out.rank) + " " +
                        shardingName(program, out);
  std::string inType = tensorTypeName(in.type, in.shape, in.rank) + " " +
                       shardingName(program, in);
  if (outType != inType)
    return invalid(format("%s share memory but are %s and %s", pair.c_str(),
                          outType.c_str(), inType.c_str()));
  return Status();
}

Status checkAliases(const weft_rt_program &program) {
  for (int32_t i = 0; i < program.num_results; ++i)
    WEFT_RT_RETURN_IF_ERROR(checkAlias(program, i));
  for (int32_t i = 0; i < program.num_args; ++i) {
    int32_t result = program.args[i].alias;
    if (result < 0)
      continue;
    if (result >= program.num_results || program.results[result].alias != i)
      return invalid(format("argument %s says that result %d takes its place, "
                            "which that result does not say",
                            quote(program.args[i].name).c_str(), result));
  }
  return Status();
}

Status checkChannels(const weft_rt_program &program) {
  for (int32_t i = 0; i < program.num_channels; ++i) {
    const weft_rt_channel &channel = program.channels[i];
    if (!channel.name)
      return invalid(format("channel %d has no name", i));
    std::string what = "channel " + quote(channel.name);
    WEFT_RT_RETURN_IF_ERROR(
        checkTable("channel axes", channel.num_axes, channel.axes));
    std::vector<weft_rt_axis_ref> refs(channel.axes,
                                       channel.axes + channel.num_axes);
    WEFT_RT_RETURN_IF_ERROR(checkAxisRefs(program, refs, what));
  }
  for (int32_t i = 0; i < program.num_traffic; ++i)
    if (!program.traffic[i].channel || program.traffic[i].kind < 0 ||
        program.traffic[i].kind > WEFT_RT_PERMUTE)
      return invalid(format("traffic entry %d has kind %d and channel %s", i,
                            program.traffic[i].kind,
                            program.traffic[i].channel ? "set" : "missing"));
  return Status();
}

Status checkKernels(const weft_rt_program &program) {
  for (int32_t i = 0; i < program.num_images; ++i) {
    const weft_rt_image &image = program.images[i];
    if (!image.name || image.size < 0 || (image.size > 0 && !image.data))
      return invalid(format("image %d (%s) has %lld bytes at address %p", i,
                            image.name ? quote(image.name).c_str() : "no name",
                            (long long)image.size,
                            static_cast<const void *>(image.data)));
  }
  for (int32_t i = 0; i < program.num_kernels; ++i) {
    const weft_rt_kernel_entry &kernel = program.kernels[i];
    if (!kernel.name)
      return invalid(format("kernel %d has no name", i));
    std::string what = format("kernel %d ", i) + quote(kernel.name);
    if (kernel.num_buffers < 0 || kernel.num_scalars < 0)
      return invalid(format("%s takes %d buffers and %d scalars", what.c_str(),
                            kernel.num_buffers, kernel.num_scalars));
    if (kernel.image < -1 || kernel.image >= program.num_images)
      return invalid(format("%s lies in image %d of %d", what.c_str(),
                            kernel.image, program.num_images));
    if (kernel.image >= 0 && kernel.function)
      return invalid(what + " is a function and lies in an image");
  }
  return Status();
}

Status checkCertificate(const weft_rt_program &program) {
  if (!program.certificate)
    return Status();
  Result<Certificate> certificate = parseCertificate(program.certificate);
  if (!certificate.ok())
    return invalid("program has a certificate that cannot be read: " +
                   certificate.status().message());
  return Status();
}

std::string hashName(const uint8_t *hash) { return hexText(hash, 32); }

std::string refsName(const weft_rt_program &program,
                     const weft_rt_axis_ref *refs, int32_t count) {
  std::string text = "{";
  for (int32_t i = 0; i < count; ++i) {
    const weft_rt_axis &axis = program.axes[refs[i].axis];
    text += format("%s\"%s\"", i ? ", " : "", printable(axis.name).c_str());
    if (refs[i].pre != 1 || refs[i].size != axis.size)
      text += format(":(%lld)%lld", (long long)refs[i].pre,
                     (long long)refs[i].size);
  }
  return text + "}";
}

std::string describeTensors(const weft_rt_program &program, const char *title,
                            const weft_rt_tensor *tensors, int32_t count,
                            const char *aliasOf, const weft_rt_tensor *others) {
  std::string text = format("%s: %d\n", title, count);
  for (int32_t i = 0; i < count; ++i) {
    const weft_rt_tensor &t = tensors[i];
    text += format("  %s: %s, local %s, %s", quote(t.name).c_str(),
                   tensorTypeName(t.type, t.shape, t.rank).c_str(),
                   tensorTypeName(t.type, t.local_shape, t.rank).c_str(),
                   shardingName(program, t).c_str());
    if (t.alias >= 0)
      text += format(", %s %s", aliasOf, quote(others[t.alias].name).c_str());
    text += "\n";
  }
  return text;
}

/// The processor that the code is for, and what this machine's lacks of it.
std::string describeProcessor(const weft_rt_program &program) {
  if (!program.features)
    return "";
  std::string text = format("processor: %s (%s)\n",
                            printable(program.cpu ? program.cpu : "").c_str(),
                            printable(program.features).c_str());
  std::string missing;
  for (const std::string &name : missingFeatures(program.features))
    missing += (missing.empty() ? "" : ",") + printable(name);
  return missing.empty() ? text
                         : text + "this machine lacks: " + missing + "\n";
}

std::string describeMesh(const weft_rt_program &program) {
  std::string text = "mesh: <[";
  for (int32_t i = 0; i < program.num_axes; ++i)
    text += format("%s\"%s\"=%lld", i ? ", " : "",
                   printable(program.axes[i].name).c_str(),
                   (long long)program.axes[i].size);
  return text + format("]>, %d ranks\n", program.num_ranks);
}

std::string describeChannels(const weft_rt_program &program) {
  std::string text = format("channels: %d\n", program.num_channels);
  for (int32_t i = 0; i < program.num_channels; ++i) {
    const weft_rt_channel &channel = program.channels[i];
    text += format("  %s: %s, groups of %lld\n", quote(channel.name).c_str(),
                   refsName(program, channel.axes, channel.num_axes).c_str(),
                   (long long)shardCount(channel.axes, channel.num_axes));
  }
  return text;
}

} // namespace

Status checkVersion(const weft_rt_program &program) {
  if (program.abi_version != WEFT_RT_ABI_VERSION)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("program has ABI version %u, and this runtime has "
                         "%u: compile it again with the weft that this "
                         "runtime belongs to, or run it with its own",
                         program.abi_version, WEFT_RT_ABI_VERSION));
  if (program.struct_size != sizeof(weft_rt_program))
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("program table has %u bytes, expected %zu",
                         program.struct_size, sizeof(weft_rt_program)));
  return Status();
}

Status checkLaunch(const weft_rt_program &program, const weft_rt_launch &launch,
                   int32_t numConfig) {
  if (launch.kernel < 0 || launch.kernel >= program.num_kernels)
    return invalid(
        format("launches kernel %d of %d", launch.kernel, program.num_kernels));
  if (launch.num_config < 0 || (launch.num_config > 0 && !launch.config))
    return invalid(format("launches %s with %d numbers at address %p",
                          quote(program.kernels[launch.kernel].name).c_str(),
                          launch.num_config,
                          static_cast<const void *>(launch.config)));
  if (numConfig >= 0 && launch.num_config != numConfig)
    return invalid(format("launches %s with %d numbers, not %d",
                          quote(program.kernels[launch.kernel].name).c_str(),
                          launch.num_config, numConfig));
  return Status();
}

Status checkProgram(const weft_rt_program &program) {
  WEFT_RT_RETURN_IF_ERROR(checkVersion(program));
  WEFT_RT_RETURN_IF_ERROR(checkTables(program));
  WEFT_RT_RETURN_IF_ERROR(checkMesh(program));
  WEFT_RT_RETURN_IF_ERROR(
      checkTensors(program, "argument", program.args, program.num_args));
  WEFT_RT_RETURN_IF_ERROR(
      checkTensors(program, "result", program.results, program.num_results));
  WEFT_RT_RETURN_IF_ERROR(checkAliases(program));
  WEFT_RT_RETURN_IF_ERROR(checkChannels(program));
  WEFT_RT_RETURN_IF_ERROR(checkKernels(program));
  return checkCertificate(program);
}

namespace {} // namespace

std::string describeInterface(const weft_rt_program &program) {
  return describeMesh(program) +
         describeTensors(program, "arguments", program.args, program.num_args,
                         "donated to", program.results) +
         describeTensors(program, "results", program.results,
                         program.num_results, "in place of", program.args) +
         describeChannels(program);
}

Status checkSamePlan(const weft_rt_program *const *programs, int64_t count) {
  const weft_rt_program &first = *programs[0];
  for (int64_t rank = 1; rank < count; ++rank) {
    const weft_rt_program &other = *programs[rank];
    if (std::memcmp(first.plan_hash, other.plan_hash, 32) != 0)
      return invalid(format("rank 0 and rank %lld have different plans: %s "
                            "and %s",
                            (long long)rank, hashName(first.plan_hash).c_str(),
                            hashName(other.plan_hash).c_str()));
    if (invarianceName(first) != invarianceName(other))
      return invalid(format("rank 0 and rank %lld differ in invariance: %s and "
                            "%s",
                            (long long)rank, invarianceName(first).c_str(),
                            invarianceName(other).c_str()));
    if (&first != &other &&
        describeInterface(first) != describeInterface(other))
      return invalid(format("rank 0 and rank %lld have equal plan hashes but "
                            "differ in mesh, arguments, results or channels:\n"
                            "%sand\n%s",
                            (long long)rank, describeInterface(first).c_str(),
                            describeInterface(other).c_str()));
  }
  return Status();
}

std::string shardingName(const weft_rt_program &program,
                         const weft_rt_tensor &tensor) {
  std::string text = "[";
  for (int32_t d = 0; d < tensor.rank; ++d)
    text += (d ? ", " : "") + refsName(program, tensor.sharding[d].axes,
                                       tensor.sharding[d].num_axes);
  return text + "]";
}

std::string describeProgram(const weft_rt_program &program) {
  std::string text =
      format("program: %s, ABI version %u\n", printable(program.name).c_str(),
             program.abi_version);
  text += "plan: " + hashName(program.plan_hash) + "\n";
  text += "invariant: " + printable(invarianceName(program)) + "\n";
  text += "backend: " + printable(program.backend) + "\n";
  text += describeProcessor(program);
  text += describeMesh(program);
  text += describeTensors(program, "arguments", program.args, program.num_args,
                          "donated to", program.results);
  text += describeTensors(program, "results", program.results,
                          program.num_results, "in place of", program.args);
  text += describeChannels(program);
  text += format("arena: %lld bytes a rank\n", (long long)program.arena_bytes);
  if (program.host_bytes > 0)
    text += format("in the host's memory: %lld bytes a rank\n",
                   (long long)program.host_bytes);
  text += format("kernels: %d, images: %d\n", program.num_kernels,
                 program.num_images);
  text += format("traffic: %d\n", program.num_traffic);
  for (int32_t i = 0; i < program.num_traffic; ++i) {
    const weft_rt_traffic &t = program.traffic[i];
    text += format("  %s on %s: %lld operands, %lld bytes a rank\n",
                   kindName(t.kind), quote(t.channel).c_str(),
                   (long long)t.count, (long long)t.bytes);
  }
  return text;
}

} // namespace weft::rt
