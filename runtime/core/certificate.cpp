// SPDX-License-Identifier: Apache-2.0

// Members are read in any order, each once; what a later compiler adds is
// passed over, what it changes has another version.

#include "core/certificate.h"

#include "core/json.h"

#include <set>

namespace weft::rt {
namespace {

constexpr int64_t knownVersion = 1;

/// Reads the members of the object one by one.
class CertificateReader {
public:
  explicit CertificateReader(const std::string &text)
      : json(text.data(), text.size()) {}

  Status read();
  Certificate take() { return std::move(result); }

private:
  bool readMembers();
  bool readMember();
  bool readAxes();

  JsonReader json;
  std::set<std::string> seen;
  int64_t version = 0;
  Certificate result;
};

bool CertificateReader::readAxes() {
  if (!json.take('['))
    return false;
  if (json.takeIf(']'))
    return true;
  do {
    result.axes.emplace_back();
    if (!json.string(result.axes.back()))
      return false;
  } while (json.takeIf(','));
  return json.take(']');
}

bool CertificateReader::readMember() {
  std::string key;
  if (!json.string(key) || !json.take(':'))
    return false;
  if (!seen.insert(key).second)
    return json.fail("member " + quote(key) + " occurs twice");
  if (key == "version")
    return json.integer(version);
  if (key == "axes")
    return readAxes();
  if (key == "leaves")
    return json.integer(result.leaves);
  if (key == "digest")
    return json.string(result.digest);
  return json.skip();
}

bool CertificateReader::readMembers() {
  if (!json.take('{'))
    return false;
  if (!json.takeIf('}')) {
    do {
      if (!readMember())
        return false;
    } while (json.takeIf(','));
    if (!json.take('}'))
      return false;
  }
  return json.finish();
}

Status CertificateReader::read() {
  if (!readMembers())
    return invalid(json.error());
  for (const char *key : {"version", "axes", "leaves", "digest"})
    if (!seen.count(key))
      return invalid("member " + quote(key) + " is missing");
  if (version != knownVersion)
    return invalid(format("version %lld, this runtime knows %lld",
                          (long long)version, (long long)knownVersion));
  if (result.leaves < 1)
    return invalid(format("%lld leaves", (long long)result.leaves));
  if (result.digest.size() != 64 ||
      result.digest.find_first_not_of("0123456789abcdef") != std::string::npos)
    return invalid("digest " + quote(result.digest) +
                   " is not 64 hexadecimal digits");
  return Status();
}

/// Says whether the names are those of the program's axes.
bool namesMesh(const weft_rt_program &program,
               const std::vector<std::string> &names) {
  std::set<std::string> mesh;
  for (int32_t i = 0; i < program.num_axes; ++i)
    mesh.insert(program.axes[i].name);
  return mesh == std::set<std::string>(names.begin(), names.end());
}

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + jsonString(name);
  return text;
}

} // namespace

Result<Certificate> parseCertificate(const std::string &text) {
  CertificateReader reader(text);
  WEFT_RT_RETURN_IF_ERROR(reader.read());
  return reader.take();
}

std::string invarianceName(const weft_rt_program &program) {
  if (!program.certificate)
    return "none";
  Certificate known = *parseCertificate(program.certificate);
  return (namesMesh(program, known.axes) ? "mesh" : joined(known.axes)) +
         format(", %lld leaves, certificate %s", (long long)known.leaves,
                known.digest.c_str());
}

std::string invarianceJson(const weft_rt_program &program) {
  Certificate known = *parseCertificate(program.certificate);
  return format("{\"axes\": [%s], \"leaves\": %lld, \"digest\": \"%s\"}",
                joined(known.axes).c_str(), (long long)known.leaves,
                known.digest.c_str());
}

} // namespace weft::rt
