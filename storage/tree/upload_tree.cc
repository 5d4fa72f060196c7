#include "storage/tree/upload_tree.h"

#include <filesystem>

namespace kiln::storage {
namespace fs = std::filesystem;

Result<Digest> scanTree(const std::string& directory, std::vector<UploadItem>& items) {
  TreeBuilder builder;
  std::error_code error;
  if (!fs::is_directory(directory, error)) return fail(Code::kNotFound, directory + ": not a directory");
  for (auto entry = fs::recursive_directory_iterator(directory, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::string full = entry->path().string();
    std::string path = entry->path().lexically_relative(directory).generic_string();
    fs::file_status status = entry->symlink_status(error);
    if (error) break;
    if (fs::is_symlink(status)) {
      KILN_TRY(builder.addSymlink(path, fs::read_symlink(entry->path(), error).string()));
    } else if (fs::is_directory(status)) {
      KILN_TRY(builder.addDirectory(path));
    } else if (fs::is_regular_file(status)) {
      KILN_ASSIGN(Digest digest, digestOfFile(full));
      bool executable = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
      KILN_TRY(builder.addFile(path, digest, executable));
      items.push_back({digest, full, ""});
    } else {
      return fail(Code::kInvalidArgument, full + ": neither a file nor a directory nor a symlink");
    }
  }
  if (error) return fail(errnoError(error.value(), directory));
  BuiltTree tree = builder.build();
  for (UploadItem& item : tree.directories) items.push_back(std::move(item));
  return tree.root;
}

Result<Digest> uploadTree(BlobStore& store, const std::string& instance, const std::string& directory,
                          const UploadObserver& observer) {
  std::vector<UploadItem> items;
  KILN_ASSIGN(Digest root, scanTree(directory, items));
  KILN_TRY(uploadMissing(store, instance, items, observer));
  return root;
}

}  // namespace kiln::storage
