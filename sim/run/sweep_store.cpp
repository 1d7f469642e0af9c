#include "sim/run/sweep_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/report/sweep_manifest.hpp"
#include "sim/run/folder.hpp"

namespace skerry {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kSyncEvery{100};
constexpr int kSyncRecords = 64;

std::string last_error() {
  return std::strerror(errno);
}

// True when the folder is there and this sweep's; false when there is nothing yet.
bool is_ours(const std::string& folder, const std::string& name, const std::string& resolved_json) {
  if (!fs::exists(fs::symlink_status(folder))) return false;
  if (!fs::is_directory(folder)) throw BadInput(folder, "", "is there already and is no folder");
  const std::string manifest = folder + "/manifest.json";
  if (!fs::exists(manifest)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      // A kill before the first manifest leaves hidden parts alone.
      if (entry.path().filename().string().starts_with(".")) continue;
      throw BadInput(folder, "", "holds something that is not a sweep; choose another --out");
    }
    return false;
  }
  std::string sweep;
  try {
    sweep = sweep_of_manifest(read_text(manifest), manifest);
  } catch (const BadInput&) {
    throw BadInput(folder, "", "holds something that is not a sweep; choose another --out");
  }
  if (sweep != name) {
    throw BadInput(folder, "",
                   "is the folder of the sweep '" + sweep + "', this one is '" + name +
                       "'; choose another --out");
  }
  const std::string kept = folder + "/sweep.json";
  if (fs::is_regular_file(kept) && !same_study(read_text(kept), resolved_json)) {
    throw BadInput(folder, "",
                   "is the folder of another study with the name '" + name +
                       "': no axis is the same, or most of the scenario differs (see its "
                       "sweep.json); choose another --out, or remove the folder");
  }
  return true;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw CannotWrite(last_error());
    text.remove_prefix(std::size_t(n));
  }
}

// The file's bytes, as long as this lives.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd < 0 || fstat(fd, &info) != 0)
      throw BadInput(path, "", "cannot be read: " + last_error());
    size_ = std::size_t(info.st_size);
    if (size_ > 0) {
      void* at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at == MAP_FAILED) throw BadInput(path, "", "cannot be read: " + last_error());
      data_ = static_cast<char*>(at);
    }
    ::close(fd);
  }
  ~Mapped() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  std::string_view text() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

std::vector<std::string> record_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool named =
        name == "runs.jsonl" || (name.starts_with("runs-") && name.ends_with(".jsonl"));
    if (named && entry.is_regular_file()) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "host";
  std::string text = name;
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

SweepStore::SweepStore(std::string folder, const std::string& name,
                       const std::string& resolved_json)
    : folder_(std::move(folder)) {
  exists_ = is_ours(folder_, name, resolved_json);
  scan();
}

SweepStore::~SweepStore() {
  if (out_ >= 0) ::close(out_);
}

SweepStore::State SweepStore::state(std::uint64_t id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return State::kMissing;
  return found->second.ok ? State::kOk : State::kFailed;
}

std::string SweepStore::line(std::uint64_t id) const {
  const Entry& entry = entries_.at(id);
  const std::string& path = files_[entry.file];
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text(entry.length, '\0');
  const ssize_t n = fd < 0 ? -1 : pread(fd, text.data(), text.size(), off_t(entry.offset));
  if (fd >= 0) ::close(fd);
  if (n != ssize_t(text.size())) throw std::runtime_error(path + ": cannot be read again");
  return text;
}

void SweepStore::keep(std::uint64_t id, const Entry& entry) {
  const auto [place, is_new] = entries_.emplace(id, entry);
  if (!is_new && (entry.ok || !place->second.ok)) place->second = entry;
}

std::shared_ptr<const PointCells> SweepStore::cells(std::uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  if (found->second.cells == nullptr) {
    try {
      found->second.cells = std::make_shared<const PointCells>(point_cells(line(id)));
    } catch (const BadInput&) {
      damaged_ += 1;
      entries_.erase(found);
      return nullptr;
    }
  }
  return found->second.cells;
}

void SweepStore::scan() {
  if (!fs::is_directory(folder_)) return;
  std::vector<std::string> fresh;
  for (const std::string& path : record_files(folder_)) {
    if (std::find(files_.begin(), files_.end(), path) == files_.end()) fresh.push_back(path);
  }
  files_.insert(files_.end(), fresh.begin(), fresh.end());
  scanned_.resize(files_.size(), 0);
  for (std::size_t i = 0; i < files_.size(); ++i)
    scan_file(i);
}

