// Intrusive doubly linked rings: membership costs two pointers and no allocation, leaving is O(1),
// and a node that is destroyed leaves by itself.
#pragma once

namespace skerry {

class RingNode {
 public:
  RingNode() = default;
  ~RingNode() { unlink(); }
  RingNode(const RingNode&) = delete;
  RingNode& operator=(const RingNode&) = delete;

  bool linked() const { return next_ != this; }
  RingNode* next() const { return next_; }

  void unlink() {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }
  // At the end of the ring that `head` heads; leaves its present ring first.
  void append_to(RingNode& head) {
    unlink();
    prev_ = head.prev_;
    next_ = &head;
    prev_->next_ = next_->prev_ = this;
  }

 private:
  RingNode* prev_ = this;
  RingNode* next_ = this;
};

// A ring of T (derived from RingNode) in order of joining. It owns none of them.
template <class T>
class Ring {
 public:
  bool empty() const { return !head_.linked(); }
  void append(T& node) { node.append_to(head_); }
  // Requires !empty().
  T& front() const { return static_cast<T&>(*head_.next()); }
  // Calls visit(T&) for every member; `visit` may unlink the one it is given.
  template <class Visit>
  void each(Visit visit) const {
    for (RingNode* node = head_.next(); node != &head_;) {
      RingNode* following = node->next();
      visit(static_cast<T&>(*node));
      node = following;
    }
  }

 private:
  RingNode head_;
};

}  // namespace skerry
