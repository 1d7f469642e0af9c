#include "sim/report/layout.hpp"

#include <sstream>

namespace skerry {

namespace {

std::string laid(const std::string& prefix, const std::vector<std::string>& items,
                 const std::string& gap) {
  std::string out;
  std::string line = prefix;
  for (const std::string& item : items) {
    const std::string& space = line == prefix ? (line.empty() ? "" : " ") : gap;
    if (line.find_first_not_of(' ') != std::string::npos &&
        line.size() + space.size() + item.size() > kColumns) {
      out += line + "\n";
      line = "  " + item;
    } else {
      line += space + item;
    }
  }
  return out + line + "\n";
}

}  // namespace

std::string wrapped(const std::string& prefix, const std::vector<std::string>& items) {
  return laid(prefix, items, "  ");
}

std::string wrapped_sentence(const std::string& sentence) {
  std::istringstream in(sentence);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return laid("", words, " ");
}

}  // namespace skerry