void SweepStore::scan_file(std::size_t file) {
  const Mapped mapped(files_[file]);
  const std::string_view text = mapped.text();
  for (std::size_t at = scanned_[file]; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return;  // half-written: its point is done again
    const std::string_view line = text.substr(at, end - at);
    const std::optional<PointHead> head = point_head(line);
    if (head) {
      keep(head->id, {file, at, end - at, head->ok, nullptr});
    } else {
      damaged_ += 1;
    }
    at = end + 1;
    scanned_[file] = at;
  }
}

std::string SweepStore::stamps(const std::vector<std::string>& files) const {
  std::vector<std::string> paths = record_files(folder_);
  for (const std::string& name : files)
    paths.push_back(folder_ + "/" + name);
  std::string out;
  for (const std::string& path : paths) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return {};
    out += fmt::format("{} {} {}.{}\n", path.substr(folder_.size()), info.st_size,
                       info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return out;
}

void SweepStore::make_folder() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw BadInput(folder_, "", "cannot be written: " + error.message());
}

void SweepStore::open(const Shard& shard) {
  // A shard may be started again on another machine while a node that was given up still writes.
  const std::string name = shard.count == 1 ? "runs.jsonl"
                                            : fmt::format("runs-{}-of-{}-{}.jsonl", shard.index + 1,
                                                          shard.count, host_name());
  const std::string path = folder_ + "/" + name;
  out_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (out_ < 0) throw BadInput(path, "", "cannot be written: " + last_error());
  // Children of a parent that was just killed hold the lock until they are gone too.
  for (int i = 0; flock(out_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    if (i == 300) throw BadInput(path, "", "is being written by another `skerry sweep`");
    usleep(10000);
  }
  scan();  // what was written until the lock was ours
  out_file_ = std::size_t(std::find(files_.begin(), files_.end(), path) - files_.begin());
  const Mapped mapped(path);
  const std::size_t whole = mapped.text().rfind('\n');
  out_size_ = whole == std::string_view::npos ? 0 : whole + 1;
  if (out_size_ < mapped.text().size() && ftruncate(out_, off_t(out_size_)) != 0) {
    throw BadInput(path, "", "cannot be written: " + last_error());
  }
  exists_ = true;
}

void SweepStore::append(std::uint64_t id, bool ok, const std::string& line) {
  try {
    write_all(out_, line);
  } catch (const CannotWrite& error) {
    const std::string why = error.what();
    // A half-written line would be ignored, but must not stand before the next one.
    if (ftruncate(out_, off_t(out_size_)) == 0) fsync(out_);
    throw CannotWrite(files_[out_file_] + ": " + why);
  }
  keep(id, {out_file_, out_size_, line.size() - 1, ok, nullptr});
  out_size_ += line.size();
  scanned_[out_file_] = out_size_;
  unsynced_ += 1;
  if (unsynced_ >= kSyncRecords) sync();
}

void SweepStore::sync_if_due() {
  if (unsynced_ > 0 && std::chrono::steady_clock::now() - synced_ >= kSyncEvery) sync();
}

void SweepStore::sync() {
  if (out_ >= 0 && unsynced_ > 0 && fdatasync(out_) != 0 && errno != EINVAL) {
    throw CannotWrite(files_[out_file_] + ": " + last_error());
  }
  unsynced_ = 0;
  synced_ = std::chrono::steady_clock::now();
}

void SweepStore::close_in_child() {
  ::close(out_);
  out_ = -1;
}

void SweepStore::write(const std::string& name, const std::function<void(const TapeSink&)>& parts) {
  const std::string path = folder_ + "/" + name;
  const std::string half = fmt::format("{}/.{}.{}.part", folder_, name, host_name());
  const int fd = ::open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw CannotWrite(path + ": " + last_error());
  try {
    std::string buffer;
    parts([&](std::string_view part) {
      buffer += part;
      if (buffer.size() < 1u << 16) return;
      write_all(fd, buffer);
      buffer.clear();
    });
    write_all(fd, buffer);
    if (fsync(fd) != 0 && errno != EINVAL) throw CannotWrite(last_error());
  } catch (const CannotWrite& error) {
    ::close(fd);
    unlink(half.c_str());
    throw CannotWrite(path + ": " + error.what());
  }
  ::close(fd);
  if (rename(half.c_str(), path.c_str()) != 0) throw CannotWrite(path + ": " + last_error());
}

void SweepStore::write(const std::string& name, const std::string& text) {
  write(name, [&text](const TapeSink& sink) { sink(text); });
}

FolderLock::FolderLock(const std::string& folder)
    : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace skerry
