// Many small reads of one file at once: the rows of a batch, wherever they lie in the file.
//
// Given: byte ranges (offsets[t], lengths[t]) of an open file, in any order, and where in `out` each of them belongs.
// Ranges are visited in the order of the file. Neighbours that are at most `kGap` bytes apart share one read. What is in
// memory already is read first, without waiting. For the rest, the system is told of the next `kAhead` reads before the first
// of them is made, so that a cold disk works on all of them at once.
//
// Why not a memory map: a cold fault waits for one page at a time (measured: 350 rows a second, 6,000 with MADV_RANDOM,
// 98,000 this way), and a file that shrinks under a map kills the process, where a read just comes back short.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace pairsift {

struct ReadOutcome {
    int error;        // 0 done, -1 the file ended early, else errno
    std::int64_t at;  // the offset of the read that failed
};

class FileReads {
   public:
    FileReads(int file, const std::int64_t* offsets /* in */, const std::int64_t* lengths /* in */,
              const std::int64_t* places /* in */, std::int64_t n)
        : file_(file), offsets_(offsets), lengths_(lengths), places_(places), order_(static_cast<std::size_t>(n)) {
        std::iota(order_.begin(), order_.end(), std::int64_t{0});
        if (!std::is_sorted(offsets, offsets + n))
            std::sort(order_.begin(), order_.end(), [&](auto a, auto b) {
                return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : a < b;
            });
        group_neighbours();
    }

    ReadOutcome read(std::uint8_t* out /* out */) {
        std::vector<std::size_t> missing;
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (groups_.size() == 1 || !read_group(groups_[g], out, true)) missing.push_back(g);
        std::size_t advised = 0;
        for (std::size_t m = 0; m < missing.size(); ++m) {
            for (; advised < missing.size() && advised <= m + kAhead; ++advised) advise(groups_[missing[advised]]);
            if (!read_group(groups_[missing[m]], out, false)) return {error_, groups_[missing[m]].start};
        }
        return {0, 0};
    }

   private:
    static constexpr std::int64_t kGap = 4096;
    static constexpr std::int64_t kLongest = 1 << 20;  // of a shared read, which needs a buffer of that size
    static constexpr std::size_t kAhead = 1024;

    struct Group {
        std::int64_t start, end;  // bytes of the file
        std::size_t first, last;  // in order_
    };

    void group_neighbours() {
        for (std::size_t s = 0; s < order_.size(); ++s) {
            const std::int64_t start = offsets_[order_[s]], end = start + lengths_[order_[s]];
            if (start == end) continue;
            if (!groups_.empty()) {
                Group& group = groups_.back();
                if (group.last == s && start <= group.end + kGap && std::max(end, group.end) - group.start <= kLongest) {
                    group.end = std::max(end, group.end);
                    group.last = s + 1;
                    continue;
                }
            }
            groups_.push_back({start, end, s, s + 1});
        }
    }

    void advise(const Group& group) const {
#ifdef POSIX_FADV_WILLNEED
        if (groups_.size() > 1) posix_fadvise(file_, group.start, group.end - group.start, POSIX_FADV_WILLNEED);
#else
        (void)group;
#endif
    }

    // Only what is in memory already when `cached`; says whether the group was read.
    bool read_group(const Group& group, std::uint8_t* out, bool cached) {
        const std::size_t length = static_cast<std::size_t>(group.end - group.start);
        if (group.last - group.first == 1)
            return read_at(group.start, length, out + places_[order_[group.first]], cached);
        if (shared_.size() < length) shared_.resize(length);
        if (!read_at(group.start, length, shared_.data(), cached)) return false;
        for (std::size_t s = group.first; s < group.last; ++s) {
            const std::int64_t t = order_[s];
            std::memcpy(out + places_[t], shared_.data() + (offsets_[t] - group.start), static_cast<std::size_t>(lengths_[t]));
        }
        return true;
    }

    bool read_at(std::int64_t offset, std::size_t length, std::uint8_t* out, bool cached) {
        if (cached) return read_cached(offset, length, out);
        while (length > 0) {
            const ssize_t got = pread(file_, out, length, static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) {
                error_ = got == 0 ? -1 : errno;
                return false;
            }
            out += got;
            offset += got;
            length -= static_cast<std::size_t>(got);
        }
        return true;
    }

    bool read_cached(std::int64_t offset, std::size_t length, std::uint8_t* out) {
#ifdef RWF_NOWAIT
        iovec where{out, length};
        return preadv2(file_, &where, 1, static_cast<off_t>(offset), RWF_NOWAIT) == static_cast<ssize_t>(length);
#else
        (void)offset, (void)length, (void)out;
        return false;
#endif
    }

    int file_;
    const std::int64_t *offsets_, *lengths_, *places_;
    std::vector<std::int64_t> order_;
    std::vector<Group> groups_;
    std::vector<std::uint8_t> shared_;  // what ranges with one read between them are copied from
    int error_ = 0;
};

}  // namespace pairsift
