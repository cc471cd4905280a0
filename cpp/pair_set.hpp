// A set of pairs (i, j) of row places: which terms are chosen. Open addressing with linear probing; a pair is two 64-bit
// numbers and never one, because N+ * N- passes 2^63.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace pairsift {

class PairSet {
public:
    std::int64_t size() const { return size_; }

    // True when (i, j) was not in the set before.
    bool insert(std::int64_t i, std::int64_t j) {
        if (2 * (size_ + 1) > static_cast<std::int64_t>(slots_.size())) grow();
        Slot& slot = slots_[find(i, j)];
        if (slot.used) return false;
        slot = {i, j, true};
        ++size_;
        return true;
    }

    bool contains(std::int64_t i, std::int64_t j) const { return size_ > 0 && slots_[find(i, j)].used; }

private:
    struct Slot {
        std::int64_t i = 0, j = 0;
        bool used = false;
    };

    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    std::size_t find(std::int64_t i, std::int64_t j) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = mix(mix(static_cast<std::uint64_t>(i)) + 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(j)) & mask;
        while (slots_[at].used && (slots_[at].i != i || slots_[at].j != j)) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : 2 * slots_.size()));
        for (const Slot& slot : old)
            if (slot.used) slots_[find(slot.i, slot.j)] = slot;
    }

    std::vector<Slot> slots_;
    std::int64_t size_ = 0;
};

}  // namespace pairsift
