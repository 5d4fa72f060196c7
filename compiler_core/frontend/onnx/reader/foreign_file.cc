#include "compiler_core/frontend/onnx/reader/foreign_file.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace kiln::onnx {
namespace {

using std::string_view_literals::operator""sv;

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool startsWithIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// Behind a byte order mark and white space.
std::string_view trimmed(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// Printable ASCII and UTF-8 without control characters, in the first part of the file.
bool looksLikeText(std::string_view text) {
  text = text.substr(0, 512);
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f;
  });
}

// What writes ZIP archives of models, by the names of their entries.
std::string zipKind(std::string_view text) {
  if (text.find("/data.pkl") != text.npos || text.find("constants.pkl") != text.npos)
    return "a PyTorch checkpoint: export the model to ONNX first, with torch.onnx.export";
  if (text.find("model.weights.h5") != text.npos)
    return "a Keras model: export it to ONNX first, with tf2onnx";
  if (text.find(".npy") != text.npos) return "a NumPy archive: it holds arrays and no graph";
  if (text.find(".mlmodel") != text.npos || text.find("com.apple.CoreML") != text.npos)
    return "a Core ML package: export the model it was made from to ONNX";
  return "a ZIP archive: if the model is in it, unpack it";
}

// A header of JSON behind its length.
bool isSafetensors(std::string_view text, std::uint64_t size) {
  if (text.size() < 10 || text[8] != '{') return false;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[i]);
  return length >= 2 && length <= (std::uint64_t{100} << 20) &&
         length + 8 <= std::max<std::uint64_t>(size, 8) &&
         (text[9] == '"' || text[9] == '}' || text[9] == ' ');
}

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char* kind;
};

constexpr const char* kPicture = "an image";
constexpr const char* kPacked = "a compressed file: if the model is in it, unpack it";

constexpr Magic kMagic[] = {
    {0, "GGUF"sv, "a GGUF file: it holds weights and no graph; give the ONNX export of the model"},
    {0, "ggml"sv, "a GGML file: it holds weights and no graph; give the ONNX export of the model"},
    {0, "lmgg"sv, "a GGML file: it holds weights and no graph; give the ONNX export of the model"},
    {4, "TFL3"sv, "a TensorFlow Lite model: convert it to ONNX first, with tf2onnx --tflite"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format: give the .onnx file that it was made from"},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "a Keras model or another HDF5 file: export the model to ONNX first, with tf2onnx"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "ML\xefR"sv, "MLIR bytecode, which is not served; give ONNX"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program (ELF)"},
    {0, "\x89PNG\r\n\x1a\n"sv, kPicture},
    {0, "\xff\xd8\xff"sv, kPicture},
    {0, "GIF8"sv, kPicture},
    {0, "II*\0"sv, kPicture},
    {0, "MM\0*"sv, kPicture},
    {8, "WEBP"sv, kPicture},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "\x1f\x8b"sv, kPacked},
    {0, "\x28\xb5\x2f\xfd"sv, kPacked},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     kPacked},
    {0, "BZh"sv, kPacked},
    {0, "7z\xbc\xaf\x27\x1c"sv, kPacked},
    {257, "ustar"sv, "a tar archive: if the model is in it, unpack it"},
};

}  // namespace

bool isLfsPointer(Bytes bytes, std::uint64_t size) {
  const std::string_view text = textOf(bytes);
  return size < 1024 && (text.starts_with("version https://git-lfs.github.com/spec/") ||
                         text.starts_with("version https://hawser.github.com/spec/"));
}

std::string foreignKind(Bytes bytes, std::uint64_t size) {
  if (size == 0) return "an empty file (0 bytes)";
  if (isLfsPointer(bytes, size)) return "a Git LFS pointer: fetch the file itself with git lfs pull";
  const std::string_view text = textOf(bytes);
  for (const Magic& magic : kMagic)
    if (text.size() >= magic.offset && text.substr(magic.offset).starts_with(magic.bytes)) return magic.kind;
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return zipKind(text);
  if (text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
    return "a Python pickle, such as a PyTorch checkpoint: export the model to ONNX first, with "
           "torch.onnx.export";
  if (isSafetensors(text, size))
    return "a safetensors file: it holds weights and no graph; give the ONNX export of the model";
  const std::string_view start = trimmed(text);
  if (startsWithIgnoringCase(start, "<!doctype html") || startsWithIgnoringCase(start, "<html"))
    return "an HTML page: what was downloaded is no model but perhaps a page to log in or an error";
  if (start.starts_with("<?xml"))
    return "an XML file; a model of OpenVINO must be given as the ONNX it was made from";
  if (!looksLikeText(text))
    return text.find_first_not_of('\0') == text.npos ? "a file of nothing but zeros" : "";
  if (start.starts_with("{") || start.starts_with("[")) return "a JSON file";
  return start.empty() ? "a file of white space" : "a text file";
}

}  // namespace kiln::onnx
