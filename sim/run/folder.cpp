#include "sim/run/folder.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/report/manifest.hpp"

namespace skerry {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) throw BadInput(path, "", "cannot be read");
  return text;
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw CannotGoOn("standard output cannot be written");
  }
}

void write_text(const std::string& path, const std::string& text) {
  write_parts(path, [&text](const TapeSink& sink) { sink(text); });
}

void write_parts(const std::string& path, const std::function<void(const TapeSink&)>& write) {
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  write([&out](std::string_view part) {
    out.write(part.data(), static_cast<std::streamsize>(part.size()));
  });
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

void write_whole(const std::string& path, const std::function<void(const TapeSink&)>& write) {
  const auto refuse = [&path](int error) {
    throw BadInput(path, "", "cannot be written: " + std::generic_category().message(error));
  };
  const std::string part = path + ".part";
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) refuse(error.value());
  errno = 0;
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) refuse(errno);
  write([&out](std::string_view text) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
  out.close();
  const int reason = errno;
  if (out) fs::rename(part, path, error);
  if (out && !error) return;
  std::error_code ignored;
  fs::remove(part, ignored);
  refuse(error ? error.value() : reason);
}

Standing standing_at(const std::string& target, const std::string& hash) {
  if (!fs::exists(fs::symlink_status(target))) return Standing::kFree;
  if (!fs::is_directory(target)) throw BadInput(target, "", "is there already and is no folder");
  if (fs::is_empty(target)) return Standing::kFree;
  const std::string manifest = (fs::path(target) / "manifest.json").string();
  StoredRun stored;
  try {
    stored = manifest_from_json(read_text(manifest), manifest);
  } catch (const BadInput&) {
    throw BadInput(target, "", "holds something that is not a Skerry run; choose another --out");
  }
  if (stored.hash != hash) {
    throw BadInput(target, "",
                   "holds a run of another scenario (hash " + stored.hash + ", this one is " +
                       hash + "); choose another --out");
  }
  return stored.complete ? Standing::kComplete : Standing::kIncomplete;
}

TemporaryFolder::TemporaryFolder(const std::string& target) {
  const fs::path whole = fs::absolute(target).lexically_normal();
  const fs::path clean = whole.has_filename() ? whole : whole.parent_path();
  target_ = clean.string();
  path_ = fmt::format("{}/.{}.tmp-{}", clean.parent_path().string(), clean.filename().string(),
                      getpid());
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw BadInput(target, "", "cannot be written: " + error.message());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::publish(const std::string& hash) {
  if (standing_at(target_, hash) == Standing::kFree) {
    fs::rename(path_, target_);
    return;
  }
  const std::string old = path_ + "-old";
  fs::rename(target_, old);
  fs::rename(path_, target_);
  fs::remove_all(old);
}

}  // namespace skerry
