// svmlight / LIBSVM text, fed in blocks of any size, into the arrays of a compressed sparse matrix.
//
// A block is cut at line ends into as many pieces as there are threads; each thread reads its piece into memory of its
// own, and the pieces are appended in the order of the text. So the result, and the fault that is reported (the first
// one in the text), do not depend on the number of threads or on how the text was cut. Memory: the result and a few
// times one block.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "svmlight_lines.hpp"

namespace pairsift {

template <class Value>
class SvmlightParser {
   public:
    Growing<Value> values;
    Growing<std::int32_t> narrow;  // indices as written, while all of them fit in 32 bits
    Growing<std::int64_t> wide;    // all of them as soon as one does not
    bool is_wide = false;
    Growing<std::int64_t> starts;
    Growing<double> labels;
    Growing<std::int64_t> qids;
    std::int64_t min_index = INT64_MAX, max_index = -1;  // over all that was fed; INT64_MAX and -1 before the first
    Place max_place;
    bool has_rows = false, has_qid = false;
    TextFault fault;

    SvmlightParser(IndexLimits limits, std::int64_t piece_bytes)
        : limits_(limits), piece_bytes_(std::max<std::int64_t>(piece_bytes, 1)) {
        starts.push(0);
    }

    std::size_t n_rows() const { return labels.size(); }

    // Reads the whole lines of text[0..n), and what follows the last line end too if nothing more will come.
    // Returns how many bytes were read. After a fault nothing is read any more.
    std::int64_t feed(const char* text /* in */, std::int64_t n, bool last, int threads) {
        if (fault) return 0;
        if (!last) n = after_last_line_end(text, n);
        const char* end = text + n;
        const char* begin = text;
        if (at_start_ && n > 0) {
            at_start_ = false;
            if (n >= 3 && std::memcmp(text, "\xef\xbb\xbf", 3) == 0) begin += 3;  // the mark that some editors write
        }
        read_pieces(begin, end, threads);
        for (std::size_t k = 0; k < n_pieces_ && !fault; ++k) append(*pieces_[k]);
        return n;
    }

    // Forgets the rows, keeps what is known about the text.
    void clear_rows() {
        values.clear(), narrow.clear(), wide.clear(), labels.clear(), qids.clear(), starts.clear();
        starts.push(0);
        is_wide = false;
    }

    void widen() {
        wide.append(narrow.data(), narrow.size());
        narrow = Growing<std::int32_t>();
        is_wide = true;
    }

   private:
    static std::int64_t after_last_line_end(const char* text, std::int64_t n) {
        while (n > 0 && text[n - 1] != '\n') --n;
        return n;
    }

    void read_pieces(const char* begin, const char* end, int threads) {
        make_room_for_exceptions();
        const std::int64_t most = (end - begin) / piece_bytes_ + 1;
        const std::int64_t wanted = std::clamp<std::int64_t>(threads, 1, most);
        while (static_cast<std::int64_t>(pieces_.size()) < wanted) pieces_.push_back(std::make_unique<LineRun<Value>>());
        n_pieces_ = static_cast<std::size_t>(wanted);
        std::vector<std::exception_ptr> errors(n_pieces_);
        std::vector<std::thread> workers;
        workers.reserve(n_pieces_);
        std::atomic<std::int64_t> started{0};
        const char* start = begin;
        for (std::int64_t k = 0; k < wanted; ++k) {
            const char* stop = k + 1 == wanted ? end : next_line_start(begin + (end - begin) / wanted * (k + 1), start, end);
            const auto at = static_cast<std::size_t>(k);
            auto job = [run = pieces_[at].get(), error = &errors[at], started = &started, start, stop, this] {
                make_room_for_exceptions();
                started->fetch_add(1);
                try {
                    run->read(start, stop, limits_);
                } catch (...) {
                    *error = std::current_exception();
                }
            };
            start = stop;
            if (k + 1 == wanted || !has_room_for_a_thread()) {
                job();
            } else {
                try {
                    workers.emplace_back(job);
                    while (started.load() <= k) std::this_thread::yield();  // before memory is used up elsewhere
                } catch (const std::system_error&) {  // no thread to be had
                    job();
                }
            }
        }
        for (auto& worker : workers) worker.join();
        for (auto& error : errors)
            if (error) std::rethrow_exception(error);
    }

    // A thread whose first few bytes cannot be had is ended by the C library, and the process with it: no exception is thrown.
    static bool has_room_for_a_thread() {
        constexpr std::size_t stack_and_more = std::size_t{32} << 20;
        void* volatile room = std::malloc(stack_and_more);  // volatile: else the compiler sees that it is not used
        std::free(room);
        return room != nullptr;
    }

    static const char* next_line_start(const char* wanted, const char* start, const char* end) {
        wanted = std::max(wanted, start);
        const void* found = wanted < end ? std::memchr(wanted, '\n', static_cast<std::size_t>(end - wanted)) : nullptr;
        return found ? static_cast<const char*>(found) + 1 : end;
    }

    void append(LineRun<Value>& run) {
        check_qid(run);
        if (!fault && run.fault) fault = std::move(run.fault), fault.place.line += lines_;
        if (fault) return;
        append_columns(run);
        const auto before = static_cast<std::int64_t>(values.size());
        values.append(run.values.data(), run.values.size());
        labels.append(run.labels.data(), run.labels.size());
        qids.append(run.qids.data(), run.qids.size());
        for (std::size_t k = 0; k < run.ends.size(); ++k) starts.push(before + run.ends[k]);
        min_index = std::min(min_index, run.min_index);
        if (run.max_index > max_index) {
            max_index = run.max_index;
            max_place = {run.max_place.line + lines_, run.max_place.column};
        }
        lines_ += run.lines;
    }

    // Within a run all rows agree on having a qid; here runs are compared with the rows before them.
    void check_qid(const LineRun<Value>& run) {
        if (run.first_label.line == 0) return;
        if (!has_rows) has_rows = true, has_qid = run.has_qid;
        if (run.has_qid == has_qid) return;
        if (run.fault && run.fault.place < run.first_label) return;
        fault = qid_fault({run.first_label.line + lines_, run.first_label.column}, run.has_qid);
    }

    void append_columns(const LineRun<Value>& run) {
        if (!is_wide && run.max_index > INT32_MAX) widen();
        if (is_wide)
            wide.append(run.columns.data(), run.columns.size());
        else
            narrow.append(run.columns.data(), run.columns.size());
    }

    IndexLimits limits_;
    std::int64_t piece_bytes_;
    std::int64_t lines_ = 0;
    bool at_start_ = true;
    std::vector<std::unique_ptr<LineRun<Value>>> pieces_;
    std::size_t n_pieces_ = 0;
};

}  // namespace pairsift
