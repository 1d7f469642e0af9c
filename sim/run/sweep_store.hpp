// A sweep's folder: records that are appended and synced, files that appear by rename. Machines
// that share the folder share no lock for certain, so no record or table is ever written by two to
// one file: shards append to, and renames start from, files that carry the machine's name.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/run/sweep_points.hpp"

namespace skerry {

// A record or a table could not be written; what had been written stays.
class CannotWrite : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// runs.jsonl and those of shards, sorted.
std::vector<std::string> record_files(const std::string& folder);

std::string host_name();  // as it may stand in a file's name

class SweepStore {
 public:
  // BadInput when something stands at `folder` that is not the folder of the sweep `name`, or of
  // another study of that name than `resolved_json` (same_study). Reads every runs*.jsonl there; of
  // one id the last "ok" line counts, else its last line.
  SweepStore(std::string folder, const std::string& name, const std::string& resolved_json);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  const std::string& folder() const { return folder_; }
  bool exists() const { return exists_; }

  enum class State { kMissing, kOk, kFailed };
  State state(std::uint64_t id) const;
  std::string line(std::uint64_t id) const;  // without its line break; it must be there
  // What a table takes from the record; null when there is none, or when it turns out to be
  // damaged: then the point is missing from here on.
  std::shared_ptr<const PointCells> cells(std::uint64_t id);
  std::size_t damaged() const { return damaged_; }  // records that were left out
  void scan();                                      // again: other shards write too
  // Names, sizes and dates of runs*.jsonl and of `files`: the same text, the same contents.
  std::string stamps(const std::vector<std::string>& files) const;

  void make_folder();  // BadInput when it cannot be made

  // From here on records may be added: takes this shard's runs file (of all points: runs.jsonl) for
  // this process alone, cuts a half-written last line off. BadInput when it cannot be written or is
  // in use.
  void open(const Shard& shard);
  void append(std::uint64_t id, bool ok, const std::string& line);  // CannotWrite
  void sync_if_due();                                               // after 100 ms or 64 records
  void sync();
  void close_in_child();  // so that the file is free when the parent alone has died

  // Writes a file of the folder by rename; CannotWrite.
  void write(const std::string& name, const std::function<void(const TapeSink&)>& parts);
  void write(const std::string& name, const std::string& text);

 private:
  struct Entry {
    std::size_t file = 0;
    std::uint64_t offset = 0, length = 0;
    bool ok = false;
    std::shared_ptr<const PointCells> cells;  // once they were asked for
  };
  void scan_file(std::size_t file);
  void keep(std::uint64_t id, const Entry& entry);

  std::string folder_;
  bool exists_ = false;
  std::vector<std::string> files_;
  std::vector<std::uint64_t> scanned_;  // bytes of each that have been read: they only grow
  std::map<std::uint64_t, Entry> entries_;
  std::size_t damaged_ = 0;
  int out_ = -1;
  std::size_t out_file_ = 0;
  std::uint64_t out_size_ = 0;
  int unsynced_ = 0;
  std::chrono::steady_clock::time_point synced_;
};

// Holds the folder against other shards of this machine while tables are made from all records.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace skerry
